package losses

import (
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses/internal/align"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// composeBanded returns strings∘uy without the pairs outside the band. They are never made: time
// and memory are those of the band. uy reads symbols against a reference of m, and tu tells how
// many of its symbols a state has read.
func composeBanded[W semiring.Weight[W]](s *stages, strings, uy *fst.Vector[W], tu *ops.Trace, m int,
	opts *GeneralOptions) (*fst.Vector[W], error) {
	byLength, at, err := separate(s, strings)
	if err != nil {
		return nil, err
	}
	hold(s, byLength)
	defer release(s, byLength)
	windows := map[int32][2][]int{}
	cells := int64(0)
	for _, x := range at {
		if _, ok := windows[x.length]; ok {
			continue
		}
		if cells += int64(x.length) + 1; x.t < 0 {
			continue
		}
		if err := s.room(stageLengths, byLength.NumStates(), cells*16); err != nil {
			return nil, err
		}
		first, last := align.BandWindows(int(x.length), m, opts.Band)
		windows[x.length] = [2][]int{first, last}
	}
	s.held += cells * 16
	defer func() { s.held -= cells * 16 }()
	c, err := ops.NewComposer[W](byLength, uy, &ops.ComposeOptions{Limits: s.left()})
	if err != nil {
		return nil, err
	}
	b := &bandComposer[W]{Composer: c, inside: func(q, v fst.StateID) bool {
		x := at[q]
		if x.t < 0 {
			return true
		}
		p, j := tu.States(v)
		if int(p) < len(opts.outside) && opts.outside[p] {
			return true
		}
		w := windows[x.length]
		return int(j) >= w[0][x.t] && int(j) <= w[1][x.t]
	}}
	out, err := ops.Materialize(b, s.left())
	if err != nil {
		return nil, s.fail(stageCompose, err)
	}
	ops.Connect(out)
	return out, nil
}

// bandComposer is a composition without the states for which inside is false. What
// is left is numbered anew.
type bandComposer[W semiring.Weight[W]] struct {
	*ops.Composer[W]
	inside func(s1, s2 fst.StateID) bool
	own    []fst.StateID // by state of the composition; NoState for those not met or outside
	theirs []fst.StateID // by state of this machine
}

// number returns the state for one of the composition, NoState outside the band.
func (b *bandComposer[W]) number(q fst.StateID) fst.StateID {
	for int(q) >= len(b.own) {
		b.own = append(b.own, fst.NoState)
	}
	if b.own[q] == fst.NoState {
		if s1, s2, _ := b.Tuple(q); !b.inside(s1, s2) {
			return fst.NoState
		}
		b.own[q] = fst.StateID(len(b.theirs))
		b.theirs = append(b.theirs, q)
	}
	return b.own[q]
}

func (b *bandComposer[W]) Start() (fst.StateID, error) {
	q, err := b.Composer.Start()
	if err != nil || q == fst.NoState {
		return q, err
	}
	return b.number(q), nil
}

func (b *bandComposer[W]) Expand(q fst.StateID, dst []fst.Arc[W]) (W, []fst.Arc[W], error) {
	base := len(dst)
	final, arcs, err := b.Composer.Expand(b.theirs[q], dst)
	if err != nil {
		return final, arcs, err
	}
	n := base
	for _, e := range arcs[base:] {
		if e.NextState = b.number(e.NextState); e.NextState != fst.NoState {
			arcs[n] = e
			n++
		}
	}
	return final, arcs[:n], nil
}

// Bytes is what Materialize counts beside the result: the pairs of the composition that lie
// outside are at most as many as its arcs.
func (b *bandComposer[W]) Bytes() int64 { return int64(len(b.own))*40 + int64(len(b.theirs))*4 }

// position counts the symbols written on the way to a state, and those of a whole string through
// it. t is -1 for the start of strings of several lengths.
type position struct{ t, length int32 }

// separate returns an acyclic machine whose states are split by the number of symbols before them,
// and by their total. Strings of one length need no more states when each state comes after one
// number of symbols. Strings and beam searches over sentences are so. Others have up to lengths²
// times as many. An automaton of strings of several lengths distinguishes what each of their bands
// does. With two lengths, 97 and 100, and band 1 it had 120000 states, where one length takes 1200.
func separate[W semiring.Weight[W]](s *stages, f *fst.Vector[W]) (*fst.Vector[W], []position, error) {
	out := fst.NewVector[W](0)
	if f.Start() == fst.NoState {
		return out, nil, nil
	}
	order, err := topologicalOrder[W](f)
	if err != nil {
		return nil, nil, fmt.Errorf("losses: a band needs strings of bounded length: what the labels "+
			"expand to: %w", err)
	}
	step := func(e fst.Arc[W]) int32 {
		if e.OLabel == fst.Epsilon {
			return 0
		}
		return 1
	}
	// before[q] and after[q] are the numbers of symbols on ways to q and from it, sorted.
	n := f.NumStates()
	before, after := make([][]int32, n), make([][]int32, n)
	entries := int64(0)
	count := func(list []int32) error {
		entries += int64(len(list))
		return s.room(stageLengths, n, entries*8)
	}
	before[f.Start()] = []int32{0}
	for _, q := range order {
		if err := count(before[q]); err != nil {
			return nil, nil, err
		}
		for _, e := range f.Arcs(q) {
			before[e.NextState] = union(before[e.NextState], before[q], step(e))
		}
	}
	for _, q := range slices.Backward(order) {
		if fst.IsFinal(f, q) {
			after[q] = []int32{0}
		}
		for _, e := range f.Arcs(q) {
			after[q] = union(after[q], after[e.NextState], step(e))
		}
		if err := count(after[q]); err != nil {
			return nil, nil, err
		}
	}
	s.held += entries * 8
	defer func() { s.held -= entries * 8 }()

	type place struct {
		q fst.StateID
		position
	}
	number := map[place]fst.StateID{}
	var places []place
	at := []position{}
	id := func(p place) fst.StateID {
		q, ok := number[p]
		if !ok {
			q = out.AddState()
			number[p] = q
			places, at = append(places, p), append(at, p.position)
		}
		return q
	}
	arcs := int64(0)
	first := fst.StateID(0)
	if lengths := after[f.Start()]; len(lengths) == 1 {
		out.SetStart(id(place{f.Start(), position{0, lengths[0]}}))
	} else {
		out.SetStart(out.AddState())
		places, at, first = append(places, place{}), append(at, position{-1, 0}), 1
		for _, l := range lengths {
			out.AddArc(0, fst.Arc[W]{Weight: semiring.One[W](),
				NextState: id(place{f.Start(), position{0, l}})})
		}
	}
	for q := first; int(q) < len(places); q++ {
		p := places[q]
		if fst.IsFinal(f, p.q) && p.t == p.length {
			out.SetFinal(q, f.Final(p.q))
		}
		for _, e := range f.Arcs(p.q) {
			t := p.t + step(e)
			if _, ok := slices.BinarySearch(after[e.NextState], p.length-t); ok {
				e.NextState = id(place{e.NextState, position{t, p.length}})
				out.AddArc(q, e)
				arcs++
			}
		}
		size := ops.SizeOf[W](len(places), arcs)
		if err := s.room(stageLengths, len(places), size.Bytes+int64(len(places))*64); err != nil {
			return nil, nil, err
		}
		if s.Ctx != nil && q&255 == 0 && s.Ctx.Err() != nil {
			return nil, nil, fmt.Errorf("losses: %s: %w", stageLengths, s.Ctx.Err())
		}
	}
	return out, at, nil
}

// union returns the sorted set of a's elements and b's plus d.
func union(a, b []int32, d int32) []int32 {
	inside := true
	for i, j := 0, 0; j < len(b); j++ {
		for i < len(a) && a[i] < b[j]+d {
			i++
		}
		if inside = i < len(a) && a[i] == b[j]+d; !inside {
			break
		}
	}
	if inside { // most often
		return a
	}
	out := make([]int32, 0, len(a)+1)
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case j == len(b) || i < len(a) && a[i] < b[j]+d:
			out = append(out, a[i])
			i++
		case i == len(a) || a[i] > b[j]+d:
			out = append(out, b[j]+d)
			j++
		default:
			out = append(out, a[i])
			i, j = i+1, j+1
		}
	}
	return out
}
