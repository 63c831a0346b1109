package fst_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

func dotOf[W semiring.Codec[W]](t testing.TB, f fst.Fst[W], opts *fst.DOTOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := fst.WriteDOT(&b, f, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDOTGolden(t *testing.T) {
	v := readText[semiring.Tropical](t, "0 1 1 1 .5\n1 3.5\n", nil)
	syms := fst.SymbolsOf("ε", `a"\`)
	const want = `digraph FST {
rankdir = LR;
size = "8.5,11";
label = "T";
center = 1;
orientation = Landscape;
ranksep = "0.4";
nodesep = "0.25";
0 [label = "0", shape = circle, style = bold, fontsize = 14]
	0 -> 1 [label = "a\"\\:1/0.5", fontsize = 14];
1 [label = "1/3.5", shape = doublecircle, style = solid, fontsize = 14]
}
`
	if got := dotOf[semiring.Tropical](t, v, &fst.DOTOptions{Title: "T", InputSymbols: syms}); got != want {
		t.Errorf("got\n%s", got)
	}
	var missing *fst.MissingSymbolError
	err := fst.WriteDOT[semiring.Tropical](&bytes.Buffer{}, v, &fst.DOTOptions{OutputSymbols: fst.SymbolsOf("ε")})
	if !errors.As(err, &missing) || missing.Label != 1 {
		t.Errorf("missing symbol: %v", err)
	}
	if got := dotOf[semiring.Tropical](t, &fst.Vector[semiring.Tropical]{}, nil); got != "" {
		t.Errorf("empty machine: %q", got)
	}
}

func TestDOTAgainstOpenFst(t *testing.T) {
	t.Run("standard", func(t *testing.T) { dotAgainstOpenFst(t, tropical) })
	t.Run("log64", func(t *testing.T) { dotAgainstOpenFst(t, log64) })
}

func dotAgainstOpenFst[W semiring.Codec[W]](t *testing.T, gen func(*rand.Rand) W) {
	tools := fsttest.OpenFst(t)
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 31))
		v := fsttest.Random(rng, rng.IntN(6), gen, shapes[rng.IntN(len(shapes))])
		coin := func() bool { return rng.IntN(2) == 0 }
		o := fst.DOTOptions{Acceptor: coin(), ShowWeightOne: coin(), Vertical: coin(), Portrait: coin()}
		flags := []string{fmt.Sprintf("--acceptor=%v", o.Acceptor), fmt.Sprintf("--show_weight_one=%v", o.ShowWeightOne),
			fmt.Sprintf("--vertical=%v", o.Vertical), fmt.Sprintf("--portrait=%v", o.Portrait)}
		if o.Acceptor && !fst.PropertiesOf(v, fst.Acceptor).Has(fst.Acceptor) {
			continue
		}
		if coin() {
			o.Exact = true
			o.Width, o.Height, o.RankSep, o.NodeSep, o.FontSize, o.Precision = 0, 7.123456789, 1.0/3, 0, 9, rng.IntN(13)
			o.Format = "gef"[rng.IntN(3)]
			flags = append(flags, "--width=0", "--height=7.123456789", "--ranksep=0.33333333333", "--nodesep=0", "--fontsize=9",
				fmt.Sprintf("--precision=%d", o.Precision), "--float_format="+string(o.Format))
		}
		want := tools.Do("fstdraw", append(flags, fsttest.WriteFile[W](tools, v, nil))...)
		if got := dotOf[W](t, v, &o); got != want {
			t.Fatalf("seed %d, %q: got\n%s, want\n%s", seed, flags, got, want)
		}
	}
}
