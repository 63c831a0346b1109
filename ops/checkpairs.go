package ops

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// weigh is the weight of a pair in f. Of the arcs that it may make for all pairs, those it makes
// are taken off.
func (c *checker[W]) weigh(f *fst.Vector[W], p labelPair) (W, error) {
	zero := semiring.Zero[W]()
	left, err := c.composeWithin(linear[W](p.in), f)
	if err != nil {
		return zero, err
	}
	both, err := c.composeWithin(left, linear[W](p.out))
	if err != nil || both.Start() == fst.NoState {
		return zero, err
	}
	d, err := ShortestDistance[W](both, &ShortestDistanceOptions{Reverse: true, Limits: Limits{Ctx: c.Ctx}})
	if err != nil {
		return zero, err
	}
	return d[both.Start()], nil
}

// composeWithin composes within the arcs that are left, which it takes the result's off, with those
// that are trimmed.
func (c *checker[W]) composeWithin(a, b *fst.Vector[W]) (*fst.Vector[W], error) {
	lim := c.Limits
	if c.left > 0 && (lim.Arcs == 0 || c.left < lim.Arcs) {
		lim.Arcs = c.left
	}
	out, err := Compose[W](a, b, &ComposeOptions{Limits: lim, KeepDead: true})
	var limit *LimitError
	if errors.As(err, &limit) && limit.Limit == "arcs" && limit.Bound == c.left {
		return nil, fmt.Errorf("weighing pairs takes more than %d arcs: %w", c.MaxSteps, ErrLimit)
	}
	if err != nil {
		return nil, err
	}
	if c.left > 0 {
		c.left = max(1, c.left-int64(out.NumArcs()))
	}
	Connect(out)
	return out, nil
}

// pairsFound are the pairs of strings that accepting paths of a machine read and write.
type pairsFound[W semiring.Weight[W]] struct {
	sorted *fst.Vector[W] // the machine, arcs by input label
	short  []labelPair    // by enumeration
	long   []labelPair    // of random paths, where there are cycles or the enumeration found few
	cut    string         // where the enumeration stopped, if at a bound
}

// find looks for pairs in f, until ctx is done. It is looked at between passes over all arcs.
func (c *checker[W]) find(ctx context.Context, f *fst.Vector[W]) (*pairsFound[W], error) {
	p := &pairsFound[W]{sorted: ArcSorted(f, Input)}
	if err := c.late(ctx); err != nil {
		return nil, err
	}
	trim := copyOf(p.sorted)
	Connect(trim)
	if err := c.late(ctx); err != nil || trim.Start() == fst.NoState {
		return p, err
	}
	var err error
	if p.short, p.cut, err = c.pairs(ctx, trim); err == nil {
		p.long, err = c.longPairs(ctx, trim, p.cut != "" && len(p.short) < c.MaxPairs)
	}
	return p, err
}

// linear is the acceptor of one string.
func linear[W semiring.Weight[W]](labels []fst.Label) *fst.Vector[W] {
	v := fst.NewVector[W](0)
	v.AddStates(len(labels) + 1)
	v.SetStart(0)
	for q, l := range labels {
		v.AddArc(fst.StateID(q), fst.Arc[W]{ILabel: l, OLabel: l, Weight: semiring.One[W](), NextState: fst.StateID(q + 1)})
	}
	v.SetFinal(fst.StateID(len(labels)), semiring.One[W]())
	fst.PropertiesOf(v, fst.ILabelSorted|fst.OLabelSorted)
	return v
}

