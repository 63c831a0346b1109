package square

import (
	"cmp"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// fan is what leaves a state, as the square needs it. Of kept arcs with one input label and one
// next state, the first stands for all. So two states with a thousand such arcs each have one arc
// of the square for them, not a million.
type fan struct {
	first []int32 // of each such group, by input label, then number
	// others has the groups in which outputs differ: of each output the first arc, the one that
	// stands for all among them.
	others   map[int32][]int32
	byOutput map[int32][]int32 // places in these, by output; made where one is asked for
	twice    [][2]int32        // the first two arcs of each group that has more than one
}

// fan returns the fan of q. O(arcs) of q, and a logarithm where these are not sorted, once.
func (s *Square[W]) fan(q fst.StateID) *fan {
	if s.fans[q] == nil {
		s.fans[q] = s.newFan(q)
	}
	return s.fans[q]
}

func (s *Square[W]) newFan(q fst.StateID) *fan {
	arcs := s.F.Arcs(q)
	type output struct {
		first int32
		label fst.Label
	}
	const small = 64 // to clear a map that has grown takes as long again and again
	v := &fan{}
	var byNext map[fst.StateID]int32
	var outputs map[output]bool
	var seconds map[int32]bool // groups that have a second arc
	order := s.labelOrder(q)
	for i := 0; i < len(order); {
		label := arcs[order[i]].ILabel
		end := i + 1
		for end < len(order) && arcs[order[end]].ILabel == label {
			end++
		}
		if len(byNext) > small || byNext == nil && end > i+1 {
			byNext = map[fst.StateID]int32{}
		}
		clear(byNext)
		for ; i < end; i++ {
			k := order[i]
			e := &arcs[k]
			if !s.keep(e) {
				continue
			}
			if byNext == nil {
				v.first = append(v.first, k)
				continue
			}
			first, ok := byNext[e.NextState]
			if !ok {
				byNext[e.NextState] = k
				v.first = append(v.first, k)
				continue
			}
			if !seconds[first] {
				if seconds == nil {
					seconds = map[int32]bool{}
				}
				seconds[first] = true
				v.twice = append(v.twice, [2]int32{first, k})
			}
			if e.OLabel == arcs[first].OLabel || outputs[output{first, e.OLabel}] {
				continue
			}
			if outputs == nil {
				outputs, v.others = map[output]bool{}, map[int32][]int32{}
			}
			outputs[output{first, e.OLabel}] = true
			if v.others[first] == nil {
				v.others[first] = []int32{first}
			}
			v.others[first] = append(v.others[first], k)
		}
	}
	v.first = slices.Clip(v.first)
	s.Held += 96 + 4*int64(len(v.first)) + 8*int64(len(v.twice)) + 16*int64(len(outputs))
	return v
}

// group returns the arcs that arc k of a fan stands for, one of each output.
func (v *fan) group(k int32) []int32 {
	if g := v.others[k]; g != nil {
		return g
	}
	return []int32{k}
}

// place returns the place in group k of the arc with an output, -1 if there is none.
func (v *fan) place(k int32, group []int32, label fst.Label, output func(int32) fst.Label) int {
	if len(group) <= 8 {
		return slices.IndexFunc(group, func(k int32) bool { return output(k) == label })
	}
	sorted := v.byOutput[k]
	if sorted == nil {
		for i := range group {
			sorted = append(sorted, int32(i))
		}
		slices.SortFunc(sorted, func(a, b int32) int { return cmp.Compare(output(group[a]), output(group[b])) })
		if v.byOutput == nil {
			v.byOutput = map[int32][]int32{}
		}
		v.byOutput[k] = sorted
	}
	i, ok := slices.BinarySearchFunc(sorted, label, func(i int32,
		l fst.Label) int {
		return cmp.Compare(output(group[i]), l)
	})
	if !ok {
		return -1
	}
	return int(sorted[i])
}

// labelOrder returns the arcs of q by input label.
func (s *Square[W]) labelOrder(q fst.StateID) []int32 {
	arcs := s.F.Arcs(q)
	o := make([]int32, len(arcs))
	sorted := true
	for i := range o {
		o[i] = int32(i)
		sorted = sorted && (i == 0 || arcs[i-1].ILabel <= arcs[i].ILabel)
	}
	if !sorted {
		slices.SortFunc(o, func(i, k int32) int {
			return cmp.Or(cmp.Compare(arcs[i].ILabel, arcs[k].ILabel), cmp.Compare(i, k))
		})
	}
	return o
}

// eachLabel calls do for each label that both l and r read, until it returns an error. do gets the
// parts of their fans that read the label.
func (s *Square[W]) eachLabel(l, r fst.StateID, do func(label fst.Label, lo, ro []int32) error) error {
	left, right := s.F.Arcs(l), s.F.Arcs(r)
	lo, ro := s.fan(l).first, s.fan(r).first
	for len(lo) > 0 && len(ro) > 0 {
		a, b := left[lo[0]].ILabel, right[ro[0]].ILabel
		if a < b {
			lo = lo[1:]
			continue
		}
		if b < a {
			ro = ro[1:]
			continue
		}
		i, j := 1, 1
		for i < len(lo) && left[lo[i]].ILabel == a {
			i++
		}
		for j < len(ro) && right[ro[j]].ILabel == a {
			j++
		}
		if err := do(a, lo[:i], ro[:j]); err != nil {
			return err
		}
		lo, ro = lo[i:], ro[j:]
	}
	return nil
}

// alternatives returns the arcs of the square that e, which leaves pair p, stands for, where
// outputs differ. The left ones come in order, and for each the right ones. It returns at most
// most; more tells whether there are others. The result is valid until the next call.
func (s *Square[W]) alternatives(p int32, e Arc, most int) (list []Arc, more bool) {
	s.some = append(s.some[:0], e)
	if !s.manifold {
		return s.some, false
	}
	l, r := s.States(p)
	a, b := s.fan(l).others[e.Left], s.fan(r).others[e.Right]
	if a == nil && b == nil {
		return s.some, false
	}
	s.some = s.some[:0]
	for _, i := range s.fan(l).group(e.Left) {
		for _, k := range s.fan(r).group(e.Right) {
			if len(s.some) >= most {
				return s.some, true
			}
			s.some = append(s.some, Arc{e.To, i, k})
		}
	}
	return s.some, false
}

// stepsToFinal returns for each state the number of arcs to the nearest final one, by arcs that are
// not 0̄; -1 where there is none.
func stepsToFinal[W semiring.Weight[W]](f fst.Expanded[W], w *run.Stopwatch) ([]int32, error) {
	n := f.NumStates()
	first := make([]int64, n+2)
	for q := range n {
		arcs := f.Arcs(fst.StateID(q))
		if err := w.Spend(1 + len(arcs)); err != nil {
			return nil, err
		}
		for i := range arcs {
			first[arcs[i].NextState+2]++
		}
	}
	for q := range n {
		first[q+2] += first[q+1]
	}
	from := make([]fst.StateID, first[n+1])
	for q := range n {
		arcs := f.Arcs(fst.StateID(q))
		if err := w.Spend(1 + len(arcs)); err != nil {
			return nil, err
		}
		for i := range arcs {
			at := &first[arcs[i].NextState+1]
			from[*at] = fst.StateID(q)
			if semiring.IsZero(arcs[i].Weight) {
				from[*at] = fst.NoState
			}
			*at++
		}
	}
	steps := make([]int32, n)
	var queue []fst.StateID
	for q := range fst.StateID(n) {
		steps[q] = -1
		if fst.IsFinal[W](f, q) {
			steps[q] = 0
			queue = append(queue, q)
		}
	}
	for head := 0; head < len(queue); head++ {
		q := queue[head]
		if err := w.Spend(1 + int(first[q+1]-first[q])); err != nil {
			return nil, err
		}
		for _, p := range from[first[q]:first[q+1]] {
			if p != fst.NoState && steps[p] < 0 {
				steps[p] = steps[q] + 1
				queue = append(queue, p)
			}
		}
	}
	return steps, nil
}

// Coaccessible marks the states that reach a final one by arcs that are not 0̄.
func Coaccessible[W semiring.Weight[W]](f fst.Expanded[W]) []bool {
	live := make([]bool, f.NumStates())
	steps, _ := stepsToFinal(f, &run.Stopwatch{}) // nothing stops it
	for q, n := range steps {
		live[q] = n >= 0
	}
	return live
}

// SharedFutures returns a test whether some string leads two states of f to final ones. Both states
// must lie on accepting paths, and be reached by one string. A pair counts once, whichever state
// comes first. Its arcs are held, in four bytes each, as long as it is not known where they lead.
//
// It also returns the bytes that the test holds, and is over with s.
func (s *Square[W]) SharedFutures() (related func(p, q fst.StateID) bool, held int64, err error) {
	s.ids = fst.NewTable(fst.Mix)
	var live []bool
	first := []int64{0}
	var to []int32
	id := func(p, q fst.StateID) int32 {
		n, isNew := s.ids.ID(PairKey(min(p, q), max(p, q)))
		if isNew {
			s.Pairs = append(s.Pairs, PairKey(min(p, q), max(p, q)))
			live = append(live, fst.IsFinal[W](s.F, p) && fst.IsFinal[W](s.F, q))
		}
		return int32(n)
	}
	check := func(ahead int64) error {
		return s.Meter.Check(run.Progress{States: len(s.Pairs), Arcs: s.looked,
			Bytes: 8*int64(cap(s.Pairs)+cap(first)) + int64(cap(live)) + 4*int64(cap(to)) + s.ids.Bytes() + s.Held +
				ahead})
	}
	// visit calls do for the two next states of each step from l and r, different ones and,
	// where l and r differ, the same.
	visit := func(l, r fst.StateID, do func(p, q fst.StateID)) error {
		left, right := s.F.Arcs(l), s.F.Arcs(r)
		return s.eachLabel(l, r, func(_ fst.Label, lo, ro []int32) error {
			for n, i := range lo {
				if l == r {
					ro = lo[n+1:]
				}
				for _, k := range ro {
					do(left[i].NextState, right[k].NextState)
					if s.looked++; s.looked%checkPairArcs == 0 {
						if err := check(0); err != nil {
							return err
						}
					}
				}
			}
			return nil
		})
	}
	for q := range fst.StateID(s.F.NumStates()) {
		if err := visit(q, q, func(p, t fst.StateID) { id(p, t) }); err != nil {
			return nil, 0, err
		}
	}
	for p := 0; p < len(s.Pairs); p++ {
		l, r := s.States(int32(p))
		if err := visit(l, r, func(t, u fst.StateID) {
			if t == u {
				live[p] = true
			} else if n := id(t, u); !live[p] {
				to = append(to, n)
			}
		}); err != nil {
			return nil, 0, err
		}
		if live[p] {
			to = to[:first[p]]
		}
		first = append(first, int64(len(to)))
		if err := check(0); err != nil {
			return nil, 0, err
		}
	}
	if err := check(12*int64(len(s.Pairs)) + 4*int64(len(to))); err != nil { // the way back
		return nil, 0, err
	}
	back := make([]int64, len(s.Pairs)+2)
	for _, t := range to {
		back[t+2]++
	}
	for p := range s.Pairs {
		back[p+2] += back[p+1]
	}
	from := make([]int32, len(to))
	var queue []int32
	for p := range s.Pairs {
		for _, t := range to[first[p]:first[p+1]] {
			from[back[t+1]] = int32(p)
			back[t+1]++
		}
		if live[p] {
			queue = append(queue, int32(p))
		}
	}
	for len(queue) > 0 {
		t := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, p := range from[back[t]:back[t+1]] {
			if !live[p] {
				live[p] = true
				queue = append(queue, p)
			}
		}
	}
	ids := s.ids
	return func(p, q fst.StateID) bool {
		if p == q {
			return true
		}
		n := ids.Find(PairKey(min(p, q), max(p, q)))
		return n != fst.NoState && live[n]
	}, ids.Bytes() + int64(cap(live)), nil
}
