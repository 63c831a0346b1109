package losses

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/losses/internal/features"
	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// compareResults compares all outputs that want names.
func compareResults(got, ref *Result, want Want) error {
	for _, x := range []struct {
		bit       Want
		name      string
		got, want float64
	}{
		{0, "log Z", got.LogZ, ref.LogZ},
		{WantExpected, "E[L]", got.Expected, ref.Expected},
		{WantPlain, "log Z0", got.LogZ0, ref.LogZ0},
		{WantRisk, "risk", got.Risk, ref.Risk},
		{WantMaxAug, "max aug", got.MaxAug, ref.MaxAug},
		{WantViterbi, "max score", got.MaxScore, ref.MaxScore},
	} {
		if (x.bit == 0 || want&x.bit != 0) && !near(x.got, x.want) {
			return fmt.Errorf("%s = %v, want %v", x.name, x.got, x.want)
		}
	}
	for _, x := range []struct {
		bit       Want
		name      string
		got, want [][]float64
	}{
		{WantMarginals, "marginals", got.Marginals, ref.Marginals},
		{WantRiskGradient, "risk gradient", got.RiskGradient, ref.RiskGradient},
		{WantHVP, "Hessian product", got.HVP, ref.HVP},
		{WantRiskHVP, "Hessian product of the risk", got.RiskHVP, ref.RiskHVP},
	} {
		if want&x.bit != 0 {
			if err := compareRows(x.name, x.got, x.want); err != nil {
				return err
			}
		}
	}
	for _, x := range []struct {
		bit          Want
		name         string
		got, want    []int
		lead, wanted float64
	}{
		{WantMaxAug, "best augmented", got.ArgmaxAug, ref.ArgmaxAug, got.MaxAugGap, ref.MaxAugGap},
		{WantViterbi, "Viterbi", got.Viterbi, ref.Viterbi, got.MaxScoreGap, ref.MaxScoreGap},
	} {
		if want&x.bit == 0 {
			continue
		}
		if !near(x.lead, x.wanted) && math.Abs(x.lead-x.wanted) > 1e-9*max(1, math.Abs(ref.MaxAug)) {
			return fmt.Errorf("%s leads by %v, want %v", x.name, x.lead, x.wanted)
		}
		if x.wanted > 1e-9 && !slices.Equal(x.got, x.want) {
			return fmt.Errorf("%s = %v, want %v", x.name, x.got, x.want)
		}
	}
	return nil
}

// randomPotentials: sometimes wide, sometimes with forbidden windows, sometimes
// tied.
func randomPotentials(rng *rand.Rand, sizes []int, q int) *Potentials {
	p := NewLatticePotentials(sizes, q)
	sd := []float64{0, 1, 1, 1, 5, 400}[rng.IntN(6)]
	forbid := []float64{0, 0, 0.15, 0.5}[rng.IntN(4)]
	tied := rng.IntN(3) == 0
	for t, row := range p.Theta {
		if tied && t > 0 && len(row) == len(p.Theta[t-1]) {
			copy(row, p.Theta[t-1])
			continue
		}
		for i := range row {
			row[i] = sd * rng.NormFloat64()
			if rng.Float64() < forbid {
				row[i] = math.Inf(-1)
			}
		}
	}
	return p
}

