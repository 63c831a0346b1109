// Package learn is the map of the learners, and the conventions that all of them follow. It
// has no code.
//
// # Rooms
//
//	learner/    the contract of a learner: options with tags, train, predict, explain
//	run/        one training run: context, watch, stop, checkpoint, resume, workers
//	evaluate/   one comparison: trials, nested choice, known fits, paired tests
//	optim/      objectives, sets, solvers; score (losses of a score), saddle (games), separable
//	            (losses that separate over rows)
//	dataset/    readers over io.Reader; dataset/table has rows of features, dense of numbers
//	space/      output spaces: best, loss-augmented, within an annotation, k best
//	metrics/    error rates and tests; model/ is the one file format
//	linear/     logistic and ridge regression
//	kernel/     kernels of rows and strings, their matrices, eigenvectors, ridge solves
//	skpca/      supervised projection onto features of several kernels
//	sparse/     functions of few kernels, of any centres and widths
//	federated/  learning where the data are: boosting, one round; mask adds up in secret
//	structured/ outputs of any kind under any loss, by kernel weights and decoders
//	boost/      boosting; boost/multi for rows of several sources; boost/tree grows the trees
//	tracking/   objects of movies, by assignment
//	sequence/   labellers of sequences; g2p/ pronunciation; transduce/ strings to strings
//	minimax/    one model for many losses; almo/ the same as a learner of tables
//	nn/         networks; nn/encoder those of sequences, under a lattice
//	gemm/       their products, and Cholesky's factors
//	margin/     max-margin, partial annotations, active learning, transfer, on any output space
//	resilient/  examples that count by multipliers: wrong ones are borne, and found
//
// A learner's own code is its mathematics: it calls a solver of optim, or run.Loop, and does
// not iterate over training by itself.
//
// # Conventions
//
// Where a package differs, its comment says so: g2p, minimax and sequence train by calls of their
// own. boost has a Train for each booster, which takes boost.Data, as multi.Train does.
//
//   - Train(examples, *Options, *run.Control) (*Model, *optim.Result, error). Options are the
//     learner's settings, Control is common to all runs; nil is the default of each. A context is a
//     field of Control for training, and the first argument of everything else that may take long.
//   - The zero value of an option is its default. learner.None turns off what is on by default,
//     such as a penalty; see package learner for the reason.
//   - (*Model).Write(io.Writer) error, and Read(io.Reader) (*Model, error) in the package.
//   - Enumerations are named strings: flags, files and errors spell them the same way.
//   - Weights of rows mean the same times any constant.
//   - Errors begin with the package's name and name the place: row, column, option, example.
//   - Results have the same bits for any number of workers.
package learn
