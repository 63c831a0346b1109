package ops

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/square"
	"github.com/tropica-fst/tropica/semiring"
)

const opDisambiguate = "Disambiguate"

// DisambiguateOptions adjusts Disambiguate; nil is the same as the zero value.
type DisambiguateOptions struct {
	// Delta rounds residuals to its multiples before subsets are compared; zero
	// compares them exactly. OpenFst's tool rounds to 1/1024.
	Delta float64

	// SubsequentialLabel stands on the input side of the arcs that put out what is left of an
	// output string at a final state. Zero is ε.
	SubsequentialLabel fst.Label

	Limits // of the machine before ambiguities are removed, which may be larger
}

// DisambiguatePrunedOptions adjusts DisambiguatePruned; nil is the same as the
// zero value, which prunes nothing.
type DisambiguatePrunedOptions[W any] struct {
	DisambiguateOptions
	Prune PruneOptions[W] // Distances are not looked at
}

// ErrSplit reports residuals that rounding keeps from meeting where they must.
var ErrSplit = errors.New("rounding splits states in a way that cannot be mended (try another Delta; --delta)")

// Disambiguate returns a machine with the relation of f in which no two accepting paths have the
// same input labels. Each string has one path, with the ⊕-sum of all. Unlike a deterministic
// machine, it may have several arcs with one label at a state. Every unambiguous machine, and some
// machines that cannot be determinized, can be disambiguated.
//
// ε is an ordinary label: remove it first with RmEpsilon, or two paths may differ
// in it alone.
//
// First comes a subset construction like that of Determinize, in which a subset has a head, one of
// its states. Only the head's arcs are followed. Each leads into a subset of its own, with the
// states that share a future with the new head, that is, some string takes both to final states.
//
// Then superfluous arcs and final weights are removed. Arcs compete if they have one label, come
// from states that one string reaches, and lead into one state. So do arcs into states with one
// head whose outputs still to come differ. Of competing arcs only that of the lowest head stays. A
// transducer is disambiguated as an acceptor whose weights carry output strings; it must be
// functional, or the error is a FunctionalError.
//
// The weights must be zero-sum-free and left divisible. The construction ends for all acyclic
// machines, unweighted acceptors and unambiguous machines. Over the tropical semiring it also ends
// where states that one string reaches and that share a future are twins. From time to time a
// growing construction looks for a breach of that, as Determinize does, and returns it as a
// TwinsError at a million states. What stops at a limit is a DeterminizeError around the
// LimitError.
//
// Acceptors come out with the states and the order of arcs that OpenFst has. Of a transducer's last
// outputs OpenFst confuses the heads, and can so keep two paths for one string or none. Here they
// belong to the state that they end.
//
// Cost: that of the subset construction, exponential at worst, and O(|E|²) for the
// pairs of states of its result that one string reaches.
//
// After M. Mohri and M. Riley, "On the disambiguation of weighted automata", in
// Implementation and Application of Automata (CIAA), 263-278, 2015.
func Disambiguate[W semiring.Divisible[W]](f fst.Expanded[W], opts *DisambiguateOptions) (*fst.Vector[W], error) {
	return disambiguate(f, opts, nil)
}

// DisambiguatePruned is Disambiguate with a Prune of the machine before
// ambiguities are removed: what is left is of the best paths. It does not help a
// construction to its end.
func DisambiguatePruned[W DividedPath[W]](f fst.Expanded[W], opts *DisambiguatePrunedOptions[W]) (*fst.Vector[W], error) {
	var o DisambiguatePrunedOptions[W]
	if opts != nil {
		o = *opts
	}
	o.Prune.Distances = nil
	return disambiguate(f, &o.DisambiguateOptions, func(d *disambiguator[W]) error {
		return prune(d.out, &o.Prune, d.deleteStates)
	})
}

