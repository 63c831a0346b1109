package losses

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/losses/internal/align"
	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// Every construction and evaluation stops with its context, and within its bytes.
func TestBudgetStops(t *testing.T) {
	dead, cancel := context.WithCancel(context.Background())
	cancel()
	ref := publishedRef(0, 20)
	for name, loss := range map[string]Loss{
		"words":    Edit{Sub: 1, Ins: 1, Del: 1, Budget: Budget{Ctx: dead}},
		"whole":    Edit{Sub: math.Sqrt2, Ins: 1, Del: 1, Budget: Budget{Ctx: dead}},
		"limbs":    Edit{Match: -1e-9, Sub: 1e20, Ins: 1e20, Del: 3e20, Budget: Budget{Ctx: dead}},
		"local":    Local{Match: 1, Sub: -1, Ins: -1, Del: -1, Budget: Budget{Ctx: dead}},
		"ngram":    NGram{N: 3, Budget: Budget{Ctx: dead}},
		"w bytes":  Edit{Match: -2, Sub: 1, Ins: 1, Del: 1, Budget: Budget{Bytes: 1 << 22}},
		"wh bytes": Edit{Sub: math.Sqrt2, Ins: 1, Del: 1, Budget: Budget{Bytes: 1 << 22}},
		"l bytes":  Local{Match: 1, Sub: -1, Ins: -1, Del: -1, Budget: Budget{Bytes: 1 << 20}},
		"n bytes":  NGram{N: 4, Budget: Budget{Bytes: 1 << 14}},
	} {
		start := time.Now()
		_, err := loss.Machine(ref, 10, 20)
		want := error(context.Canceled)
		if strings.Contains(name, "bytes") {
			want = ErrBudget
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", name, err, want)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s: %v", name, d)
		}
	}
	m, err := Unit.Machine(ref[:12], 10, 12)
	if err != nil {
		t.Fatal(err)
	}
	p := publishedPotentials(1, 10, 12, 2)
	var r Result
	for _, e := range []*Evaluator{{Budget: Budget{Ctx: dead}}, {Budget: Budget{Ctx: dead}, logOnly: true}} {
		if err := e.Eval(m, p, 1, WantMarginals|WantMaxAug, &r); !errors.Is(err, context.Canceled) {
			t.Errorf("an evaluation whose context is done: %v", err)
		}
	}
	small := &Evaluator{Budget: Budget{Bytes: 1 << 16}}
	if err := small.Eval(m, p, 1, WantMarginals, &r); !errors.Is(err, ErrBudget) {
		t.Errorf("an evaluation of more bytes than allowed: %v", err)
	}
	if err := small.Sample(m, p, 1, rand.New(rand.NewPCG(1, 1)), make([][]int, 1)); !errors.Is(err,
		ErrBudget) {
		t.Errorf("a sample of more bytes than allowed: %v", err)
	}
	n, err := NGram{N: 2}.Machine(ref, 10, 20)
	if err != nil {
		t.Fatal(err)
	}
	q := publishedPotentials(1, 10, 20, 2)
	for _, e := range []*Evaluator{{Budget: Budget{Ctx: dead}}, small} {
		if err := e.Eval(n, q, 1, WantMarginals, &r); err == nil {
			t.Error("an n-gram evaluation beyond its budget")
		}
	}
}

