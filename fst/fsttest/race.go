//go:build race

package fsttest

// RaceDetector is whether the race detector watches: it allocates beside the code, and empties pools at random, so that
// what a test takes of the heap says nothing.
const RaceDetector = true

// detectorRoom is what the race detector's own runtime may allocate beside the code that it watches.
const detectorRoom = 1 << 18
