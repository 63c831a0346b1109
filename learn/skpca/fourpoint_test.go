package skpca

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s: %.12g, want %.12g", what, got, want)
	}
}

// sampleOf makes the problem of kernels of rows, with U = S.
func sampleOf(t *testing.T, kernels []kernel.Vector, scale []float64, x *kernel.Matrix, y []float64,
	r int) (*set, *sample) {
	t.Helper()
	s := &sample{m: x.Rows, y: [][]float64{y}, loss: score.Logistic{}, workers: 1}
	m := &set{r: r, lambda: 1, nu: math.Inf(1), ctx: context.Background()}
	for k, kern := range kernels {
		p, err := kernel.Project[*kernel.Matrix](kern, x, r+1, false, nil)
		if err != nil && !errors.Is(err, kernel.ErrRank) {
			t.Fatal(err)
		}
		phi, err := p.Transform(x, nil)
		if err != nil {
			t.Fatal(err)
		}
		values := append([]float64(nil), p.Values...)
		if scale != nil {
			for j := range values {
				values[j] *= scale[k]
			}
			for i := range phi {
				phi[i] *= math.Sqrt(scale[k])
			}
		}
		m.values, s.phi = append(m.values, values), append(s.phi, phi)
	}
	return m, s
}

// The example of figure 7.1 in the thesis: two base kernels of one axis each, and the axis of
// more variance says nothing. The numbers were computed by other means.
func TestFourPoints(t *testing.T) {
	x := kernel.NewMatrix(4, 2, []float64{2, 1, -2, 1, 2, -1, -2, -1})
	y := []float64{1, 1, -1, -1}
	kernels := []kernel.Vector{{Kind: kernel.Linear, Columns: []int{0}},
		{Kind: kernel.Linear, Columns: []int{1}}}
	m, s := sampleOf(t, kernels, []float64{0.25, 0.25}, x, y, 1)
	near(t, "eigenvalue", m.values[0][0], 1, 1e-12)
	near(t, "eigenvalue", m.values[1][0], 0.25, 1e-12)
	for i := range 4 {
		near(t, "phi_1", math.Abs(s.phi[0][i]), 1, 1e-12)
		near(t, "phi_2", math.Abs(s.phi[1][i]), 0.5, 1e-12)
	}
	wrong := func(f *fit) int {
		n := 0
		x := s.design(m.values, f.counts)
		for i := range 4 {
			if y[i]*x[i]*f.theta[0][0] <= 0 {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		nu, mu1, mu2, value float64
		counts              [2]int
	}{
		{8, 0.1464, 0.8536, 0.2184507, [2]int{0, 1}}, {20, 0.0528, 0.9472, 0.2070986, [2]int{0, 1}},
		{6.3, 0.1979, 0.8021, 0.2254143, [2]int{0, 1}},
		{6.2, math.NaN(), math.NaN(), math.Ln2, [2]int{1, 0}}, {5, math.NaN(), math.NaN(), math.Ln2,
			[2]int{1, 0}}, {4, 0.5, 0.5, math.Ln2, [2]int{1, 0}},
	} {
		m.nu = c.nu
		for _, how := range []Search{Exact, Local} {
			q := &searcher{set: m, sample: s, gamma: 0.01, maxCells: 2000, workers: 1}
			f, _, err := q.best(how, nil)
			if err != nil {
				t.Fatalf("nu=%v: %v", c.nu, err)
			}
			near(t, "value", f.value, c.value, 1e-7)
			if f.counts[0] != c.counts[0] || f.counts[1] != c.counts[1] {
				t.Errorf("nu=%v: counts %v, want %v", c.nu, f.counts, c.counts)
			}
			if c.mu1 == c.mu1 {
				near(t, "mu_1", f.mu[0], c.mu1, 5e-5)
				near(t, "mu_2", f.mu[1], c.mu2, 5e-5)
			}
			want := map[bool]int{true: 2, false: 0}[c.counts[0] == 1]
			if wrong(f) < want || want == 0 && wrong(f) > 0 {
				t.Errorf("nu=%v: %d of 4 wrong, want %d", c.nu, wrong(f), want)
			}
			if f.counts[1] == 1 {
				near(t, "mu_1 by the formula", f.mu[0], (1-math.Sqrt(1-4/c.nu))/2, 1e-6)
			}
		}
	}
	m.nu = 6.2
	if _, err := newRegion(m, []int{0, 1}); !errors.Is(err, errEmpty) {
		t.Errorf("nu = 6.2: cell (0,1): %v", err)
	}
	m.nu = 6.26
	if _, err := newRegion(m, []int{0, 1}); err != nil {
		t.Errorf("nu = 6.26: cell (0,1): %v", err)
	}
	// Two stages take the axis of more variance.
	m.nu = 8
	f, _, err := (&searcher{set: m, sample: s, gamma: 0.01, workers: 1}).best(TwoStage, nil)
	if err != nil || f.counts[0] != 1 || wrong(f) != 4 && wrong(f) != 2 {
		t.Errorf("%+v: %v", f, err)
	}
	// What leaves no weights is said with what would.
	m.nu = 3.5
	var e *FeasibilityError
	if err := m.feasible(); !errors.As(err, &e) {
		t.Error(err)
	} else {
		near(t, "least nu", e.LeastNu, 4, 1e-6)
	}
	m.nu, m.lambda = 4.5, 0.3 // the norm is max(mu_1, mu_2/4)
	if err := m.feasible(); !errors.As(err, &e) {
		t.Error(err)
	} else {
		// mu_1 = 0.3, mu_2 = 0.7; and for nu = 4.5, mu_1 = (1-√(1-4/4.5))/2.
		near(t, "least nu", e.LeastNu, 1/0.3+1/0.7, 1e-6)
		near(t, "least lambda", e.LeastLam, (1-math.Sqrt(1-4/4.5))/2, 1e-6)
	}
	m.nu = 4.8
	if err := m.feasible(); err != nil {
		t.Error(err)
	}
}