// Vectors of all counts up to the greatest give way to the automaton, which has the
// possible ones alone, where they exceed the budget of the loss or of the evaluation.
func TestNGramVectorsWithinBudget(t *testing.T) {
	fsttest.OneGoroutine(t)
	rng := rand.New(rand.NewPCG(91, 92))
	const want = WantMarginals | WantExpected | WantRisk | WantRiskGradient | WantPlain
	for _, n := range []int{1, 2} {
		ref, p := randomRef(rng, 60, 2), randomPotentials(rng, slices.Repeat([]int{2}, 60), 2)
		if n == 2 {
			clear(ref) // every bigram that is one of the reference's counts 59
		}
		free, err := NGram{N: n, C: 1}.Machine(ref, 2, 60)
		if err != nil {
			t.Fatal(err)
		}
		var a, b Result
		var vectors Evaluator
		if err := vectors.Eval(free, p, 1, want, &a); err != nil {
			t.Fatal(err)
		}
		whole := int64(cap(vectors.ngram.alpha)) * 8
		if whole == 0 {
			t.Fatalf("n = %d: the evaluation without a bound has no vectors of counts", n)
		}
		tight, err := NGram{N: n, C: 1, Budget: Budget{Bytes: whole - 1}}.Machine(ref, 2, 60)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			e *Evaluator
			m *Machine
		}{{&Evaluator{}, tight}, {&Evaluator{Budget: Budget{Bytes: whole - 1}}, free},
			{&Evaluator{Nodes: 1 << 20}, tight}} {
			if err := c.e.Eval(c.m, p, 1, want, &b); err != nil {
				t.Fatalf("n = %d: %v", n, err)
			}
			if c.e.ngram.alpha != nil {
				t.Errorf("n = %d: vectors of %d bytes in a budget of %d", n, cap(c.e.ngram.alpha)*8, whole-1)
			}
			if err := compareResults(&b, &a, want); err != nil {
				t.Errorf("n = %d: %v", n, err)
			}
		}
	}
	// Under the default budget: 8 GB of vectors, for half a million columns.
	m, err := NGram{N: 1, C: 1}.Machine(randomRef(rng, 1000, 2), 2, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var e Evaluator
	var r Result
	if err := e.Eval(m, randomPotentials(rng, slices.Repeat([]int{2}, 1000), 1), 1, 0, &r); err != nil ||
		e.ngram.alpha != nil {
		t.Errorf("1000 symbols of 2: error %v, vectors of %d bytes", err, cap(e.ngram.alpha)*8)
	}
}

