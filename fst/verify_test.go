package fst_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

func TestVerify(t *testing.T) {
	type arc = fst.Arc[semiring.Tropical]
	bad := semiring.Tropical(math.NaN())
	for _, c := range []struct {
		name  string
		spoil func(v *fst.Vector[semiring.Tropical])
		opts  *fst.VerifyOptions
		state fst.StateID
		arc   int
		want  string // empty: well formed
		other bool   // OpenFst's fstinfo, without options, thinks otherwise
	}{
		{"good", func(v *fst.Vector[semiring.Tropical]) {}, nil, 0, 0, "", false},
		{"no start", func(v *fst.Vector[semiring.Tropical]) { v.SetStart(fst.NoState) }, nil, fst.NoState, -1, "no start state among 3", false},
		{"empty", func(v *fst.Vector[semiring.Tropical]) { v.Clear() }, nil, 0, 0, "", false},
		{"next state", func(v *fst.Vector[semiring.Tropical]) { v.AddArc(1, arc{NextState: 3}) }, nil, 1, 1, "next state is 3 of 3", false},
		{"negative next state", func(v *fst.Vector[semiring.Tropical]) { v.AddArc(1, arc{NextState: -1}) }, nil, 1, 1, "next state is -1", false},
		{"input label", func(v *fst.Vector[semiring.Tropical]) { v.AddArc(2, arc{ILabel: -1}) }, nil, 2, 0, "input label -1 is negative", false},
		{"output label", func(v *fst.Vector[semiring.Tropical]) { v.AddArc(2, arc{OLabel: -2}) }, nil, 2, 0, "output label -2 is negative", false},
		{"allowed", func(v *fst.Vector[semiring.Tropical]) { v.AddArc(2, arc{OLabel: -2}) }, &fst.VerifyOptions{NegativeLabels: true}, 0, 0, "", true},
		{"weight", func(v *fst.Vector[semiring.Tropical]) { v.AddArc(2, arc{Weight: bad}) }, nil, 2, 0, "not in the semiring", false},
		{"final weight", func(v *fst.Vector[semiring.Tropical]) { v.SetFinal(0, bad) }, nil, 0, -1, "final weight", false},
		{"symbols", func(v *fst.Vector[semiring.Tropical]) { v.SetInputSymbols(fst.SymbolsOf("ε", "a")) }, nil, 0, 1, `input label 2 is not in the symbol table`, false},
		{"ignored symbols", func(v *fst.Vector[semiring.Tropical]) { v.SetOutputSymbols(fst.SymbolsOf("ε")) }, &fst.VerifyOptions{IgnoreSymbols: true}, 0, 0, "", true},
		{"properties", func(v *fst.Vector[semiring.Tropical]) { v.SetProperties(fst.Cyclic|fst.Acyclic, fst.AllProperties) }, nil, fst.NoState, -1, "hold and not", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := workedMachine()
			c.spoil(v)
			err := fst.Verify[semiring.Tropical](v, c.opts)
			var e *fst.VerifyError
			if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &e) || e.State != c.state || e.Arc != c.arc || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if c.other {
				return
			}
			tools := fsttest.OpenFst(t)

			r := tools.Run("fstinfo", "--test_properties=false", fsttest.WriteFile[semiring.Tropical](tools, v, nil))
			if (r.Exit == 0) != (c.want == "") {
				t.Errorf("fstinfo: exit %d, %s", r.Exit, r.Stderr)
			}
		})
	}
}
