//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime is that of the process, all threads together.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return time.Since(began)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var began = time.Now()
