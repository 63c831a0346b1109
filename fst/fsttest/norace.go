//go:build !race

package fsttest

const detectorRoom = 0
