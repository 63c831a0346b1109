package ops_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// peer runs OpenFst's command-line tools on machines, for tests that compare
// with them.
type peer struct {
	t   *testing.T
	dir string
}

// newPeer skips the test where the tools are not installed, and with the race detector, as
// fsttest.OpenFst does.
func newPeer(t *testing.T) *peer {
	t.Helper()
	fsttest.OneGoroutine(t)
	out, _ := exec.Command("fstinfo", "--help").CombinedOutput() // its exit code is 1
	if !bytes.Contains(out, []byte("fst")) {
		t.Skip("skipped: OpenFst's tools (Debian: libfst-tools) are not installed")
	}
	if _, err := exec.LookPath("fstcompile"); err != nil {
		t.Skip("skipped: fstcompile of OpenFst is not installed")
	}
	return &peer{t: t, dir: t.TempDir()}
}

// run runs a tool and returns what it prints, and whether its exit code was 0.
func (p *peer) run(name string, args ...string) (string, bool) {
	cmd := exec.Command(name, args...)
	cmd.Dir = p.dir
	out, err := cmd.Output()
	return string(out), err == nil
}

// must is run for what may not fail.
func (p *peer) must(name string, args ...string) string {
	p.t.Helper()
	out, ok := p.run(name, args...)
	if !ok {
		p.t.Fatalf("%s %s failed", name, strings.Join(args, " "))
	}
	return out
}

// write compiles f to a file of the peer's.
func write[W interface {
	semiring.Weight[W]
	~float32 | ~float64
}](p *peer, name string, f fst.Expanded[W]) {
	p.t.Helper()
	text := ""
	if f.Start() != fst.NoState {
		text = printText(f)
	}
	if err := os.WriteFile(filepath.Join(p.dir, name+".txt"), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	arcType := any(semiring.Zero[W]()).(interface{ ArcType() string }).ArcType()
	p.must("fstcompile", "--keep_state_numbering", "--arc_type="+arcType, name+".txt", name)
}

// sameAs compares f with a file of the peer's, state ids, arc order and weights
// within delta included.
func sameAs[W interface {
	semiring.Weight[W]
	~float32 | ~float64
}](p *peer, name string, f fst.Expanded[W], delta float64) bool {
	p.t.Helper()
	write(p, "ours", f)
	_, same := p.run("fstequal", "--delta="+number(delta, 9), "ours", name)
	return same
}

// show prints the machines of a failed comparison.
func (p *peer) show(names ...string) string {
	var b strings.Builder
	for _, n := range names {
		out, _ := p.run("fstprint", "--show_weight_one", n)
		fmt.Fprintf(&b, "%s:\n%s", n, out)
	}
	return b.String()
}

// machines is how many random machines a comparison draws: few by default, or
// what TROPICA_MACHINES says.
func machines(t *testing.T, few int) int {
	if s := os.Getenv("TROPICA_MACHINES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("TROPICA_MACHINES=%q: %v", s, err)
		}
		return n
	}
	return few
}

// realWeight is met by the weights that machines are drawn over.
type realWeight[W any] interface {
	~float32 | ~float64
	semiring.Weight[W]
}

// printText is what fstprint prints, with 17 digits, and with a line for every
// state.
func printText[W realWeight[W]](f fst.Expanded[W]) string {
	var b strings.Builder
	if f.Start() == fst.NoState {
		return fmt.Sprintf("%d states, no start\n", f.NumStates())
	}
	block := func(q fst.StateID) {
		for _, e := range f.Arcs(q) {
			fmt.Fprintf(&b, "%d\t%d\t%d\t%d\t%s\n", q, e.NextState, e.ILabel, e.OLabel, number(float64(e.Weight), 17))
		}
		if w := f.Final(q); !semiring.IsZero(w) || len(f.Arcs(q)) == 0 {
			fmt.Fprintf(&b, "%d\t%s\n", q, number(float64(w), 17))
		}
	}
	block(f.Start())
	for q := range fst.StateID(f.NumStates()) {
		if q != f.Start() {
			block(q)
		}
	}
	return b.String()
}

