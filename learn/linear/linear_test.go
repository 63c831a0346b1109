package linear

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/dataset/table/tabletest"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// generated are the rows that scikit-learn was given too: columns of a linear congruential
// generator, of very different sizes.
func generated() (x *table.Table, z, numbers []float64) {
	const n, d = 60, 4
	u := make([]float64, n*(d+1))
	for i, s := 0, uint64(12345); i < len(u); i++ {
		s = (1103515245*s + 12345) % (1 << 31)
		u[i] = float64(s) / (1 << 31)
	}
	x = &table.Table{Name: "generated", Rows: n, TargetName: "y"}
	by, less := []float64{1, 10, 100, 1}, []float64{0.5, 0, 50, 0}
	for j := range d {
		c := table.Column{Name: string(rune('a' + j)), Values: make([]float32, n)}
		for i := range n {
			c.Values[i] = float32(u[i*(d+1)+j]*by[j] - less[j])
		}
		x.Columns = append(x.Columns, c)
	}
	for i := range n {
		v := u[i*(d+1) : (i+1)*(d+1)]
		z = append(z, 2*v[0]-1+0.1*v[1]-0.5*v[2]+v[4]-0.5)
		numbers = append(numbers, float64(float32(3*v[0]+0.2*v[1]*10+v[4]*2+100)))
	}
	return x, z, numbers
}

// classes puts the rows into k classes of equal size, by z.
func classes(x *table.Table, z []float64, k int) *table.Table {
	out := *x
	order := slices.Clone(z)
	slices.Sort(order)
	out.Target = make([]float64, len(z))
	for i, v := range z {
		at, _ := slices.BinarySearch(order, v)
		out.Target[i] = float64(at * k / len(z))
	}
	out.Classes = []string{"low", "middle", "high"}[:k]
	return &out
}

// What scikit-learn 1.2.1 finds: LogisticRegression(solver="newton-cg"), Ridge and Lasso (whose
// objective is divided by the number of rows) with tol=1e-13 on standardised columns.
func TestAsScikitLearn(t *testing.T) {
	x, z, numbers := generated()
	regression := *x
	regression.Target = numbers
	weighted := *classes(x, z, 2)
	for i := range x.Rows {
		weighted.Weight = append(weighted.Weight, float64(1+i%3))
	}
	for _, c := range []struct {
		name    string
		t       *table.Table
		o       Options
		weights []float64 // by feature and output
		bias    []float64
	}{
		{"logistic", classes(x, z, 2), Options{}, []float64{2.225193826588, -0.033787587916, -0.876303206981, 0.172553407905}, []float64{0.120945784691}},
		{"weighted logistic", &weighted, Options{L2: 10}, []float64{0.982313773959, -0.099761282783, -0.320367488623, 0.047619668083}, []float64{-0.230658536895}},
		{"softmax", classes(x, z, 3), Options{}, []float64{
			-1.912804223744, 0.023571599746, 1.889232623998, -0.477787134201, 0.112790604233, 0.364996529968,
			0.534221417475, 0.128385262749, -0.662606680224, 0.163351848849, 0.011650048802, -0.175001897651},
			[]float64{-0.392190490551, 0.663916949673, -0.271726459122}},
		{"ridge", &regression, Options{}, []float64{0.702799270523, 0.645493759737, -0.080414717668, -0.006622009918}, []float64{103.44880104064941}},
		{"ridge of raw columns", &regression, Options{L2: 5, Raw: true}, []float64{1.229191452191, 0.199233069348, -0.001912046486, -0.086473482575}, []float64{103.44880104064941}},
		{"lasso", &regression, Options{L2: learner.None, L1: 12}, []float64{0.49942738327, 0.450060553943, 0, 0}, []float64{103.44880104064941}},
	} {
		m, r, err := Train(c.t, &c.o, &run.Control{Stop: run.Stop{Relative: 1e-14, Gradient: 1e-10, Iterations: 2000}})
		if err != nil || !r.Converged() {
			t.Fatalf("%s: %v, %+v", c.name, err, r)
		}
		for j, w := range c.weights {
			near(t, fmt.Sprintf("%s weight %d", c.name, j), m.weights[j], w, 1e-6)
			if w == 0 && m.weights[j] != 0 {
				t.Errorf("%s: weight %d is %v, not zero", c.name, j, m.weights[j])
			}
		}
		for j, b := range c.bias {
			near(t, fmt.Sprintf("%s constant %d", c.name, j), m.bias[j], b, 1e-6)
		}
	}
}

