package tracking

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/margin"
	"github.com/tropica-fst/tropica/learn/space"
	"github.com/tropica-fst/tropica/learn/space/spacetest"
)

// outputs lists all assignments of a pair.
func outputs(p *Pair) [][]int {
	var out [][]int
	covered := make([]bool, p.cover.Elements())
	var chosen []int
	var walk func(v int)
	walk = func(v int) {
		for v < len(covered) && covered[v] {
			v++
		}
		if v == len(covered) {
			out = append(out, slices.Sorted(slices.Values(chosen)))
			return
		}
		for h := range p.Hypotheses {
			m := p.cover.Members(h)
			if !slices.Contains(m, int32(v)) || slices.ContainsFunc(m, func(x int32) bool { return covered[x] }) {
				continue
			}
			for _, x := range m {
				covered[x] = true
			}
			chosen = append(chosen, h)
			walk(v)
			chosen = chosen[:len(chosen)-1]
			for _, x := range m {
				covered[x] = false
			}
		}
	}
	walk(0)
	return out
}

// scattered draws detections over a small field.
func scattered(rng *rand.Rand, n int) []Detection {
	out := make([]Detection, n)
	for i := range out {
		out[i] = Detection{ID: i + 1, X: 60 * rng.Float64(), Y: 60 * rng.Float64(), Area: 150 + 100*rng.Float64(),
			Intensity: 1 + 0.1*rng.NormFloat64(), VarX: 10 + rng.Float64(), VarY: 12, CovXY: rng.Float64()}
	}
	return out
}

// Every call of the space equals enumeration, with all kinds of events, and complete, partial
// and empty annotations.
func TestSpaceAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	s := &Space{}
	for trial := range 150 {
		m, n := rng.IntN(6), rng.IntN(6)
		c := &Candidates{Neighbours: 2 + rng.IntN(2), Gate: 25 + 40*rng.Float64(), Unit: 8, Light: 1,
			Kinds: []Kind{Divide, Split, Merge}, Field: [4]float64{0, 0, 60, 60}}
		p, err := NewPair("pair", scattered(rng, m), scattered(rng, n), c, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		all := outputs(p)
		if len(all) > 3000 {
			continue
		}
		w := make([]float64, Dim())
		for j := range w {
			w[j] = rng.NormFloat64()
		}
		p.truth = all[rng.IntN(len(all))]
		a := p.Annotation()
		if trial%3 > 0 {
			marked := make([]bool, m+n)
			for v := range marked {
				marked[v] = trial%3 == 1 && rng.IntN(2) == 0
			}
			a = p.Reveal(marked)
		}
		l := spacetest.Listed[*Pair, []int, *Annotation]{X: p, A: a, Outputs: all}
		for _, y := range all {
			agree := true
			for v := range m + n {
				at := func(list []int) int {
					return list[slices.IndexFunc(
						list, func(h int) bool { return slices.Contains(p.cover.Members(h), int32(v)) })]
				}
				agree = agree && (a.Known != nil && !a.Known[v] || at(y) == at(p.truth))
			}
			l.Agree = append(l.Agree, agree)
		}
		spacetest.Check(t, s, w, l, 1e-6)
		if t.Failed() {
			t.Fatalf("trial %d: %d and %d detections, %d outputs", trial, m, n, len(all))
		}
	}
}

// The loss by hand: of two true events one is missed, for two false ones.
func TestDelta(t *testing.T) {
	from := []Detection{{ID: 1, X: 0}, {ID: 2, X: 50}}
	to := []Detection{{ID: 1, X: 1}, {ID: 2, X: 51}}
	c := &Candidates{Neighbours: 2, Gate: 100, Unit: 8}
	p, err := NewPair("pair", from, to, c, []Event{{Move, []int{0}, []int{0}}, {Move, []int{1}, []int{1}}},
		false)
	if err != nil {
		t.Fatal(err)
	}
	y := []int{p.Find(Event{Move, []int{0}, []int{0}}), p.Find(Event{Disappear, []int{1}, nil}),
		p.Find(Event{Appear, nil, []int{1}})}
	slices.Sort(y)
	if d := (&Space{}).Delta(p, p.Annotation(), y); d != 1.5 {
		t.Errorf("loss %v, by hand (1 + 2)/2", d)
	}
	if d := (&Space{Miss: 3, Extra: 0.5}).Delta(p, p.Annotation(), y); d != 2 {
		t.Errorf("loss %v, by hand (3 + 0.5·2)/2", d)
	}
	part := p.Reveal([]bool{true, false, false, false})
	if d := (&Space{}).Delta(p, part, y); d != 0 {
		t.Errorf("loss %v of an error that is not annotated", d)
	}
}

// Ties of the loss-augmented problem go to the larger loss: at w = 0 it is the largest of all.
func TestLossAugmentedAtZero(t *testing.T) {
	samples, _, err := Planted(5, 8, 0.05, 3)
	if err != nil {
		t.Fatal(err)
	}
	s := &Space{}
	for _, x := range samples {
		y, err := s.ArgmaxLoss(context.Background(), x.X, make([]float64, Dim()), x.A)
		if err != nil {
			t.Fatal(err)
		}
		loss := s.Delta(x.X, x.A, y.Y)
		if !y.Optimal || math.Abs(loss-y.Value) > 1e-9 || loss < 1 {
			t.Errorf("value %v, loss %v, optimal %v", y.Value, loss, y.Optimal)
		}
	}
}

// Planted pairs are separable: the margin learner makes no error on them.
func TestPlantedIsLearnt(t *testing.T) {
	samples, w, err := Planted(30, 7, 0.3, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := &Space{}
	for _, x := range samples {
		y, err := s.Argmax(context.Background(), x.X, w)
		if err != nil || !slices.Equal(y.Y, x.A.Chosen) {
			t.Fatalf("the hidden weights give %v, %v", y, err)
		}
	}
	l, _, err := margin.MaxMargin(s, samples, &margin.Options{Lambda: 1e-5, Gap: 1e-3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range samples {
		y, err := s.Argmax(context.Background(), x.X, l.W)
		if err != nil || s.Delta(x.X, x.A, y.Y) != 0 {
			t.Errorf("pair %d: loss %v, %v", i, s.Delta(x.X, x.A, y.Y), err)
		}
	}
}

// An annotation that nothing satisfies is named, with its place.
func TestEmptyAnnotation(t *testing.T) {
	samples, _, err := Planted(1, 4, 0.01, 2)
	if err != nil {
		t.Fatal(err)
	}
	p := samples[0].X
	a := &Annotation{Chosen: []int{p.Find(Event{Appear, nil, []int{0}})}, Known: make([]bool, 8)}
	a.Known[0], a.Known[4] = true, true // detection 1 is said to be known, with no event
	_, err = (&Space{}).ArgmaxWithin(context.Background(), p, make([]float64, Dim()), a)
	if want := "no output agrees with the annotation: planted pair 0: detection 1 of the first frame"; fmt.Sprint(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
	var _ space.Space[*Pair, []int, *Annotation] = &Space{}
}
