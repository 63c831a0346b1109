package ops_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

const openfstDelta = 1.0 / 1024

// numeric is met by the weights that OpenFst's tools have.
type numeric[W any] interface {
	semiring.Divisible[W]
	semiring.Approx[W]
	semiring.Quantizable[W]
	~float32 | ~float64
}

func TestDeterminizeAsOpenFst(t *testing.T) {
	t.Run("tropical", determinizeAsOpenFst[semiring.Tropical])
	t.Run("log", determinizeAsOpenFst[semiring.Log])
	t.Run("log64", determinizeAsOpenFst[semiring.Log64])
}

func determinizeAsOpenFst[W numeric[W]](t *testing.T) {
	p := newPeer(t)
	rng := rand.New(rand.NewPCG(1, 21))
	done := 0
	for n, tried := machines(t, 15), 0; done < n && tried < 20*n; tried++ {
		s := randomShape(rng)
		s.acceptor = rng.IntN(2) == 0
		f := draw[W](rng, s)
		o := &ops.DeterminizeOptions{Delta: openfstDelta, Limits: ops.Limits{States: 200}}
		args := []string{}
		switch rng.IntN(3) {
		case 0:
			o.Type = ops.DeterminizeNonFunctional
			args = append(args, "--det_type=nonfunctional")
		case 1:
			if _, ok := any(W(0)).(semiring.Path[W]); ok {
				o.Type = ops.DeterminizeDisambiguate
				args = append(args, "--det_type=disambiguate")
			}
		}
		if rng.IntN(3) == 0 {
			o.SubsequentialLabel = fst.Label(rng.IntN(100))
			args = append(args, fmt.Sprintf("--subsequential_label=%d", o.SubsequentialLabel))
		}
		if rng.IntN(3) == 0 {
			o.IncrementSubsequentialLabel = true
			args = append(args, "--increment_subsequential_label")
		}
		got, err := ops.Determinize(f, o)
		if errors.Is(err, ops.ErrLimit) || errors.Is(err, ops.ErrTwins) {
			continue
		}
		write(p, "in", f)
		if errors.Is(err, ops.ErrNotFunctional) {
			if tried%8 != 0 {
				continue // one is like another
			}
			if _, ok := p.run("fstdeterminize", append(args, "in", "out")...); ok {
				t.Fatalf("fstdeterminize %v succeeds; here: %v\n%s", args, err, p.show("in", "out"))
			}
			done++
			continue
		}
		if err != nil {
			t.Fatalf("Determinize: %v\n%s", err, p.show("in"))
		}
		done++
		p.must("fstdeterminize", append(args, "in", "out")...)
		if !sameAs(p, "out", got, 1e-4) {
			t.Fatalf("machine %d, fstdeterminize %v:\n%s", tried, args, p.show("in", "out", "ours"))
		}
	}
	t.Logf("%d machines compared", done)
}

// A threshold ends what cannot be determinized as a whole: 1 2^n costs n/2 from state 1, and a state that ends nowhere
// is further behind it with each 2. Without one there is a proof that it has no end, and under a limit it is the evidence.
func TestDeterminizePrunedEnds(t *testing.T) {
	const text = "0 1 1 1 0.5\n0 2 1 1 3\n1 0 1 1\n1 1 2 2 0.5\n2 2 2 2 3\n0 0.5\n"
	f, err := fst.ReadText[semiring.Tropical](strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	var twins *ops.TwinsError
	if _, err := ops.DeterminizePruned[semiring.Tropical](f, nil); !errors.As(err, &twins) {
		t.Errorf("without a threshold: %v", err)
	}
	far := semiring.Tropical(1000)
	o := &ops.DeterminizePrunedOptions[semiring.Tropical]{Prune: ops.PruneOptions[semiring.Tropical]{Threshold: &far}}
	out, err := ops.DeterminizePruned[semiring.Tropical](f, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := out.NumStates(); n < 1900 || n > 2100 {
		t.Errorf("%d states for strings of up to 2000 labels", n)
	}
	o.States = 500
	if _, err := ops.DeterminizePruned[semiring.Tropical](f, o); !errors.As(err, &twins) {
		t.Errorf("under a limit of 500 states: %v", err)
	}
	best := 10
	o = &ops.DeterminizePrunedOptions[semiring.Tropical]{Prune: ops.PruneOptions[semiring.Tropical]{States: best}}
	if out, err = ops.DeterminizePruned[semiring.Tropical](f, o); err != nil || out.NumStates() > best {
		t.Errorf("the best %d states: %v", best, err)
	}
}

func TestDeterminizePrunedAsOpenFst(t *testing.T) {
	p := newPeer(t)
	rng := rand.New(rand.NewPCG(1, 26))
	for i := range machines(t, 10) {
		s := randomShape(rng)
		s.acceptor = rng.IntN(4) > 0
		if !s.acceptor {
			s.acyclic = true
		}
		f := draw[semiring.Tropical](rng, s)
		o := &ops.DeterminizePrunedOptions[semiring.Tropical]{}
		o.Delta = openfstDelta
		var args []string
		switch rng.IntN(3) {
		case 0:
			w := semiring.Tropical(rng.IntN(12)) / 2
			o.Prune.Threshold = &w
			args = append(args, "--weight="+number(float64(w), 9))
			fallthrough
		case 1:
			if rng.IntN(2) == 0 && len(args) > 0 && s.acyclic {
				break
			}
			fallthrough
		default:
			o.Prune.States = 1 + rng.IntN(20)
			args = append(args, fmt.Sprintf("--nstate=%d", o.Prune.States))
		}
		if !s.acceptor {
			o.Prune.Delta = openfstDelta
		}
		write(p, "in", f)
		got, err := ops.DeterminizePruned(f, o)
		if errors.Is(err, ops.ErrNotFunctional) {
			continue
		}
		if err != nil {
			t.Fatalf("DeterminizePruned: %v\n%s", err, p.show("in"))
		}
		p.must("fstdeterminize", append(args, "in", "out")...)
		if !sameAs(p, "out", got, 1e-3) {
			t.Fatalf("machine %d, fstdeterminize %v:\n%s", i, args, p.show("in", "out", "ours"))
		}
	}
}

// code runs a tool and returns its exit code.
func (p *peer) code(name string, args ...string) int {
	cmd := exec.Command(name, args...)
	cmd.Dir = p.dir
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			p.t.Fatal(err)
		}
		return exit.ExitCode()
	}
	return 0
}
