//go:build unix

// Package clock tells the processor time of the process, for measurements.
package clock

import (
	"syscall"
	"time"
)

// Processor is the processor time of the process so far: all threads together, the garbage
// collector's among them.
func Processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return time.Since(began)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var began = time.Now()
