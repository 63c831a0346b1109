package losses

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/ops"
)

// A user's transducer gives what the direct construction of the same loss gives, and
// a cache takes two that are equal for one.
func TestTransducerLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 14))
	edit := Edit{Match: -0.5, Sub: 1, Ins: 0.75, Del: 1.25}
	u, err := edit.Transducer(3)
	if err != nil {
		t.Fatal(err)
	}
	tropical, err := TropicalTransducer(u)
	if err != nil {
		t.Fatal(err)
	}
	grams := NGram{N: 2, C: 1}
	v, err := grams.Transducer(3)
	if err != nil {
		t.Fatal(err)
	}
	rational, err := RationalTransducer(v, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		direct, general Loss
	}{{edit, tropical}, {grams, rational}} {
		for range 20 {
			l := 1 + rng.IntN(5)
			ref := make([]int, 1+rng.IntN(5))
			for i := range ref {
				ref[i] = rng.IntN(3)
			}
			p := randomPotentials(rng, slices.Repeat([]int{3}, l), 2)
			var got, want Result
			for _, x := range []struct {
				loss Loss
				r    *Result
			}{{c.direct, &want}, {c.general, &got}} {
				m, err := x.loss.Machine(ref, 3, l)
				if err != nil {
					t.Fatal(err)
				}
				if err := new(Evaluator).Eval(m, p, 0.7, WantMarginals|WantRisk, x.r); err != nil {
					t.Fatal(err)
				}
			}
			if math.Abs(got.LogZ-want.LogZ) > 1e-9*(1+math.Abs(want.LogZ)) ||
				math.Abs(got.Risk-want.Risk) > 1e-9*(1+math.Abs(want.Risk)) {
				t.Fatalf("%T, reference %v: log Z %v and risk %v, want %v and %v", c.direct, ref, got.LogZ,
					got.Risk, want.LogZ, want.Risk)
			}
		}
	}
	other, err := RationalTransducer(v, 2)
	if err != nil {
		t.Fatal(err)
	}
	again, err := RationalTransducer(v, 1)
	if err != nil {
		t.Fatal(err)
	}
	key := func(l Loss) []byte { return l.AppendKey(nil) }
	if !bytes.Equal(key(rational), key(again)) || bytes.Equal(key(rational), key(other)) ||
		bytes.Equal(key(rational), key(tropical)) {
		t.Error("keys tell losses apart that are equal, or do not tell others apart")
	}
	tropical.Limits = ops.Limits{States: 2}
	if _, err := tropical.Machine([]int{0, 1, 2}, 3, 4); err == nil {
		t.Error("no error beyond the limits")
	}
	if _, err := RationalTransducer(v, math.NaN()); err == nil {
		t.Error("c = NaN is accepted")
	}
}

// Losses among some strings are those of the definition, whichever strings stand
// beside them.
func TestTransducerAmong(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	edit := Edit{Match: -0.5, Sub: 1, Ins: 0.75, Del: 1.25,
		SubTable: [][]float64{{0, 1, 2}, {3, 0.5, 1}, {1, 0.25, 0}}}
	hamming := Hamming{Scale: 2}
	grams := NGram{N: 2, C: 0.5}
	machines := map[string]func() (*Transducer, error){
		"edit": func() (*Transducer, error) {
			u, err := edit.Transducer(3)
			if err != nil {
				return nil, err
			}
			return TropicalTransducer(u)
		},
		"hamming": func() (*Transducer, error) {
			u, err := hamming.Transducer(3)
			if err != nil {
				return nil, err
			}
			return TropicalTransducer(u)
		},
		"ngram": func() (*Transducer, error) {
			u, err := grams.Transducer(3)
			if err != nil {
				return nil, err
			}
			return RationalTransducer(u, grams.C)
		},
	}
	for name, loss := range map[string]valued{"edit": edit, "hamming": hamming, "ngram": grams} {
		tr, err := machines[name]()
		if err != nil {
			t.Fatal(err)
		}
		for range 30 {
			ref := randomRef(rng, rng.IntN(6), 3)
			some := make([][]int, rng.IntN(7))
			for i := range some {
				some[i] = randomRef(rng, rng.IntN(6), 3)
				if name == "hamming" && rng.IntN(2) == 0 {
					some[i] = randomRef(rng, len(ref), 3)
				}
			}
			got, err := tr.Among(some, ref)
			if err != nil {
				t.Fatal(err)
			}
			for i, u := range some {
				want := math.Inf(1) // for Hamming's between strings of different lengths
				if name != "hamming" || len(u) == len(ref) {
					want = loss.Value(u, ref)
				}
				if !near(got[i], want) {
					t.Errorf("%s: %v against %v: %v, want %v", name, u, ref, got[i], want)
				}
			}
		}
		if _, err := tr.Among([][]int{{0, -1}}, nil); err == nil ||
			!strings.Contains(err.Error(), "string 0") {
			t.Errorf("symbol -1: %v", err)
		}
		if _, err := tr.Among(nil, []int{math.MaxInt32}); err == nil ||
			!strings.Contains(err.Error(), "reference") {
			t.Errorf("a symbol without a label: %v", err)
		}
	}
}
