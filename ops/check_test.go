package ops

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// No law fails on random machines, and each is tried on some.
func checkHolds[W semiring.Component[W]](t *testing.T, draw func(*rand.Rand) W) {
	rng := rand.New(rand.NewPCG(9, 9))
	compared := map[string]int{}
	for trial := range 40 {
		f := fsttest.Random(rng, 1+rng.IntN(5), draw, fsttest.Options{Epsilon: 0.2, Cyclic: trial%4 == 3, Acceptor: trial%2 == 0})
		results, err := Check[W](f, &CheckOptions{MaxLength: 4, MaxPairs: 25, Limits: Limits{States: 500}})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			compared[r.Law] += r.Compared
			if r.Witness != "" {
				t.Errorf("trial %d: %s fails: %s", trial, r.Law, r.Witness)
			}
		}
	}
	if len(compared) < 25 {
		t.Errorf("%d laws", len(compared))
	}
	for law, n := range compared {
		if n < 20 {
			t.Errorf("%s: compared %d times only", law, n)
		}
	}
}

func TestCheckHolds(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	t.Run("tropical", func(t *testing.T) { checkHolds(t, drawTropical) })
	t.Run("log64", func(t *testing.T) { checkHolds(t, drawLog64) })
	t.Run("probability", func(t *testing.T) { checkHolds(t, drawProbability) })
}

// Laws of which nothing is compared do not hold, but are skipped.
func TestCheckNothing(t *testing.T) {
	f := fst.NewVector[semiring.Tropical](2)
	f.AddStates(2)
	f.SetStart(0)
	f.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: 1})
	results, err := Check(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Compared == 0 && r.Skipped == nil {
			t.Errorf("%q is said to hold, with nothing compared", r.Law)
		}
	}
}

// An operation that is wrong is found out, whether it loses a string, makes one up, or
// changes a weight, and with it the shortest pair for which it is.
func TestCheckFindsFaults(t *testing.T) {
	read := func(text string) *fst.Vector[semiring.Tropical] {
		return fsttest.Must(fst.ReadText[semiring.Tropical](strings.NewReader(text), nil))
	}
	f := read("0 1 1 1 1\n1 2 2 0 1\n2 2 0 0 0\n1 1\n2\n")
	for name, wrong := range map[string]string{
		"a string less":   "0 1 1 1 1\n1 2 2 0 1\n1 1\n",
		"another weight":  "0 1 1 1 1\n1 2 2 0 2\n1 1\n2\n",
		"a string more":   "0 1 1 1 1\n1 2 2 0 1\n1 1\n2 0.0\n2 1 2 2 0\n",
		"no string":       "",
		"an output moved": "0 1 1 0 1\n1 2 2 1 1\n1 1\n2\n",
	} {
		c := &checker[semiring.Tropical]{f: f, CheckOptions: CheckOptions{MaxLength: 5, MaxPairs: 50, Delta: 1e-6}}
		r := c.compare(relationLaw[semiring.Tropical]{name: name, apply: func(*fst.Vector[semiring.Tropical]) (*fst.Vector[semiring.Tropical], error) {
			return read(wrong), nil
		}})
		if r.Witness == "" || r.Skipped != nil {
			t.Errorf("%s: nothing found (%v)", name, r.Skipped)
		}
		r = c.compare(relationLaw[semiring.Tropical]{name: "right", apply: func(g *fst.Vector[semiring.Tropical]) (*fst.Vector[semiring.Tropical], error) { return g, nil }})
		if r.Witness != "" || r.Compared != 2 {
			t.Errorf("nothing done: %+v", r)
		}
	}
}

