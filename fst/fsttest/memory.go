package fsttest

import (
	"runtime"
	"testing"
)

// Allocating fails the test when f allocates more than limit bytes, what it frees again included: a reader of n bytes of
// hostile input is to get by with a multiple of n, whatever counts the input claims. Nothing else should run meanwhile.
func Allocating(tb testing.TB, limit int, f func()) {
	tb.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(limit+detectorRoom) {
		tb.Fatalf("%d bytes were allocated, at most %d are allowed", took, limit)
	}
}
