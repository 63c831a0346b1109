package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/cmd/internal/lossspec"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/semiring"
)

// evaluation is one case in progress. prepare makes what depends only on the reference, lengths and
// costs; run does the rest.
type evaluation struct {
	c    *lossCase
	o    *lossOptions
	spec *lossspec.Spec
	want losses.Want
	e    *losses.Evaluator

	p       *losses.Potentials           // nil for a lattice
	lattice fst.Expanded[semiring.Log64] // nil for potentials
	expand  fst.Expanded[semiring.Tropical64]
	v       [][]float64
	u       machine // the transducer of a transducer loss

	path string // direct, general, naive or sampled

	machine   *losses.Machine
	automaton *losses.Automaton
	res       losses.Result

	options losses.SampledOptions
	layers  *losses.LayeredLattice // of a lattice that is sampled
	sampled losses.SampledResult
}

func (c *lossCase) newEvaluation(e *losses.Evaluator, spec *lossspec.Spec,
	o *lossOptions) (*evaluation, error) {
	ev := &evaluation{c: c, o: o, spec: spec, want: c.want(o), e: e}
	var err error
	switch {
	case c.Lattice != "":
		if c.Theta != nil {
			return nil, errors.New("a case has theta, or a lattice, not both")
		}
		if ev.lattice, err = readOver[semiring.Log64](c.Lattice, "log64", "log"); err != nil {
			return nil, fmt.Errorf("lattice: %w", err)
		}
		if err := losses.CheckLattice(ev.lattice); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Lattice, err)
		}
		if c.V != nil {
			if ev.v, err = ev.arcDirection(); err != nil {
				return nil, err
			}
		}
	default:
		if ev.p, err = c.potentials(o.limits.Bytes); err != nil {
			return nil, err
		}
		if c.V != nil {
			if ev.v, err = c.rows("v", c.V, o.limits.Bytes); err != nil {
				return nil, err
			}
		}
	}
	if c.Expand != "" {
		if ev.expand, err = readOver[semiring.Tropical64](c.Expand, "standard", "tropical64", "log",
			"log64"); err != nil {
			return nil, fmt.Errorf("expand: %w", err)
		}
	}
	if spec.Direct == nil {
		types := []string{"standard", "tropical64"}
		if spec.Rational {
			types = []string{"real64", "log64", "log"}
		}
		if ev.u, err = readAny(spec.File, types); err != nil {
			return nil, fmt.Errorf("loss: %w", err)
		}
	}
	ev.path = o.path
	lattice := ev.lattice != nil || ev.expand != nil
	switch {
	case ev.path == "auto" && (lattice || spec.Cap != nil):
		ev.path = "general"
	case ev.path == "auto":
		ev.path = "direct"
	case ev.path == "naive" && lattice:
		return nil, errors.New("the naive path does not cover lattices and expansions; --path=general does")
	case ev.path == "direct" && (lattice || spec.Cap != nil):
		return nil, errors.New("the direct path does not cover lattices, expansions and caps; --path=general does")
	}
	if ev.lattice != nil {
		// Here, so that a transducer of a file has the same symbols as other losses.
		if _, err := losses.Symbols(ev.lattice, ev.expand, c.alphabet); err != nil {
			return nil, err
		}
	} else if checked, ok := spec.Direct.(interface {
		Check(ref []int, alphabet, l int) error
	}); ok {
		if err := checked.Check(c.yi, c.alphabet, c.l); err != nil {
			return nil, err
		}
	}
	if ev.path == "sampled" {
		return ev, ev.forSampling()
	}
	return ev, nil
}

func (ev *evaluation) prepare() (err error) {
	c, spec := ev.c, ev.spec
	switch {
	case ev.path == "sampled":
		return nil
	case ev.path == "naive":
		if spec.Direct == nil {
			return ev.transducerValues()
		}
		return nil
	case ev.path == "direct" && spec.Direct != nil:
		ev.machine, err = ev.o.within(spec.Direct).Machine(c.yi, c.alphabet, c.l)
		return err
	}
	y := ev.lattice
	if y == nil {
		if n := int64(c.alphabet) * int64(c.l) * 32; ev.o.limits.Bytes > 0 && n > ev.o.limits.Bytes {
			return fmt.Errorf("the acceptor of all strings of %d of %d symbols would have %d bytes: %w", c.l,
				c.alphabet, n, losses.ErrBudget)
		}
		y = losses.Strings(c.alphabet, c.l)
	}
	opts := &losses.GeneralOptions{Expand: ev.expand, Band: spec.Band, Cap: spec.Cap, Columns: ev.o.columns,
		Limits: ev.o.limits}
	if ev.automaton, err = automaton(spec, y, ev.u, c, opts); err != nil {
		return inFile(spec, err)
	}
	if ev.path == "direct" {
		ev.machine, err = ev.automaton.Machine(c.alphabet, c.l)
	}
	return err
}

