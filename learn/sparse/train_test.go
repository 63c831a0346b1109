package sparse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/run/runtest"
)

// blobs are rows of classes around a point each, with a categorical column, missing values, and a
// column of much larger numbers.
func blobs(rng *rand.Rand, rows, classes int) *table.Table {
	t := &table.Table{Name: "blobs", Rows: rows, TargetName: "kind", Target: make([]float64, rows)}
	for c := range classes {
		t.Classes = append(t.Classes, string(rune('a'+c)))
	}
	a, b, c := make([]float32, rows), make([]float32, rows), make([]float32, rows)
	for i := range rows {
		k := rng.IntN(classes)
		t.Target[i] = float64(k)
		angle := 2 * math.Pi * float64(k) / float64(classes)
		a[i] = float32(2*math.Cos(angle) + 0.6*rng.NormFloat64())
		b[i] = float32(1000 * (2*math.Sin(angle) + 0.6*rng.NormFloat64()))
		c[i] = float32(rng.IntN(2))
		if rng.IntN(30) == 0 {
			a[i] = float32(math.NaN())
		}
	}
	t.Columns = []table.Column{{Name: "x", Values: a}, {Name: "y", Values: b},
		{Name: "side", Kind: table.Categorical, Values: c, Levels: []string{"left", "right"}}}
	return t
}

func numbers(rng *rand.Rand, rows int) *table.Table {
	t := &table.Table{Name: "numbers", Rows: rows, TargetName: "v", Target: make([]float64, rows),
		Columns: []table.Column{{Name: "x", Values: make([]float32, rows)}}}
	for i := range rows {
		x := 10 * rng.Float64()
		t.Columns[0].Values[i] = float32(x)
		t.Target[i] = 50 + 20*math.Exp(-(x-3)*(x-3)) - 10*math.Exp(-(x-7)*(x-7)/4) + 0.3*rng.NormFloat64()
	}
	return t
}

func written(t *testing.T, m *Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Models have the same bits for any number of workers and any scale of weights, predict as they
// should, and read back whole. A file that was cut does not read.
func TestTrainClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x, test := blobs(rng, 240, 3), blobs(rng, 300, 3)
	x.Weight = make([]float64, x.Rows)
	for i := range x.Weight {
		x.Weight[i] = float64(rng.IntN(3))
	}
	m, r, err := Train(x, nil, &run.Control{Workers: 1})
	if err != nil || !r.Converged() {
		t.Fatal(err, r)
	}
	want := written(t, m)
	larger := *x
	larger.Weight = make([]float64, x.Rows)
	for i, w := range x.Weight {
		larger.Weight[i] = 4 * w
	}
	for _, c := range []struct {
		x *table.Table
		w int
	}{{x, 3}, {&larger, 1}} {
		again, _, err := Train(c.x, nil, &run.Control{Workers: c.w})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(written(t, again), want) {
			t.Errorf("with %d workers, and weights of sum %v, the model is another", c.w, c.x.Weight[:3])
		}
	}
	read, err := Read(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written(t, read), want) {
		t.Error("the model reads back as another")
	}
	for n := 0; n < len(want); n += 1 + len(want)/400 {
		if _, err := Read(bytes.NewReader(want[:n])); err == nil {
			t.Fatalf("a file cut at byte %d of %d was read", n, len(want))
		}
	}
	s, err := read.Predict(context.Background(), test, 2)
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for i, y := range test.Target {
		if s.Class(i) != int(y) {
			wrong++
		}
	}
	if wrong > 15 || m.Kernels() > 12 {
		t.Errorf("%d of %d rows wrong with %d kernels", wrong, test.Rows, m.Kernels())
	}
	dense, err := m.Dense().Predict(context.Background(), test, 2)
	if err != nil {
		t.Fatal(err)
	}
	differ := 0
	for i := range test.Rows {
		if dense.Class(i) != s.Class(i) {
			differ++
		}
	}
	if differ > 15 {
		t.Errorf("the integral and its kernels differ at %d of %d rows", differ, test.Rows)
	}
	if e := m.Explain(); len(e) != 5 || len(e[1].Rows) != 3 || len(e[3].Rows) == 0 {
		t.Errorf("explained as %v", e)
	}
}

func TestTrainNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	x, test := numbers(rng, 150), numbers(rng, 200)
	m, _, err := Train(x, &Options{Eps: 0.02, Path: []float64{0.01, 0.1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Predict(context.Background(), test, 0)
	if err != nil {
		t.Fatal(err)
	}
	sq := 0.0
	for i, y := range test.Target {
		sq += (s.Score[i] - y) * (s.Score[i] - y) / float64(test.Rows)
	}
	if rmse := math.Sqrt(sq); rmse > 0.5 || m.Kernels() > 12 { // the noise alone is 0.3
		t.Errorf("RMSE %v with %d kernels", rmse, m.Kernels())
	}
	if path := m.Explain()[4].Rows; len(path) != 3 || path[0][1] != 0.01 || path[1][1] != 0.1 {
		t.Errorf("path %v", path)
	}
}

// A run that was interrupted goes on to the same model, and one of other settings does not.
func TestResume(t *testing.T) {
	x := blobs(rand.New(rand.NewPCG(5, 6)), 120, 3)
	m, _, err := Train(x, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := written(t, m)
	for stop := 1; stop <= 5; stop += 2 {
		ctx, cancel := context.WithCancel(context.Background())
		var k *run.Checkpoint
		_, _, err = Train(x, nil, &run.Control{Ctx: ctx,
			Checkpoint: func(c *run.Checkpoint) error { k = c; return nil },
			Recorder: run.RecorderFunc(func(r run.Row) error {
				if r.Iteration == stop {
					cancel()
				}
				return nil
			})})
		var e *run.InterruptedError
		if !errors.As(err, &e) || k == nil || k.Iteration != stop {
			t.Fatalf("%v, checkpoint %v", err, k)
		}
		var b bytes.Buffer
		if err := k.Write(&b); err != nil {
			t.Fatal(err)
		}
		if k, err = run.ReadCheckpoint(&b); err != nil {
			t.Fatal(err)
		}
		got, _, err := Train(x, nil, &run.Control{Resume: k})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(written(t, got), want) {
			t.Errorf("resumed after step %d the model is another", stop)
		}
		if _, _, err := Train(x, &Options{Eps: 9}, &run.Control{Resume: k}); err == nil ||
			!strings.Contains(err.Error(), "eps=9") {
			t.Errorf("with other settings: %v", err)
		}
	}
}

// Wherever a step is interrupted, in the refits after its solution too, the run goes on to the same
// model, with the same path.
func TestResumeWithin(t *testing.T) {
	x := blobs(rand.New(rand.NewPCG(5, 6)), 60, 2)
	o := &Options{Path: []float64{0.01}, Gamma: 0.1}
	m, _, err := Train(x, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := written(t, m)
	interrupted := 0
	for n := 4; ; n *= 2 {
		var k *run.Checkpoint
		_, _, err := Train(x, o, &run.Control{Ctx: runtest.NewCountdown(n), Workers: 1,
			Checkpoint: func(c *run.Checkpoint) error { k = c; return nil }})
		var e *run.InterruptedError
		if err == nil {
			break
		}
		if !errors.As(err, &e) && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if k == nil {
			continue
		}
		interrupted++
		got, _, err := Train(x, o, &run.Control{Resume: k})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(written(t, got), want) {
			t.Errorf("interrupted at the question %d, the model is another", n)
		}
	}
	if interrupted < 5 {
		t.Errorf("only %d runs had a checkpoint", interrupted)
	}
}

// An interrupt is obeyed within a solution: no step of the solver follows it. Each takes
// a fraction of 0.2 s.
func TestInterrupt(t *testing.T) {
	x := blobs(rand.New(rand.NewPCG(7, 8)), 600, 2)
	ctx, cancel := context.WithCancel(context.Background())
	live := 0
	_, _, err := Train(x, &Options{Centres: 100, Eps: 30},
		&run.Control{Ctx: ctx, Live: run.RecorderFunc(func(run.Row) error {
			if live++; live == 5 {
				cancel()
			}
			return nil
		})})
	var e *run.InterruptedError
	if !errors.As(err, &e) || live != 5 {
		t.Errorf("%v after %d steps", err, live)
	}
}

func TestRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	two, one, real := blobs(rng, 40, 2), blobs(rng, 40, 2), numbers(rng, 30)
	for i := range one.Target {
		one.Target[i] = 1
	}
	twice := two.Subset([]int{0, 1, 2, 3, 4, 5, 0})
	twice.Target[6] = 1 - twice.Target[0]
	same := real.Subset([]int{0, 1, 2, 3, 0})
	same.Target[4] += 100
	flat := blobs(rng, 5, 2)
	flat.Columns = []table.Column{{Name: "c", Values: make([]float32, 5)}}
	constant := numbers(rng, 5)
	for i := range constant.Target {
		constant.Target[i] = 3
	}
	for _, c := range []struct {
		name string
		t    *table.Table
		o    Options
		want []string
	}{
		{"one class", one, Options{}, []string{"all rows are of one class"}},
		{"margins of equal rows", twice, Options{Bound: "margin", Eps: 0.1},
			[]string{"row 1", "row 7", "--bound hinge"}},
		{"total hinge of equal rows", twice, Options{Eps: 1.5}, []string{"at least 2", "eps is 1.5"}},
		{"equal rows of different numbers", same, Options{Eps: 0.05},
			[]string{"row 1", "row 5", "the least eps that may do"}},
		{"classes in a tube", two, Options{Bound: "tube"}, []string{"tube does not suit"}},
		{"numbers with margins", real, Options{Bound: "margin"}, []string{"margin does not suit"}},
		{"constant columns", flat, Options{}, []string{"no column tells two rows apart"}},
		{"constant target", constant, Options{}, []string{"nothing is to be learnt"}},
		{"widths", two, Options{Widths: []float64{1, 2, 3}}, []string{"3 numbers"}},
		{"widths", two, Options{Widths: []float64{2, 1}}, []string{"from 2 to 1"}},
		{"draws", two, Options{Cells: "draws"}, []string{"--method proximal"}},
		{"a grid of many columns", blobs(rng, 40, 2), Options{Cells: "grid", PerAxis: 3000}, []string{"cells"}},
		{"hinge by Algorithm 1", two, Options{Method: "paper"}, []string{"no finite minimiser"}},
	} {
		_, _, err := Train(c.t, &c.o, nil)
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v; want %q", c.name, err, w)
			}
		}
	}
	m, _, err := Train(two, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Predict(context.Background(), real, 1); err == nil {
		t.Error("a table of another form was predicted")
	}
	if err := m.WriteSource(&bytes.Buffer{}, C, "not a name"); err == nil {
		t.Error("a function was written under no name")
	}
}

// Functions written in C and Go predict what the model does.
func TestWriteSource(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	folder := t.TempDir()
	for name, x := range map[string]*table.Table{"two": blobs(rng, 60, 2), "three": blobs(rng, 90, 3),
		"value": numbers(rng, 60)} {
		o := &Options{}
		if name == "two" {
			o.Family = "cauchy"
		}
		m, _, err := Train(x, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.Predict(context.Background(), x, 1)
		if err != nil {
			t.Fatal(err)
		}
		var rows, calls strings.Builder
		dim := len(x.Columns)
		for i := range x.Rows {
			for j, v := range x.Row(i, make([]float32, dim)) {
				text := strconv.FormatFloat(float64(v), 'g', -1, 64)
				if v != v {
					text = "0.0/zero"
				}
				if i+j > 0 {
					rows.WriteString(", ")
				}
				rows.WriteString(text)
			}
		}
		fmt.Fprintf(&calls, "#include <stdio.h>\n#include \"%s.c\"\nint main(void) { double zero = 0; "+
			"(void)zero; double x[] = {%s}; for (int i = 0; i < %d; i++) printf(\"%%.15g\\n\", (double)%s(x + "+
			"%d * i)); return 0; }\n", name, rows.String(), x.Rows, name, dim)
		var source bytes.Buffer
		if err := m.WriteSource(&source, C, name); err != nil {
			t.Fatal(err)
		}
		write := func(file, text string) string {
			path := filepath.Join(folder, file)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		check := func(what string, out []byte) {
			lines := strings.Fields(string(out))
			if len(lines) != x.Rows {
				t.Fatalf("%s: %d lines for %d rows", what, len(lines), x.Rows)
			}
			for i, l := range lines {
				v, err := strconv.ParseFloat(l, 64)
				want := s.Score[i*s.Outputs]
				if x.Classes != nil {
					want = float64(s.Class(i))
				}
				if err != nil || math.Abs(v-want) > 1e-9*math.Abs(want) {
					t.Errorf("%s: row %d is %s, not %v", what, i+1, l, want)
				}
			}
		}
		write(name+".c", source.String())
		program := write(name+"main.c", calls.String())
		if compiler, err := exec.LookPath("cc"); err != nil {
			t.Log("there is no C compiler: the C functions were not tried")
		} else {
			binary := filepath.Join(folder, name)
			if out, err := exec.Command(compiler, "-std=c99", "-Wall", "-Werror", "-o", binary, program,
				"-lm").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			out, err := exec.Command(binary).Output()
			if err != nil {
				t.Fatal(err)
			}
			check("C", out)
		}
		if name == "two" {
			continue // one program less to build
		}
		source.Reset()
		if err := m.WriteSource(&source, Go, "F"+name); err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(source.String(), "package model\n\nimport \"math\"",
			"package main\n\nimport (\n\"math\"\n\"fmt\"\n)", 1)
		text += fmt.Sprintf("\nfunc main() {\nzero := 0.0\n_ = zero\nx := []float64{%s}\nfor i := range %d "+
			"{\nfmt.Printf(\"%%.15g\\n\", float64(F%s(x[%d*i:][:%d])))\n}\n}\n", rows.String(), x.Rows, name, dim, dim)
		out, err := exec.Command("go", "run", write(name+".go", text)).Output()
		if err != nil {
			t.Logf("go run: %v", err)
			var e *exec.ExitError
			if errors.As(err, &e) {
				t.Fatalf("%s", e.Stderr)
			}
			continue
		}
		check("Go", out)
	}
}

// The multipliers point at wrong labels.
func TestDifficultRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	x := blobs(rng, 200, 2)
	wrong := map[int]bool{}
	for range 6 {
		i := rng.IntN(200)
		wrong[i] = true
	}
	for i := range wrong {
		x.Target[i] = 1 - x.Target[i]
	}
	m, _, err := Train(x, &Options{Eps: 20}, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, r := range m.Explain()[3].Rows[:2*len(wrong)] {
		if wrong[r[1].(int)-1] {
			found++
		}
	}
	if found < len(wrong)-1 {
		t.Errorf("%d of %d wrong labels among the most difficult rows", found, len(wrong))
	}
}

// KOMP's updates of the inverse are the fits they stand for, and it finds the bump of a kernel.
func TestKOMP(t *testing.T) {
	p := wave(30)
	var models [][]int
	s, err := KOMP(context.Background(), p, &KOMPOptions{Width: 0.5, Ridge: 1e-6, Kernels: 5,
		Each: func(k []int) { models = append(models, k) }})
	if err != nil {
		t.Fatal(err)
	}
	if s.Len() != 5 || len(models) != 26 {
		t.Fatalf("%d kernels, %d models", s.Len(), len(models))
	}
	// Each removal is the best one, by trying all.
	at := func(which []int) float64 {
		sub := &Sum{Family: Gaussian{}, Dim: 1}
		for _, i := range which {
			sub.Center, sub.Width, sub.Coef = append(sub.Center, p.X[i]), append(sub.Width, 0.5), append(sub.Coef, 0)
		}
		k := sub.Values(1, p.X)
		a, _, err := leastSquares(k, p.Y, len(which), 1e-9, 0)
		if err != nil {
			t.Fatal(err)
		}
		sq := 0.0
		for i, y := range p.Y {
			v := -y
			for j := range which {
				v += a[j] * k[i*len(which)+j]
			}
			sq += v * v
		}
		return sq
	}
	for m := 18; m < 25; m++ {
		best := math.Inf(1)
		for j := range models[m] {
			best = math.Min(best, at(append(append([]int(nil), models[m][:j]...), models[m][j+1:]...)))
		}
		if got := at(models[m+1]); got > 1.3*best+1e-6 {
			t.Errorf("from %d kernels: a removal to %v, the best is %v", len(models[m]), got, best)
		}
	}
	limited, err := KOMP(context.Background(), p, &KOMPOptions{Width: 0.5, Error: 1e-3})
	if err != nil {
		t.Fatal(err)
	}
	f := make([]float64, len(p.Y))
	limited.Predict(1, p.X, f)
	if mse := (&refit{p: p}).err(f); mse > 1e-3 {
		t.Errorf("a mean squared error of %v, beyond the limit", mse)
	}
}

// Slopes of families are their derivatives, and gradients of abar those of its values.
func TestSlopes(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for _, f := range []Family{Gaussian{}, Cauchy{}} {
		const h = 1e-6
		for range 50 {
			sq, w := 4*rng.Float64(), 0.2+rng.Float64()
			k, a, b := f.Slopes(sq, w)
			near(t, f.Name(), k, f.Value(sq, w), 1e-15)
			near(t, f.Name()+" by square", a, (f.Value(sq+h, w)-f.Value(sq-h, w))/(2*h), 1e-6)
			near(t, f.Name()+" by width", b, (f.Value(sq, w+h)-f.Value(sq, w-h))/(2*h), 1e-6)
		}
		b := &bar{f: f, dim: 2, x: []float64{0, 1, 2, 0.5, -1, 1}, lambda: []float64{1, -2, 0.5}}
		z, dz := []float64{0.3, 0.2}, make([]float64, 2)
		_, dw := b.at(z, 0.8, dz)
		value := func(x, y, w float64) float64 { v, _ := b.at([]float64{x, y}, w, nil); return v }
		want := []float64{(value(0.3+h, 0.2, 0.8) - value(0.3-h, 0.2, 0.8)) / (2 * h),
			(value(0.3, 0.2+h, 0.8) - value(0.3, 0.2-h, 0.8)) / (2 * h),
			(value(0.3, 0.2, 0.8+h) - value(0.3, 0.2, 0.8-h)) / (2 * h)}
		for i, v := range append(dz, dw) {
			near(t, f.Name()+": abar", v, want[i], 1e-6)
		}
	}
}

// KMeans ends where every centre is the mean of the points nearest to it.
func TestKMeans(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	var x []float64
	for i := range 90 {
		x = append(x, float64(i%3)*10+rng.NormFloat64(), rng.NormFloat64())
	}
	c, err := KMeans(context.Background(), x, 2, 3, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	var seen [3]bool
	for j := range 3 {
		seen[int(math.Round(c[2*j]/10))] = true
	}
	if diff := cmp.Diff([3]bool{true, true, true}, seen); diff != "" {
		t.Errorf("centres %v: %s", c, diff)
	}
	if c, err = KMeans(context.Background(), []float64{1, 1, 1, 1}, 1, 3, 1, 1); err != nil || len(c) != 1 {
		t.Errorf("of equal points: %v, %v", c, err)
	}
}

func ExampleTrain() {
	var b strings.Builder
	b.WriteString("x,y\n")
	for i := range 60 {
		x := float64(i) / 6
		fmt.Fprintf(&b, "%.3f,%.6f\n", x, math.Exp(-(x-3)*(x-3)/2)-2*math.Exp(-(x-7)*(x-7)))
	}
	t, err := table.Read(strings.NewReader(b.String()), "bumps.csv", &table.Options{Target: "y"})
	if err != nil {
		fmt.Println(err)
		return
	}
	m, _, err := Train(t, &Options{Eps: 1e-3}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := m.Predict(context.Background(), t, 0)
	fmt.Printf("%d kernels; at 7: %.2f, %v\n", m.Kernels(), s.Score[42], err)
	// Output:
	// 2 kernels; at 7: -2.00, <nil>
}

// The path of prices starts each solution where the last one ended, and ends at the same function.
func TestWarmStart(t *testing.T) {
	p := wave(40)
	c := grid(t, Around(p.X, 1, 2, 0.3, 1), 80, 6)
	cold := solved(t, p, &SolveOptions{Eps: 0.01, Gamma: 0.3, Cells: c})
	before := solved(t, p, &SolveOptions{Eps: 0.01, Gamma: 0.25, Cells: c})
	warm := solved(t, p, &SolveOptions{Eps: 0.01, Gamma: 0.3, Cells: c, Start: before.Lambda})
	near(t, "value", warm.Dual, cold.Dual, 1e-5*cold.Dual)
}

// Cells beyond memory, widths whose squares leave float64, and bounds that the function 0 meets are
// told before work begins; an error names the package once.
func TestUnreasonable(t *testing.T) {
	data := numbers(rand.New(rand.NewPCG(5, 5)), 20)
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"grid", Options{Cells: "grid", PerAxis: 100000, PerCentre: 10000}, "ask for fewer cells"},
		{"sample", Options{Cells: "sample", Sample: 1 << 30}, "ask for fewer cells"},
		{"narrow", Options{Widths: []float64{1e-300}}, "both must be from"},
		{"wide", Options{Widths: []float64{1, 1e300}}, "both must be from"},
	} {
		_, _, err := Train(data, &c.o, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "sparse: ") != 1 {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	warned := ""
	warn := func(text string) { warned += text }
	if _, _, err := Train(data, &Options{Eps: 100}, &run.Control{Warn: warn}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(warned, "met without any kernel") {
		t.Errorf("warned of %q", warned)
	}
}

// An l2 of 0, which options hold as learner.None, is a fit without a penalty, not one without an
// end.
func TestNoPenalty(t *testing.T) {
	data := numbers(rand.New(rand.NewPCG(5, 5)), 20)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, kind := range []string{"joint", "refined", "fixed"} {
		done := make(chan error, 1)
		go func() {
			_, _, err := Train(data, &Options{L2: learner.None, Peaks: kind}, &run.Control{Ctx: ctx})
			done <- err
		}()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		case <-ctx.Done():
			t.Fatalf("%s: no end", kind)
		}
	}
	if _, _, err := leastSquares([]float64{1, 1, 1, 1}, []float64{1, 2}, 2, 0, 0); err != nil { // equal columns
		t.Error(err)
	}
}
