package ops

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// Two ways to one head may leave different output strings over, since one label at most is put out
// a step: neither may be lost.
func TestDisambiguateKeepsWhatIsLeftOver(t *testing.T) {
	f, err := fst.ReadText[semiring.Tropical](strings.NewReader("0 1 1 24\n0 2 1 24\n0 5 1 0\n1 3 1 25\n2 4 1 25\n5 6 1 0\n3 7 2 26\n4 7 2 26\n3 9 3 0\n9 10 4 0\n6 8 3 24\n8 10 4 25\n7\n10\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	keepsAndIsUnambiguous(t, f)
}

// The same of random machines without cycles that are functional: some have outputs early on one
// way and late on another.
func TestDisambiguateDelayedOutputs(t *testing.T) {
	fsttest.OneGoroutine(t)
	drawn, several := 0, 0
	for seed := range uint64(20000) {
		rng := rand.New(rand.NewPCG(seed, 5))
		n := 7 + rng.IntN(5)
		f := fst.NewVector[semiring.Tropical](n)
		f.AddStates(n)
		f.SetStart(0)
		f.SetFinal(fst.StateID(n-1), 0)
		f.SetFinal(fst.StateID(n-2), 0)
		for range n + 2 + rng.IntN(6) {
			q := rng.IntN(n - 1)
			to := q + 1 + rng.IntN(min(5, n-1-q))
			f.AddArc(fst.StateID(q), fst.Arc[semiring.Tropical]{ILabel: fst.Label(1 + rng.IntN(2)), OLabel: fst.Label(rng.IntN(2)), Weight: semiring.Tropical(rng.IntN(2)), NextState: fst.StateID(to)})
		}
		if err, _ := Functional[semiring.Tropical](f, nil); err != nil {
			continue
		}
		drawn++
		if amb, _ := Unambiguous[semiring.Tropical](f, nil); amb != nil {
			several++
		}
		keepsAndIsUnambiguous(t, f)
		if t.Failed() {
			var b strings.Builder
			_ = fst.WriteText[semiring.Tropical](&b, f, nil)
			t.Fatalf("seed %d:\n%s", seed, b.String())
		}
	}
	t.Logf("%d functional machines, %d ambiguous", drawn, several)
	if several < 1000 {
		t.Errorf("only %d of %d machines are ambiguous", several, drawn)
	}
}

func keepsAndIsUnambiguous(t *testing.T, f *fst.Vector[semiring.Tropical]) {
	t.Helper()
	want := fsttest.Relation[semiring.Tropical](f, 6)
	g, err := Disambiguate[semiring.Tropical](f, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, fsttest.Relation[semiring.Tropical](g, 6), fsttest.Exactly[semiring.Tropical]()); d != "" {
		t.Errorf("another relation:\n%s", d)
	}
	if amb, err := Unambiguous[semiring.Tropical](g, nil); amb != nil || err != nil {
		t.Errorf("not unambiguous: %v %v", amb, err)
	}
}

// Comparing what is left over ends with the context, and counts the keys that it holds.
func TestDisambiguateComparesWithinLimits(t *testing.T) {
	const n = 20000
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for limit, lim := range map[string]Limits{"context": {Ctx: done}, "bytes": {Bytes: 1 << 18}, "": {}} {
		d := &disambiguator[semiring.Tropical]{out: fst.NewVector[semiring.Tropical](0),
			heads: make([]fst.StateID, n), meter: lim.meter(opDisambiguate)}
		err := d.compareLeftOver(func(q fst.StateID, dst []byte) []byte {
			return strconv.AppendInt(append(dst, "of one head "...), int64(q/2), 10)
		}, run.Progress{})
		var stopped *LimitError
		if limit == "" {
			if err != nil || d.alike[6] != d.alike[7] || d.alike[7] == d.alike[8] {
				t.Errorf("%v, %v", err, d.alike[6:9])
			}
		} else if !errors.As(err, &stopped) || stopped.Limit != limit {
			t.Errorf("%s: %v", limit, err)
		}
	}
}
