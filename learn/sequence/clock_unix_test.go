//go:build unix

package sequence_test

import (
	"syscall"
	"time"
)

// processorTime is what the process has used so far, in all its threads.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return -1
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