// A context that one may wait for costs no allocation.
func TestBudgetAllocatesNothing(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	m, err := Unit.Machine(publishedRef(0, 8), 10, 8)
	if err != nil {
		t.Fatal(err)
	}
	p := publishedPotentials(1, 10, 8, 2)
	e := Evaluator{Budget: Budget{Ctx: ctx, Bytes: 1 << 30}}
	var r Result
	if n := testing.AllocsPerRun(20, func() {
		if err := e.Eval(m, p, 1, WantMarginals|WantExpected, &r); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// The error of a loss that is too large comes after few columns, the search for a
// band included, whatever the lengths; the band that it names fits, and what it says of
// the size is no more than is known.
func TestBudgetErrorsComeSoon(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(81, 82))
	for _, c := range []struct {
		edit     Edit
		m, l, d  int
		columns  int // at most, of the exact machine
		narrower bool
	}{
		{Edit{Match: -2, Sub: 1, Ins: 1, Del: 1}, 30, 30, 10, 1 << 16, false},
		{Edit{Sub: 1.7, Ins: 1.1, Del: 0.9}, 60, 60, 10, 1 << 16, false},
		{Edit{Sub: 1, Ins: 1, Del: 1}, 3000, 3000, 10, 1 << 16, false},
		{Edit{Sub: 1, Ins: 1, Del: 1}, 2500, 3500, 4, 1 << 16, false},
		{Edit{Sub: 1, Ins: 1, Del: 1}, 4000, 2000, 4, 1 << 16, false},
		{Edit{Sub: 1, Ins: 1, Del: 1, Band: 12}, 200, 200, 10, 1 << 20, true},
	} {
		if c.narrower {
			c.edit.Budget.Bytes = 1 << 26
		}
		ref := randomRef(rng, c.m, c.d)
		_, err := c.edit.Machine(ref, c.d, c.l)
		var b *BudgetError
		if !errors.As(err, &b) || b.Length != c.l || b.Columns > c.columns || b.Bytes > 1000*b.Limit ||
			!strings.Contains(err.Error(), "more than") {
			t.Errorf("%+v, %d and %d symbols: %v", c.edit, c.m, c.l, err)
			continue
		}
		if b.Band < 1 || c.narrower && b.Band >= c.edit.Band {
			t.Errorf("%+v, %d and %d symbols: band %d", c.edit, c.m, c.l, b.Band)
			continue
		}
		c.edit.Band = b.Band
		if m, err := c.edit.Machine(ref, c.d, c.l); err != nil || m.Bytes() > DefaultBytes {
			t.Errorf("%+v, %d and %d symbols: the band named does not do: %v", c.edit, c.m, c.l, err)
		}
	}
}

// Growth is known after some thousand columns, a few milliseconds, of references with
// repeated symbols too: these had 29 million columns before their error.
func TestForeseenSoon(t *testing.T) {
	fsttest.OneGoroutine(t)
	squares := func(l int) []int {
		ref := make([]int, l)
		for j := range ref {
			ref[j] = j * j % 7
		}
		return ref
	}
	for _, c := range []struct {
		loss Edit
		l    int
	}{{Unit, 40}, {Unit, 60}, {Unit, 2000}, {SmithWaterman, 40},
		{Edit{Sub: 1.37, Ins: 1.011, Del: .977}, 40}} {
		_, err := c.loss.Machine(squares(c.l), 10, c.l)
		var b *BudgetError
		if !errors.As(err, &b) || b.Columns > 1<<14 || b.Band < 1 || b.Bytes <= b.Limit {
			t.Errorf("%+v, %d symbols: %v", c.loss, c.l, err)
		}
		if c.l > 60 {
			continue
		}
		_, err = c.loss.Automaton(Strings(10, c.l), squares(c.l), 10, nil)
		if !errors.As(err, &b) || b.Columns > 1<<14 && b.Stage == stageForeseen {
			t.Errorf("%+v, %d symbols, general path: %v", c.loss, c.l, err)
		}
	}
}

// What an exact build cannot hold is refused soon, and what it can is built.
func TestOutgrown(t *testing.T) {
	ref := publishedRef(0, 30)
	e := Edit{Sub: 1, Ins: 1, Del: 1, Budget: Budget{Bytes: 1 << 26}}
	_, err := e.Machine(ref, 10, 30)
	var b *BudgetError
	if !errors.As(err, &b) || b.Band < 1 || b.Columns > 1<<18 || b.Bytes <= b.Limit {
		t.Errorf("%v", err)
	}
	for l := 4; l <= 16; l += 3 { // with hardly more than it takes
		e.Bytes = 0
		m, err := e.Machine(ref[:l], 10, l)
		if err != nil {
			t.Fatal(err)
		}
		e.Bytes = 4*m.Bytes() + 1<<20
		if _, err := e.Machine(ref[:l], 10, l); err != nil {
			t.Errorf("l %d: %v", l, err)
		}
	}
}

// A local loss beyond its bytes is refused at a few thousand columns, with what else to
// do; one that fits is built, however little room is left.
func TestLocalOutgrown(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(83, 84))
	x := Local{Match: 1, Sub: -1, Ins: -1, Del: -1}
	for _, c := range []struct{ d, l, columns int }{{15, 24, 1 << 17}, {15, 28, 1 << 16}, {15, 40, 1 << 16},
		{4, 40, 1 << 17}, {2, 60, 1 << 17}} {
		x.Bytes = 1 << 27
		_, err := x.Machine(randomRef(rng, c.l, c.d), c.d, c.l)
		var b *BudgetError
		if !errors.As(err, &b) || b.Columns > c.columns || b.Limit != x.Bytes || b.Band < 1 ||
			!strings.Contains(err.Error(), "try band") {
			t.Errorf("%d symbols of %d: %v", c.l, c.d, err)
		}
	}
	x.Bytes = 0
	for _, c := range []struct{ d, l, m int }{{2, 20, 20}, {4, 15, 15}, {15, 14, 14}, {8, 12, 19}} {
		ref := randomRef(rng, c.m, c.d)
		m, err := x.Machine(ref, c.d, c.l)
		if err != nil {
			t.Fatal(err)
		}
		_, classes := align.ReferenceClasses(ref, c.d)
		room := x
		room.Bytes = int64(m.TotalColumns())*(layered.WithGraph(len(classes),
			1)+4*int64(len(classes))+16) + 1<<19
		if _, err := room.Machine(ref, c.d, c.l); err != nil {
			t.Errorf("%d symbols of %d: %v", c.l, c.d, err)
		}
		room.Bytes = layered.WithGraph(len(classes), 1) * int64(m.TotalColumns()) / 4
		if _, err := room.Machine(ref, c.d, c.l); !errors.Is(err, ErrBudget) {
			t.Errorf("%d symbols of %d in a quarter of their bytes: %v", c.l, c.d, err)
		}
	}
}

// A band is named after a trial that has come beyond 3·band layers or to the end: columns
// of the first layers say nothing of the rest.
func TestFittingTrials(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(85, 86))
	early := 0
	for _, e := range []Edit{{Match: -2, Sub: 1, Ins: 1, Del: 1}, {Sub: 1.7, Ins: 1.1, Del: 0.9},
		{Sub: 3, Ins: 2, Del: 1}} {
		for _, l := range []int{60, 200} {
			e.Bytes = 1 << 60 // so that nothing but the trials themselves ends the search
			ref := randomRef(rng, l, 10)
			want, left := 0, 1<<16 // columns of all trials
			for band := 1; left > 0; band++ {
				trial := e
				trial.Band, trial.Budget = band, Budget{Columns: left}
				m, err := built(trial.columns(ref, 10, l))
				var over *BudgetError
				if err == nil {
					want, left = band, left-m.TotalColumns()
					continue
				}
				if errors.As(err, &over) && over.Layer > 3*band {
					want = band
				} else {
					early++
				}
				break
			}
			if got := e.fitting(ref, 10, l); got != want {
				t.Errorf("%+v, %d symbols: band %d, want %d", e, l, got, want)
			}
		}
	}
	if early == 0 {
		t.Error("no search was ended by a trial that stopped early: this tests nothing")
	}
}

