package align

import (
	"github.com/tropica-fst/tropica/losses/internal/features"
)

// laneArgs is what moveWords of AVX-512 reads; its layout is known there.
type laneArgs struct {
	keys            *uint64
	n               int // a multiple of 8
	out             *uint64
	off             *uint8
	match           *uint64 // by class: the lowest bit of each step whose symbol matches
	classes, stride int     // out and off have stride entries for each class
	dropped         uint64
	drop            int
	all, before     uint64
	sure, turn      int
	low, high       int
	limAll          uint64
}

// lanesFor returns the move of eight columns at a time for gains hi and lo; nil where there is
// none.
func lanesFor(hi, lo int) func(*laneArgs) {
	if !features.Lanes {
		return nil
	}
	switch [2]int{hi, lo} {
	case [2]int{1, 0}:
		return moveWords10
	case [2]int{2, 1}:
		return moveWords21
	case [2]int{4, 1}:
		return moveWords41
	case [2]int{4, 3}:
		return moveWords43
	}
	return nil
}
