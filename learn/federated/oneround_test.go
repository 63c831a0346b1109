package federated

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// points makes a table of points with classes.
func pointTable(x [][]float32, class []float64, classes ...string) *table.Table {
	t := &table.Table{Name: "points", Rows: len(x), Classes: classes, TargetName: "y", Target: class}
	for j := range x[0] {
		c := table.Column{Name: fmt.Sprintf("x%d", j), Values: make([]float32, len(x))}
		for i := range x {
			c.Values[i] = x[i][j]
		}
		t.Columns = append(t.Columns, c)
	}
	return t
}

// separable draws points of two classes on the sides of a plane through 0, with a gap.
func separable(rng *rand.Rand, n, d int) *table.Table {
	w := make([]float64, d)
	for j := range w {
		w[j] = rng.NormFloat64()
	}
	var x [][]float32
	var class []float64
	for len(x) < n {
		p := make([]float32, d)
		s := 0.0
		for j := range p {
			p[j] = float32(rng.NormFloat64())
			s += w[j] * float64(p[j])
		}
		if math.Abs(s) < 0.2 {
			continue
		}
		x = append(x, p)
		class = append(class, map[bool]float64{true: 1, false: 0}[s > 0])
	}
	return pointTable(x, class, "no", "yes")
}

// oneRound makes a run of agents with the given rows.
func oneRound(t *testing.T, o KernelOptions, x *table.Table, parts ...[]int) *Result {
	t.Helper()
	c := &Config{Algorithm: OneRound, Target: "y", Classes: x.Classes, MinRows: 1, OneRound: o}
	of := map[string][]int{}
	for i, rows := range parts {
		name := fmt.Sprintf("p%d", i)
		c.Agents = append(c.Agents, Member{Name: name})
		of[name] = rows
	}
	return train(t, c, local(t, c, x, of))
}

