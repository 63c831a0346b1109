// Command beam trains the learners on a corpus larger than one machine, by Apache Beam.
//
//	beam sequence train --data "part-*.conll" --model chunks.model
//	beam g2p train --data "part-*.tsv" --model ice.model
//	beam linear train --data "gs://bucket/part-*.csv" --target class --model my.model
//	beam nn train --data "part-*.csv" --target class --hidden 32 --model my.model
//	beam worker --port 50000          a process that stays, for runners to start workers in
//
// Each file is a shard. The runner is Prism in this process unless flags name another; README.md
// says how. Models are those of command learn, which predicts with them.
//
// # How a pass goes
//
// The optimiser runs here: L-BFGS, or accelerated proximal steps (--solver proximal), with l1 or
// without. It asks for the value and gradient of a sum over examples, and every time a pipeline
// answers:
//
//	shards -> sum of each, at the weights -> by stripe of the coordinates -> sum in the order of shards
//
// The weights travel with each shard, or beyond 1000 as the name of a file of their version. A
// shard is summed within the bundle and leaves it as bytes: runs of what is not zero, or beyond
// 10^5 weights the names of files that have them, since a runner holds what travels in memory
// several times over. A stripe is 2^20 coordinates, and stripes are added side by side, each shard
// after the one before: so the bits are those of optim.Reducer in one process (--here), whatever
// failed and whoever was first.
//
// Before the first pass shards are surveyed, in one round or two: labels and features and how
// often they occur, columns with their moments, or the words of a lexicon. The driver makes a plan
// of that, which shards are opened with. Workers keep shards open from pass to pass. A worker takes
// one shard after the other, each with all goroutines of --workers: side by side they would take
// the cache from each other. A shard that is no longer the file that was surveyed ends the run.
//
// # What fails
//
// A worker whose storage fails, or that panics, tries three times. Then the runner has it, and
// where that gives up, as Prism does at once, the driver makes the pass again (--retries): a pass
// is a function of the weights. A line that cannot be read is no such failure: it travels as an
// answer, and ends the run with its file and line.
//
// # What 10^9 tokens cost, on paper
//
// Measured on the chunking task (211727 tokens in 8 shards, 20 templates, 22 labels), in processor
// time of one core of a loaded machine, Prism in process; testdata/bench/NOTES.md has how:
//
//	a pass of cross-entropy     at most 2.7 µs a token, with L-BFGS, and reading once
//	a pass of Beam              some 40 ms fixed, at four shards and few weights
//	the plan                    5.4 MB for 340000 features: 16 bytes each
//	weights                     8 bytes each: 7.4·10^6 without --observed, 0.46·10^6 with it
//
// 10^9 tokens are 4700 such corpora, in 1000 shards of 10^6 tokens. A pass of cross-entropy then
// takes 2700 s of one core: 27 s of 100 cores, beside which 40 ms are nothing. What is not nothing
// is the data that move. With 10^7 weights (--observed, --min_count) a version of the weights is
// 80 MB, which every worker reads: 8 GB a pass for 100 workers. A shard touches perhaps a tenth of
// them, 8 MB of gradient: 8 GB a pass for 1000 shards, through 10 stripes, so that each adder reads
// 0.8 GB. At 1 GB/s that is some 10 s a pass: more than 300 workers then do not help, and larger
// shards do. 100 iterations take about an hour. That a shard touches a tenth of the weights is a
// guess. A driver with 80 GB holds the 20
// vectors of L-BFGS (1.6 GB) with ease; what it needs memory for is the survey, the names of all
// features of all shards at once.
//
// Where a runner starts new workers for every pass, reading and numbering come on top: the survey,
// which does both, took 2.0 s where a pass took 1.1 s. See `beam worker`.
package main
