package losses_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// A string of labels for which the expansion has no path is left out by every loss, on
// every path; log Z0, the sum over the others, does not depend on the loss.
func TestStringsThatSpellNothing(t *testing.T) {
	const labels, alphabet = 3, 2
	type general interface {
		Automaton(y fst.Expanded[semiring.Log64], ref []int, alphabet int,
			opts *losses.GeneralOptions) (*losses.Automaton, error)
	}
	rng := rand.New(rand.NewPCG(5, 17))
	in, out := 0, 0
	for range 60 {
		// A transducer that spells some labels in some places only; ε on either side, cycles too.
		expand := fst.NewVector[semiring.Tropical64](3)
		expand.AddStates(3)
		expand.SetStart(0)
		expand.SetFinal(fst.StateID(rng.IntN(3)), 0)
		for range 4 + rng.IntN(8) {
			e := fst.Arc[semiring.Tropical64]{ILabel: fst.Label(1 + rng.IntN(labels)),
				OLabel: fst.Label(rng.IntN(alphabet + 1)), NextState: fst.StateID(rng.IntN(3))}
			if rng.IntN(5) == 0 {
				e.ILabel, e.OLabel = 0, 1
			}
			expand.AddArc(fst.StateID(rng.IntN(3)), e)
		}
		l := 1 + rng.IntN(3)
		y := losses.Strings(labels, l)
		for q := range fst.StateID(l) {
			for i := range y.MutableArcs(q) {
				y.MutableArcs(q)[i].Weight = semiring.Log64(rng.NormFloat64())
			}
		}
		ref := []int{rng.IntN(alphabet), rng.IntN(alphabet)}

		// By enumeration: which strings spell something, and the sum over them.
		spells := map[string]bool{}
		sum := 0.0
		all := enumerate(labels, l)
		sorted := ops.ArcSorted(expand, ops.Input)
		for _, u := range all {
			c := fst.NewVector[semiring.Tropical64](l + 1)
			c.AddStates(l + 1)
			c.SetStart(0)
			c.SetFinal(fst.StateID(l), 0)
			theta := 0.0
			for s, k := range u {
				c.AddArc(fst.StateID(s), fst.Arc[semiring.Tropical64]{ILabel: fst.Label(k + 1),
					OLabel: fst.Label(k + 1), NextState: fst.StateID(s + 1)})
				theta -= float64(y.Arcs(fst.StateID(s))[k].Weight)
			}
			m, err := ops.Compose(c, sorted, nil)
			if err != nil {
				t.Fatal(err)
			}
			if m.Start() != fst.NoState {
				spells[key(u)] = true
				sum += math.Exp(theta)
				in++
			} else {
				out++
			}
		}
		for name, loss := range map[string]general{
			"edit": losses.Unit, "edit with a cap": nil,
			"local":         losses.Local{Match: 2, Sub: -1, Ins: -1, Del: -1},
			"ngram c=1":     losses.NGram{N: 2, C: 1},
			"unigram c=0.5": losses.NGram{N: 1, C: 0.5},
		} {
			opts := &losses.GeneralOptions{Expand: expand}
			if loss == nil {
				most := 1.5
				loss, opts.Cap = losses.Unit, &most
			}
			b, err := loss.Automaton(y, ref, alphabet, opts)
			if err != nil {
				continue // spellings without end, whose common n-grams have no sum
			}
			for _, u := range all {
				if got := b.Loss(u); math.IsInf(got, 1) == spells[key(u)] {
					t.Fatalf("%s: the loss of %v is %v; spells something: %v", name, u, got, spells[key(u)])
				}
			}
			lattice := &losses.Lattice{A: y}
			r, err := lattice.Eval(b, 0.5, losses.WantPlain, ops.Limits{})
			if err != nil {
				t.Fatal(name, err)
			}
			if want := math.Log(sum); math.Abs(r.LogZ0-want) > 1e-9 && !math.IsInf(want, -1) ||
				math.IsInf(want, -1) != math.IsInf(r.LogZ0, -1) {
				t.Errorf("%s: log Z0 is %v, by enumeration %v", name, r.LogZ0, want)
			}
			m, err := b.Machine(labels, l)
			if err != nil {
				t.Fatal(name, err)
			}
			for _, u := range all {
				if got := m.Loss(u); math.IsInf(got, 1) == spells[key(u)] {
					t.Fatalf("%s, direct: the loss of %v is %v; spells something: %v", name, u, got,
						spells[key(u)])
				}
			}
		}
	}
	if in < 100 || out < 100 {
		t.Errorf("%d strings spell something, %d do not: too few to tell", in, out)
	}
}

// enumerate returns all strings of n labels.
func enumerate(labels, n int) [][]int {
	all := [][]int{nil}
	for range n {
		var longer [][]int
		for _, u := range all {
			for k := range labels {
				longer = append(longer, append(append([]int(nil), u...), k))
			}
		}
		all = longer
	}
	return all
}

func key(u []int) string {
	b := make([]byte, len(u))
	for i, k := range u {
		b[i] = byte('0' + k)
	}
	return string(b)
}
