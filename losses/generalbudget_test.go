package losses

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// The general path says where it stopped, and names a band that then does.
func TestGeneralBudgetNamesBand(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(91, 1))
	for _, c := range []struct {
		edit    Edit
		m, l    int
		bytes   int64
		stage   string
		strings string
	}{
		{Unit, 14, 14, 1 << 20, stageDeterminize, "some"},
		{SmithWaterman, 14, 12, 1 << 20, stageDeterminize, "some"},
		{SmithWaterman, 14, 12, 1 << 21, stageDeterminize, "expanded"},
		{SmithWaterman, 14, 12, 1 << 22, stageDeterminize, "expanded capped"},
		{SmithWaterman, 14, 12, 1 << 20, stageDeterminize, "expanded twice"},
		{SmithWaterman, 14, 12, 1 << 21, stageDeterminize, "some capped"},
		{Edit{Sub: 1.7, Ins: 1.1, Del: 0.9}, 12, 16, 1 << 20, stageDeterminize, "all capped"},
		{Edit{Sub: 1.7, Ins: 1.1, Del: 0.9}, 12, 16, 1 << 22, stageForeseen, "all"},
		{Edit{Match: -2, Sub: 1, Ins: 1, Del: 1, Band: 6}, 20, 20, 1 << 22, stageDeterminize, "some"},
		{Unit, 150, 149, 1 << 25, stageForeseen, "all"},
		{Unit, 150, 150, 1 << 25, stageRmEpsilon, "some"},
		{Unit, 150, 150, 1 << 25, stageRmEpsilon, "expanded"},
		{Unit, 150, 150, 1 << 25, stageRmEpsilon, "expanded twice"},
		{Unit, 600, 500, 1 << 25, stageCompose, "expanded twice"},
	} {
		t.Run(fmt.Sprintf("%v/%d/%d/%s", c.edit.Match, c.m, c.l, c.strings), func(t *testing.T) {
			const alphabet = 5
			ref, y := randomRef(rng, c.m, alphabet), Strings(alphabet, c.l)
			foreseen := c.stage == stageForeseen
			opts := &GeneralOptions{Band: c.edit.Band, Limits: ops.Limits{Bytes: c.bytes}}
			kind, capped := strings.CutSuffix(c.strings, " capped")
			most := 9.5
			if capped {
				opts.Cap = &most
			}
			switch kind {
			case "some":
				y.TruncateArcs(0, alphabet-1)
			case "expanded", "expanded twice":
				e := fst.NewVector[semiring.Tropical64](1)
				e.SetStart(e.AddState())
				e.SetFinal(0, 0)
				for k := fst.Label(1); k <= alphabet; k++ {
					e.AddArc(0, fst.Arc[semiring.Tropical64]{ILabel: k, OLabel: k})
				}
				if kind == "expanded twice" { // a string has several paths
					e.AddArc(0, fst.Arc[semiring.Tropical64]{ILabel: 1, OLabel: 1})
				}
				opts.Expand = e
			}
			_, err := c.edit.Automaton(y, ref, alphabet, opts)
			var b *BudgetError
			if !errors.As(err, &b) || !errors.Is(err, ErrBudget) {
				t.Fatalf("error %v", err)
			}
			if over := (*ops.LimitError)(nil); !foreseen &&
				(!errors.As(err, &over) || !errors.Is(err, ops.ErrLimit)) {
				t.Errorf("no LimitError in %v", err)
			}
			if b.Stage != c.stage || b.Limit != c.bytes || b.Bytes <= c.bytes || b.Band < 1 ||
				c.edit.Band > 0 && b.Band >= c.edit.Band ||
				!strings.Contains(err.Error(), fmt.Sprintf("try band %d", b.Band)) ||
				!strings.Contains(err.Error(), c.stage) {
				t.Errorf("%+v: %v", b, err)
			}
			opts.Band = b.Band
			a, err := c.edit.Automaton(y, ref, alphabet, opts)
			if err != nil {
				t.Fatalf("the band named does not do: %v", err)
			}
			edit := c.edit
			edit.Band = b.Band
			u := randomRef(rng, c.l, alphabet)
			u[0] = 0
			want := edit.Value(u, ref)
			if capped {
				want = min(want, most)
			}
			if got := a.Loss(u); math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
				t.Errorf("banded loss %v, by definition %v", got, want)
			}
		})
	}
}

