//go:build !unix

package main

import "time"

// cpuTime is wall time where the system is not asked: on a calm machine it is
// the processor time of an operation on one thread, but for the collector's.
func cpuTime() time.Duration { return time.Since(processStart) }

// peakKB is what the runtime has from the system, which never shrinks.
func peakKB() int64 { return heapKB() }