// disambiguate is Disambiguate with something done between the construction and
// the removal of ambiguities.
func disambiguate[W semiring.Divisible[W]](f fst.Expanded[W], opts *DisambiguateOptions, between func(*disambiguator[W]) error) (*fst.Vector[W], error) {
	var o DisambiguateOptions
	if opts != nil {
		o = *opts
	}
	room := &run.Stopwatch{Op: opDisambiguate, Most: o.Bytes}
	if err := room.Hold(run.SizeOf[W](f.NumStates(), int64(fst.NumArcs(f))).Bytes); err != nil { // before the copy is made
		return nil, err
	}
	in, original := trimmedCopy(f)
	var s run.ArcSorter[W]
	sortByNext(in, &s)
	d := &disambiguator[W]{meter: o.Limits.workspace().meter(opDisambiguate).AtOnce()}
	if err := d.construct(in, &o); err != nil {
		return nil, inStatesOf(original, err)
	}
	if between != nil {
		if err := between(d); err != nil {
			return nil, renamed(err, opDisambiguate)
		}
	}
	sortByNext(d.out, &s)
	if err := d.remove(); err != nil {
		return nil, err
	}
	d.out.CopySymbols(f)
	p := knownProperties(d.out) | fst.ILabelSorted
	if fst.PropertiesOf[W](in, fst.Acceptor)&fst.Acceptor != 0 {
		p |= fst.Acceptor | fst.OLabelSorted
	}
	d.out.SetProperties(p, fst.AllProperties)
	return d.out, nil
}

// trimmedCopy returns f without arcs of weight 0̄ and without what lies on no path from the start
// to a final state. It also returns the states of f that those of the copy are.
func trimmedCopy[W semiring.Weight[W]](f fst.Expanded[W]) (*fst.Vector[W], []fst.StateID) {
	in := copyOf(f)
	for q := range fst.StateID(in.NumStates()) {
		arcs := in.MutableArcs(q)
		kept := arcs[:0]
		for _, e := range arcs {
			if !semiring.IsZero(e.Weight) {
				kept = append(kept, e)
			}
		}
		if len(kept) < len(arcs) {
			in.TruncateArcs(q, len(kept))
		}
	}
	dead := graph.Useless(in, 1)
	var original []fst.StateID
	for q := range fst.StateID(in.NumStates()) {
		if dead == nil || !dead[q] {
			original = append(original, q)
		}
	}
	if dead != nil {
		in.DeleteStates(dead)
	}
	return in, original
}

// sortByNext sorts arcs by input label, then next state, others as ArcSort does.
func sortByNext[W semiring.Weight[W]](f *fst.Vector[W], s *run.ArcSorter[W]) {
	for q := range fst.StateID(f.NumStates()) {
		if arcs := f.MutableArcs(q); len(arcs) > 1 {
			s.Sort(arcs, func(e *fst.Arc[W]) run.SortKey { return run.LabelKey(e.ILabel, fst.Label(e.NextState)) })
		}
	}
	const unsorted = fst.ILabelSorted | fst.NotILabelSorted | fst.OLabelSorted | fst.NotOLabelSorted
	f.SetProperties(f.KnownProperties()&^unsorted|fst.ILabelSorted, fst.AllProperties)
}

// inStatesOf puts the states of the input into the evidence of an error.
func inStatesOf(original []fst.StateID, err error) error {
	put := func(ps ...*Path) {
		for _, p := range ps {
			p.States = slices.Clone(p.States)
			for i, q := range p.States {
				p.States[i] = original[q]
			}
		}
	}
	var twins *TwinsError
	if errors.As(err, &twins) {
		put(&twins.Left, &twins.Right)
	}
	var functional *FunctionalError
	if errors.As(err, &functional) {
		put(&functional.Left, &functional.Right)
	}
	var limit *DeterminizeError
	if errors.As(err, &limit) && limit.Growing != nil {
		for i, q := range limit.Growing.States {
			limit.Growing.States[i] = original[q]
		}
	}
	var state *StateError
	if errors.As(err, &state) {
		state.State = original[state.State]
	}
	var cycle *CycleError
	if errors.As(err, &cycle) {
		for i := range cycle.Cycle {
			cycle.Cycle[i].State = original[cycle.Cycle[i].State]
		}
	}
	return err
}

