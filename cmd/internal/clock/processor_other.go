//go:build !unix

// Package clock tells the processor time of the process, for measurements.
package clock

import "time"

// Processor is wall time where the system cannot report processor time. On an idle machine that is
// the processor time of an operation on one thread, apart from the collector's.
func Processor() time.Duration { return time.Since(began) }

var began = time.Now()
