//go:build unix

package main

import (
	"runtime"
	"syscall"
)

// peakKB is the most that was resident at once since the process began.
func peakKB() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return heapKB()
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss) >> 10 // bytes there
	}
	return int64(u.Maxrss)
}
