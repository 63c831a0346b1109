package main

import (
	"encoding/json"
	"math"

	"github.com/tropica-fst/tropica/cmd/internal/lossspec"
	"github.com/tropica-fst/tropica/losses"
)

// result gathers the fields that were asked for and apply.
func (ev *evaluation) result() (out *lossResult, err error) {
	if ev.path == "sampled" {
		return ev.sampledResult(), nil
	}
	c, r := ev.c, &ev.res
	out = &lossResult{Name: c.Name, void: math.IsInf(r.LogZ, -1)}
	if banded, ok := ev.spec.Direct.(interface{ BandFor(m, l int) int }); ok && ev.spec.Band > 0 && ev.p != nil {
		if used := banded.BandFor(len(c.yi), c.l); used != ev.spec.Band {
			out.widened = used
			if ev.o.asks("band") {
				out.Band = used
			}
		} else if ev.o.only["band"] {
			out.Band = used
		}
	}
	set := func(field string, to **lossspec.Number, x float64) {
		if ev.o.asks(field) {
			*to = (*lossspec.Number)(&x)
		}
	}
	rows := func(field string, to *[][]lossspec.Number, x [][]float64) {
		if !ev.o.asks(field) {
			return
		}
		*to = make([][]lossspec.Number, 0, len(x))
		for _, q := range ev.printOrder(len(x)) {
			row := make([]lossspec.Number, len(x[q]))
			for i, v := range x[q] {
				row[i] = lossspec.Number(v)
			}
			*to = append(*to, row)
		}
	}
	set("log_z", &out.LogZ, r.LogZ)
	rows("q", &out.Q, r.Marginals) // without positions, an empty array
	set("exp_loss", &out.ExpLoss, r.Expected)
	set("log_z0", &out.LogZ0, r.LogZ0)
	set("risk", &out.Risk, r.Risk)
	rows("risk_grad", &out.RiskGrad, r.RiskGradient)
	set("max_aug", &out.MaxAug, r.MaxAug)
	if ev.o.asks("argmax_aug") {
		out.ArgmaxAug = json.RawMessage("null") // there is none, or several are as good
		if !math.IsInf(r.MaxAug, -1) && !(r.MaxAugGap <= 1e-9) {
			out.ArgmaxAug, _ = json.Marshal(append([]int{}, r.ArgmaxAug...)) // integers always marshal
		}
	}
	if c.V != nil {
		rows("hvp", &out.HVP, r.HVP)
		rows("risk_hvp", &out.RiskHVP, r.RiskHVP)
	}
	if ev.p != nil && len(c.yi) == c.l {
		if theta := ev.p.Score(c.yi); !math.IsInf(theta, 0) {
			set("F", &out.F, r.LogZ-theta)
			if c.Tied && ev.o.asks("grad_w") {
				out.GradW = ev.tiedGradient()
			}
		}
	}
	if ev.o.asks("columns") {
		if out.Columns, err = ev.columns(); err != nil {
			return nil, err
		}
	}
	exact := ev.spec.Band == 0
	if ev.o.asks("exact") {
		out.Exact = &exact
	}
	if !exact && r.LogZErrorKind != losses.ErrorExact {
		set("log_z_error", &out.LogZError, r.LogZError)
		if ev.o.asks("log_z_error") || ev.o.asks("log_z_error_kind") { // a number without its kind means nothing
			out.LogZErrorKind = r.LogZErrorKind.String()
		}
	}
	return out, nil
}

// columns counts the states of the loss machine; nil where there is none. Those of an n-gram
// loss may be made for this alone, since its evaluation can do without.
func (ev *evaluation) columns() (*int, error) {
	n := 0
	switch {
	case ev.automaton != nil:
		n = ev.automaton.States()
	case ev.machine != nil:
		if err := ev.machine.Build(); err != nil {
			return nil, err
		}
		n = ev.machine.TotalColumns()
	default:
		return nil, nil
	}
	return &n, nil
}

// printOrder is the order in which fst print shows the states of a lattice, or
// that of the positions.
func (ev *evaluation) printOrder(n int) []int {
	order := make([]int, 0, n)
	start := 0
	if ev.lattice != nil && ev.lattice.Start() > 0 {
		start = int(ev.lattice.Start())
		order = append(order, start)
	}
	for q := range n {
		if q != start || len(order) == 0 || order[0] != start {
			order = append(order, q)
		}
	}
	return order
}

// tiedGradient is the sum over positions s ≥ q of Q - [window of y_i].
func (ev *evaluation) tiedGradient() []lossspec.Number {
	c := ev.c
	if c.l < c.q {
		return nil
	}
	g := make([]lossspec.Number, len(ev.p.Theta[c.q-1]))
	for t := c.q - 1; t < c.l; t++ {
		for i, x := range ev.res.Marginals[t] {
			g[i] += lossspec.Number(x)
		}
		g[ev.p.Window(c.yi, t)]--
	}
	return g
}
