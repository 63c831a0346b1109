package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/tropica-fst/tropica/cmd/fst/internal/suite"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// lossSpec is the loss of a case: one with a direct construction, or a transducer.
type lossSpec struct {
	direct losses.Loss // nil for a transducer
	value  func(y, ref []int) float64
	whole  func(y, ref []int) float64 // value without the band, for a cap

	band int
	cap  *float64

	file     string
	rational bool
	c        float64
}

// costTable is a cost, or a table of them.
type costTable struct {
	constant float64
	row      []float64
	table    [][]float64
}

func (t *costTable) UnmarshalJSON(b []byte) error {
	var x number
	if err := json.Unmarshal(b, &x); err == nil {
		t.constant = float64(x)
		return nil
	}
	if err := json.Unmarshal(b, &t.row); err == nil {
		return nil
	}
	t.row = nil
	if err := json.Unmarshal(b, &t.table); err != nil {
		return errors.New("a cost is a number, an array of numbers by symbol, or (sub) an array of arrays")
	}
	return nil
}

func parseLoss(raw json.RawMessage) (*lossSpec, error) {
	if len(raw) == 0 {
		return nil, errors.New("missing")
	}
	var in struct {
		Kind   string     `json:"kind"`
		Match  *costTable `json:"match"`
		Sub    *costTable `json:"sub"`
		Ins    *costTable `json:"ins"`
		Del    *costTable `json:"del"`
		Band   integer    `json:"band"`
		Cap    *number    `json:"cap"`
		N      *integer   `json:"n"`
		C      *number    `json:"c"`
		Scale  *number    `json:"scale"`
		File   string     `json:"file"`
		Family string     `json:"family"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	constant := func(name string, t *costTable, def float64) (float64, error) {
		switch {
		case t == nil:
			return def, nil
		case t.row != nil || t.table != nil:
			return 0, fmt.Errorf("%s must be a number here", name)
		default:
			return t.constant, nil
		}
	}
	s := &lossSpec{band: int(in.Band)}
	if in.C != nil {
		s.c = float64(*in.C)
		if s.c != 0 && in.Kind != "ngram" && !(in.Kind == "transducer" && in.Family == "rational") {
			what := fmt.Sprintf("%q", in.Kind)
			if in.Kind == "transducer" {
				what = fmt.Sprintf("transducers of family %q", in.Family)
			}
			return nil, fmt.Errorf("c = %v belongs to ngram losses and rational transducers, not to %s", s.c, what)
		}
	}
	if in.Band < 0 {
		return nil, fmt.Errorf("band %d is negative", in.Band)
	}
	if in.Band > 0 && in.Kind != "edit" && in.Kind != "local" {
		return nil, fmt.Errorf("a band belongs to edit and local losses, not to %q", in.Kind)
	}
	if in.Cap != nil {
		if in.Kind != "edit" {
			return nil, fmt.Errorf("a cap belongs to edit losses, not to %q", in.Kind)
		}
		x := float64(*in.Cap)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("cap is %v, not a finite number", x)
		}
		s.cap = &x
	}
	switch in.Kind {
	case "edit":
		e := losses.Edit{Band: int(in.Band)}
		var err error
		if e.Match, err = constant("match", in.Match, 0); err != nil {
			return nil, err
		}
		table := func(name string, t *costTable, x *float64, row *[]float64) error {
			switch {
			case t == nil:
				*x = 1
			case t.table != nil:
				return fmt.Errorf("%s must be a number or an array of numbers", name)
			default:
				*x, *row = t.constant, t.row
			}
			return nil
		}
		switch {
		case in.Sub == nil:
			e.Sub = 1
		case in.Sub.row != nil:
			return nil, errors.New("sub must be a number or an array of arrays, sub[y][yi]")
		default:
			e.Sub, e.SubTable = in.Sub.constant, in.Sub.table
		}
		if err := table("ins", in.Ins, &e.Ins, &e.InsTable); err != nil {
			return nil, err
		}
		if err := table("del", in.Del, &e.Del, &e.DelTable); err != nil {
			return nil, err
		}
		s.direct, s.value = e, e.Value
		if s.cap != nil { // for enumeration
			whole := e
			whole.Band = 0
			s.value = func(y, ref []int) float64 { return min(e.Value(y, ref), *s.cap) }
			s.whole = func(y, ref []int) float64 { return min(whole.Value(y, ref), *s.cap) }
		}
	case "local":
		x := losses.Local{Band: int(in.Band)}
		for _, f := range []struct {
			name string
			in   *costTable
			def  float64
			to   *float64
		}{{"match", in.Match, 1, &x.Match}, {"sub", in.Sub, -1, &x.Sub}, {"ins", in.Ins, -1, &x.Ins}, {"del", in.Del, -1, &x.Del}} {
			v, err := constant(f.name, f.in, f.def)
			if err != nil {
				return nil, err
			}
			*f.to = v
		}
		s.direct, s.value = x, x.Value
	case "ngram":
		if in.N == nil {
			return nil, errors.New("n is missing")
		}
		n := losses.NGram{N: int(*in.N), C: s.c}
		s.direct, s.value = n, n.Value
	case "hamming":
		h := losses.Hamming{Scale: 1}
		if in.Scale != nil {
			h.Scale = float64(*in.Scale)
		}
		s.direct, s.value = h, h.Value
	case "transducer":
		s.file = in.File
		switch in.Family {
		case "tropical":
		case "rational":
			s.rational = true
		default:
			return nil, fmt.Errorf("family %q is neither tropical nor rational", in.Family)
		}
		if s.file == "" {
			return nil, errors.New("file is missing")
		}
	default:
		return nil, fmt.Errorf("kind %q is none of edit, local, ngram, hamming, transducer", in.Kind)
	}
	return s, nil
}

// evaluation is one case on its way: prepare makes what depends on the
// reference, lengths and costs alone, run the rest.
type evaluation struct {
	c    *lossCase
	o    *lossOptions
	spec *lossSpec
	want losses.Want
	e    *losses.Evaluator

	p       *losses.Potentials           // nil for a lattice
	lattice fst.Expanded[semiring.Log64] // nil for potentials
	expand  fst.Expanded[semiring.Tropical64]
	v       [][]float64
	u       machine // the transducer of a transducer loss

	path string // direct, general or naive

	machine   *losses.Machine
	automaton *losses.Automaton
	res       losses.Result
}

func (c *lossCase) newEvaluation(e *losses.Evaluator, spec *lossSpec, o *lossOptions) (*evaluation, error) {
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
		if ev.expand, err = readOver[semiring.Tropical64](c.Expand, "standard", "tropical64", "log", "log64"); err != nil {
			return nil, fmt.Errorf("expand: %w", err)
		}
	}
	if spec.direct == nil {
		types := []string{"standard", "tropical64"}
		if spec.rational {
			types = []string{"real64", "log64", "log"}
		}
		if ev.u, err = readAny(spec.file, types); err != nil {
			return nil, fmt.Errorf("loss: %w", err)
		}
	}
	ev.path = o.path
	lattice := ev.lattice != nil || ev.expand != nil
	switch {
	case ev.path == "auto" && (lattice || spec.cap != nil):
		ev.path = "general"
	case ev.path == "auto":
		ev.path = "direct"
	case ev.path == "naive" && lattice:
		return nil, errors.New("the naive path does not cover lattices and expansions; --path=general does")
	case ev.path == "direct" && (lattice || spec.cap != nil):
		return nil, errors.New("the direct path does not cover lattices, expansions and caps; --path=general does")
	}
	if ev.lattice != nil {
		// Here, so that a transducer of a file has the same symbols as other losses.
		if _, err := losses.Symbols(ev.lattice, ev.expand, c.alphabet); err != nil {
			return nil, err
		}
	} else if checked, ok := spec.direct.(interface {
		Check(ref []int, alphabet, l int) error
	}); ok {
		if err := checked.Check(c.yi, c.alphabet, c.l); err != nil {
			return nil, err
		}
	}
	return ev, nil
}

// arcDirection reads v for a lattice: shaped as the marginals that are printed, a row for each state
// in the order of fst print, with a value for each of its arcs. What it returns is by state.
func (ev *evaluation) arcDirection() ([][]float64, error) {
	n := ev.lattice.NumStates()
	if len(ev.c.V) != n {
		return nil, fmt.Errorf("v has %d rows for the %d states of %s (a row for each, in the order of fst print, with a value for each arc)", len(ev.c.V), n, ev.c.Lattice)
	}
	v := make([][]float64, n)
	for i, q := range ev.printOrder(n) {
		row := ev.c.V[i]
		if arcs := len(ev.lattice.Arcs(fst.StateID(q))); len(row) != arcs {
			return nil, fmt.Errorf("v[%d] has %d values for the %d arcs of state %d of %s", i, len(row), arcs, q, ev.c.Lattice)
		}
		v[q] = make([]float64, len(row))
		for j, x := range row {
			if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
				return nil, fmt.Errorf("v[%d][%d] is %v, not a finite number", i, j, f)
			}
			v[q][j] = float64(x)
		}
	}
	return v, nil
}

// potentials checks theta, or makes it of tied weights.
func (c *lossCase) potentials(limit int64) (*losses.Potentials, error) {
	if c.q < 1 || c.q > 3 {
		return nil, fmt.Errorf("q = %d; orders are 1, 2 and 3", c.q)
	}
	const most = 1 << 20
	switch {
	case c.alphabet < 1 || c.alphabet > most:
		return nil, fmt.Errorf("an alphabet of %d symbols; it must have between 1 and %d", c.alphabet, most)
	case c.l < 0 || c.l > most:
		return nil, fmt.Errorf("strings of length %d; lengths are between 0 and %d", c.l, most)
	}
	theta := c.Theta
	if theta == nil && c.Tied {
		n := 1
		for s := range min(c.l, c.q-1) {
			if n *= c.alphabet; n > 1<<24 {
				return nil, fmt.Errorf("an alphabet of %d symbols has too many windows of %d", c.alphabet, s+1)
			}
			theta = append(theta, make([]number, n))
		}
		for len(theta) < c.l {
			theta = append(theta, c.W)
		}
	}
	rows, err := c.rows("theta", theta, limit)
	if err != nil {
		return nil, err
	}
	sizes := make([]int, c.l)
	for t := range sizes {
		sizes[t] = c.alphabet
	}
	return &losses.Potentials{Sizes: sizes, Order: c.q, Theta: rows}, nil
}

// rows checks the shape of what has a value a window.
func (c *lossCase) rows(name string, in [][]number, limit int64) ([][]float64, error) {
	if len(in) != c.l {
		return nil, fmt.Errorf("%s has %d rows for strings of length %d", name, len(in), c.l)
	}
	out := make([][]float64, len(in))
	n, total := 1, int64(0)
	for s, row := range in {
		if s < c.q && n <= len(row) { // beyond it, n would only overflow
			n *= c.alphabet
		}
		if len(row) != n {
			return nil, fmt.Errorf("%s[%d] has %d values for %d windows", name, s, len(row), n)
		}
		// Marginals and their text have as many; rows of tied weights are one.
		if total += int64(n) * 32; limit > 0 && total > limit {
			return nil, fmt.Errorf("%s has too many values for %d bytes, of which they and their marginals would take more at row %d of %d: %w", name, limit, s, len(in), losses.ErrBudget)
		}
		if s > 0 && len(in[s-1]) == n && &in[s-1][0] == &row[0] {
			out[s] = out[s-1]
			continue
		}
		out[s] = make([]float64, n)
		for i, x := range row {
			out[s][i] = float64(x)
		}
	}
	return out, nil
}

// readAny reads a machine whose arc type is one of types.
func readAny(name string, types []string) (machine, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := fst.NewStream(f, &fst.ReadOptions{Name: name})
	h, err := s.ReadHeader()
	if err != nil {
		return nil, err
	}
	for _, t := range types {
		if h.ArcType == t {
			su, err := suite.Of(t)
			if err != nil {
				return nil, err
			}
			return su.Read(s, h)
		}
	}
	return nil, fmt.Errorf("%s: arc type %s is none of %v", name, h.ArcType, types)
}

// readOver reads a machine of one of the arc types, converted to W.
func readOver[W semiring.Weight[W]](name string, types ...string) (fst.Expanded[W], error) {
	m, err := readAny(name, types)
	if err != nil {
		return nil, err
	}
	return over[W](m)
}

// over converts a machine to W.
func over[W semiring.Weight[W]](m machine) (fst.Expanded[W], error) {
	switch f := m.(type) {
	case fst.Expanded[W]:
		return f, nil
	case fst.Expanded[semiring.Tropical]:
		return ops.Convert[W](f)
	case fst.Expanded[semiring.Tropical64]:
		return ops.Convert[W](f)
	case fst.Expanded[semiring.Log]:
		return ops.Convert[W](f)
	case fst.Expanded[semiring.Log64]:
		return ops.Convert[W](f)
	case fst.Expanded[semiring.Probability]:
		return ops.Convert[W](f)
	}
	return nil, fmt.Errorf("no conversion from %T is defined", m)
}

func (ev *evaluation) prepare() (err error) {
	c, spec := ev.c, ev.spec
	switch {
	case ev.path == "naive":
		if spec.direct == nil {
			return ev.transducerValues()
		}
		return nil
	case ev.path == "direct" && spec.direct != nil:
		ev.machine, err = ev.o.within(spec.direct).Machine(c.yi, c.alphabet, c.l)
		return err
	}
	y := ev.lattice
	if y == nil {
		if n := int64(c.alphabet) * int64(c.l) * 32; ev.o.limits.Bytes > 0 && n > ev.o.limits.Bytes {
			return fmt.Errorf("the acceptor of all strings of %d of %d symbols would have %d bytes: %w", c.l, c.alphabet, n, losses.ErrBudget)
		}
		y = losses.Strings(c.alphabet, c.l)
	}
	opts := &losses.GeneralOptions{Expand: ev.expand, Band: spec.band, Cap: spec.cap, Columns: ev.o.columns, Limits: ev.o.limits}
	if ev.automaton, err = spec.automaton(y, ev.u, c, opts); err != nil {
		return spec.named(err)
	}
	if ev.path == "direct" {
		ev.machine, err = ev.automaton.Machine(c.alphabet, c.l)
	}
	return err
}

// within returns a loss with the budget of the flags.
func (o *lossOptions) within(loss losses.Loss) losses.Loss {
	switch x := loss.(type) {
	case losses.Edit:
		x.Budget = o.budget()
		return x
	case losses.Local:
		x.Budget = o.budget()
		return x
	case losses.NGram:
		x.Budget = o.budget()
		return x
	}
	return loss
}

// named adds the file of a loss that is read from one.
func (s *lossSpec) named(err error) error {
	if err != nil && s.file != "" {
		return fmt.Errorf("%s: %w", s.file, err)
	}
	return err
}

// automaton prepares the loss along the general path.
func (s *lossSpec) automaton(y fst.Expanded[semiring.Log64], u machine, c *lossCase, opts *losses.GeneralOptions) (*losses.Automaton, error) {
	switch x := s.direct.(type) {
	case nil:
		if s.rational {
			switch f := u.(type) {
			case fst.Expanded[semiring.Probability]:
				return losses.RationalAutomaton(y, f, c.yi, s.c, opts)
			case fst.Expanded[semiring.Log64]:
				return losses.RationalAutomaton(y, f, c.yi, s.c, opts)
			case fst.Expanded[semiring.Log]:
				return losses.RationalAutomaton(y, f, c.yi, s.c, opts)
			}
			return nil, fmt.Errorf("a rational loss over %T", u)
		}
		f, err := over[semiring.Tropical64](u)
		if err != nil {
			return nil, err
		}
		return losses.TropicalAutomaton(y, f, c.yi, opts)
	case interface {
		Automaton(y fst.Expanded[semiring.Log64], ref []int, alphabet int, opts *losses.GeneralOptions) (*losses.Automaton, error)
	}:
		return x.Automaton(y, c.yi, c.alphabet, opts)
	}
	return nil, fmt.Errorf("a loss of type %T has no transducer", s.direct)
}

// transducerValues gives naive enumeration the loss of a string: the weight of
// what is composed of that string alone.
func (ev *evaluation) transducerValues() error {
	spec, c := ev.spec, ev.c
	var failed error
	spec.value = func(y, ref []int) float64 {
		a, err := spec.automaton(losses.Chain(y), ev.u, c, &losses.GeneralOptions{Cap: spec.cap, Limits: ev.o.limits})
		if err != nil {
			failed = err
			return math.Inf(1)
		}
		return a.Loss(y)
	}
	spec.value(make([]int, c.l), c.yi) // the errors of one string are those of all
	return spec.named(failed)
}

func (ev *evaluation) run() error {
	c := ev.c
	switch ev.path {
	case "naive":
		n := 1.0
		for range c.l {
			n *= float64(c.alphabet)
		}
		if n > 1e9 {
			return fmt.Errorf("enumeration of %.3g strings would not end; the direct and general paths do", n)
		}
		if err := losses.Naive(func(u []int) float64 { return ev.spec.value(u, c.yi) }, ev.p, c.gamma(), ev.want, ev.v, &ev.res); err != nil {
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

// errorIsDirect reports whether what a band may have cost comes from the direct machine, whatever
// the path: it is a property of the loss and the potentials, where the loss sees their labels.
func (ev *evaluation) errorIsDirect() bool {
	return ev.spec.direct != nil && ev.p != nil && ev.expand == nil && ev.spec.cap == nil
}

// bandError adds what a band may have cost to a result that another path than the
// direct one computed, where that is for the direct machine to tell, or for enumeration.
func (ev *evaluation) bandError() error {
	if ev.spec.band == 0 || ev.want&losses.WantError == 0 {
		return nil
	}
	if ev.path == "naive" && ev.spec.whole != nil {
		var r losses.Result
		if err := losses.Naive(func(u []int) float64 { return ev.spec.whole(u, ev.c.yi) }, ev.p, ev.c.gamma(), 0, nil, &r); err != nil {
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
	m, err := ev.o.within(ev.spec.direct).Machine(ev.c.yi, ev.c.alphabet, ev.c.l)
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

// result gathers the fields that were asked for and apply.
func (ev *evaluation) result() (out *lossResult, err error) {
	c, r := ev.c, &ev.res
	out = &lossResult{Name: c.Name, void: math.IsInf(r.LogZ, -1)}
	if banded, ok := ev.spec.direct.(interface{ BandFor(m, l int) int }); ok && ev.spec.band > 0 && ev.p != nil {
		if used := banded.BandFor(len(c.yi), c.l); used != ev.spec.band {
			out.widened = used
			if ev.o.asks("band") {
				out.Band = used
			}
		} else if ev.o.only["band"] {
			out.Band = used
		}
	}
	set := func(field string, to **number, x float64) {
		if ev.o.asks(field) {
			*to = (*number)(&x)
		}
	}
	rows := func(field string, to *[][]number, x [][]float64) {
		if !ev.o.asks(field) {
			return
		}
		*to = make([][]number, 0, len(x))
		for _, q := range ev.printOrder(len(x)) {
			row := make([]number, len(x[q]))
			for i, v := range x[q] {
				row[i] = number(v)
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
	exact := ev.spec.band == 0
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
func (ev *evaluation) tiedGradient() []number {
	c := ev.c
	if c.l < c.q {
		return nil
	}
	g := make([]number, len(ev.p.Theta[c.q-1]))
	for t := c.q - 1; t < c.l; t++ {
		for i, x := range ev.res.Marginals[t] {
			g[i] += number(x)
		}
		g[ev.p.Window(c.yi, t)]--
	}
	return g
}
