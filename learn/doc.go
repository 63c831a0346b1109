// Package learn is the map of the learners, and the conventions that all of them follow. It
// has no code.
//
// # Rooms
//
//	learner/    the contract of a learner: options with tags, train, predict, explain
//	run/        one training run: context, watch, stop, checkpoint, resume, workers
//	evaluate/   one comparison: trials, nested choice, known fits, paired tests
//	space/      output spaces: best, loss-augmented, within an annotation, k best
//	optim/      objectives, sets, solvers; score (losses of a score), saddle (games)
//	dataset/    readers over io.Reader; dataset/table has rows of features
//	metrics/    error rates and tests; model/ is the one file format
//	linear/     logistic and ridge regression
//	boost/      boosting; boost/multi for rows of several sources; boost/tree grows the trees
//	tracking/   objects of movies, by assignment
//	sequence/   labellers of sequences; g2p/ pronunciation
//	margin/     max-margin, partial annotations, active learning, transfer, on any output space
//	minimax/    one model for many losses; nn/ its networks, gemm/ their products
//
// A learner's own code is its mathematics: it calls a solver of optim, or run.Loop, and does
// not iterate over training by itself.
//
// # Conventions
//
// These hold for what is written from now on; packages that were written before follow as
// they are next touched, and each says where it still differs.
//
//   - Train(examples, *Options, *run.Control) (*Model, *optim.Result, error). Options are the
//     learner's settings, Control is what every run is told; nil is the default of each. A
//     context is a field of Control for training, and the first argument of everything else
//     that may take long.
//   - The zero value of an option is its default. learner.None asks for nothing at all where
//     the default is something, such as a penalty; see package learner for the reason.
//   - (*Model).Write(io.Writer) error, and Read(io.Reader) (*Model, error) in the package.
//   - Enumerations are named strings: flags, files and errors spell them the same way.
//   - Weights of rows mean the same times any constant.
//   - Errors begin with the package's name and name the place: row, column, option, example.
//   - Results have the same bits for any number of workers.
package learn
