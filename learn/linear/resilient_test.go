package linear

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// flipped has three classes in the plane, with the labels of some rows changed.
func flipped(n int, share float64) (t *table.Table, wrong []float64) {
	rng := rand.New(rand.NewPCG(5, 6))
	t = &table.Table{Rows: n, Name: "plane", Classes: []string{"a", "b", "c"}, TargetName: "class",
		Columns: []table.Column{{Name: "x"}, {Name: "y"}}}
	wrong = make([]float64, n)
	for i := range n {
		k := i % 3
		at := 2 * math.Pi * float64(k) / 3
		t.Columns[0].Values = append(t.Columns[0].Values, float32(2*math.Cos(at)+0.6*rng.NormFloat64()))
		t.Columns[1].Values = append(t.Columns[1].Values, float32(2*math.Sin(at)+0.6*rng.NormFloat64()))
		if rng.Float64() < share {
			k, wrong[i] = (k+1+rng.IntN(2))%3, 1
		}
		t.Target = append(t.Target, float64(k))
	}
	return t, wrong
}

// Values and gradients of relaxed rows are those of a plain sum written out here, for weighted and
// chosen rows, dense and sparse designs, and any number of workers.
func TestWeighedObjective(t *testing.T) {
	data, _ := flipped(300, 0.2)
	w := make([]float64, data.Rows)
	for i := range w {
		w[i] = 0.5 + float64(i%3)
	}
	features := Features(data, slices.Repeat([]float64{1 / float64(data.Rows)}, data.Rows), 1)
	loss := score.SoftMax{Classes: 3}
	var rows []int32
	for i := range data.Rows {
		if i%4 != 0 {
			rows = append(rows, int32(i))
		}
	}
	x := []float64{0.3, -0.1, 0.2, 0.5, -0.4, 0.1, 0.05, 0.1, -0.2}
	design := NewDesign(data, features, 1)
	var before []float64
	for _, workers := range []int{1, 3} {
		p := Problem{X: design, Shift: Shifts(features), Loss: loss, Y: data.Target, W: w, Rows: rows,
			L2: 0.7, Workers: workers}
		o, err := resilient.NewObjective(p.Weighed(), resilient.Huber{Delta: 0.8})
		if err != nil {
			t.Fatal(err)
		}
		grad := make([]float64, len(x))
		got, err := o.Eval(x, grad)
		if err != nil {
			t.Fatal(err)
		}
		want := 0.0
		for _, i := range rows {
			f := []float64{x[6], x[7], x[8]}
			for j, c := range features {
				v := (float64(data.Columns[c.Column].Values[i]) - c.Mean) * c.Scale
				for k := range f {
					f[k] += v * x[3*j+k]
				}
			}
			v := make([]float64, 1)
			loss.Values(v, data.Target[i:i+1], f)
			want += w[i] * resilient.Huber{Delta: 0.8}.Value(v[0])
		}
		for _, v := range x[:6] {
			want += 0.35 * v * v
		}
		if math.Abs(got-want) > 1e-4*want {
			t.Errorf("the value is %v, want %v", got, want)
		}
		for j := range x {
			y := slices.Clone(x)
			y[j] += 1e-5
			up, _ := o.Eval(y, nil)
			y[j] -= 2e-5
			down, _ := o.Eval(y, nil)
			if d := (up - down) / 2e-5; math.Abs(d-grad[j]) > 1e-4*(1+math.Abs(d)) {
				t.Errorf("derivative %d is %v, by differences %v", j, grad[j], d)
			}
		}
		if before != nil && !slices.Equal(before, grad) {
			t.Error("the gradient depends on the number of workers")
		}
		before = slices.Clone(grad)
	}
}

// Changed labels have large multipliers; the list survives a file; h(u) = u, which no option asks
// for, is CVaR of all rows, the ordinary model.
func TestResilient(t *testing.T) {
	data, wrong := flipped(600, 0.2)
	place := map[string]int{}
	for i := range data.Rows {
		place[data.At(i)] = i
	}
	stop := &run.Control{Stop: run.Stop{Relative: 1e-12}}
	plain, _, err := Train(data, nil, stop)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"quadratic", "huber", "cvar"} {
		o := &Options{}
		if o.Resilient = name; name == "cvar" {
			o.Tail = 1
		}
		m, _, err := Train(data, o, stop)
		if err != nil {
			t.Fatal(err)
		}
		d := m.Difficulty()
		if d == nil || d.Examples != data.Rows || len(d.Top) != data.Rows {
			t.Fatalf("%s lists %+v", name, d)
		}
		if name == "cvar" {
			for j, w := range m.weights {
				if math.Abs(w-plain.weights[j]) > 1e-3 {
					t.Errorf("CVaR of all rows has weight %v, ordinary training %v", w, plain.weights[j])
				}
			}
			continue
		}
		found := 0.0
		for _, h := range d.Top[:100] {
			found += wrong[place[h.Place]]
		}
		if found < 95 {
			t.Errorf("%s: of the hundred rows listed first %v have wrong labels", name, found)
		}
		var file bytes.Buffer
		if err := m.Write(&file); err != nil {
			t.Fatal(err)
		}
		back, err := Read(&file)
		if err != nil {
			t.Fatal(err)
		}
		sections := back.Explain()
		if last := sections[len(sections)-1]; last.Title != "hardest examples" ||
			len(last.Rows) != data.Rows || last.Rows[3][3] != d.Top[3].Lambda {
			t.Errorf("%s: the file's list is %v", name, last.Title)
		}
	}
	if sections := plain.Explain(); sections[len(sections)-1].Title == "hardest examples" {
		t.Error("an ordinary model lists hard examples")
	}
	if _, _, err := Train(data, &Options{Options: resilient.Options{Delta: 0.3}}, nil); err == nil {
		t.Error("a delta without Huber is taken")
	}
}