// disambiguator holds the machine of subsets and what is superfluous in it.
type disambiguator[W semiring.Divisible[W]] struct {
	out   *fst.Vector[W]
	heads []fst.StateID // of the states of out; NoState where the rest of an output string is made
	alike []int32       // of states with one head, the same number where output strings are left over alike; nil for acceptors
	meter run.Meter

	seen  *fst.Table[uint64] // pairs of states, the lower first, that one string reaches
	rival []rivals           // arcs of which one is superfluous
	merge []fst.StateID      // states that rounding split: the next one to what each is to be; nil if none
	rank  []uint8
	steps int64 // pairs of arcs that were looked at
	input int64 // bytes of the copy of the input
}

// arcID is an arc by its state and place there; place -1 is the end at a final state.
type arcID struct {
	state fst.StateID
	place int32
}

// rivals are two arcs under one label that some string leads to, into one state. arc is superfluous
// unless other, which has the lower head, is.
type rivals struct{ arc, other arcID }

// construct makes out.
func (d *disambiguator[W]) construct(in *fst.Vector[W], o *DisambiguateOptions) error {
	d.out = fst.NewVector[W](0)
	if in.Start() == fst.NoState {
		return nil
	}
	sq, err := square.New[W](in, false, 0, &run.Stopwatch{Op: opDisambiguate, Ctx: o.Ctx})
	if err != nil {
		return err
	}
	sq.Meter = d.meter
	d.input = run.SizeOf[W](in.NumStates(), int64(in.NumArcs())).Bytes
	sq.Held = d.input
	related, held, err := sq.SharedFutures()
	if err != nil {
		return err
	}
	do := &DeterminizeOptions{Delta: o.Delta, SubsequentialLabel: o.SubsequentialLabel, Limits: o.Limits}
	var expander fst.Expander[W]
	var head func(q fst.StateID) fst.StateID
	var leftOver func(q fst.StateID, dst []byte) []byte // of a transducer's state: all but weights
	var built func() run.Progress                       // with all that is held
	if fst.PropertiesOf[W](in, fst.Acceptor)&fst.Acceptor != 0 {
		a, err := newAcceptorDeterminizer[W](in, do)
		if err != nil {
			return err
		}
		a.m.op, a.m.meter.Op, a.m.related = opDisambiguate, opDisambiguate, related
		a.m.besides = held + d.input
		a.m.guard = newTwinsGuard[W](in, o.Limits, true, square.NewWeightDelays[W])
		expander, head = a, func(q fst.StateID) fst.StateID { return a.m.heads[q] }
	} else {
		e, err := newOutputDeterminizer[W](in, do, &outputResiduals[W]{})
		if err != nil {
			return err
		}
		t := e.(*outputDeterminizer[W, outResidual[W], *outputResiduals[W]])
		t.m.op, t.m.meter.Op, t.m.related = opDisambiguate, opDisambiguate, related
		t.m.besides = held + d.input
		t.m.guard = newTwinsGuard[W](in, o.Limits, true, square.NewOutputDelays[W])
		expander, head = t, func(q fst.StateID) fst.StateID {
			if s := t.states[q].subset; s >= 0 {
				return t.m.heads[s]
			}
			return fst.NoState
		}
		built = t.m.built
		leftOver = func(q fst.StateID, dst []byte) []byte {
			for _, e := range t.m.table.Of(fst.StateID(t.states[q].subset)) {
				dst = binary.LittleEndian.AppendUint32(dst, uint32(e.State))
				dst = t.m.alg.appendKey(dst, outResidual[W]{s: e.Residual.s, w: semiring.One[W]()})
			}
			return dst
		}
	}
	if d.out, err = expandAll(expander); err != nil {
		return err
	}
	for q := range fst.StateID(d.out.NumStates()) {
		d.heads = append(d.heads, head(q))
	}
	if leftOver != nil {
		return d.compareLeftOver(leftOver, built())
	}
	return nil
}

