package boost_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// ring draws points of a square; those in a ring around the middle are positive.
func ring(rows int, seed uint64) *boost.Data {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := &table.Table{Name: "ring", Rows: rows, Columns: []table.Column{{Name: "x"}, {Name: "y"}}}
	d := &boost.Data{X: x, Y: make([]float64, rows)}
	for j := range x.Columns {
		x.Columns[j].Values = make([]float32, rows)
	}
	for i := range rows {
		a, b := 4*rng.Float64()-2, 4*rng.Float64()-2
		x.Columns[0].Values[i], x.Columns[1].Values[i] = float32(a), float32(b)
		d.Y[i] = -1
		if r := math.Hypot(a, b); r > 0.7 && r < 1.5 {
			d.Y[i] = 1
		}
	}
	return d
}

func ExampleTrainRGB() {
	train, test := ring(500, 1), ring(500, 2)
	model, _, err := boost.TrainRGB(train, &boost.RGBOptions{Rounds: 100, LearningRate: 0.3}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	scores, err := model.Scores(test.X, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d trees, test error below 6 %%: %v\n", len(model.Terms),
		score.ErrorRate(model.Loss, test.Y, nil, scores) < 0.06)
	// Output: 100 trees, test error below 6 %: true
}

// Kernels is a learner of one's own: radial bumps around a few training rows, with coefficients by
// least squares in the ball Σ|a_c| ≤ 1, so that values lie in [-1, 1]. The thesis names kernels and
// networks as further families; anything that fits a gradient will do.
type Kernels struct {
	Centres int
	Width   float64
	Seed    uint64
}

func (k Kernels) Name() string { return fmt.Sprintf("kernels:%d", k.Centres) }

func (k Kernels) Prepare(d *boost.Data, _ int) (boost.Fitter, error) {
	return &kernelFitter{k, d}, nil
}

type kernelFitter struct {
	Kernels
	d *boost.Data
}

// bumps is what it makes: Σ_c a_c exp(-|x-z_c|²/(2 width²)).
type bumps struct {
	centre [][2]float64
	a      []float64
	width  float64
}

func (b *bumps) features(dst []float64, x *table.Table, i int) {
	u, v := float64(x.Columns[0].Values[i]), float64(x.Columns[1].Values[i])
	for c, z := range b.centre {
		dst[c] = math.Exp(-((u-z[0])*(u-z[0]) + (v-z[1])*(v-z[1])) / (2 * b.width * b.width))
	}
}

func (b *bumps) Predict(dst []float64, x *table.Table, from int) {
	phi := make([]float64, len(b.a))
	for i := range dst {
		b.features(phi, x, from+i)
		dst[i] = 0
		for c, v := range phi {
			dst[i] += b.a[c] * v
		}
	}
}

// Fit finds coefficients for -G by projected gradient descent on the squared error, which is
// plenty for a dozen of them. Without the projection the sum would pass 1, and what is said of
// the family's complexity below would be false.
func (f *kernelFitter) Fit(_ context.Context, p *boost.Direction) (*boost.Fit, error) {
	rows := p.Rows
	if rows == nil {
		for i := range f.d.Rows() {
			rows = append(rows, int32(i))
		}
	}
	b := &bumps{a: make([]float64, f.Centres), width: f.Width}
	rng := rand.New(rand.NewPCG(f.Seed, uint64(p.Round)))
	for range f.Centres {
		i := rows[rng.IntN(len(rows))]
		b.centre = append(b.centre, [2]float64{float64(f.d.X.Columns[0].Values[i]),
			float64(f.d.X.Columns[1].Values[i])})
	}
	phi, grad := make([]float64, f.Centres), make([]float64, f.Centres)
	for range 30 {
		clear(grad)
		for _, i := range rows {
			b.features(phi, f.d.X, int(i))
			residual := p.G[i]
			for c, v := range phi {
				residual += b.a[c] * v
			}
			for c, v := range phi {
				grad[c] += residual * v / float64(len(rows))
			}
		}
		for c := range b.a {
			b.a[c] -= grad[c]
		}
		optim.Ball{Q: 1, Radius: 1}.Project(b.a)
	}
	fit := &boost.Fit{Predictor: b, Values: make([]float64, f.d.Rows())}
	b.Predict(fit.Values, f.d.X, 0)
	return fit, nil
}

// A family may have a learner of one's own; RGB then chooses in every round between
// its predictors and trees.
func ExampleLearner() {
	train, test := ring(500, 1), ring(500, 2)
	kernels := boost.Family{
		Lambda:  1,
		Learner: Kernels{Centres: 12, Width: 0.5, Seed: 1},
		// The Rademacher complexity of functions Σ a_c k(z_c, ·) with |k| ≤ 1 and
		// Σ|a_c| ≤ 1, by Massart's lemma over the 2m functions ±k(x_i, ·).
		Complexity: func(_, m int) float64 { return math.Sqrt(2 * math.Log(2*float64(m)) / float64(m)) },
	}
	families := append(boost.Grid([]int{2, 4}, []float64{1}), kernels)
	model, _, err := boost.TrainRGB(train, &boost.RGBOptions{Families: families, Rounds: 100,
		LearningRate: 0.3}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	scores, err := model.Scores(test.X, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	used := map[bool]int{}
	largest := 0.0 // Σ|a_c| of a predictor
	for _, t := range model.Terms {
		used[t.Family == 2]++
		if b, ok := t.Predictor.(*bumps); ok {
			sum := 0.0
			for _, v := range b.a {
				sum += math.Abs(v)
			}
			largest = max(largest, sum)
		}
	}
	fmt.Println("both kinds were used:", used[true] > 0 && used[false] > 0)
	fmt.Printf("coefficients sum to %.6f at most\n", largest)
	fmt.Println("test error below 6 %:", score.ErrorRate(model.Loss, test.Y, nil, scores) < 0.06)
	// Output:
	// both kinds were used: true
	// coefficients sum to 1.000000 at most
	// test error below 6 %: true
}

func ExampleBounds() {
	train := ring(2000, 1)
	options := boost.Thesis()
	options.Families = boost.Grid([]int{1, 2, 4}, []float64{0.1, 1})
	options.Rounds = 20
	model, _, err := boost.TrainRGB(train, options, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := boost.Bounds(model, train, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("vacuous:", report.Vacuous)
	fmt.Println(len(report.Terms), "margins,", report.GridSize, "families")
	// Output:
	// vacuous: true
	// 8 margins, 6 families
}
