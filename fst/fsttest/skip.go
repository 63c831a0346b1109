package fsttest

import "testing"

// OneGoroutine skips a test with the race detector, which has nothing to find where no code of the project's starts a
// goroutine, and takes ten times as long. Go's execution trace tells: go test -run '^TestName$' -trace FILE, and of
// go tool trace -d=parsed FILE the stacks of what goes from NotExist to Runnable.
func OneGoroutine(tb testing.TB) {
	tb.Helper()
	if RaceDetector {
		tb.Skip("one goroutine, and slow with the race detector")
	}
}