func upTo(from, to int) []int {
	var out []int
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// objective is |α|²/2 of a linear model of two classes.
func objective(m *KernelModel) float64 {
	v := 0.0
	for i, a := range m.Coef[0] {
		for j, b := range m.Coef[0] {
			v += a * b * m.Options.kernel(m.X[i], m.X[j]) / 2
		}
	}
	return v
}

var hard = KernelOptions{Kernel: "linear", Cost: "margin", Scale: "none", Accuracy: 1e-9,
	MarginTolerance: 1e-6}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// 11 and 13: one agent, or all agents with the same rows, give the centralised problem.
func TestOneAgentIsCentral(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := separable(rng, 60, 3)
	soft := KernelOptions{Kernel: "gaussian", Width: 0.8, Cost: "hinge", Price: 2, Accuracy: 1e-9,
		MarginTolerance: 1e-6}
	for _, o := range []KernelOptions{hard, soft, {Cost: "total-hinge", Hinge: 0.05, Width: 1,
		Accuracy: 1e-8}} {
		central, _, err := TrainKernel(x, &o, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := central.Predict(context.Background(), x, 1)
		if err != nil {
			t.Fatal(err)
		}
		runs := map[string]*Result{"one": oneRound(t, o, x, upTo(0, 60))}
		if o.Cost == "margin" {
			runs["same"] = oneRound(t, o, x, upTo(0, 60), upTo(0, 60), upTo(0, 60))
		}
		for name, r := range runs {
			got, err := r.Kernel.Predict(context.Background(), x, 1)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want.Score {
				near(t, fmt.Sprintf("%s, %s, row %d", o.Cost, name, i), got.Score[i], want.Score[i], 2e-3)
			}
		}
	}
}

// 12: agents far apart have nothing to do with one another: the function is the sum of theirs.
func TestFarApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	a, b := separable(rng, 25, 2), separable(rng, 25, 2)
	var x [][]float32
	var class []float64
	for i := range 50 {
		src, row, shift := a, i, float32(0)
		if i >= 25 {
			src, row, shift = b, i-25, 100
		}
		x = append(x, []float32{src.Columns[0].Values[row] + shift, src.Columns[1].Values[row]})
		class = append(class, src.Target[row])
	}
	all := pointTable(x, class, "no", "yes")
	o := KernelOptions{Width: 0.5, Cost: "margin", Scale: "none", Accuracy: 1e-9}
	fed := oneRound(t, o, all, upTo(0, 25), upTo(25, 50)).Kernel
	sum := make([]float64, 50)
	for _, part := range [][]int{upTo(0, 25), upTo(25, 50)} {
		m, _, err := TrainKernel(all.Subset(part), &o, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.Predict(context.Background(), all, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range s.Score {
			sum[i] += v
		}
	}
	s, err := fed.Predict(context.Background(), all, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range sum {
		near(t, fmt.Sprint("row ", i), s.Score[i], sum[i], 1e-6)
	}
}

// 14: two points of different classes have u = (1-eps)/(q0-q1).
func TestTwoPoints(t *testing.T) {
	x := pointTable([][]float32{{0}, {1}}, []float64{0, 1}, "no", "yes")
	o := KernelOptions{Width: 0.7, Cost: "margin", Eps: 0.1, Scale: "none", Accuracy: 1e-12}
	m, _, err := TrainKernel(x, &o, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := (1 - 0.1) / (1 - math.Exp(-1/(4*0.7*0.7)))
	near(t, "u of yes", m.Coef[0][1], want, 1e-9)
	near(t, "u of no", m.Coef[0][0], -want, 1e-9)
}

// The kernel is the overlap of Gaussians, up to a constant.
func TestOverlap(t *testing.T) {
	o := KernelOptions{Width: 0.6}
	for _, d := range []float64{0, 0.3, 1.7} {
		sum, sum0 := 0.0, 0.0
		for z := -12.0; z < 12; z += 1e-3 {
			k := func(x float64) float64 { return gauss([]float64{x}, []float64{z, 0.6}) }
			sum += k(0) * k(d) * 1e-3
			sum0 += k(0) * k(0) * 1e-3
		}
		near(t, "overlap at 0", sum0, 0.6*math.Sqrt(math.Pi), 1e-9)
		near(t, fmt.Sprint("overlap at ", d), sum/sum0, o.kernel([]float64{0}, []float64{d}), 1e-9)
	}
}

// 15: the certificate tells when the federated problem is the centralised one, on problems
// where it is and where it is not; repairs end at the centralised one. And dropping samples
// without multipliers leaves the solution.
func TestCertificate(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	same, differ, repaired := 0, 0, 0
	o := hard
	o.Verify = true
	for range 100 {
		x := separable(rng, 24, 2)
		central, _, err := TrainKernel(x, &hard, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := oneRound(t, o, x, upTo(0, 12), upTo(12, 24))
		equal := math.Abs(objective(r.Kernel)-objective(central)) <= 1e-5*objective(central)
		if r.Kernel.Options.Verify != true || len(r.Report.Violations) != 1 ||
			(r.Report.Violations[0] == 0) != equal {
			t.Errorf("violations %v, objectives %v and %v", r.Report.Violations, objective(r.Kernel),
				objective(central))
		}
		if objective(r.Kernel) > objective(central)*(1+1e-6) {
			t.Errorf("fewer constraints cost more: %v, %v", objective(r.Kernel), objective(central))
		}
		if equal {
			same++
			continue
		}
		differ++
		again := o
		again.Repair = 5
		fixed := oneRound(t, again, x, upTo(0, 12), upTo(12, 24))
		if v := fixed.Report.Violations; v[len(v)-1] == 0 {
			repaired++
			near(t, "repaired objective", objective(fixed.Kernel), objective(central),
				1e-5*objective(central))
		}
		var critical []int
		for i := range x.Rows {
			raw := []float32{x.Columns[0].Values[i], x.Columns[1].Values[i]}
			for n := range central.Class {
				if key(central.Class[n], central.Raw[2*n:2*n+2]) == key(int(x.Target[i]), raw) {
					critical = append(critical, i)
				}
			}
		}
		less, _, err := TrainKernel(x.Subset(critical), &hard, nil)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "objective without samples that have no multiplier", objective(less), objective(central),
			1e-6*objective(central))
	}
	if differ < 3 || same < 30 || repaired != differ {
		t.Errorf("%d equal, %d differ, %d of those repaired", same, differ, repaired)
	}
}

// 16: where agents have different regions, the server takes fewer steps from their multipliers
// than from 0; the optimum is the same wherever it starts. Where agents are alike nothing is
// saved: each had to hold the margin alone, and the sum of their multipliers is far from the
// answer.
func TestWarmStart(t *testing.T) {
	cold, warm := 0, 0
	for seed := range uint64(10) {
		x := separable(rand.New(rand.NewPCG(4, seed)), 200, 3)
		order := upTo(0, 200)
		regions := seed < 8
		if regions {
			slices.SortFunc(order, func(a, b int) int {
				return cmp.Compare(x.Columns[0].Values[a],
					x.Columns[0].Values[b])
			})
		}
		x = x.Subset(order)
		o := KernelOptions{Kernel: "gaussian", Width: 0.8, Cost: "hinge", Price: 1, Scale: "none",
			Accuracy: 1e-5}
		if err := complete(&o); err != nil {
			t.Fatal(err)
		}
		s := &samples{x: scaledRows(rawRows(x, plain(3)), plain(3)), count: slices.Repeat([]float64{1}, 200)}
		for _, k := range x.Target {
			s.class = append(s.class, int(k))
		}
		solve := func(s *samples, u []float64) *solution {
			r, err := o.solve(context.Background(), s, [2]int{0, 1}, u, float64(len(s.x)), 1)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		var parts []float64
		for from := 0; from < 200; from += 50 {
			parts = append(parts, solve(&samples{x: s.x[from : from+50], class: s.class[from : from+50],
				count: s.count[:50]}, nil).u...)
		}
		// Samples are in the order of the rows, both classes, as multipliers are.
		a, b := solve(s, nil), solve(s, parts)
		if regions {
			cold, warm = cold+a.steps, warm+b.steps
		}
		for i := range a.f {
			near(t, fmt.Sprint("f of ", i), b.f[i], a.f[i], 1e-3)
		}
	}
	if warm >= cold {
		t.Errorf("%d steps warm, %d cold", warm, cold)
	}
}

// 17: duplicates, an agent of one class, three classes, and the model's file.
func TestUploads(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var x [][]float32
	var class []float64
	for i := range 90 {
		k := i % 3
		x = append(x, []float32{float32(rng.NormFloat64()) + 4*float32(k), float32(rng.NormFloat64())})
		class = append(class, float64(k))
	}
	all := pointTable(x, class, "a", "b", "c")
	var ofA []int
	for i := 0; i < 90; i += 3 {
		ofA = append(ofA, i)
	}
	r := oneRound(t, KernelOptions{Width: 1}, all, ofA, upTo(0, 45), upTo(30, 90)) // rows 30 to 44 twice
	s, err := r.Kernel.Predict(context.Background(), all, 1)
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for i := range class {
		if s.Class(i) != int(class[i]) {
			wrong++
		}
	}
	if wrong > 6 || r.Report.Uploaded >= r.Report.Samples || r.Report.Samples != 30+45+60 {
		t.Errorf("%d of 90 wrong, %d of %d sent", wrong, r.Report.Uploaded, r.Report.Samples)
	}
	seen := map[string]bool{}
	for i, k := range r.Kernel.Class {
		id := key(k, r.Kernel.Raw[2*i:2*i+2])
		if seen[id] {
			t.Error("a sample is in the model twice")
		}
		seen[id] = true
	}
	alone := oneRound(t, KernelOptions{Width: 1}, all, ofA)
	if n := alone.Report.Uploaded; n == 0 {
		t.Errorf("an agent of one class sent %d samples", n)
	}
	got, err := ReadKernel(bytes.NewReader(file(t, r)))
	if err != nil {
		t.Fatal(err)
	}
	if again := file(t, &Result{Kernel: got}); !bytes.Equal(again, file(t, r)) {
		t.Error("the file of the model that was read is another")
	}
	p, err := got.Predict(context.Background(), all, 2)
	if err != nil || !slices.Equal(p.Score, s.Score) {
		t.Errorf("scores after reading differ: %v", err)
	}
}

// Two ways to send less: samples that count for all rows of their agent, and a limit on their
// number.
func TestSendingLess(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	x := separable(rng, 300, 2)
	for i := range 60 { // classes overlap
		x.Target[i*5] = float64(i % 2)
	}
	c := &Config{Algorithm: OneRound, Target: "y", Classes: x.Classes, MinRows: 1,
		OneRound: KernelOptions{Width: 0.7, Counts: true, Most: 0.2}}
	of := map[string][]int{"p": upTo(0, 150), "q": upTo(150, 300)}
	for name := range of {
		c.Agents = append(c.Agents, Member{Name: name})
	}
	l := &spy{Local: local(t, c, x, of)}
	r := train(t, c, l)
	if r.Report.Uploaded > 60 || r.Report.Uploaded < 30 {
		t.Errorf("%d rows of 300 were sent, a fifth is allowed", r.Report.Uploaded)
	}
	for _, m := range l.up[phaseSolve] {
		counts, err := get[int32](m, "count")
		if err != nil {
			t.Fatal(err)
		}
		sum := int32(0)
		for _, n := range counts {
			sum += n
		}
		if sum != 150 {
			t.Errorf("the samples of %s count for %d rows of 150", m.Agent, sum)
		}
	}
	s, err := r.Kernel.Predict(context.Background(), x, 1)
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for i, k := range x.Target {
		if s.Class(i) != int(k) {
			wrong++
		}
	}
	if wrong > 60 {
		t.Errorf("%d of 300 wrong", wrong)
	}
}

// The bound on hinge losses is met, and is the box machine at that price.
func TestTotalHinge(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	x := separable(rng, 80, 2)
	for i := range 8 { // labels that no plane separates
		x.Target[i] = 1 - x.Target[i]
	}
	o := KernelOptions{Kernel: "linear", Cost: "total-hinge", Hinge: 0.4, Scale: "none", Accuracy: 1e-8}
	m, _, err := TrainKernel(x, &o, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Predict(context.Background(), x, 1)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, f := range s.Score {
		sum += math.Max(0, 1-(2*x.Target[i]-1)*f)
	}
	near(t, "sum of hinge losses", sum, 0.4*80, 0.1)
	box := KernelOptions{Kernel: "linear", Cost: "hinge", Price: m.Price[0], Scale: "none", Accuracy: 1e-8}
	b, _, err := TrainKernel(x, &box, nil)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "objective", objective(b), objective(m), 1e-3*objective(m))
}

// The same point with both labels has no margin: an error with its number and the samples.
func TestInfeasible(t *testing.T) {
	x := pointTable([][]float32{{0}, {0}, {1}, {2}}, []float64{0, 1, 1, 1}, "no", "yes")
	_, _, err := TrainKernel(x, &KernelOptions{Cost: "margin", Scale: "none"}, nil)
	var e *Error
	if !errors.As(err, &e) || e.Code != Infeasible {
		t.Fatalf("%v", err)
	}
	if !bytes.Contains([]byte(err.Error()), []byte("samples 1 (class 1) 2 (class 2)")) &&
		!bytes.Contains([]byte(err.Error()), []byte("samples 2 (class 2) 1 (class 1)")) {
		t.Errorf("the samples are not named: %v", err)
	}
	if _, _, err := TrainKernel(x, &KernelOptions{Cost: "hinge", Scale: "none"}, nil); err != nil {
		t.Errorf("hinge: %v", err)
	}
}

// A solver that runs out of steps says so with its own number, and not that the table is wrong.
func TestNotSolved(t *testing.T) {
	x := pointTable([][]float32{{0}, {0.1}, {1}, {2}, {3}}, []float64{0, 1, 0, 1, 0}, "no", "yes")
	_, _, err := TrainKernel(x, &KernelOptions{Price: 100, MaxSteps: 1}, nil)
	if CodeOf(err) != NotSolved {
		t.Errorf("%v", err)
	}
}

// Kernels of widths whose squares are no numbers: those of the limits.
func TestExtremeWidths(t *testing.T) {
	for width, want := range map[float64]float64{1e-300: 0, 1e300: 1} {
		o := &KernelOptions{Width: width}
		if a, b := o.kernel([]float64{1}, []float64{1}), o.kernel([]float64{1}, []float64{2}); a != 1 ||
			b != want {
			t.Errorf("width %v: %v at 0 and %v at 1, want 1 and %v", width, a, b, want)
		}
	}
}

// With gamma the dual by sampled points: it goes to that of the closed kernel as gamma goes to
// 0, the support shrinks as gamma grows, and constraints hold.
func TestGamma(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var x [][]float32
	var class []float64
	for i := range 40 {
		k := i % 2
		x = append(x, []float32{float32(rng.Float64()*2 + 3*float64(k)), float32(rng.Float64() * 2)})
		class = append(class, float64(k))
	}
	all := pointTable(x, class, "no", "yes")
	o := KernelOptions{Width: 1, Cost: "hinge", Price: 1e4, Scale: "none", Widths: []float64{0.95, 1.05},
		Lo: []float64{-4, -4}, Hi: []float64{9, 6}, Points: 2000, Steps: 1500}
	last := math.MaxInt
	for i, gamma := range []float64{1e-9, 0.02, 0.1, 0.3} {
		o.Gamma = gamma
		m, _, err := TrainKernel(all, &o, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.Predict(context.Background(), all, 1)
		if err != nil {
			t.Fatal(err)
		}
		worst := math.Inf(1)
		for i, f := range s.Score {
			worst = math.Min(worst, (2*class[i]-1)*f)
		}
		if worst < 0.97 {
			t.Errorf("gamma %v: the least margin is %v", gamma, worst)
		}
		if n := m.Kernels(); n > last {
			t.Errorf("gamma %v: %d points, more than %d", gamma, n, last)
		} else {
			last = n
		}
		if i > 0 {
			continue
		}
		closed := o
		closed.Gamma, closed.Cost = 0, "margin" // the price is out of reach
		c, _, err := TrainKernel(all, &closed, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.Predict(context.Background(), all, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want.Score {
			near(t, fmt.Sprint("function of row ", i), s.Score[i], want.Score[i], 0.05)
		}
	}
	if last > 700 {
		t.Errorf("%d points of 2000 at the largest gamma", last)
	}
	r := oneRound(t, o, all, upTo(0, 20), upTo(20, 40))
	got, err := ReadKernel(bytes.NewReader(file(t, r)))
	if err != nil || got.Kernels() != r.Kernel.Kernels() || got.Kernels() == 0 {
		t.Errorf("%d and %d points, %v", got.Kernels(), r.Kernel.Kernels(), err)
	}
}

// Federated averaging learns, and its file reads back.
func TestAverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	x := separable(rng, 200, 3)
	c := &Config{Algorithm: Average, Target: "y", Classes: x.Classes,
		Agents: []Member{{Name: "p"}, {Name: "q"}}, Average: AverageOptions{Rounds: 8}}
	for _, features := range []int{0, 60} {
		c.Average.Features = features
		r := train(t, c, local(t, c, x, map[string][]int{"p": upTo(0, 70), "q": upTo(70, 200)}))
		got, err := ReadAverage(bytes.NewReader(file(t, r)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := got.Predict(context.Background(), x, 1)
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for i, k := range x.Target {
			if s.Class(i) != int(k) {
				wrong++
			}
		}
		if wrong > 12 || r.Report.Rounds != 8 {
			t.Errorf("%d features: %d of 200 wrong after %d rounds", features, wrong, r.Report.Rounds)
		}
	}
}

// A mean hinge loss that is out of reach is an error soon, and what it advises works.
func TestHingeOutOfReach(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	var x [][]float32
	var class []float64
	for i := range 400 {
		x = append(x, []float32{float32(rng.NormFloat64()) + 0.5*float32(i%2)})
		class = append(class, float64(i%2))
	}
	all := pointTable(x, class, "no", "yes")
	o := KernelOptions{Cost: "total-hinge", Scale: "none"} // a mean of 0.1
	_, _, err := TrainKernel(all, &o, nil)
	if CodeOf(err) != Infeasible {
		t.Fatalf("%v", err)
	}
	_, advice, ok := strings.Cut(err.Error(), "Give hinge at least ")
	if _, e := fmt.Sscanf(advice, "%g", &o.Hinge); !ok || e != nil || o.Hinge < 0.3 {
		t.Fatalf("the advice is %q, of %v", advice, err)
	}
	if _, _, err := TrainKernel(all, &o, nil); err != nil {
		t.Errorf("with the hinge that was advised: %v", err)
	}
	o.Hinge = 1.5
	if _, _, err := TrainKernel(all, &o, nil); CodeOf(err) != BadConfig {
		t.Errorf("a hinge loss that the function 0 has: %v", err)
	}
}

// inner is the scalar product of the functions of two models of two classes.
func inner(a, b *KernelModel) float64 {
	sum := 0.0
	for i, u := range a.Coef[0] {
		for j, v := range b.Coef[0] {
			sum += u * v * a.Options.kernel(a.X[i], b.X[j])
		}
	}
	return sum
}

// apart is the squared distance of two functions, as a share of the square of the second.
func apart(a, b *KernelModel) float64 {
	return (inner(a, a) - 2*inner(a, b) + inner(b, b)) / inner(b, b)
}

// Theorems 2 and 4 as trends: with more samples the functions of agents of one distribution come
// together, and the federated function comes to the centralised one.
func TestTrends(t *testing.T) {
	o := KernelOptions{Width: 1, Cost: "hinge", Price: 1, Scale: "none"}
	sizes := []int{20, 80, 320}
	agents, central := make([]float64, len(sizes)), make([]float64, len(sizes))
	for s, n := range sizes {
		for seed := range uint64(6) {
			x := separable(rand.New(rand.NewPCG(13, seed)), 2*n, 2)
			one := func(rows []int) *KernelModel {
				m, _, err := TrainKernel(x.Subset(rows), &o, nil)
				if err != nil {
					t.Fatal(err)
				}
				return m
			}
			agents[s] += apart(one(upTo(0, n)), one(upTo(n, 2*n))) / 6
			central[s] += apart(oneRound(t, o, x, upTo(0, n), upTo(n, 2*n)).Kernel, one(upTo(0, 2*n))) / 6
		}
	}
	t.Logf("agents %.3g, federated and centralised %.3g", agents, central)
	for s := range sizes[1:] {
		if agents[s+1] > agents[s] || central[s+1] > central[s] {
			t.Errorf("with %d samples an agent: agents are %.3g apart, federated and centralised %.3g; with %d: "+
				"%.3g, %.3g",
				sizes[s+1], agents[s+1], central[s+1], sizes[s], agents[s], central[s])
		}
	}
	if agents[0] < 4*agents[2] {
		t.Errorf("agents are %.3g apart: the distance hardly falls", agents)
	}
}

// A row of weight 2 is two rows, and one of weight 0 is none.
func TestRowWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 15))
	x := separable(rng, 60, 2)
	for i := range 12 {
		x.Target[5*i] = float64(i % 2)
	}
	weighed, rows := x.Subset(upTo(0, 60)), []int(nil)
	weighed.Weight = make([]float64, 60)
	for i := range 60 {
		weighed.Weight[i] = float64(i % 3)
		for range i % 3 {
			rows = append(rows, i)
		}
	}
	for _, o := range []KernelOptions{{Price: 0.5}, {Cost: "total-hinge", Hinge: 0.6}} {
		o.Scale, o.Accuracy = "none", 1e-9
		a, _, err := TrainKernel(weighed, &o, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := TrainKernel(x.Subset(rows), &o, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := a.Predict(context.Background(), x, 1)
		q, _ := b.Predict(context.Background(), x, 1)
		for i := range p.Score {
			near(t, fmt.Sprintf("%s: score of row %d", o.Cost, i), p.Score[i], q.Score[i], 1e-3)
		}
	}
	c := &Config{Algorithm: OneRound, Target: "y", Classes: x.Classes, Agents: []Member{{Name: "p"}}}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	if _, err := NewAgent(c, "p", weighed); CodeOf(err) != BadTable {
		t.Errorf("an agent with row weights: %v", err)
	}
}
