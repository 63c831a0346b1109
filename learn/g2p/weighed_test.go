package g2p

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// Relaxed words, for every objective: the value from those of single words, which enumeration
// tests, the gradient by differences, and the same bits for any number of workers.
func TestWeighed(t *testing.T) {
	p := prepared(t, short(words(t, "ady", "train", 200), 7)[:40], nil)
	rng := rand.New(rand.NewPCG(4, 4))
	h := resilient.Huber{Delta: 0.9}
	for _, o := range objectives() {
		if err := p.need(t.Context(), o.Kind); err != nil {
			t.Fatal(err)
		}
		e := p.evaluation(o, 2)
		x := random(rng, e.Dim(), 0.5)
		if _, err := e.Eval(x, nil); err != nil {
			t.Fatal(err)
		}
		want := 0.0
		for _, v := range x {
			want += o.L2 / 2 * v * v
		}
		for i, v := range e.value {
			n := float64(len(p.words[i].x))
			want += n * h.Value(max(v/n, 0))
		}
		f, err := resilient.NewObjective(e, h)
		if err != nil {
			t.Fatal(err)
		}
		grad, other := make([]float64, e.Dim()), make([]float64, e.Dim())
		got, err := f.Eval(x, grad)
		if err != nil || math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
			t.Errorf("%v: value %v, from single words %v (%v)", o, got, want, err)
		}
		for range 30 {
			j := rng.IntN(len(x))
			const d = 1e-5
			at := func(d float64) float64 {
				y := slices.Clone(x)
				y[j] += d
				v, err := f.Eval(y, nil)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			if v := (at(d) - at(-d)) / (2 * d); math.Abs(v-grad[j]) > 1e-5*(1+math.Abs(v)) {
				t.Errorf("%v: derivative %d is %v, by differences %v", o, j, grad[j], v)
			}
		}
		again, _ := resilient.NewObjective(p.evaluation(o, 5), h)
		if _, err := again.Eval(x, other); err != nil || !slices.Equal(grad, other) {
			t.Errorf("%v: other bits for other workers (%v)", o, err)
		}
	}
}

// Words whose phones were exchanged come first in the list of a resilient model, which its file
// keeps.
func TestSuspects(t *testing.T) {
	pairs := words(t, "ice", "train", 300)
	wrong := map[string]bool{}
	for i := 10; i+1 < len(pairs); i += 20 {
		pairs[i].Phones, pairs[i+1].Phones = pairs[i+1].Phones, pairs[i].Phones
		wrong[pairs[i].Source], wrong[pairs[i+1].Source] = true, true
	}
	p := prepared(t, pairs, nil)
	o := DefaultObjective(CrossEntropy)
	o.L2 = 3
	m, r, err := p.Fit(t.Context(), o, &FitOptions{Relax: resilient.Huber{Delta: 0.5}, Stop: run.Stop{Iterations: 60}})
	if err != nil {
		t.Fatal(err)
	}
	d := m.Difficulty()
	if d == nil || d.Examples != p.Words() {
		t.Fatalf("%+v after %+v", d, r)
	}
	found := 0
	for _, h := range d.Top[:len(wrong)] {
		if wrong[h.Place] {
			found++
		}
	}
	if found*10 < len(wrong)*7 {
		t.Errorf("of the first %d suspects %d are wrong", len(wrong), found)
	}
	if first := d.Top[0]; !strings.Contains(first.What, " ") || first.Lambda != 0.5 {
		t.Errorf("the first is %+v", first)
	}
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		t.Fatal(err)
	}
	back, err := Read(&file)
	if err != nil || back.Difficulty() == nil || !slices.Equal(back.Difficulty().Top, d.Top) {
		t.Errorf("the list does not come back (%v)", err)
	}
}