// γ of all sizes, and what no float64 can hold, on both paths alike.
func TestGammaRange(t *testing.T) {
	ref := []int{0, 1, 0}
	for _, loss := range []valued{Unit, SmithWaterman, Edit{Sub: 1e17, Match: -1e17, Ins: 1, Del: 1},
		NGram{N: 1, C: 1}, Local{Match: 1, Sub: -1, Ins: -1, Del: -1}} {
		for _, gamma := range []float64{1e6, -1e6, 1e12, -1e12, 1e300, -1e300, 1e308, -1e308, math.NaN(),
			math.Inf(1)} {
			m, err := loss.Machine(ref, 2, 3)
			if err != nil {
				t.Fatal(err)
			}
			p := publishedPotentials(2, 2, 3, 1)
			var got, want Result
			err = new(Evaluator).Eval(m, p, gamma, WantMarginals, &got)
			err1 := Naive(func(u []int) float64 { return loss.Value(u, ref) }, p, gamma, WantMarginals, nil,
				&want)
			if (err == nil) != (err1 == nil) {
				t.Errorf("%+v γ %v: directly %v, by enumeration %v", loss, gamma, err, err1)
			} else if err == nil && !(math.Abs(got.LogZ-want.LogZ) <= 1e-9*math.Max(1e-3,
				math.Abs(want.LogZ))) {
				t.Errorf("%+v γ %v: %v, by enumeration %v", loss, gamma, got.LogZ, want.LogZ)
			}
			if err := new(Evaluator).Sample(m, p, gamma, rand.New(rand.NewPCG(1, 1)),
				make([][]int, 2)); (err == nil) != (err1 == nil) {
				t.Errorf("%+v γ %v: sample %v, by enumeration %v", loss, gamma, err, err1)
			}
		}
	}
	p := NewPotentials(2, 3, 1)
	p.Theta[0][0], p.Theta[1][0] = 1e308, 1e308
	var r Result
	if err := new(Evaluator).Eval(nil, p, 1, 0, &r); !errors.Is(err, ErrRange) {
		t.Errorf("potentials of 1e308: %v", err)
	}
	if err := Naive(func([]int) float64 { return 0 }, p, 1, 0, nil, &r); !errors.Is(err, ErrRange) {
		t.Errorf("potentials of 1e308 by enumeration: %v", err)
	}
}