// A determinization that loses more at each turn of a cycle than rounding can is found out, though no short
// string shows it, and one that loses as much as rounding can is not.
func checkFindsDrift[W semiring.Component[W]](t *testing.T, weight func(x float64) W, atMost float64) {
	loops := fsttest.Must(fst.ReadText[semiring.Tropical64](strings.NewReader("0 1 1 1 .3\n0 2 1 1 .6\n1 1 1 1 .001\n2 2 1 1 .001\n1\n2\n"), nil))
	f := MapInto(loops, func(w semiring.Tropical64) W {
		if semiring.IsZero(w) {
			return semiring.Zero[W]()
		}
		return weight(float64(w))
	})
	opts := CheckOptions{MaxLength: 6, MaxPairs: 50, Delta: DefaultDelta}
	for turn, found := range map[float64]bool{0: false, 0.9 * atMost: false, 1.2 * atMost: true} {
		c := &checker[W]{f: f, CheckOptions: opts}
		slack := roundingError[W](ClosenessOf[W](DefaultDelta))
		apply := func(g *fst.Vector[W]) (*fst.Vector[W], error) {
			d, err := Determinize(g, nil)
			if err != nil {
				return nil, err
			}
			for q := range fst.StateID(d.NumStates()) {
				for i, e := range d.Arcs(q) {
					if e.NextState == q {
						d.MutableArcs(q)[i].Weight = e.Weight.Times(weight(turn))
					}
				}
			}
			return d, nil
		}
		r := c.compare(relationLaw[W]{name: "drifts", apply: apply, slack: slack})
		if r.Skipped != nil || r.Compared == 0 || (r.Witness != "") != found {
			t.Errorf("%v a turn: %+v", turn, r)
		}
		if !strings.Contains(r.Witness, "…") && found {
			t.Errorf("%v a turn is found by a short string: %s", turn, r.Witness)
		}
		// What is passed over is said.
		if passed := turn > 0 && !found; (r.Off > 300*turn) != passed {
			t.Errorf("%v a turn: weights are off by %v", turn, r.Off)
		}
	}
}

func TestCheckFindsDrift(t *testing.T) {
	t.Run("log64", func(t *testing.T) {
		checkFindsDrift(t, func(x float64) semiring.Log64 { return semiring.Log64(x) }, DefaultDelta/2)
	})
	t.Run("tropical", func(t *testing.T) {
		checkFindsDrift(t, func(x float64) semiring.Tropical { return semiring.Tropical(x) }, DefaultDelta/2)
	})
	t.Run("numbers that are multiplied, with some of 32 bits", func(t *testing.T) {
		type pair = semiring.Product[semiring.Probability, semiring.Tropical]
		checkFindsDrift(t, func(x float64) pair { return pair{First: semiring.Probability(1 + x), Second: semiring.Tropical(x)} }, DefaultDelta)
	})
}

// Determinize with rounded residuals keeps within what rounding can do, on machines for which it rounds the same way at each turn of
// a cycle, and on such as have no deterministic equivalent; how far it is off is said.
func TestCheckBoundsRounding(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	const law = "determinize with rounded residuals keeps the relation"
	// Two cycles of fifty ε and one label: rounding at each of the ε.
	var epsilons strings.Builder
	epsilons.WriteString("0 1 1 1 1\n0 101 1 1 1\n50 1 2 2 .1\n150 101 2 2 .1\n50\n150\n")
	for q := 1; q < 50; q++ {
		fmt.Fprintf(&epsilons, "%d %d 0 0 .1\n%d %d 0 0 .1004\n", q, q+1, q+100, q+101)
	}
	for name, text := range map[string]string{
		"residuals settle between multiples": "0 1 1 1 3\n1 0 1 1 3\n1 1 1 1 3\n1 1 1 1 1\n1 0 2 2 3\n0 3\n1 0\n",
		"no deterministic equivalent":        "0 1 1 1 1\n0 2 1 1 1\n1 1 2 2 1\n2 2 2 2 1.0002\n1\n2\n",
		"ε count as labels":                  epsilons.String(),
	} {
		f := fsttest.Must(fst.ReadText[semiring.Log64](strings.NewReader(text), nil))
		found := false
		for _, r := range fsttest.Must(Check(f, &CheckOptions{MaxLength: 2, MaxPairs: 10})) {
			if r.Witness != "" {
				t.Errorf("%s: %s: %s", name, r.Law, r.Witness)
			}
			if r.Law == law {
				found = true
				if r.Skipped != nil || r.Off < 0.01 {
					t.Errorf("%s: off by %v (%v)", name, r.Off, r.Skipped)
				}
			} else if r.Off != 0 {
				t.Errorf("%s: %s: off by %v", name, r.Law, r.Off)
			}
		}
		if !found {
			t.Errorf("%s: not tried", name)
		}
	}
}

