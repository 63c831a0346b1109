package sequence

import (
	"bytes"
	"testing"

	"github.com/tropica-fst/tropica/losses"
)

// Unit costs stand for an Edit that says nothing: tables alone say something, and all
// that they leave out costs 0.
func TestLongEditDefaults(t *testing.T) {
	unit := LongEdit{Edit: losses.Unit}.AppendKey(nil)
	for _, c := range []struct {
		name string
		edit losses.Edit
		unit bool
	}{
		{"nothing", losses.Edit{}, true},
		{"insertions", losses.Edit{InsTable: []float64{2, 3}}, false},
		{"deletions", losses.Edit{DelTable: []float64{2, 3}}, false},
		{"both", losses.Edit{InsTable: []float64{2, 3}, DelTable: []float64{1, 2}}, false},
		{"substitutions", losses.Edit{SubTable: [][]float64{{0, 4}, {4, 0}}}, false},
	} {
		long := LongEdit{Edit: c.edit}
		if got := bytes.Equal(long.AppendKey(nil), unit); got != c.unit {
			t.Errorf("%s: unit costs: %v, want %v", c.name, got, c.unit)
		}
		if c.unit {
			continue
		}
		ref := []int{0, 1, 0}
		got, err := long.Machine(ref, 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.edit.Machine(ref, 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		for u := range 8 {
			y := []int{u & 1, u >> 1 & 1, u >> 2}
			if g, w := aloneLoss(t, got, y), aloneLoss(t, want, y); g != w || w != c.edit.Value(y, ref) {
				t.Errorf("%s: loss of %v is %v, by Edit %v, by its definition %v", c.name, y, g, w, c.edit.Value(y, ref))
			}
		}
	}
}

// aloneLoss is the expected loss where y alone is allowed.
func aloneLoss(t *testing.T, m *losses.Machine, y []int) float64 {
	t.Helper()
	p := losses.NewPotentials(2, len(y), 1)
	for s := range p.Theta {
		for k := range p.Theta[s] {
			if k != y[s] {
				p.Theta[s][k] = -1e4
			}
		}
	}
	var r losses.Result
	if err := new(losses.Evaluator).Eval(m, p, 1, 0, &r); err != nil {
		t.Fatal(err)
	}
	return r.LogZ
}