// pairs enumerates pairs of strings with accepting paths in f, shortest first. f must be trim. It
// visits each state once with each pair, so that cycles of ε do not matter. cut names the bound
// that stopped it.
func (c *checker[W]) pairs(ctx context.Context, f *fst.Vector[W]) (out []labelPair, cut string, err error) {
	type place struct {
		q fst.StateID
		p labelPair
	}
	visited, found := map[string]bool{}, map[string]bool{}
	var steps, places int64
	most := max(c.MaxSteps/32, min(c.MaxSteps, 1)) // places, each of which holds its strings
	full := ""                                     // why nothing is added any more
	layer := []place{{q: f.Start()}}
	for depth := 0; len(layer) > 0; depth++ {
		stop := func(why string) {
			if full = why; cut == "" {
				cut = fmt.Sprintf("of paths with %d labeled arcs or more, not all pairs: %s", depth, why)
			}
		}
		var next []place
		for k := 0; k < len(layer); k++ { // grows by moves on ε
			at := layer[k]
			if k&255 == 0 {
				if err := c.late(ctx); err != nil {
					return nil, "", err
				}
			}
			pk := at.p.key()
			key := string(binary.AppendUvarint([]byte(pk), uint64(at.q)))
			if visited[key] {
				continue
			}
			visited[key] = true
			if fst.IsFinal[W](f, at.q) && !found[pk] {
				if len(out) == c.MaxPairs {
					stop(fmt.Sprintf("more than %d", c.MaxPairs))
					return out, cut, nil
				}
				found[pk] = true
				out = append(out, at.p)
			}
			for _, e := range f.Arcs(at.q) {
				if full != "" {
					break
				}
				to := place{e.NextState, at.p}
				if e.ILabel != fst.Epsilon {
					to.p.in = append(slices.Clip(at.p.in), e.ILabel)
				}
				if e.OLabel != fst.Epsilon {
					to.p.out = append(slices.Clip(at.p.out), e.OLabel)
				}
				if steps++; steps == c.MaxSteps {
					stop(fmt.Sprintf("%d arcs have been looked at", steps))
				}
				if len(to.p.in) > c.MaxLength || len(to.p.out) > c.MaxLength {
					continue
				}
				if places++; places == most {
					stop(fmt.Sprintf("%d ways have been followed", places))
				}
				if e.ILabel == fst.Epsilon && e.OLabel == fst.Epsilon {
					layer = append(layer, to)
				} else {
					next = append(next, to)
				}
			}
		}
		layer = next
	}
	return out, cut, nil
}

// longPaths and longPath are how many long paths are tried, and how many arcs they have at least.
const longPaths, longPath = 6, 400

// longPairs returns what random accepting paths of f read and write, the same ones each time. f
// must be trim. It returns none unless f has cycles or any is set.
func (c *checker[W]) longPairs(ctx context.Context, f *fst.Vector[W], any bool) ([]labelPair, error) {
	if !any && fst.PropertiesOf(f, fst.Acyclic).Has(fst.Acyclic) {
		return nil, nil
	}
	if err := c.late(ctx); err != nil {
		return nil, err
	}
	rest := arcsToFinal[W](f)
	if err := c.late(ctx); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var out []labelPair
	for range longPaths {
		var p labelPair
		take := func(e fst.Arc[W]) fst.StateID {
			if e.ILabel != fst.Epsilon {
				p.in = append(p.in, e.ILabel)
			}
			if e.OLabel != fst.Epsilon {
				p.out = append(p.out, e.OLabel)
			}
			return e.NextState
		}
		q := f.Start()
		for range longPath {
			if len(f.Arcs(q)) == 0 {
				break
			}
			q = take(f.Arcs(q)[rng.IntN(len(f.Arcs(q)))])
		}
		for rest[q] > 0 {
			arcs := f.Arcs(q)
			q = take(arcs[slices.IndexFunc(arcs, func(e fst.Arc[W]) bool { return rest[e.NextState] >= 0 && rest[e.NextState] < rest[q] })])
		}
		if any || len(p.in) > c.MaxLength || len(p.out) > c.MaxLength {
			out = append(out, p)
		}
	}
	return out, nil
}

// arcsToFinal returns the number of arcs from each state to the nearest final one, -1 where there
// is none.
func arcsToFinal[W semiring.Weight[W]](f *fst.Vector[W]) []int {
	before := make([][]fst.StateID, f.NumStates())
	rest := make([]int, f.NumStates())
	var queue []fst.StateID
	for q := range fst.StateID(f.NumStates()) {
		rest[q] = -1
		if fst.IsFinal[W](f, q) {
			rest[q] = 0
			queue = append(queue, q)
		}
		for _, e := range f.Arcs(q) {
			before[e.NextState] = append(before[e.NextState], q)
		}
	}
	for head := 0; head < len(queue); head++ {
		q := queue[head]
		for _, p := range before[q] {
			if rest[p] < 0 {
				rest[p] = rest[q] + 1
				queue = append(queue, p)
			}
		}
	}
	return rest
}