// tangle is a machine of n states with the given number of arcs each, in a band or, with ε, in cycles of ε as well.
func tangle(n, degree int, epsilon bool) *fst.Vector[semiring.Log] {
	rng := rand.New(rand.NewPCG(7, 7))
	f := fst.NewVector[semiring.Log](n)
	f.AddStates(n)
	f.SetStart(0)
	for q := range fst.StateID(n) {
		for k := range degree {
			l := fst.Label(1 + k)
			if epsilon && k < 3 {
				l = fst.Epsilon
			}
			f.AddArc(q, fst.Arc[semiring.Log]{ILabel: l, OLabel: l, Weight: semiring.Log(3 + rng.Float32()), NextState: fst.StateID(rng.IntN(n))})
		}
	}
	f.SetFinal(fst.StateID(n-1), 0)
	return f
}

// However large a machine is, finding and weighing pairs end after so many arcs; what was left out is said, and each law
// of which an operation was done is tried on some pairs.
// Sums of thousands of weights in float32 are no fault of operations; a weight that is lost is.
func TestCheckOfLongSums(t *testing.T) {
	const n = 3000
	f := fst.NewVector[semiring.Tropical](n + 1)
	f.AddStates(n + 1)
	f.SetStart(0)
	f.SetFinal(n, 0)
	for q := range fst.StateID(n) {
		f.AddArc(q, fst.Arc[semiring.Tropical]{Weight: 0.1, NextState: q + 1})
	}
	results, err := Check(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	off := 0.0
	for _, r := range results {
		if r.Witness != "" {
			t.Errorf("%s: %s", r.Law, r.Witness)
		}
		off = max(off, r.Off)
	}
	if off < 0.001 {
		t.Errorf("off by %v: nothing was rounded", off)
	}
	c := &checker[semiring.Tropical]{f: f, CheckOptions: CheckOptions{MaxLength: 6, MaxPairs: 50, Delta: DefaultDelta}}
	r := c.compare(relationLaw[semiring.Tropical]{name: "loses", apply: func(g *fst.Vector[semiring.Tropical]) (*fst.Vector[semiring.Tropical], error) {
		g.SetFinal(n, 1)
		return g, nil
	}})
	if r.Witness == "" {
		t.Errorf("%+v", r)
	}
}

func TestCheckBoundsSteps(t *testing.T) {
	for _, epsilon := range []bool{false, true} {
		f := tangle(3000, 10, epsilon)
		const steps = 40_000
		c := &checker[semiring.Log]{f: f, CheckOptions: CheckOptions{MaxLength: 9, MaxPairs: 300, MaxSteps: steps, Delta: DefaultDelta}}
		r := c.compare(relationLaw[semiring.Log]{name: "nothing", apply: func(g *fst.Vector[semiring.Log]) (*fst.Vector[semiring.Log], error) { return g, nil }})
		if r.Witness != "" || r.Cut == "" {
			t.Errorf("ε %v: %+v, want nothing wrong, and Cut", epsilon, r)
		}
		if epsilon {
			// A composition with one string goes through all of the machine.
			if err := errors.Join(r.Stopped, r.Skipped); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "40000 arcs") {
				t.Errorf("ε %v: stopped by %v", epsilon, err)
			}
		} else if r.Compared == 0 || r.Stopped != nil || r.Skipped != nil {
			t.Errorf("ε %v: %+v, want some pairs compared", epsilon, r)
		}
	}
}

// All strings of a machine have six labels, more of them than are followed: random ones are compared.
func TestCheckBeyondEnumeration(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	f := fst.NewVector[semiring.Tropical](7)
	f.AddStates(7)
	f.SetStart(0)
	f.SetFinal(6, 0)
	for q := range fst.StateID(6) {
		for l := range fst.Label(10) {
			f.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1 + l, OLabel: 1 + l, NextState: q + 1})
		}
	}
	for _, r := range fsttest.Must(Check(f, nil)) {
		if r.Witness != "" || r.Skipped == nil && r.Compared == 0 {
			t.Errorf("%+v", r)
		}
	}
}