// The gradient against central differences, with shifts, weights and a part of the rows.
func TestObjectiveGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := tabletest.Messy(rng, 70)
	even := slices.Repeat([]float64{1.0 / 70}, 70)
	fs := Features(x, even, 1)
	for _, loss := range []score.Loss{score.Logistic{}, score.SoftMax{Classes: 3}, score.Squared{}, score.Huber{Delta: 0.5}} {
		p := Problem{X: NewDesign(x, fs, 1), Shift: Shifts(fs), Loss: loss, L2: 0.3, Y: make([]float64, 70), W: make([]float64, 70)}
		for i := range p.Y {
			p.W[i] = rng.Float64()
			switch {
			case score.HasMargin(loss):
				p.Y[i] = float64(2*rng.IntN(2) - 1)
			case loss.Outputs() > 1:
				p.Y[i] = float64(rng.IntN(3))
			default:
				p.Y[i] = rng.NormFloat64()
			}
			if i%3 > 0 {
				p.Rows = append(p.Rows, int32(i))
			}
		}
		f := p.Objective()
		at, grad := make([]float64, f.Dim()), make([]float64, f.Dim())
		for j := range at {
			at[j] = 0.3 * rng.NormFloat64()
		}
		if _, err := f.Eval(at, grad); err != nil {
			t.Fatal(err)
		}
		for j := range at {
			const h = 1e-6
			moved := slices.Clone(at)
			moved[j] += h
			up, _ := f.Eval(moved, nil)
			moved[j] -= 2 * h
			down, _ := f.Eval(moved, nil)
			near(t, fmt.Sprintf("%s: derivative %d", loss.Name(), j), grad[j], (up-down)/(2*h), 1e-4)
		}
	}
}

func target(t *table.Table, rng *rand.Rand) *table.Table {
	t.TargetName, t.Classes, t.Target = "y", []string{"no", "yes"}, make([]float64, t.Rows)
	for i := range t.Target {
		if float64(t.Columns[1].Values[i])+rng.NormFloat64() > 0 {
			t.Target[i] = 1
		}
	}
	return t
}

