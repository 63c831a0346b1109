package run

import "context"

// Breakable runs f, which looks at no context or seldom does, and returns the cause early when ctx
// is cancelled. Then f runs to its end on its own: what it writes must be read by nobody. A
// panic of f is one of Breakable.
func Breakable(ctx context.Context, f func()) error {
	if ctx.Done() == nil {
		f()
		return nil
	}
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		f()
	}()
	select {
	case p := <-done:
		if p != nil {
			panic(p)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
