//go:build !race

package fsttest

const RaceDetector = false

const detectorRoom = 0
