package pdt

import "github.com/tropica-fst/tropica/fst"

// places numbers keys below a bound. It uses open addressing while they are few, and an array once
// that takes no more room. Each search has its own: one table for all of them misses the cache at
// each step.
type places struct {
	slots []place
	all   []int32 // of each key; nil while slots are used
	n     int
}

// place is a slot: a key, biased by one so that zero is free, and its number.
type place struct{ key, number int32 }

const (
	placeSize  = 8
	numberSize = 4
	firstSlots = 8
)

// at returns where the number of the key is, zero when it is new. What places grows by
// is added to held. The next call may move it.
func (p *places) at(key int32, bound int, held *int64) *int32 {
	if p.all != nil {
		return &p.all[key]
	}
	if 4*p.n >= 3*len(p.slots) {
		before := p.bytes()
		p.grow(bound)
		*held += p.bytes() - before
		if p.all != nil {
			return &p.all[key]
		}
	}
	s := p.slot(key)
	if s.key == 0 {
		s.key = key + 1
		p.n++
	}
	return &s.number
}

// find returns the number of the key, zero if there is none.
func (p *places) find(key int32) int32 {
	switch {
	case p.all != nil:
		return p.all[key]
	case p.slots == nil:
		return 0
	}
	return p.slot(key).number
}

// slot returns the slot of the key, or the free one for it.
func (p *places) slot(key int32) *place {
	mask := uint64(len(p.slots) - 1)
	for i := fst.Mix(uint64(key)) & mask; ; i = (i + 1) & mask {
		if s := &p.slots[i]; s.key == key+1 || s.key == 0 {
			return s
		}
	}
}

func (p *places) grow(bound int) {
	old := p.slots
	n := max(firstSlots, 2*len(old))
	if numberSize*bound <= placeSize*n {
		p.all, p.slots = make([]int32, bound), nil
		for _, s := range old {
			if s.key != 0 {
				p.all[s.key-1] = s.number
			}
		}
		return
	}
	p.slots = make([]place, n)
	for _, s := range old {
		if s.key != 0 {
			*p.slot(s.key - 1) = s
		}
	}
}

// bytes is the room that it takes.
func (p *places) bytes() int64 {
	return placeSize*int64(len(p.slots)) + numberSize*int64(len(p.all))
}
