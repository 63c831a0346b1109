// Package calls serves callers that are not Go: C, Python, or a program behind a pipe. Each
// call has a number and one struct of arguments, whose layout C and Go share. Pointers in it
// are addresses in a Memory: the process itself, or memory shared with another process.
//
//	s := calls.NewServer()
//	err := s.Call(calls.CallEvaluate, args, calls.Process{})
//
// # Types to know
//
//   - Server holds what handles stand for: losses, sessions, machines, contexts to cancel.
//   - Memory turns an address and a size into bytes, or refuses.
//   - Error has a Status, the text, and the number of the example at fault.
//
// # What may be relied on
//
// A call never panics, keeps no address after it returns, and writes outputs only where the
// arguments say. Calls may run at the same time; those of one session wait for each other.
// Results have the same bits for any number of workers.
package calls
