//go:build race

package fsttest

// detectorRoom is what the race detector's own runtime may allocate beside the code that it watches.
const detectorRoom = 1 << 18
