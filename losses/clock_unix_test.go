//go:build unix

package losses

import "syscall"

// userTime is the processor time of the process, in seconds.
func userTime() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()) / 1e9
}
