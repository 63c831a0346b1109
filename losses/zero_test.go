package losses

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// The zero value of a loss is its default, on every path, and has its key.
func TestZeroLosses(t *testing.T) {
	ref := []int{0, 1, 2, 1}
	for _, c := range []struct{ zero, full valued }{
		{Edit{}, Unit},
		{Edit{Band: 1}, Edit{Sub: 1, Ins: 1, Del: 1, Band: 1}},
		{Hamming{}, Hamming{Scale: 1}},
		{Local{}, Local{Match: 1, Sub: -1, Ins: -1, Del: -1}},
	} {
		if string(c.zero.AppendKey(nil)) != string(c.full.AppendKey(nil)) {
			t.Errorf("%T: other keys", c.zero)
		}
		m, err := c.zero.Machine(ref, 3, 4)
		if err != nil {
			t.Fatal(err)
		}
		a, err := c.zero.(interface {
			Automaton(fst.Expanded[semiring.Log64], []int, int, *GeneralOptions) (*Automaton, error)
		}).Automaton(Strings(3, 4), ref, 3, &GeneralOptions{Band: bandOf(c.full)})
		if err != nil {
			t.Fatal(err)
		}
		u, err := generalAutomaton(c.zero, Strings(3, 4), ref, 3, nil)
		if err != nil {
			t.Fatal(err)
		}
		everyString(3, 4, func(y []int) {
			want := c.full.Value(y, ref)
			for what, got := range map[string]float64{"value": c.zero.Value(y, ref), "machine": m.Loss(y),
				"automaton": a.Loss(y), "transducer": u.Loss(y)} {
				if got != want {
					t.Errorf("%T: %s of %v is %v, want %v", c.zero, what, y, got, want)
				}
			}
		})
	}
}

func bandOf(x valued) int {
	if e, ok := x.(Edit); ok {
		return e.Band
	}
	return 0
}

// A transducer that has no path for any string is an error, which says how labels count.
func TestTransducerOfOtherLabels(t *testing.T) {
	u := fst.NewVector[semiring.Tropical64](1)
	u.SetStart(u.AddState())
	u.SetFinal(0, 0)
	for _, a := range []fst.Label{'a', 'b'} {
		u.AddArc(0, fst.Arc[semiring.Tropical64]{ILabel: a, OLabel: a, Weight: 1})
	}
	tropical, err := TropicalTransducer(u)
	if err != nil {
		t.Fatal(err)
	}
	tropical.Name = "own.fst"
	rational, err := RationalTransducer(ops.MapInto(u,
		func(semiring.Tropical64) semiring.Probability { return 1 }), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, loss := range []*Transducer{tropical, rational} {
		_, err := loss.Machine([]int{0, 1}, 3, 2)
		if !errors.Is(err, ErrNoString) || !strings.Contains(err.Error(), loss.Name) ||
			!strings.Contains(err.Error(), "symbol k") {
			t.Errorf("%v", err)
		}
		s := SoftmaxMargin[float64]{Loss: loss, Alphabet: 3}
		theta := Tensor[float64]{Batch: 1, Length: 2, Window: 3, Data: make([]float64, 6)}
		if err := s.Eval(context.Background(), [][]int{{0, 1}}, theta, nil, nil); !errors.Is(err,
			ErrNoString) {
			t.Errorf("batch: %v", err)
		}
	}
	if _, err := TropicalAutomaton(Strings(3, 2), u, []int{0, 1}, nil); !errors.Is(err, ErrNoString) ||
		!strings.Contains(err.Error(), "reads no label of the strings") {
		t.Errorf("automaton: %v", err)
	}
	// With a constant every string has a loss.
	if rational, err = RationalTransducer(ops.MapInto(u,
		func(semiring.Tropical64) semiring.Probability { return 1 }), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := rational.Machine([]int{0, 1}, 3, 2); err != nil {
		t.Errorf("with a constant: %v", err)
	}
}

// One Result for two cases is refused before anything is written to it; γ = 0 is the plain
// model, with E[L] the risk.
func TestBatchOfOneResult(t *testing.T) {
	m, err := Unit.Machine([]int{0, 1}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	p := NewPotentials(2, 2, 1)
	p.Theta[0][0] = 1
	var r, other Result
	r.LogZ = 77
	var b Batch
	err = b.Eval([]Case{{m, p, 1, 0, nil, &r}, {m, p, 1, 0, nil, &other}, {m, p, 2, 0, nil, &r}})
	if err == nil || !strings.Contains(err.Error(), "cases 0 and 2") || r.LogZ != 77 {
		t.Errorf("%v, log Z %v", err, r.LogZ)
	}
	if err := b.Eval([]Case{{Machine: m, Potentials: p, Want: WantExpected | WantRisk | WantPlain,
		Result: &r}}); err != nil {
		t.Fatal(err)
	}
	if !near(r.Expected, r.Risk) || !near(r.LogZ, r.LogZ0) || !(r.Risk > 0) {
		t.Errorf("γ = 0: %+v", r)
	}
}