// Without a limit there is one of DefaultBytes, and what exceeds it is known at once.
func TestGeneralBudgetByDefault(t *testing.T) {
	ref := randomRef(rand.New(rand.NewPCG(91, 2)), 4000, 4)
	start := time.Now()
	_, err := Unit.Automaton(Strings(4, 4000), ref, 4, nil)
	var b *BudgetError
	if !errors.As(err, &b) || b.Limit != DefaultBytes || b.Band < 1 ||
		!strings.Contains(err.Error(), "the direct path") {
		t.Errorf("4000 symbols against 4000: %v", err)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("the error took %v", d)
	}
}

// What the operations hold together counts, not what each takes: a budget that the
// greatest of them fits alone may be too small for all.
func TestGeneralBudgetIsOfAll(t *testing.T) {
	ref, y := publishedRef(0, 7), Strings(10, 7)
	fits := func(bytes int64) bool {
		_, err := Unit.Automaton(y, ref, 10, &GeneralOptions{Limits: ops.Limits{Bytes: bytes}})
		if err != nil && !errors.Is(err, ErrBudget) {
			t.Fatal(err)
		}
		return err == nil
	}
	a, err := Unit.Automaton(y, ref, 10, nil)
	if err != nil {
		t.Fatal(err)
	}
	size := machineBytes(a.L)
	if fits(2*size - 1) {
		t.Errorf("an automaton of %d bytes and its copy were made in fewer than twice as many", size)
	}
	if !fits(8 * size) {
		t.Errorf("an automaton of %d bytes was not made in %d", size, 8*size)
	}
}