func randomEdit(rng *rand.Rand, alphabet int) Edit {
	cost := func(kind int) float64 {
		switch kind {
		case 0:
			return float64(rng.IntN(4))
		case 1:
			return float64(rng.IntN(30)) / 10
		case 2:
			return float64(rng.IntN(12)) / 3
		case 3:
			return rng.Float64() * math.Pi
		}
		return rng.NormFloat64()
	}
	kind := rng.IntN(5)
	e := Edit{Match: cost(kind), Sub: cost(kind), Ins: cost(kind), Del: cost(kind)}
	switch rng.IntN(6) {
	case 0:
		e = Unit
	case 1:
		e = SmithWaterman
	case 2:
		row := func() []float64 {
			r := make([]float64, alphabet)
			for i := range r {
				r[i] = cost(kind)
			}
			return r
		}
		if rng.IntN(3) > 0 {
			for range alphabet {
				e.SubTable = append(e.SubTable, row())
			}
		}
		if rng.IntN(3) > 0 {
			e.InsTable = row()
		}
		if rng.IntN(3) > 0 {
			e.DelTable = row()
		}
	}
	if rng.IntN(4) == 0 {
		e.Band = 1 + rng.IntN(3)
		if rng.IntN(2) == 0 {
			// Aligning costs more than deleting and inserting, which matters
			// where only it stays in the band.
			e.Sub = e.Ins + e.Del + cost(0)
			e.Match = e.Ins + e.Del + cost(0)
		}
	}
	return e
}

func randomLoss(rng *rand.Rand, alphabet int) valued {
	switch rng.IntN(6) {
	case 0:
		return NGram{N: 1 + rng.IntN(4), C: []float64{0, 0.5, 1}[rng.IntN(3)]}
	case 1:
		return Hamming{Scale: rng.NormFloat64()}
	case 2:
		k := float64(1 + rng.IntN(3))
		return Local{Match: k, Sub: k - float64(rng.IntN(5)), Ins: -float64(rng.IntN(3)),
			Del: []float64{-1, -2, -rng.Float64()}[rng.IntN(3)]}
	}
	return randomEdit(rng, alphabet)
}

var gammas = []float64{1, 1, 1, -1, 0.5, 0, 2, 3, -500, 500, -0.25, 40}

// Every output, of every kind of loss, against enumeration.
func TestRandomAgainstNaive(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	inLogs := 0
	for i := range 900 {
		alphabet := 1 + rng.IntN(4)
		l := rng.IntN(6)
		if alphabet == 4 {
			l = min(l, 4)
		}
		m := rng.IntN(7)
		loss := randomLoss(rng, alphabet)
		if _, ok := loss.(Hamming); ok {
			m = l
		}
		if e, ok := loss.(Edit); ok && e.Band > 0 && rng.IntN(2) == 0 {
			m = rng.IntN(3*l + 5) // windows that meet in corners
		}
		ref := make([]int, m)
		for j := range ref {
			ref[j] = rng.IntN(alphabet)
			if e, ok := loss.(Edit); (!ok || e.SubTable == nil && e.InsTable == nil && e.DelTable == nil) &&
				rng.IntN(8) == 0 {
				ref[j] = alphabet + rng.IntN(2) // not in the alphabet
			}
		}
		q := 1 + rng.IntN(3)
		gamma := gammas[rng.IntN(len(gammas))]
		sizes := make([]int, l)
		for t := range sizes {
			sizes[t] = alphabet
		}
		p := randomPotentials(rng, sizes, q)
		name := fmt.Sprintf("case %d: %T%+v ref %v alphabet %d l %d q %d γ %v", i, loss, loss, ref, alphabet,
			l, q, gamma)
		machine, err := loss.Machine(ref, alphabet, l)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		inLogs += checkAgainstNaive(t, rng, name, machine,
			func(u []int) float64 { return loss.Value(u, ref) }, p, gamma)
		if t.Failed() {
			return
		}
	}
	if inLogs == 0 {
		t.Error("no case needed the log-space sweep")
	}
}

