package square

import (
	"cmp"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// NewSearch prepares the trimmed square of f. pairs bounds its pairs and their arcs, zero is no
// bound; lim counts pairs as states. Errors carry the name op.
func NewSearch[W semiring.Weight[W]](op string, f fst.Expanded[W], pairs int64,
	lim run.Limits) (*Square[W], error) {
	s, err := New(f, true, pairs, &run.Stopwatch{Op: op, Ctx: lim.Ctx})
	if err != nil {
		return nil, err
	}
	s.Meter = run.Meter{Op: op, Lim: lim}
	return s, nil
}

// LeadsApart returns the steps of two paths of s.f with one input and two outputs, of the fewest
// steps; nil when there are none.
func LeadsApart[W semiring.Weight[W]](s *Square[W]) ([]Step, error) {
	s.epsFree = false
	start := s.F.Start()
	if start == fst.NoState || !s.Live[start] {
		return nil, nil
	}
	s.PerPair = 64 // kept and reached, as below, and the room of the latter to grow
	x := &leadSearch[W]{Square: s, leads: fst.NewTable[lead](nil)}
	x.ids = fst.NewTable(fst.Mix)
	x.add(start, start, -1, freshLead{})
	for head := int32(0); int(head) < len(x.reached); head++ {
		if err := x.Check(); err != nil {
			return nil, err
		}
		if err := x.trim(); err != nil {
			return nil, err
		}
		if x.future != nil && !x.future(x.Pairs[x.reached[head].pair]) {
			continue
		}
		if err := x.expand(head); err != nil {
			return nil, err
		}
		if x.evidence {
			var steps []Step
			for p := &x.reached[len(x.reached)-1]; p.from >= 0; p = &x.reached[p.from] {
				steps = append(steps, Step{x.reached[p.from].pair, Arc{Left: p.left, Right: p.right}})
			}
			slices.Reverse(steps)
			return steps, nil
		}
	}
	return nil, nil
}

// lead is what the outputs of two paths have after their common prefix, or farApart. Each label
// takes four bytes.
type lead struct{ left, right string }

// farApart is the lead that no way on makes up for.
var farApart = lead{"apart", "apart"}

// after is the lead when the left path puts out one label more, and the right one.
func (d lead) after(left, right fst.Label) lead {
	if d == farApart {
		return d
	}
	d.left, d.right = ReduceDelay(AppendLabel(d.left, left), AppendLabel(d.right, right))
	if d.left != "" && d.right != "" {
		return farApart
	}
	return d
}

// first is the label that the other side needs next, ε where it is not behind.
func (d lead) first() fst.Label {
	s := d.left + d.right // one is empty
	if s == "" {
		return fst.Epsilon
	}
	return fst.Label(int32(uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24))
}

func (d lead) bytes() int64 {
	if d == farApart {
		return 0
	}
	return int64(len(d.left) + len(d.right))
}

// leadPlace is a pair with a lead, by its number, with which it was reached by two arcs from the
// place before.
type leadPlace struct {
	lead        int32
	pair, from  int32
	left, right int32 // as those of pairArc
}

// leadSearch is the search of Functional.
type leadSearch[W semiring.Weight[W]] struct {
	*Square[W]
	leads    *fst.Table[lead]
	reached  []leadPlace
	kept     [][2]int32 // of each pair its places, plus one; zero is none
	evidence bool       // the last place reached is a pair of final states with different outputs

	future func(pair uint64) bool // whether one string takes both states to final ones; nil is not known
	fresh  []freshLead            // of the label in hand
	steps  int64                  // pairs of groups that were looked at, those of a pair for each of its leads
}

// freshLead is the lead that two arcs make of another.
type freshLead struct {
	lead        lead
	left, right int32
}

// longLeads is how many bytes leads may take before it pays to find out which pairs lead to final
// states, and to drop the others.
const longLeads = 1 << 22

// trim finds out which pairs lead to final states, when that has become worth while.
func (x *leadSearch[W]) trim() error {
	if x.future != nil || x.Held < longLeads+64*int64(len(x.reached)) {
		return nil
	}
	s, err := NewSearch(x.Meter.Op, x.F, x.budget, x.Meter.Lim)
	if err != nil {
		return err
	}
	s.epsFree = false
	s.Held = x.Held + int64(len(x.Pairs))*(pairBytes+x.PerPair)
	if err := s.Explore(); err != nil {
		return err
	}
	rest := s.finalDistances()
	s.List, s.First, s.Pairs = nil, nil, nil
	x.Held += s.ids.Bytes() + 4*int64(len(rest))
	x.future = func(pair uint64) bool { return rest[s.ids.Find(pair)] >= 0 }
	return nil
}

// add takes up the pair of two states with a lead, unless that has two, or this one already.
func (x *leadSearch[W]) add(l, r fst.StateID, from int32, by freshLead) {
	if x.future != nil && !x.future(PairKey(l, r)) {
		return
	}
	pair := x.id(l, r)
	if int(pair) == len(x.kept) {
		x.kept = append(x.kept, [2]int32{})
	}
	k := &x.kept[pair]
	i := slices.Index(k[:], 0)
	if i < 0 {
		return
	}
	d, isNew := x.leads.ID(by.lead)
	if isNew {
		x.Held += by.lead.bytes() + 96
	}
	if i == 1 && x.reached[k[0]-1].lead == int32(d) {
		return
	}
	x.reached = append(x.reached, leadPlace{int32(d), pair, from, by.left, by.right})
	k[i] = int32(len(x.reached))
	x.evidence = x.evidence || by.lead != (lead{}) && x.rest[l] == 0 && x.rest[r] == 0
}

// expand adds the places that one step leads to from a place, in the order of the left arcs and
// then of the right ones. On either side ε comes before all other labels.
func (x *leadSearch[W]) expand(place int32) error {
	l, r := x.States(x.reached[place].pair)
	left, right := x.F.Arcs(l), x.F.Arcs(r)
	again := x.kept[x.reached[place].pair][0] != place+1 // its arcs are counted
	leftFirst := x.readsSilence(l)
	stays := []int32{-1}
	epsilons := func(v *fan, arcs []fst.Arc[W]) []int32 {
		n := 0
		for n < len(v.first) && arcs[v.first[n]].ILabel <= fst.Epsilon {
			n++
		}
		from := 0
		for from < n && arcs[v.first[from]].ILabel < fst.Epsilon {
			from++
		}
		return v.first[from:n]
	}
	if leftFirst || !x.readsSilence(r) {
		if err := x.step(place, epsilons(x.fan(l), left), stays, again); err != nil || x.evidence || leftFirst {
			return err
		}
	}
	if err := x.step(place, stays, epsilons(x.fan(r), right), again); err != nil || x.evidence {
		return err
	}
	return x.eachLabel(l, r, func(label fst.Label, lo, ro []int32) error {
		if label == fst.Epsilon || x.evidence {
			return nil
		}
		return x.step(place, lo, ro, again)
	})
}

// step adds the places that arcs with one label lead to. The arcs are those of the groups of the
// two fans that lo and ro stand for; -1 is to stay.
func (x *leadSearch[W]) step(place int32, lo, ro []int32, again bool) error {
	at := x.leads.Key(fst.StateID(x.reached[place].lead))
	l, r := x.States(x.reached[place].pair)
	next := func(q fst.StateID, k int32) fst.StateID {
		if k < 0 {
			return q
		}
		return x.F.Arcs(q)[k].NextState
	}
	x.fresh = x.fresh[:0]
	take := func(p freshLead) { x.add(next(l, p.left), next(r, p.right), place, p) }
	inOrder := x.fan(l).others == nil && x.fan(r).others == nil
	for _, i := range lo {
		for _, k := range ro {
			if !again {
				x.looked++
			}
			if x.steps++; x.steps%checkPairArcs == 0 {
				if err := x.Check(); err != nil {
					return err
				}
			}
			if inOrder {
				if take(x.first(at, l, r, i, k)); x.evidence {
					return nil
				}
				continue
			}
			x.ahead(at, l, r, i, k, func(p freshLead) { x.fresh = append(x.fresh, p) })
		}
	}
	if !inOrder {
		slices.SortFunc(x.fresh, func(a, b freshLead) int {
			return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.right, b.right))
		})
	}
	for _, p := range x.fresh {
		if take(p); x.evidence {
			break
		}
	}
	return nil
}