// compareLeftOver sets alike. A label at most leaves a step, so that of what has gone two ways to
// one head different strings may be left. The weights are those of all ways together. The keys of
// one head are held at a time, beside what was built.
func (d *disambiguator[W]) compareLeftOver(leftOver func(q fst.StateID, dst []byte) []byte,
	built run.Progress) error {
	since := 0
	d.alike = make([]int32, len(d.heads))
	of := map[fst.StateID][]fst.StateID{}
	for q, h := range d.heads {
		if h != fst.NoState {
			of[h] = append(of[h], fst.StateID(q))
		}
	}
	for _, states := range of {
		if len(states) == 1 {
			continue
		}
		numbers := map[string]int32{}
		var key []byte
		p := built
		for _, q := range states {
			key = leftOver(q, key[:0])
			if since += 1 + len(key); since >= candidatesALook {
				since = 0
				if err := d.meter.CheckNow(p); err != nil {
					return err
				}
			}
			n, ok := numbers[string(key)]
			if !ok {
				n = int32(len(numbers))
				numbers[string(key)] = n
				p.Bytes += int64(len(key)) + 48 // of an entry of the map
			}
			d.alike[q] = n
		}
	}
	return nil
}

// deleteStates deletes states of out.
func (d *disambiguator[W]) deleteStates(dead []bool) {
	d.out.DeleteStates(dead)
	kept, alike := d.heads[:0], d.alike[:0]
	for q, h := range d.heads {
		if !dead[q] {
			kept = append(kept, h)
			if d.alike != nil {
				alike = append(alike, d.alike[q])
			}
		}
	}
	d.heads, d.alike = kept, alike
}

// remove takes out what is superfluous.
func (d *disambiguator[W]) remove() error {
	if d.out.Start() == fst.NoState {
		return nil
	}
	if err := d.findRivals(); err != nil {
		return err
	}
	if d.merge != nil {
		for q := range fst.StateID(d.out.NumStates()) {
			arcs := d.out.MutableArcs(q)
			for i := range arcs {
				arcs[i].NextState = d.merged(arcs[i].NextState)
			}
		}
		d.out.SetProperties(0, fst.AllProperties)
		if err := d.findRivals(); err != nil {
			return err
		}
		if d.merge != nil {
			return fmt.Errorf("ops: %s: %w", opDisambiguate, ErrSplit)
		}
	}
	if len(d.rival) == 0 {
		return nil
	}
	d.drop(d.superfluous())
	Connect(d.out)
	return nil
}

// findRivals visits the pairs of states that one string reaches.
func (d *disambiguator[W]) findRivals() error {
	d.seen, d.rival, d.merge = fst.NewTable(fst.Mix), nil, nil
	start := d.out.Start()
	d.seen.ID(square.PairKey(start, start))
	queue := []uint64{square.PairKey(start, start)}
	for head := 0; head < len(queue); head++ {
		k := queue[head]
		var err error
		if queue, err = d.pairs(queue, fst.StateID(uint32(k>>32)), fst.StateID(uint32(k))); err != nil {
			return err
		}
		if err := d.meter.Check(d.built(queue)); err != nil {
			return err
		}
	}
	return nil
}

func (d *disambiguator[W]) built(queue []uint64) run.Progress {
	p := run.SizeOf[W](d.out.NumStates(), int64(d.out.NumArcs()))
	p.Bytes += d.input + 4*int64(cap(d.heads)+cap(d.alike)+cap(d.merge)) + int64(len(d.rank)) + 8*int64(cap(queue)) + d.seen.Bytes() + int64(cap(d.rival))*int64(unsafe.Sizeof(rivals{}))
	return p
}