// checkAgainstNaive compares all outputs and sweeps, and counts evaluations
// that fell back to logarithms by themselves.
func checkAgainstNaive(t *testing.T, rng *rand.Rand, name string, m *Machine, loss func([]int) float64,
	p *Potentials, gamma float64) (inLogs int) {
	t.Helper()
	const all = everything | WantHVP | WantRiskHVP
	v := NewLatticePotentials(p.Sizes, p.Order).Theta
	for _, row := range v {
		for i := range row {
			row[i] = rng.NormFloat64()
		}
	}
	var want, got Result
	if err := Naive(loss, p, gamma, all, v, &want); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, mode := range []string{"", "few", "scaled", "logs"} {
		e := Evaluator{Direction: v, scaleOnly: mode == "scaled", logOnly: mode == "logs"}
		ask := all
		if mode == "few" {
			ask &^= WantHVP | WantRiskHVP | WantMaxAug | WantViterbi
		}
		if err := e.Eval(m, p, gamma, ask, &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if mode == "" && got.LogSpace {
			inLogs++
		}
		if err := compareResults(&got, &want, ask); err != nil {
			t.Errorf("%s: %q: %v", name, mode, err)
		}
	}
	return inLogs
}

// The same cases in plain Go, and with arcs of eight bytes, which otherwise only
// machines of billions of columns have.
func TestRandomPlainAndWide(t *testing.T) {
	t.Run("plain", func(t *testing.T) {
		defer func(v bool) { features.Vectors = v }(features.Vectors)
		features.Vectors = false
		TestRandomAgainstNaive(t)
		TestRandomMachines(t)
	})
	t.Run("wide", func(t *testing.T) {
		defer func() { layered.ArcBits = 32 }()
		layered.ArcBits = 3
		TestRandomAgainstNaive(t)
		TestRandomMachines(t)
	})
}

// More classes than a word has bits.
func TestManyClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	for _, alphabet := range []int{64, 65, 70, 130} {
		for q := 1; q <= 3; q++ {
			for _, loss := range []valued{Unit, NGram{N: 2, C: 0.5}} {
				ref := append(rng.Perm(alphabet), randomRef(rng, 5, alphabet)...)
				ref = ref[:len(ref)-rng.IntN(12)]
				m, err := loss.Machine(ref, alphabet, 2)
				if err != nil {
					t.Fatal(err)
				}
				p := NewPotentials(alphabet, 2, q)
				for _, row := range p.Theta {
					for i := range row {
						row[i] = rng.NormFloat64()
					}
				}
				checkAgainstNaive(t, rng, fmt.Sprintf("alphabet %d q %d %T", alphabet, q, loss), m,
					func(u []int) float64 { return loss.Value(u, ref) }, p, 0.7)
			}
		}
	}
}

// Machines with label sets that differ by position, excluded arcs and real
// values: what expansions and determinized transducers give.
func TestRandomMachines(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for i := range 300 {
		l := rng.IntN(5)
		sizes, cols := make([]int, l), make([]int, l+1)
		for t := range cols {
			cols[t] = 1 + rng.IntN(5)
		}
		cols[0] = 1
		var b Builder
		for t := range sizes {
			sizes[t] = 1 + rng.IntN(5)
			if rng.IntN(40) == 0 {
				sizes[t] = 0
			}
			n := cols[t] * sizes[t]
			next, off := make([]uint32, n), make([]uint32, n)
			coarse := rng.IntN(2) == 0
			for j := range n {
				next[j] = uint32(rng.IntN(cols[t+1]))
				x := rng.NormFloat64()
				if coarse { // so that labels share classes
					x = float64(rng.IntN(2))
					next[j] %= 2
				}
				if rng.IntN(6) == 0 {
					x = math.Inf(1)
				}
				off[j] = b.Value(x)
			}
			if err := b.Layer(Layer{Labels: sizes[t], Columns: cols[t], Next: next, Off: off}); err != nil {
				t2 := t
				_ = t2
				panic(err)
			}
		}
		final := make([]uint32, cols[l])
		for j := range final {
			x := rng.NormFloat64()
			if rng.IntN(6) == 0 {
				x = math.Inf(1)
			}
			final[j] = b.Value(x)
		}
		b.SetBase(rng.NormFloat64())
		m, err := b.Finish(final)
		if err != nil {
			t.Fatal(err)
		}
		p := randomPotentials(rng, sizes, 1+rng.IntN(3))
		checkAgainstNaive(t, rng, fmt.Sprintf("machine %d sizes %v columns %v q %d", i, sizes, cols, p.Order),
			m, m.Loss, p, gammas[rng.IntN(len(gammas))])
		if t.Failed() {
			return
		}
	}
}