// transducerValues gives naive enumeration the loss of a string: the weight of
// what is composed of that string alone.
func (ev *evaluation) transducerValues() error {
	spec, c := ev.spec, ev.c
	var failed error
	spec.Value = func(y, ref []int) float64 {
		a, err := automaton(spec, losses.Chain(y), ev.u, c,
			&losses.GeneralOptions{Cap: spec.Cap, Limits: ev.o.limits})
		if err != nil {
			// A string of labels that the transducer does not read is one that it leaves out.
			if !errors.Is(err, losses.ErrNoString) {
				failed = err
			}
			return math.Inf(1)
		}
		return a.Loss(y)
	}
	spec.Value(make([]int, c.l), c.yi) // the errors of one string are those of all
	if failed == nil && c.l > 0 {
		// But for a transducer of another alphabet, which reads no symbol at all. One position
		// tells.
		_, failed = automaton(spec, losses.Strings(c.alphabet, 1), ev.u, c,
			&losses.GeneralOptions{Limits: ev.o.limits})
	}
	return inFile(spec, failed)
}

func (ev *evaluation) run() error {
	c := ev.c
	switch ev.path {
	case "sampled":
		return ev.sample()
	case "naive":
		n := 1.0
		for range c.l {
			n *= float64(c.alphabet)
		}
		if n > 1e9 {
			return fmt.Errorf("enumeration of %.3g strings would not end; the direct and general paths do", n)
		}
		if err := losses.Naive(func(u []int) float64 { return ev.spec.Value(u, c.yi) }, ev.p, c.gamma(), ev.want,
			ev.v, &ev.res); err != nil {
			return err
		}
		return ev.bandError()
	case "direct":
		ev.e.Direction = ev.v
		ev.e.Budget = losses.Budget{Ctx: ev.o.limits.Ctx, Bytes: ev.o.working}
		return ev.e.Eval(ev.machine, ev.p, c.gamma(), ev.want, &ev.res)
	}
	want := ev.want
	if ev.errorIsDirect() {
		want &^= losses.WantError
	}
	var r *losses.LatticeResult
	var err error
	if ev.lattice != nil {
		r, err = (&losses.Lattice{A: ev.lattice, V: ev.v}).Eval(ev.automaton, c.gamma(), want, ev.o.limits)
	} else {
		r, err = losses.EvalGeneral(ev.p, ev.automaton, c.gamma(), want, ev.v, ev.o.limits)
	}
	if err != nil {
		return err
	}
	ev.res = r.Result
	return ev.bandError()
}

// errorIsDirect reports whether the possible cost of a band comes from the direct machine, whatever
// the path. It is a property of the loss and the potentials, where the loss sees their labels.
func (ev *evaluation) errorIsDirect() bool {
	return ev.spec.Direct != nil && ev.p != nil && ev.expand == nil && ev.spec.Cap == nil
}

// bandError adds the possible cost of a band to a result of another path than the direct one, where
// the direct machine or enumeration can determine it.
func (ev *evaluation) bandError() error {
	if ev.spec.Band == 0 || ev.want&losses.WantError == 0 {
		return nil
	}
	if ev.path == "naive" && ev.spec.Whole != nil {
		var r losses.Result
		if err := losses.Naive(func(u []int) float64 { return ev.spec.Whole(u, ev.c.yi) }, ev.p, ev.c.gamma(), 0,
			nil, &r); err != nil {
			return err
		}
		ev.res.LogZError, ev.res.LogZErrorKind = 0, losses.ErrorBound
		if !math.IsInf(r.LogZ, -1) {
			ev.res.LogZError = math.Abs(ev.res.LogZ - r.LogZ)
		}
		return nil
	}
	if !ev.errorIsDirect() {
		return nil
	}
	m, err := ev.o.within(ev.spec.Direct).Machine(ev.c.yi, ev.c.alphabet, ev.c.l)
	if err != nil {
		return err
	}
	ev.e.Budget = losses.Budget{Ctx: ev.o.limits.Ctx, Bytes: ev.o.working}
	var r losses.Result
	if err := ev.e.Eval(m, ev.p, ev.c.gamma(), losses.WantError, &r); err != nil {
		return err
	}
	ev.res.LogZError, ev.res.LogZErrorKind = r.LogZError, r.LogZErrorKind
	return nil
}

// time measures what a caller waits for the first time, and every time after. Both have
// the memory of the evaluation before, which is of no reference.
func (ev *evaluation) time(res *lossResult) error {
	cold, err := median5(func() error {
		if err := ev.prepare(); err != nil {
			return err
		}
		return ev.run()
	})
	if err != nil {
		return err
	}
	warm, err := median5(ev.run)
	res.ColdNS, res.WarmNS = &cold, &warm
	return err
}