// Evaluations have the same budget: of the automaton, its composition with the
// potentials, and the sums over it.
func TestGeneralBudgetOfEvaluation(t *testing.T) {
	const alphabet, l = 6, 10
	ref := publishedRef(0, l)
	for j := range ref {
		ref[j] %= alphabet
	}
	p := publishedPotentials(1, alphabet, l, 3)
	model, err := Model(p)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Unit.Automaton(Strings(alphabet, l), ref, alphabet, nil)
	if err != nil {
		t.Fatal(err)
	}
	onLattice, err := Unit.Automaton(model, ref, alphabet, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := EvalGeneral(p, b, 1, WantMarginals, nil, ops.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	product := ops.SizeOf[semiring.Log64](whole.States, int64(whole.Arcs)).Bytes
	product += 48*int64(whole.States) + 8*int64(whole.Arcs) // the table of pairs, and where they came from
	for name, eval := range map[string]func(b *Automaton, lim ops.Limits) error{
		"potentials": func(b *Automaton, lim ops.Limits) error {
			_, err := EvalGeneral(p, b, 1, WantMarginals, nil, lim)
			return err
		},
		"lattice": func(b *Automaton, lim ops.Limits) error {
			_, err := (&Lattice{A: model}).Eval(b, 1, WantMarginals, lim)
			return err
		},
		"sample": func(b *Automaton, lim ops.Limits) error {
			return (&Lattice{A: model}).Sample(b, 1, rand.New(rand.NewPCG(1, 1)), make([][]int, 1), lim)
		},
	} {
		from := b
		if name != "potentials" {
			from = onLattice
		}
		for stage, bytes := range map[string]int64{stageProduct: machineBytes(from.L) + product/2,
			stageSums: machineBytes(from.L) + product + product/4} {
			lim := ops.Limits{Bytes: bytes}
			err := eval(from, lim)
			var over *BudgetError
			if !errors.As(err, &over) || over.Stage != stage || over.Limit != bytes || over.Bytes <= bytes {
				t.Errorf("%s, %s within %d bytes: %v", name, stage, bytes, err)
				continue
			}
			if over.Band < 1 {
				t.Errorf("%s: no band in %v", name, err)
				continue
			}
			banded, err := Unit.Automaton(from.from.y, ref, alphabet, &GeneralOptions{Band: over.Band})
			if err != nil {
				t.Fatal(err)
			}
			if err := eval(banded, lim); err != nil {
				t.Errorf("%s: with the band named: %v", name, err)
			}
		}
		if err := eval(from, ops.Limits{Bytes: 8 * product}); err != nil {
			t.Errorf("%s within eight times the composition: %v", name, err)
		}
	}
}

// A loss without bands says what else to do, and a context that is done is no budget.
func TestGeneralBudgetAdvice(t *testing.T) {
	u, err := SmithWaterman.Transducer(5)
	if err != nil {
		t.Fatal(err)
	}
	y, ref := Strings(5, 14), randomRef(rand.New(rand.NewPCG(91, 3)), 14, 5)
	lattice := Strings(5, 14)
	lattice.SetFinal(7, 0) // strings of two lengths
	for _, c := range []struct {
		name, advice string
		bytes        int64
		run          func(opts *GeneralOptions) error
	}{
		{"transducer", "smaller transducer", 1 << 21, func(o *GeneralOptions) error {
			_,
				err := TropicalAutomaton(y, u, ref, o)
			return err
		}},
		{"n-grams", "the direct path", 1 << 17, func(o *GeneralOptions) error {
			_, err := NGram{N: 2}.Automaton(y, ref, 5, o)
			return err
		}},
		{"n-grams of a lattice", "prune the lattice", 1 << 17, func(o *GeneralOptions) error {
			_, err := NGram{N: 2, C: 1}.Automaton(lattice, ref, 5, o)
			return err
		}},
		{"local", "the direct path", 1 << 21, func(o *GeneralOptions) error {
			_, err := Local{Match: 2, Sub: -1, Ins: -1, Del: -1}.Automaton(y, ref, 5, o)
			return err
		}},
		{"edit of a lattice", "try band", 1 << 21, func(o *GeneralOptions) error {
			_, err := SmithWaterman.Automaton(lattice, ref, 5, o)
			return err
		}},
	} {
		err := c.run(&GeneralOptions{Limits: ops.Limits{Bytes: c.bytes}})
		var b *BudgetError
		if !errors.As(err, &b) || b.Stage == "" || !strings.Contains(err.Error(), c.advice) {
			t.Errorf("%s: %v", c.name, err)
		}
		var few *BudgetError
		if err := c.run(&GeneralOptions{Columns: 50}); !errors.As(err, &few) ||
			few.Stage != stageDeterminize || few.Limit != 0 ||
			!strings.Contains(err.Error(), "beyond 50 states") {
			t.Errorf("%s in 50 columns: %v", c.name, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := c.run(&GeneralOptions{Limits: ops.Limits{Ctx: ctx}}); !errors.Is(err, context.Canceled) ||
			errors.Is(err, ErrBudget) {
			t.Errorf("%s with a context that is done: %v", c.name, err)
		}
	}
}

// Bands on lattices whose strings have several lengths, and on what labels expand to: the
// loss of each string is what its definition says for its own length.
func TestGeneralBandOnLattices(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 4))
	const alphabet = 3
	widened, differs := 0, 0
	for i := range 300 {
		n := 2 + rng.IntN(6)
		a := fst.NewVector[semiring.Log64](n)
		a.AddStates(n)
		a.SetStart(0)
		a.SetFinal(fst.StateID(n-1), 0)
		if rng.IntN(2) == 0 {
			a.SetFinal(fst.StateID(rng.IntN(n)), 0)
		}
		for q := range n - 1 {
			for range 1 + rng.IntN(3) {
				k := fst.Label(rng.IntN(alphabet + 1))
				if rng.IntN(3) > 0 {
					k = max(k, 1)
				}
				a.AddArc(fst.StateID(q), fst.Arc[semiring.Log64]{ILabel: k, OLabel: k,
					NextState: fst.StateID(q + 1 + rng.IntN(n-1-q))})
			}
		}
		e := randomEdit(rng, alphabet)
		e.Band = 1 + rng.IntN(3)
		ref := randomRef(rng, rng.IntN(7), alphabet)
		opts := &GeneralOptions{Band: e.Band}
		expand := map[int][][]int{}
		if i%2 == 1 {
			// Each label stands for nothing, itself, or two symbols; some for two of these.
			x := fst.NewVector[semiring.Tropical64](1)
			x.SetStart(x.AddState())
			x.SetFinal(0, 0)
			for k := range alphabet {
				for range 1 + rng.IntN(2) {
					s := randomRef(rng, rng.IntN(3), alphabet)
					expand[k] = append(expand[k], s)
					from := fst.StateID(0)
					in := fst.Label(k + 1)
					for j := range max(1, len(s)) {
						to, out := fst.StateID(0), fst.Epsilon
						if j+1 < len(s) {
							to = x.AddState()
						}
						if j < len(s) {
							out = fst.Label(s[j] + 1)
						}
						x.AddArc(from, fst.Arc[semiring.Tropical64]{ILabel: in, OLabel: out, NextState: to})
						from, in = to, fst.Epsilon
					}
				}
			}
			opts.Expand = x
		}
		b, err := e.Automaton(a, ref, alphabet, opts)
		if err != nil {
			t.Fatal(err)
		}
		var spell func(u, so []int) float64
		spell = func(u, so []int) float64 {
			if len(u) == 0 {
				return e.Value(so, ref)
			}
			best := math.Inf(1)
			for _, s := range expand[u[0]] {
				best = min(best, spell(u[1:], append(so[:len(so):len(so)], s...)))
			}
			return best
		}
		for path := range fst.Paths[semiring.Log64](a, nil) {
			u := []int{}
			for _, k := range path.Input() {
				u = append(u, int(k)-1)
			}
			want := e.Value(u, ref)
			if opts.Expand != nil {
				want = spell(u, nil)
			} else {
				exact := e
				exact.Band = 0
				if math.Abs(exact.Value(u, ref)-want) > 1e-9 {
					differs++
				}
				if e.BandFor(len(ref), len(u)) > e.Band {
					widened++
				}
			}
			if got := b.Loss(u); math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
				t.Fatalf("%+v: loss of %v against %v is %v, by definition %v", e, u, ref, got, want)
			}
		}
	}
	if differs < 20 || widened == 0 {
		t.Errorf("%d losses that a band changes, %d bands widened: this tests little", differs, widened)
	}
}

// A band on a lattice of hundreds of positions takes time and memory in proportion.
func TestGeneralBandIsLinear(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 5))
	states := func(l int) int {
		ref := randomRef(rng, l, 4)
		y := fst.NewVector[semiring.Log64](0) // two states a position, as beams have
		y.AddStates(2*l + 1)
		y.SetStart(0)
		for t := range l {
			for k := range 4 {
				for _, from := range []int{2*t - 1, 2 * t} {
					if from >= 0 {
						y.AddArc(fst.StateID(from), fst.Arc[semiring.Log64]{ILabel: fst.Label(k + 1),
							OLabel: fst.Label(k + 1), NextState: fst.StateID(2*t + 1 + k%2)})
					}
				}
			}
		}
		y.SetFinal(fst.StateID(2*l), 0)
		a, err := Unit.Automaton(y, ref, 4, &GeneralOptions{Band: 1})
		if err != nil {
			t.Fatal(err)
		}
		return a.States()
	}
	if x, y := states(100), states(400); y < 1000 || y > 6*x {
		t.Errorf("%d states for 100 symbols, %d for 400", x, y)
	}
	// Labels that may write any number of symbols have no band.
	x := fst.NewVector[semiring.Tropical64](1)
	x.SetStart(x.AddState())
	x.SetFinal(0, 0)
	x.AddArc(0, fst.Arc[semiring.Tropical64]{ILabel: 1, OLabel: 1})
	x.AddArc(0, fst.Arc[semiring.Tropical64]{ILabel: fst.Epsilon, OLabel: 1})
	if _, err := Unit.Automaton(Strings(1, 3), []int{0}, 1,
		&GeneralOptions{Band: 1, Expand: x}); err == nil || !strings.Contains(err.Error(), "bounded length") {
		t.Errorf("unbounded expansions: %v", err)
	}
}