// Nil machines, and sizes below 0, give errors that say what is wrong.
func TestObscure(t *testing.T) {
	if err := new(Evaluator).Eval(&Machine{}, NewPotentials(2, 0, 1), 1, 0, new(Result)); err == nil {
		t.Error("an empty Machine was evaluated")
	}
	for name, f := range map[string]func(){
		"NewPotentials": func() { NewPotentials(2, -1, 1) },
		"Strings":       func() { Strings(2, -1) },
	} {
		func() {
			defer func() {
				if s, ok := recover().(string); !ok || !strings.Contains(s, "-1") {
					t.Errorf("%s(…, -1) panics with %v", name, s)
				}
			}()
			f()
		}()
	}
	first, last := align.BandWindows(3, 2, math.MaxInt)
	if first[3] != 0 || last[0] != 2 {
		t.Errorf("a band beyond all cells: %v %v", first, last)
	}
}

// The mean of a loss far below its constant keeps its places.
func TestSmallMeans(t *testing.T) {
	ref := []int{0, 1, 2, 0, 1}
	p := NewPotentials(3, 5, 1)
	for s, row := range p.Theta {
		row[ref[s]] = 30
	}
	m, err := Unit.Machine(ref, 3, 5)
	if err != nil {
		t.Fatal(err)
	}
	var got, want Result
	if err := new(Evaluator).Eval(m, p, 1, WantExpected|WantRisk, &got); err != nil {
		t.Fatal(err)
	}
	if err := Naive(func(u []int) float64 { return Unit.Value(u, ref) }, p, 1, WantExpected|WantRisk, nil,
		&want); err != nil {
		t.Fatal(err)
	}
	for _, x := range [][2]float64{{got.Expected, want.Expected}, {got.Risk, want.Risk}} {
		if math.Abs(x[0]-x[1]) > 1e-9*x[1] {
			t.Errorf("mean %v, want %v", x[0], x[1])
		}
	}
}

// Columns that no continuation can tell apart are one: a cell from which the rest of both
// strings cannot lead beyond the best score counts as 0. Without that, these are 371161.
func TestLocalColumns(t *testing.T) {
	ref := randomRef(rand.New(rand.NewPCG(85, 86)), 12, 10)
	m, err := Local{Match: 2, Sub: -1, Ins: -1, Del: -1}.Machine(ref, 10, 12)
	if err != nil {
		t.Fatal(err)
	}
	if n := m.TotalColumns(); n != 101307 {
		t.Errorf("%d columns, want 101307", n)
	}
}

// A machine keeps no context, since its maker's may be done when another caller uses it.
func TestMachineKeepsNoContext(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 50))
	for _, loss := range []func(Budget) Loss{
		func(b Budget) Loss { return NGram{N: 2, C: 1, Budget: b} },
		func(b Budget) Loss { return NGram{N: 3, C: 1, Budget: b} },
		func(b Budget) Loss { return Edit{Match: -1e6, Sub: 1, Ins: 1, Del: 1, Budget: b} },
		func(b Budget) Loss { return Edit{Band: 1, Budget: b} },
		func(b Budget) Loss { return Local{Budget: b} },
	} {
		ctx, cancel := context.WithCancel(context.Background())
		m, err := loss(Budget{Ctx: ctx}).Machine([]int{0, 1, 2, 1}, 3, 4)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		p := NewPotentials(3, 4, 1)
		for _, row := range p.Theta {
			for i := range row {
				row[i] = rng.NormFloat64()
			}
		}
		e := Evaluator{Direction: p.Theta}
		var r Result
		if err := e.Eval(m, p, 1, everything|WantHVP|WantRiskHVP|WantError, &r); err != nil {
			t.Errorf("%+v: %v", loss(Budget{}), err)
		}
	}
}
