package align

import (
	"math/rand/v2"
	"testing"
)

// The one-word builder and the generic one make the same machine.
func TestWordsEqualGeneric(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	used := 0
	for range 600 {
		e := edits{match: float64(rng.IntN(4) - 2), sub: float64(rng.IntN(4)), ins: float64(rng.IntN(3)),
			del: float64(rng.IntN(3)), band: rng.IntN(4)}
		if e == (edits{band: e.band}) {
			e.sub, e.ins, e.del = 1, 1, 1
		}
		alphabet, l, m := 1+rng.IntN(5), rng.IntN(9), rng.IntN(9)
		ref := make([]int, m)
		for j := range ref {
			ref[j] = rng.IntN(alphabet + 1)
		}
		b := New(e.problem(ref, alphabet, l))
		if b.words() == nil {
			continue
		}
		used++
		got, _, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		b = New(e.problem(ref, alphabet, l))
		b.noWords = true
		want, _, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		for s := range l + 1 {
			if got.Columns(s) != want.Columns(s) {
				t.Fatalf("%+v ref %v alphabet %d l %d: %d columns at %d, generic %d", e, ref, alphabet, l,
					got.Columns(s), s, want.Columns(s))
			}
		}
		u := make([]int, l)
		for range 20 {
			for i := range u {
				u[i] = rng.IntN(alphabet)
			}
			if a, b := got.Loss(u), want.Loss(u); !nearly(a, b) || !nearly(a, e.value(u, ref)) {
				t.Fatalf("%+v ref %v: loss of %v is %v, generic %v, by definition %v", e, ref, u, a, b,
					e.value(u, ref))
			}
		}
	}
	if used < 200 {
		t.Errorf("the one-word builder served only %d of 600 cases", used)
	}
}

// The two-word builder makes machines of the same losses as the generic one, where one word is not
// enough and where it is.
func TestPairsEqualGeneric(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	used := 0
	for i := range 400 {
		alphabet, l, m := 1+rng.IntN(3), rng.IntN(10), 1+rng.IntN(10)
		if i%5 == 0 {
			alphabet, l, m = 2, 3+rng.IntN(6), 33+rng.IntN(32)
		}
		ref := make([]int, m)
		for j := range ref {
			ref[j] = rng.IntN(alphabet + 1)
		}
		if i%7 == 0 { // long strings, whose columns are few
			l, ref = 20+rng.IntN(60), make([]int, 33+rng.IntN(32))
			if alphabet > 1 {
				l = 34
			}
		}
		e := edits{sub: 1, ins: 1, del: 1}
		if i%3 == 0 {
			e = edits{match: -.5, sub: 1, ins: 1.75, del: .75} // gains of 3 and 1.5
		}
		b := New(e.problem(ref, alphabet, l))
		p := b.pairs()
		if p == nil {
			continue
		}
		used++
		got, err := p.build()
		if err != nil {
			t.Fatal(err)
		}
		if got == nil || l > 0 && got.Fused == nil {
			t.Fatalf("ref %v alphabet %d l %d: the two-word builder gave up", ref, alphabet, l)
		}
		b = New(e.problem(ref, alphabet, l))
		b.noWords = true
		want, _, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		for s := range l + 1 {
			if got.Columns(s) > want.Columns(s) {
				t.Fatalf("ref %v alphabet %d l %d: %d columns at %d, generic %d", ref, alphabet, l,
					got.Columns(s), s, want.Columns(s))
			}
		}
		u := make([]int, l)
		for range 20 {
			for i := range u {
				u[i] = rng.IntN(alphabet)
			}
			if a, b := got.Loss(u), want.Loss(u); !nearly(a, b) || !nearly(a, e.value(u, ref)) {
				t.Fatalf("ref %v: loss of %v is %v, generic %v, by definition %v", ref, u, a, b,
					e.value(u, ref))
			}
		}
	}
	if used < 100 {
		t.Errorf("the two-word builder served only %d of 400 cases", used)
	}
}