// output is the output of arc k of q, ε for -1.
func (x *leadSearch[W]) output(q fst.StateID, k int32) fst.Label {
	if k < 0 {
		return fst.Epsilon
	}
	return x.F.Arcs(q)[k].OLabel
}

// first is the lead that d becomes by two arcs.
func (x *leadSearch[W]) first(d lead, l, r fst.StateID, i, k int32) freshLead {
	return freshLead{d.after(x.output(l, i), x.output(r, k)), i, k}
}

// ahead calls do for the first lead that d becomes by arcs of the groups i and k, and for the first
// other one, if any. The left arcs come in order, and for each the right ones.
func (x *leadSearch[W]) ahead(d lead, l, r fst.StateID, i, k int32, do func(freshLead)) {
	first := x.first(d, l, r, i, k)
	do(first)
	v, w := x.fan(l), x.fan(r)
	if v.others[i] == nil && w.others[k] == nil || d == farApart {
		return
	}
	b := func(k int32) fst.Label { return x.output(r, k) }
	// Against a left arc that is ahead, a right arc is apart if it puts out a label other than ε
	// and the one required. Any two other right arcs have different leads.
	rights := w.group(k)
	for _, i := range v.group(i) {
		needed := lead{left: AppendLabel(d.left, x.output(l, i))}.first()
		places := [4]int{0, 1, w.place(k, rights, fst.Epsilon, b), w.place(k, rights, needed, b)}
		slices.Sort(places[:])
		for _, n := range places {
			if n < 0 || n >= len(rights) {
				continue
			}
			if other := x.first(d, l, r, i, rights[n]); other.lead != first.lead {
				do(other)
				return
			}
		}
	}
}
