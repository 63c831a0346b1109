//go:build !unix

package main

// peakKB is what the runtime has from the system, which never shrinks.
func peakKB() int64 { return heapKB() }
