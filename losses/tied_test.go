package losses

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/losses/internal/features"
)

// tiedCase is random potentials, with room for results.
func tiedCase(rng *rand.Rand, d, n int, sd float64) (*Tied, *TiedResult) {
	stride := (d + 7) &^ 7
	p := &Tied{Unary: make([]float64, n*stride), Stride: stride, Pairs: &TiedPairs{Labels: d,
		Scores: make([]float64, d*d)}}
	for i := range p.Unary {
		p.Unary[i] = sd * rng.NormFloat64()
	}
	for i := range p.Pairs.Scores {
		p.Pairs.Scores[i] = sd * rng.NormFloat64()
	}
	if err := p.Pairs.Set(); err != nil {
		panic(err)
	}
	r := &TiedResult{Unary: make([]float64, n*stride), Pairs: make([]float64, d*d), PairStride: d}
	return p, r
}

// The sweep over columns gives what evaluation on whole potentials gives, for machines of all
// kinds, numbers of labels and vectors, and says so where it cannot.
func TestTied(t *testing.T) {
	if !features.Lanes {
		t.Skip("sweeps over columns need AVX-512")
	}
	rng := rand.New(rand.NewPCG(11, 12))
	fast := 0
	const rounds = 140
	for i := range rounds {
		d, n := []int{1, 2, 3, 7, 8, 9, 17, 24, 25, 40}[rng.IntN(10)], 1+rng.IntN(9)
		ref := make([]int, n)
		for j := range ref {
			ref[j] = rng.IntN(d + 1)
		}
		var loss Loss
		var err error
		switch rng.IntN(7) {
		case 0:
			loss = Hamming{Scale: rng.Float64()}
		case 1:
			loss = Edit{Band: 1 + rng.IntN(2)}
		case 2:
			loss = Edit{Match: -rng.Float64(), Sub: rng.Float64(), Ins: rng.Float64(), Del: 1, Band: 1}
		case 3:
			n = min(n, 6)
			ref = ref[:n]
			loss = Local{Band: 1}
		case 4:
			for j := range ref {
				ref[j] = rng.IntN(d)
			}
			e := Edit{Ins: 1, Del: 1, Band: 1, SubTable: make([][]float64, d)}
			for y := range e.SubTable {
				e.SubTable[y] = make([]float64, d)
				for r := range e.SubTable[y] {
					e.SubTable[y][r] = float64((y + r) % 3)
				}
			}
			loss = e
		case 5:
			var names []string
			for k := range d {
				names = append(names, fmt.Sprintf("%c-%d", "BIES"[k%4], k/4))
			}
			for j := range ref {
				ref[j] = rng.IntN(d)
			}
			if loss, err = NewSpan(names, SpanCosts{Missing: 1, Spurious: 2, Type: float64(i % 3)}); err != nil {
				t.Fatal(err)
			}
		default:
			loss = Unit
			n = min(n, 6)
			ref = ref[:n]
		}
		if _, banded := loss.(Local); banded && d > 20 {
			continue
		}
		m, err := loss.Machine(ref, d, n)
		if err != nil {
			t.Fatal(err)
		}
		sd := []float64{0, 1, 4, 30}[rng.IntN(4)]
		gamma := []float64{1, -1, 5, 0, 60}[rng.IntN(5)]
		p, r := tiedCase(rng, d, n, sd)
		for i := range r.Pairs {
			r.Pairs[i] = float64(i % 3) // what is there is added to
		}
		var e Evaluator
		ask := []Want{0, WantRisk | WantRiskGradient}[i%2]
		if ask != 0 {
			gamma = 0
		}
		if e.sweepColumns(m, p, gamma, ask, r) {
			fast++
		} else if sd <= 4 && math.Abs(gamma) <= 5 && !(m.careful != nil && ask != 0) {
			t.Fatalf("case %d: %T, %d labels, %d positions, γ %v, scores %v: no sweep over columns", i, loss, d, n,
				gamma, sd)
		} else {
			continue
		}
		_, want := tiedCase(rng, d, n, 0)
		for i := range want.Pairs {
			want.Pairs[i] = float64(i % 3)
		}
		if err := e.tiedDensely(m, p, gamma, ask, want); err != nil {
			t.Fatal(err)
		}
		if ask == 0 && !near(r.LogZ, want.LogZ) || ask != 0 && !near(r.Risk, want.Risk) {
			t.Errorf("case %d: %T, %d labels: log Z %v, want %v; risk %v, want %v", i, loss, d, r.LogZ, want.LogZ,
				r.Risk, want.Risk)
		}
		for b := range n {
			if err := compareRows("labels", [][]float64{r.Unary[b*p.Stride:][:d]},
				[][]float64{want.Unary[b*p.Stride:][:d]}); err != nil {
				t.Fatalf("case %d: %T, %d labels, %d positions: position %d: %v", i, loss, d, n, b, err)
			}
		}
		if err := compareRows("pairs", [][]float64{r.Pairs}, [][]float64{want.Pairs}); err != nil {
			t.Fatalf("case %d: %T, %d labels, %d positions: %v", i, loss, d, n, err)
		}
	}
	if fast < rounds/2 {
		t.Errorf("%d of %d cases were swept over columns", fast, rounds)
	}
}