// The bits of a model depend neither on the workers nor on the size of the weights, and a
// file gives the model back.
func TestInvariances(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	x := target(tabletest.Messy(rng, 3000), rng)
	x.Weight = make([]float64, x.Rows)
	for i := range x.Weight {
		x.Weight[i] = float64(rng.IntN(4))
	}
	file := func(t *testing.T, x *table.Table, workers int) []byte {
		m, _, err := Train(x, nil, &run.Control{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	want := file(t, x, 1)
	if !bytes.Equal(want, file(t, x, 3)) {
		t.Error("with three workers the model is another")
	}
	larger := *x
	larger.Weight = slices.Clone(x.Weight)
	for i := range larger.Weight {
		larger.Weight[i] *= 1024
	}
	if !bytes.Equal(want, file(t, &larger, 1)) {
		t.Error("with weights 1024 times as large the model is another")
	}
	m, err := Read(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := m.Write(&again); err != nil || !bytes.Equal(want, again.Bytes()) {
		t.Errorf("read and written it is another: %v", err)
	}
	for n := range want {
		if _, err := Read(bytes.NewReader(want[:n])); err == nil {
			t.Fatalf("a file cut after %d bytes was read", n)
		}
	}
}

// Predictions are the sums that the weights say, for missing values and levels too.
func TestPredict(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	x := target(tabletest.Messy(rng, 500), rng)
	m, _, err := Train(x, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Predict(context.Background(), x, 2)
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.Rows {
		sum := m.bias[0]
		for j := range m.features {
			f := &m.features[j]
			sum += m.weights[j] * (f.Cell(x, i) - f.Mean) * f.Scale
		}
		near(t, "score", s.Score[i], sum, 1e-9)
		near(t, "probability", s.Probability[2*i+1], 1/(1+math.Exp(-sum)), 1e-9)
	}
	if _, err := m.Predict(context.Background(), &table.Table{Rows: 1}, 1); err == nil {
		t.Error("a table without columns was predicted")
	}
}

// A run that was interrupted goes on from its checkpoint, and one of other settings does not.
func TestResume(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	x := target(tabletest.Messy(rng, 400), rng)
	want, _, err := Train(x, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var k *run.Checkpoint
	_, _, err = Train(x, nil, &run.Control{Ctx: ctx, Checkpoint: func(c *run.Checkpoint) error { k = c; return nil },
		Recorder: run.RecorderFunc(func(r run.Row) error {
			if r.Iteration == 3 {
				cancel()
			}
			return nil
		})})
	if err == nil || k == nil || k.Iteration != 3 {
		t.Fatalf("%v, checkpoint %+v", err, k)
	}
	got, _, err := Train(x, nil, &run.Control{Resume: k})
	if err != nil {
		t.Fatal(err)
	}
	for j := range want.weights {
		near(t, "weight", got.weights[j], want.weights[j], 1e-3)
	}
	if _, _, err := Train(x, &Options{L2: 2}, &run.Control{Resume: k}); err == nil || !strings.Contains(err.Error(), "l2=2") {
		t.Errorf("with other settings: %v", err)
	}
	other := *x
	other.Target = slices.Clone(x.Target)
	other.Target[0] = 1 - other.Target[0]
	if _, _, err := Train(&other, nil, &run.Control{Resume: k}); err == nil || !strings.Contains(err.Error(), "its data is") {
		t.Errorf("with other data: %v", err)
	}
}

func TestRefuses(t *testing.T) {
	x, z, numbers := generated()
	two, regression := classes(x, z, 2), *x
	regression.Target = numbers
	flat := &table.Table{Rows: 3, TargetName: "y", Target: []float64{1, 2, 3}, Columns: []table.Column{{Name: "a", Values: []float32{5, 5, 5}}}}
	for _, c := range []struct {
		t    *table.Table
		o    Options
		want string
	}{
		{two, Options{Loss: "squared"}, "squared is for numbers"}, {&regression, Options{Loss: "logistic"}, "logistic is for classes"},
		{classes(x, z, 3), Options{Loss: "logistic"}, "softmax takes any number"}, {two, Options{L2: -3}, "l2: -3"},
		{two, Options{Loss: "cubic"}, "none of auto"}, {flat, Options{}, "no column tells two rows apart"},
	} {
		if _, _, err := Train(c.t, &c.o, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

func TestExplain(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	m, _, err := Train(target(tabletest.Messy(rng, 300), rng), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := m.Explain()
	if diff := cmp.Diff([]any{"many", "yes"}, s[1].Rows[0][:2]); diff != "" {
		t.Error(diff)
	}
}

func ExampleTrain() {
	t, err := table.Read(strings.NewReader("height,weight,kind\n1,2,cat\n2,3,cat\n2,2,cat\n7,8,dog\n8,7,dog\n9,9,dog\n"), "pets.csv", &table.Options{Target: "kind"})
	if err != nil {
		fmt.Println(err)
		return
	}
	m, _, err := Train(t, &Options{L2: 0.1}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := m.Predict(context.Background(), t, 0)
	for i := range t.Rows {
		fmt.Printf("%s %.2f\n", t.Classes[s.Class(i)], s.Probability[2*i+1])
	}
	fmt.Println(err)
	// Output:
	// cat 0.02
	// cat 0.05
	// cat 0.03
	// dog 0.95
	// dog 0.95
	// dog 0.99
	// <nil>
}

// A sparse table gives the model of the same table kept dense, and its predictions.
func TestSparse(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	var text strings.Builder
	for range 300 {
		signal := rng.IntN(2)
		fmt.Fprintf(&text, "%d", rng.IntN(4)/3^signal)
		for j := range 40 {
			switch {
			case j == 7 && signal == 1:
				fmt.Fprintf(&text, " 8:1")
			case j != 7 && rng.IntN(10) == 0:
				fmt.Fprintf(&text, " %d:%.3g", j+1, rng.NormFloat64())
			}
		}
		text.WriteString("\n")
	}
	read := func(s table.Storage) *table.Table {
		x, err := table.Read(strings.NewReader(text.String()), "x.svm", &table.Options{Format: table.LibSVM, Storage: s})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	dense, sparse := read(table.DenseStorage), read(table.SparseStorage)
	if sparse.Sparse == nil {
		t.Fatal("the table is not sparse")
	}
	a, _, err := Train(dense, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := Train(sparse, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.weights) != len(b.weights) {
		t.Fatalf("%d weights, sparse %d", len(a.weights), len(b.weights))
	}
	for j := range a.weights {
		near(t, "weight", b.weights[j], a.weights[j], 1e-5)
	}
	p, err := a.Predict(context.Background(), dense, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*Model{a, b} {
		q, err := m.Predict(context.Background(), sparse, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Score {
			near(t, "score", q.Score[i], p.Score[i], 1e-4)
		}
	}
}

// Targets times a constant give weights times that constant, and a target far from zero the
// same weights.
func TestTargetsInAnyUnit(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	x := &table.Table{Name: "x", Rows: 400, TargetName: "y", Target: make([]float64, 400)}
	for range 3 {
		c := table.Column{Name: fmt.Sprint("c", len(x.Columns)), Values: make([]float32, x.Rows)}
		for i := range c.Values {
			c.Values[i] = float32(rng.NormFloat64())
		}
		x.Columns = append(x.Columns, c)
	}
	base := make([]float64, x.Rows)
	for i := range base {
		base[i] = 2*float64(x.Columns[0].Values[i]) - float64(x.Columns[1].Values[i]) + 0.1*rng.NormFloat64()
	}
	want := fitted(t, x, base, 1, 0)
	for _, c := range []struct{ scale, offset float64 }{{1e-12, 0}, {1e-6, 0}, {1e4, 0}, {1e6, 0}, {1e12, 0}, {1, 1e6}, {1e3, -1e7}} {
		got := fitted(t, x, base, c.scale, c.offset)
		for j := range want {
			near(t, fmt.Sprintf("times %g, plus %g: weight %d", c.scale, c.offset, j), got[j]/c.scale, want[j], 1e-5)
		}
	}
}

func fitted(t *testing.T, x *table.Table, y []float64, scale, offset float64) []float64 {
	t.Helper()
	for i, v := range y {
		x.Target[i] = scale*v + offset
	}
	m, _, err := Train(x, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m.weights
}
