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
// The optimiser (L-BFGS, with or without l1) runs here. It asks for the value and gradient of a
// sum over examples, and every time a pipeline answers:
//
//	shards -> sum of each, at the weights -> by stripe of the coordinates -> sum in the order of shards
//
// The weights are a side input, or beyond 10^5 a file of their version. A shard is summed within
// the bundle and leaves it as bytes: runs of what is not zero, or beyond 10^5 weights the names of
// files that have them, since a runner holds what travels in memory several times over. A stripe
// is 2^20 coordinates, and stripes are added side by side, each shard after the one before: so the
// bits are those of optim.Reducer in one process (--here), whatever failed and whoever was first.
//
// Before the first pass shards are surveyed, in one round or two: labels and features and how
// often they occur, columns with their moments, or the words of a lexicon. The driver makes a plan
// of that, which shards are opened with. Workers keep shards open from pass to pass.
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
// COSTS
package main