// A law ends after its time, the others are tried, and the whole ends after that of the context.
func TestCheckLawTime(t *testing.T) {
	f := tangle(400, 5, true)
	results := fsttest.Must(Check(f, &CheckOptions{LawTime: 1}))
	late := 0
	for _, r := range results {
		if errors.Is(r.Skipped, context.DeadlineExceeded) || errors.Is(r.Stopped, context.DeadlineExceeded) {
			late++
		}
	}
	if laws := len(relationLaws(&checker[semiring.Tropical]{})); late != laws {
		t.Errorf("%d of %d laws were late", late, laws)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Check(f, &CheckOptions{Limits: Limits{Ctx: ctx}}); !errors.Is(err, context.Canceled) {
		t.Errorf("done context: %v", err)
	}
}

// A path that only writes gives Push ever longer strings to hold: bytes are bounded
// before these take gigabytes.
func TestCheckBoundsBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	const n = 12_000
	f := fst.NewVector[semiring.Tropical](n)
	f.AddStates(n)
	f.SetStart(0)
	f.SetFinal(n-1, 0)
	for q := range fst.StateID(n - 1) {
		f.AddArc(q, fst.Arc[semiring.Tropical]{OLabel: 1, NextState: q + 1})
	}
	results, err := Check(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Law == "pushing labels keeps the relation" {
			var limit *LimitError
			if !errors.As(r.Skipped, &limit) || limit.Limit != "bytes" {
				t.Errorf("stopped by %v, want a limit on bytes", r.Skipped)
			}
			return
		}
	}
	t.Error("labels were not pushed")
}

// Witnesses, and reasons for what was not tried, have the symbols of the machine; ε that a law takes for a label is ε there.
func TestCheckNamesSymbols(t *testing.T) {
	in, out := fst.NewSymbolTable("in"), fst.NewSymbolTable("out")
	for _, s := range []string{"ε", "how", "now"} {
		in.Add(s)
		out.Add(strings.ToUpper(s))
	}
	read := func(text string) *fst.Vector[semiring.Tropical] {
		f := fsttest.Must(fst.ReadText[semiring.Tropical](strings.NewReader(text), nil))
		f.SetInputSymbols(in)
		f.SetOutputSymbols(out)
		return f
	}
	c := &checker[semiring.Tropical]{f: read("0 1 1 2 1\n1 2 0 1\n2\n"), CheckOptions: CheckOptions{MaxLength: 5, MaxPairs: 50, Delta: 1e-6}}
	for name, slack := range map[string]func(int) float64{"plain": nil, "ε as a label": func(int) float64 { return 0 }} {
		r := c.compare(relationLaw[semiring.Tropical]{name: name, slack: slack, apply: func(g *fst.Vector[semiring.Tropical]) (*fst.Vector[semiring.Tropical], error) {
			g.SetFinal(2, 3)
			return g, nil
		}})
		input := "[how]"
		if slack != nil {
			input = "[how ε]"
		}
		if want := "input " + input + ", output [NOW HOW] of the machine: weight 1 by the law, 4 in the result"; r.Witness != want {
			t.Errorf("%s: %q, want %q", name, r.Witness, want)
		}
	}
	results, err := Check(read("0 1 1 1\n0 1 1 2\n1\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	skipped := 0
	for _, r := range results {
		if r.Witness != "" {
			t.Errorf("%s: %s", r.Law, r.Witness)
		}
		if errors.Is(r.Skipped, ErrNotFunctional) {
			if skipped++; !strings.Contains(r.Skipped.Error(), "outputs [HOW] and [NOW] for input [how]") {
				t.Errorf("%s: %v", r.Law, r.Skipped)
			}
		}
	}
	if skipped == 0 {
		t.Error("no law was skipped for two outputs of one input")
	}
}
