// Package run is one training run, seen from outside: how it is watched, stopped, saved,
// interrupted and resumed. Every learner and every solver trains under it, so that users of the
// library and of the command line have the same features.
//
//	c := &run.Control{
//		Ctx:        ctx,                                   // interrupts the run
//		Stop:       run.Stop{Iterations: 500, Time: time.Hour},
//		Recorder:   run.RecorderFunc(func(r run.Row) error { fmt.Println(r.Iteration, r.Objective); return nil }),
//		Checkpoint: func(k *run.Checkpoint) error { return write("model.checkpoint", k) },
//	}
//
// A learner calls Begin. It then calls Loop with a function that takes one step, or Step after each
// step of another library's loop.
//
// # The types to know
//
//   - Control holds the caller's wishes beside a learner's settings. The zero value and nil run to
//     the learner's own limit, unwatched.
//   - Row is one line of a run's history, handed to a Recorder.
//   - Checkpoint is the state between two steps, and the one kind of file that keeps it.
//   - Run is the learner's side: it records, judges held-out examples, saves, and says when
//     the run is over.
//
// # What may be relied on
//
//   - A run resumed from a checkpoint takes the steps of the unbroken run, bit for bit, unless the
//     solver says otherwise in its result.
//   - A checkpoint of another learner, problem or data is an error that names what differs.
//   - A cancelled context ends a run within one step. The state after the last whole step is
//     saved first, and the error is an *InterruptedError.
//   - Each step is recorded once, in order. Seconds and evaluations continue from where the
//     interrupted run stopped.
//   - Each and Blocks pass a panic of a goroutine to their caller. The order in which they return
//     errors does not depend on the number of workers.
package run
