// Package learner is the contract between learners and the programs that run them. It defines what
// a learner is, and how its options are declared, so that flags, help, ranges, grids and settings
// are written once for all learners.
//
//	type Options struct {
//		L2   float64 `flag:"l2" default:"1" min:"0" help:"Weight of half the squared weights"`
//		Loss string  `flag:"loss" values:"auto,logistic,squared" default:"auto" help:"Loss of a row"`
//	}
//
//	func Train(t *table.Table, opts *Options, c *run.Control) (*Model, *optim.Result, error) {
//		var o Options
//		if err := learner.Complete(&o, opts); err != nil { // defaults, ranges
//			return nil, nil, err
//		}
//		penalty := learner.Amount(o.L2) // 0 for None
//		...
//	}
//
// # The types to know
//
//   - Learner has a name, options, Train and Read; it is of examples D with predictions P.
//   - Model is what training gives: it predicts, explains itself, and is written.
//   - Option is one field of an options struct, as its tags declare it.
//   - Section is a table of facts: what models explain and evaluations report.
//
// # Zero is the default
//
// The zero value of every field of an options struct is its default, and a nil pointer is all
// defaults. Sometimes nothing at all is a sensible value beside a default that is not zero, such as
// no penalty beside a penalty of 1. None stands for it; the command line turns a 0 that a user
// writes into None. The other convention, where zero is zero and a constructor fills in defaults,
// was rejected. A field added later would be zero in all existing code, and &Options{Rounds: 500}
// would mean no learning rate.
package learner