// pairs adds to the queue the pairs that one label leads to from p and q. It adds to the rivals
// those among the arcs of p and q.
func (d *disambiguator[W]) pairs(queue []uint64, p, q fst.StateID) ([]uint64, error) {
	// The state with more arcs goes first: so OpenFst comes to its pairs in this
	// order, by which split states are merged.
	left, right := d.out.Arcs(p), d.out.Arcs(q)
	if len(right) > len(left) {
		p, q, left, right = q, p, right, left
	}
	at := 0
	for i := range left {
		label := left[i].ILabel
		for at < len(right) && right[at].ILabel < label {
			at++
		}
		s := left[i].NextState
		if d.heads[s] == fst.NoState {
			continue
		}
		for j := at; j < len(right) && right[j].ILabel == label; j++ {
			if d.steps++; d.steps%candidatesALook == 0 {
				if err := d.meter.CheckNow(d.built(queue)); err != nil {
					return queue, err
				}
			}
			t := right[j].NextState
			if d.heads[t] == fst.NoState {
				continue
			}
			// States with one head that are not alike are the same as one state: of the
			// arcs into them, too, one is enough.
			split := s != t && d.alike != nil && d.heads[s] == d.heads[t] && d.alike[s] != d.alike[t]
			if p != q && (s == t || split) {
				d.add(arcID{p, int32(i)}, arcID{q, int32(j)})
			}
			if split {
				continue
			}
			lo, hi := min(s, t), max(s, t)
			if _, isNew := d.seen.ID(square.PairKey(lo, hi)); !isNew {
				continue
			}
			if lo != hi && d.heads[lo] == d.heads[hi] {
				d.unite(lo, hi)
			} else {
				queue = append(queue, square.PairKey(lo, hi))
			}
		}
	}
	if p != q && d.ends(p) && d.ends(q) {
		d.add(arcID{p, -1}, arcID{q, -1})
	}
	return queue, nil
}

// ends reports whether q is final, or the rest of an output leads to an end.
func (d *disambiguator[W]) ends(q fst.StateID) bool {
	return fst.IsFinal[W](d.out, q) || slices.ContainsFunc(d.out.Arcs(q), d.isRest)
}

// isRest reports whether e makes the rest of an output string.
func (d *disambiguator[W]) isRest(e fst.Arc[W]) bool { return d.heads[e.NextState] == fst.NoState }

func (d *disambiguator[W]) add(a, b arcID) {
	if d.heads[a.state] <= d.heads[b.state] {
		a, b = b, a
	}
	d.rival = append(d.rival, rivals{a, b})
}

// superfluous returns the arcs to be removed: each arc with a rival that stays. Lower heads come
// first, so that an arc's rivals are decided before it.
func (d *disambiguator[W]) superfluous() map[arcID]bool {
	slices.SortFunc(d.rival, func(x, y rivals) int { return cmp.Compare(d.heads[x.arc.state], d.heads[y.arc.state]) })
	gone := make(map[arcID]bool)
	for _, r := range d.rival {
		if !gone[r.other] {
			gone[r.arc] = true
		}
	}
	return gone
}

// drop takes arcs and ends out of the machine. The order of the map does not
// matter: each arc goes to a state of no use.
func (d *disambiguator[W]) drop(gone map[arcID]bool) {
	dead := d.out.AddState()
	zero := semiring.Zero[W]()
	for a := range gone {
		if a.place >= 0 {
			d.out.MutableArcs(a.state)[a.place].NextState = dead
		}
	}
	d.heads = append(d.heads, 0)
	for a := range gone {
		if a.place >= 0 {
			continue
		}
		d.out.SetFinal(a.state, zero)
		arcs := d.out.MutableArcs(a.state)
		for i := range arcs {
			if d.isRest(arcs[i]) {
				arcs[i].NextState = dead
			}
		}
	}
	d.out.SetProperties(0, fst.AllProperties)
}

// merged returns the state that q was merged into.
func (d *disambiguator[W]) merged(q fst.StateID) fst.StateID {
	for d.merge[q] != q {
		d.merge[q] = d.merge[d.merge[q]]
		q = d.merge[q]
	}
	return q
}

// unite merges two states: of two trees the one of less rank goes below the
// other, the first below the second if they are alike.
func (d *disambiguator[W]) unite(p, q fst.StateID) {
	if d.merge == nil {
		d.rank = make([]uint8, d.out.NumStates())
		for s := range fst.StateID(d.out.NumStates()) {
			d.merge = append(d.merge, s)
		}
	}
	p, q = d.merged(p), d.merged(q)
	switch {
	case p == q:
	case d.rank[p] > d.rank[q]:
		d.merge[q] = p
	default:
		d.merge[p] = q
		if d.rank[p] == d.rank[q] {
			d.rank[q]++
		}
	}
}