// number formats a weight as the tools do.
func number(x float64, digits int) string {
	s := strconv.FormatFloat(x, 'g', digits, 64)
	return strings.NewReplacer("+Inf", "Infinity", "-Inf", "-Infinity").Replace(s)
}

// checkSame compares a result with the peer's: state ids, arc order and weights
// to the last bit, and that no property it claims is false.
func checkSame[W realWeight[W]](t *testing.T, what string, in, got, want fst.Expanded[W]) {
	t.Helper()
	if g, w := printText(got), printText(want); g != w {
		t.Fatalf("%s differs: in\n%sgot\n%swant\n%s", what, printText(in), g, w)
	}
	checkProperties(t, what, got)
}

// checkProperties compares what f claims with what it is.
func checkProperties[W realWeight[W]](t *testing.T, what string, f fst.Expanded[W]) {
	t.Helper()
	claims := f.(fst.Propertied).KnownProperties() &^ (fst.Expandable | fst.Mutable)
	if p, _ := fst.Compute(fst.Fst[W](f), fst.AllProperties); claims&^p != 0 {
		t.Fatalf("%s claims %#x, of which %#x is false:\n%s", what, uint64(claims), uint64(claims&^p), printText(f))
	}
}

// shape says what machines to draw.
type shape struct {
	states, arcs int // at most
	acyclic      bool
	labels       int
	epsilons     bool
	acceptor     bool
	negative     bool // arc weights below 1̄, without negative cycles
	coarse       bool // weights from {0, ½, 1, …}: many ties
	unweighted   bool
	positive     bool // no arc of weight 1̄, so no cycle of weight 1̄
}

func randomShape(rng *rand.Rand) shape {
	return shape{
		states: 1 + rng.IntN(12), arcs: rng.IntN(30), labels: 1 + rng.IntN(4),
		acyclic: rng.IntN(3) == 0, epsilons: rng.IntN(2) == 0, acceptor: rng.IntN(3) == 0,
		negative: rng.IntN(5) == 0, coarse: rng.IntN(2) == 0, unweighted: rng.IntN(8) == 0,
	}
}

// draw makes a random machine. Weights are w + h(p) - h(q) for a random h when
// negative ones are wanted, so that cycles stay positive.
func draw[W realWeight[W]](rng *rand.Rand, s shape) *fst.Vector[W] {
	f := fst.NewVector[W](s.states)
	f.AddStates(s.states)
	f.SetStart(0)
	if rng.IntN(4) == 0 {
		f.SetStart(fst.StateID(rng.IntN(s.states)))
	}
	weight := func() float64 {
		switch {
		case s.positive:
			return 0.5 + float64(rng.IntN(6))/2
		case s.unweighted:
			return 0
		case s.coarse:
			return float64(rng.IntN(6)) / 2
		}
		return float64(float32(rng.Float64() * 5))
	}
	h := make([]float64, s.states)
	if s.negative {
		for i := range h {
			h[i] = float64(rng.IntN(8)) / 2
		}
	}
	perm := rng.Perm(s.states)
	if rng.IntN(2) == 0 {
		for i := range perm {
			perm[i] = i
		}
	}
	label := func() fst.Label {
		l := fst.Label(rng.IntN(s.labels) + 1)
		if s.epsilons && rng.IntN(3) == 0 {
			l = 0
		}
		return l
	}
	for range s.arcs {
		p, q := rng.IntN(s.states), rng.IntN(s.states)
		if s.acyclic {
			if p == q {
				continue
			}
			if perm[p] > perm[q] {
				p, q = q, p
			}
		}
		e := fst.Arc[W]{ILabel: label(), OLabel: label(), NextState: fst.StateID(q)}
		if s.acceptor {
			e.OLabel = e.ILabel
		}
		e.Weight = W(weight() + h[p] - h[q])
		f.AddArc(fst.StateID(p), e)
	}
	for q := range s.states {
		if rng.IntN(3) == 0 {
			f.SetFinal(fst.StateID(q), W(weight()))
		}
	}
	return f
}
