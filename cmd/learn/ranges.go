package main

import (
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
)

// span is where a numeric flag may lie. The library takes 0 for its default and negative
// numbers for none in places: a user's numbers are checked before they become either.
type span struct {
	flag        string
	value       float64
	least, most float64 // math.Inf(1) as most leaves out infinity itself, unless infinite
	above       bool    // least itself is out
	infinite    bool    // infinity is allowed
}

// counted is a flag of whole numbers from least to most.
func counted(flag string, v *int64, least, most float64) span {
	return span{flag: flag, value: float64(*v), least: least, most: most}
}

// share is a flag of numbers above 0 and at most 1.
func share(flag string, v *float64) span { return span{flag: flag, value: *v, most: 1, above: true} }

// within returns an error that names the first flag given whose value is out of its range,
// with what is allowed.
func within(fs *flags.Set, spans ...span) error {
	for _, s := range spans {
		low := s.value < s.least || s.above && s.value == s.least
		high := s.value > s.most || math.IsInf(s.value, 1) && !s.infinite
		if !fs.Given(s.flag) || !low && !high {
			continue
		}
		want := fmt.Sprintf("at least %v", s.least)
		if s.above {
			want = fmt.Sprintf("above %v", s.least)
		}
		switch {
		case !math.IsInf(s.most, 1):
			want += fmt.Sprintf(" and at most %v", s.most)
		case math.IsInf(s.value, 1):
			want += ", and finite"
		}
		return fmt.Errorf("flag --%s: %v is out of range: it must be %s", s.flag, s.value, want)
	}
	return nil
}
