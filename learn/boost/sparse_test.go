package boost_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim"
)

// words writes a LIBSVM file of counts, whose frequent columns say something of the label.
func words(rng *rand.Rand, rows, columns, entries int) string {
	var b strings.Builder
	for range rows {
		y := rng.IntN(2)
		fmt.Fprintf(&b, "%d:%v", y, 1+rng.IntN(3))
		list := map[int]bool{}
		for len(list) < entries {
			j := int(float64(columns) * rng.Float64() * rng.Float64() * rng.Float64())
			if j%2 == y || rng.IntN(3) == 0 {
				list[j+1] = true
			}
		}
		var sorted []int
		for j := range list {
			sorted = append(sorted, j)
		}
		slices.Sort(sorted)
		for _, j := range sorted {
			fmt.Fprintf(&b, " %d:%d", j, rng.IntN(4))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// A file that is read sparse gives the models that it gives when it is read dense, to the byte, and
// the same predictions, curves and importances.
func TestSparseModels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	text, other := words(rng, 300, 400, 12), words(rng, 700, 400, 12)
	for _, absent := range []bool{false, true} {
		for name, train := range map[string]func(*boost.Data) (*boost.Ensemble, *optim.Result, error){
			"gb": func(d *boost.Data) (*boost.Ensemble, *optim.Result, error) {
				return boost.TrainGradient(d, &boost.GradientOptions{Rounds: 12, Loss: boost.Logistic{}, RowSample: .8,
					ColumnSample: .7}, nil)
			},
			"rgb": func(d *boost.Data) (*boost.Ensemble, *optim.Result, error) {
				return boost.TrainRGB(d, &boost.RGBOptions{Rounds: 12, Loss: boost.Logistic{}, Seed: 1}, nil)
			},
			"adaboost with bins": func(d *boost.Data) (*boost.Ensemble, *optim.Result, error) {
				return boost.TrainAdaBoost(d, &boost.AdaBoostOptions{
					Rounds: 12, Learner: boost.SignTrees{Splits: 3, Bins: 255}}, nil)
			},
			"adaboost": func(d *boost.Data) (*boost.Ensemble, *optim.Result, error) {
				return boost.TrainAdaBoost(d, &boost.AdaBoostOptions{Rounds: 12}, nil)
			},
		} {
			var files [2][]byte
			var models [2]*boost.Ensemble
			var tables, tests [2]*table.Table
			for k, s := range []table.Storage{table.DenseStorage, table.SparseStorage} {
				x, err := table.Read(strings.NewReader(text), "x.svm", &table.Options{Storage: s, AbsentMissing: absent})
				if err != nil {
					t.Fatal(err)
				}
				if (x.Sparse != nil) != (k == 1) {
					t.Fatal("not stored as was asked for")
				}
				d, err := boost.NewData(x, boost.Logistic{})
				if err != nil {
					t.Fatal(err)
				}
				if models[k], _, err = train(d); err != nil {
					t.Fatal(name, err)
				}
				var b bytes.Buffer
				if err := models[k].Write(&b); err != nil {
					t.Fatal(err)
				}
				files[k], tables[k] = b.Bytes(), x
				if tests[k], err = table.Read(strings.NewReader(other), "y.svm",
					&table.Options{Storage: s, Like: x.Schema()}); err != nil {
					if !errors.Is(err, table.ErrColumns) {
						t.Fatal(err)
					}
					tests[k] = x.Subset([]int{5, 3, 299, 5, 7})
				}
			}
			if !bytes.Equal(files[0], files[1]) {
				t.Errorf("%s, absent missing %v: the models differ", name, absent)
			}
			if len(models[0].Terms) == 0 || models[0].Terms[0].Predictor.(boost.Sized).Splits() == 0 {
				t.Errorf("%s: an empty model", name)
			}
			for _, pair := range [][2]*table.Table{tables, tests} {
				a, err := models[0].Scores(pair[0], nil)
				if err != nil {
					t.Fatal(err)
				}
				b, err := models[0].Scores(pair[1], nil)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(a, b); d != "" {
					t.Errorf("%s: scores: %s", name, d)
				}
			}
			var importance [2][]boost.Permuted
			for k, x := range tables {
				d, err := boost.NewData(x, boost.Logistic{})
				if err != nil {
					t.Fatal(err)
				}
				if importance[k], err = models[0].Permutation(d, &boost.PermutationOptions{Repeats: 2}); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(importance[0], importance[1]); d != "" {
				t.Errorf("%s: permutation: %s", name, d)
			}
			if d := cmp.Diff(boost.QuestionsOf(tables[0]), boost.QuestionsOf(tables[1]),
				cmp.AllowUnexported(boost.Questions{})); d != "" {
				t.Errorf("questions: %s", d)
			}
		}
	}
}

// Where every cell is needed and there are too many, the error says so at once, and what to do.
func TestSparseTooWide(t *testing.T) {
	s := &table.Sparse{Start: make([]int, 1e6+1), Rows: []int32{0, 1}, Values: []float32{1, 1}}
	for j := 1; j < len(s.Start); j++ {
		s.Start[j] = min(2*(j/500000), 2)
	}
	x := &table.Table{Name: "w.svm", Rows: 1000, Columns: make([]table.Column, 1e6), Sparse: s,
		Target: make([]float64, 1000), Classes: []string{"a", "b"}}
	for i := range x.Target {
		x.Target[i] = float64(i % 2)
	}
	d, err := boost.NewData(x, boost.Exponential{})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = boost.TrainAdaBoost(d, nil, nil)
	var e *table.Error
	if !errors.As(err, &e) || !errors.Is(err, table.ErrTooLarge) ||
		!strings.Contains(err.Error(), "w.svm: 1000 rows of 1000000 columns are 4.0 GB") ||
		!strings.Contains(err.Error(), `Options.Bins "255"`) {
		t.Error(err)
	}
}
