//go:build !unix

package main

import "time"

// cpuTime is wall time where the system cannot report processor time. On an idle machine that is
// the processor time of an operation on one thread, apart from the collector's.
func cpuTime() time.Duration { return time.Since(processStart) }

// peakKB is what the runtime has from the system, which never shrinks.
func peakKB() int64 { return heapKB() }
