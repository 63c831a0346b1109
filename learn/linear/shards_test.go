package linear_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/resilient"
)

// shardTexts are CSV shards with numbers, a column of categories whose levels differ by shard,
// a rare column of zeros and ones, missing values and weights.
func shardTexts(classes int) []string {
	rng := rand.New(rand.NewPCG(3, 3))
	var out []string
	for k := range 3 {
		var b strings.Builder
		b.WriteString("p,q,c,r,y,w\n")
		for i := range 60 + 10*k {
			p, q, c := rng.NormFloat64()+100, 5*rng.NormFloat64(), "abcdef"[k+rng.IntN(4)]
			r := 0
			if i%23 == 0 {
				r = 1
			}
			y := fmt.Sprintf("%.3f", 2*(p-100)-q+rng.NormFloat64())
			if classes > 0 {
				y = fmt.Sprintf("k%d", (int(math.Abs(p-100+q+rng.NormFloat64()))+i%7/6)%classes)
			}
			text := fmt.Sprintf("%.4f", p)
			if i%11 == 0 {
				text = "?"
			}
			fmt.Fprintf(&b, "%s,%.4f,%c,%d,%s,%.2f\n", text, q, c, r, y, float64(i%5)/2) // some weights are 0
		}
		out = append(out, b.String())
	}
	return out
}

// read reads shards alike, and all of them as one table.
func readShards(t *testing.T, texts []string) (shards []*table.Table, form, whole *table.Table) {
	t.Helper()
	o := table.Options{Target: "y", Weight: "w"}
	parse := func(name, text string, o table.Options) *table.Table {
		x, err := table.Read(strings.NewReader(text), name, &o)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	var forms []*table.Table
	all := ""
	for k, text := range texts {
		x := parse(fmt.Sprintf("part-%d.csv", k), text, o)
		s := boost.SchemaOf(x)
		f := s.Table()
		f.Name = x.Name
		forms = append(forms, f)
		if k > 0 {
			_, text, _ = strings.Cut(text, "\n")
		}
		all += text
	}
	form, err := table.MergeForms(forms...)
	if err != nil {
		t.Fatal(err)
	}
	like := o
	like.Like = form
	for k, text := range texts {
		shards = append(shards, parse(fmt.Sprintf("part-%d.csv", k), text, like))
	}
	return shards, form, parse("all.csv", all, o)
}

// Training on shards standardises and fits as training on all rows does.
func TestShards(t *testing.T) {
	for _, x := range []struct {
		classes int
		opts    linear.Options
	}{{2, linear.Options{}}, {3, linear.Options{L2: 0.1}}, {0, linear.Options{Loss: "huber", HuberDelta: 1}}, {0, linear.Options{Raw: true, L1: 2}}} {
		shards, form, whole := readShards(t, shardTexts(x.classes))
		var moments []*linear.Moments
		for _, s := range shards {
			m, err := linear.MomentsOf(s)
			if err != nil {
				t.Fatal(err)
			}
			moments = append(moments, m)
		}
		p, err := linear.NewPlan(form, moments, x.opts.Raw)
		if err != nil {
			t.Fatal(err)
		}
		data, err := boost.NewData(whole, must(x.opts.LossFor(whole))(t))
		if err != nil {
			t.Fatal(err)
		}
		want, err := linear.Standardised(data.X, data.W, x.opts.Raw, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Features) != len(want) {
			t.Fatalf("%d features, of all rows %d", len(p.Features), len(want))
		}
		for j, f := range p.Features {
			w := want[j]
			if f.Column != w.Column || f.Level != w.Level || math.Abs(f.Mean-w.Mean) > 1e-6 || math.Abs(f.Scale-w.Scale) > 1e-6*w.Scale {
				t.Errorf("feature %d is %+v, of all rows %+v", j, f, w)
			}
		}
		var sums []optim.Objective
		for _, s := range shards {
			f, err := p.Shard(s, &x.opts, 1)
			if err != nil {
				t.Fatal(err)
			}
			sums = append(sums, f)
		}
		got, r, err := p.Train(optim.NewReducer(optim.Shards(sums...), nil), &x.opts, nil)
		if err != nil || r.Iterations == 0 {
			t.Fatal(r, err)
		}
		all, rAll, err := linear.Train(whole, &x.opts, nil)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(r.F-rAll.F) > 1e-6*math.Abs(rAll.F) {
			t.Errorf("%+v: the objective is %v, of all rows %v", x, r.F, rAll.F)
		}
		a, err := got.Predict(t.Context(), whole, 1)
		if err != nil {
			t.Fatal(err)
		}
		b, err := all.Predict(t.Context(), whole, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range a.Score {
			if math.Abs(a.Score[i]-b.Score[i]) > 2e-3*(1+math.Abs(b.Score[i])) {
				t.Fatalf("%+v: score %d is %v, of all rows %v", x, i, a.Score[i], b.Score[i])
			}
		}
		if _, err := p.Shard(shards[0], &linear.Options{Options: resilient.Options{Resilient: "huber"}}, 1); err == nil {
			t.Error("a relaxation of shards")
		}
	}
}

// Sparse shards, dense ones and mixtures of the two have the moments of all rows.
func TestMomentsOfSparse(t *testing.T) {
	texts := []string{"1 1:3 4:1\n-1 2:2\n1 1:1 3:5\n", "-1 1:1 2:2\n1 4:1 5:2\n"}
	read := func(text string, like *table.Table, storage table.Storage) *table.Table {
		x, err := table.Read(strings.NewReader(text), "x.libsvm", &table.Options{Format: table.LibSVM, Storage: storage, Like: like})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	form, err := table.MergeForms(read(texts[0], nil, table.DenseStorage), read(texts[1], nil, table.SparseStorage))
	if err != nil || len(form.Columns) != 5 {
		t.Fatal(form, err)
	}
	want, err := linear.MomentsOf(read(texts[0]+texts[1], form, table.DenseStorage))
	if err != nil {
		t.Fatal(err)
	}
	features, err := want.Features(false)
	if err != nil {
		t.Fatal(err)
	}
	for _, storage := range [][2]table.Storage{{table.DenseStorage, table.SparseStorage}, {table.SparseStorage, table.DenseStorage}, {table.SparseStorage, table.SparseStorage}} {
		var moments []*linear.Moments
		for k, text := range texts {
			m, err := linear.MomentsOf(read(text, form, storage[k]))
			if err != nil {
				t.Fatal(err)
			}
			moments = append(moments, m)
		}
		p, err := linear.NewPlan(form, moments, false)
		if err != nil || len(p.Features) != len(features) {
			t.Fatal(p, err)
		}
		for j, f := range p.Features {
			if w := features[j]; f.Column != w.Column || math.Abs(f.Mean-w.Mean) > 1e-12 || math.Abs(f.Scale-w.Scale) > 1e-12 {
				t.Errorf("%v: feature %+v, dense %+v", storage, f, w)
			}
		}
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
