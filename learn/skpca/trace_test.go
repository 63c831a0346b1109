package skpca

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
)

// eigenvalues of a kernel over the number of rows, scaled to k(x,x) ≤ 1, by another program.
func eigenvalues(t *testing.T, x *table.Table, k func(a, b []float64) float64) []float64 {
	t.Helper()
	rows := make([][]float64, x.Rows)
	largest := 0.0
	for i := range rows {
		for j := range x.Columns {
			rows[i] = append(rows[i], float64(x.Columns[j].Values[i]))
		}
		largest = max(largest, k(rows[i], rows[i]))
	}
	a := mat.NewSymDense(x.Rows, nil)
	for i := range rows {
		for j := range i + 1 {
			a.SetSym(i, j, k(rows[i], rows[j])/largest/float64(x.Rows))
		}
	}
	var e mat.EigenSym
	if !e.Factorize(a, false) {
		t.Fatal("no eigenvalues")
	}
	return e.Values(nil)
}

// A share of the trace sets the rank: the least number of eigenvalues, of all kernels together,
// that hold it.
func TestTrace(t *testing.T) {
	x := rings(90, 2, 4)
	gauss := eigenvalues(t, x, func(a, b []float64) float64 {
		sq := 0.0
		for j := range a {
			sq += (a[j] - b[j]) * (a[j] - b[j])
		}
		return math.Exp(-sq / (2 * 1.5 * 1.5))
	})
	linear := eigenvalues(t, x, func(a, b []float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] })
	for _, c := range []struct {
		kernels []string
		values  []float64
	}{{[]string{"gaussian:1.5"}, gauss}, {[]string{"gaussian:1.5", "linear"}, slices.Concat(gauss, linear)},
		{[]string{"linear"}, linear}} {
		slices.Sort(c.values)
		slices.Reverse(c.values)
		for _, share := range []float64{0.3, 0.8, 0.95} {
			want, sum, total := 0, 0.0, 0.0
			for _, v := range c.values {
				total += v
			}
			for sum < share*total {
				sum += c.values[want]
				want++
			}
			m := trained(t, x, &Options{Kernels: c.kernels, Trace: []float64{share}, Raw: true, Absolute: true,
				Search: Local, Gamma: []float64{0.01}}, nil)
			if got := len(m.Features()); got != want || m.setting.Rank != want || m.setting.Trace != share {
				t.Errorf("%v: %d features hold %v of the trace, want %d; %v", c.kernels, got, share, want, m.setting)
			}
		}
	}
	// All of the trace of a kernel is its whole rank; landmarks have less, and say how much.
	if m := trained(t, x, &Options{Kernels: []string{"linear"}, Trace: []float64{1}},
		nil); len(m.Features()) != 3 {
		t.Errorf("%d features hold all", len(m.Features()))
	}
	_, _, err := Train(x, &Options{Kernels: []string{"gaussian:0.2"}, Trace: []float64{0.99}, Landmarks: 10},
		nil)
	if !errors.Is(err, kernel.ErrRank) || !strings.Contains(err.Error(), "more landmarks") {
		t.Error(err)
	}
	// Shares can be chosen from, and folds find their own ranks.
	m := trained(t, x, &Options{Kernels: []string{"gaussian:0.5", "gaussian"}, Trace: []float64{0.2, 0.9},
		Folds: 3,
		Gamma: []float64{1e-3}, Search: Local}, nil)
	if m.setting.Trace != 0.9 || !strings.Contains(m.setting.String(), "trace=0.9 rank=") {
		t.Errorf("chosen: %v", m.setting)
	}
}

// What Judge says of other rows is what models of the same path do there.
func TestJudge(t *testing.T) {
	train, test := rings(80, 2, 11), rings(60, 2, 12)
	s, err := Decompose(train, &Options{Rank: []int{2, 5}, Kernels: []string{"gaussian:0.5", "gaussian",
		"linear"}},
		&run.Control{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	held, err := s.Hold(test)
	if err != nil {
		t.Fatal(err)
	}
	for _, kernels := range [][]int{nil, {1}, {2, 0}} {
		o := &Options{Rank: []int{2}, Gamma: []float64{0.1, 1e-3}, Search: Local}
		var want [][2]float64
		err := s.Path(o, kernels, func(m *Model) error {
			p, err := m.Predict(context.Background(), test, 1)
			want = append(want, [2]float64{wrong(t, m, test), metrics.LogLoss(p.Probability, test.Target, nil, 2)})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = s.Judge(o, kernels, held, func(e, loss float64) error {
			near(t, "error", e, want[n][0], 1e-12)
			near(t, "loss", loss, want[n][1], 1e-9)
			n++
			return nil
		})
		if err != nil || n != len(want) || n != 2 {
			t.Errorf("%v: %d of %d fits", err, n, len(want))
		}
	}
	none := *test
	none.Target = nil
	if _, err := s.Hold(&none); !errors.Is(err, ErrData) {
		t.Error(err)
	}
	if err := s.Judge(&Options{Rank: []int{2}}, []int{3}, held, nil); err == nil {
		t.Error("kernel 4 of 3")
	}
}
