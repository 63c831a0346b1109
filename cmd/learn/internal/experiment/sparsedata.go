package experiment

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/sparse"
)

// accuracies are what a model of classes and its integral have right, in %.
func accuracies(ctx context.Context, m *sparse.Model, test *table.Table, workers int) (few,
	dense float64, err error) {
	for i, model := range []*sparse.Model{m, m.Dense()} {
		s, err := model.Predict(ctx, test, workers)
		if err != nil {
			return 0, 0, err
		}
		right := 0
		for r, y := range test.Target {
			if s.Class(r) == int(y) {
				right++
			}
		}
		if share := 100 * float64(right) / float64(test.Rows); i == 0 {
			few = share
		} else {
			dense = share
		}
	}
	return few, dense, nil
}

// wifiEps are the total hinges of a pair that SparseRooms tries.
var wifiEps = []float64{20, 50}

// SparseRooms is E4: rooms from the strengths of seven Wi-Fi signals, ten folds. data has
// uci/wifi-localization.csv.
func SparseRooms(o *SparseOptions, data fs.FS) (*learner.Section, error) {
	x, err := folder{data}.table("uci/wifi-localization.csv",
		&table.Options{Target: "room", Task: table.Classification})
	if err != nil {
		return nil, err
	}
	trials, err := x.Stratified(10, 0, 1, o.Seed)
	if err != nil {
		return nil, err
	}
	t := &learner.Section{Title: "E4: rooms from Wi-Fi",
		Columns: []string{"total hinge of a pair", "accuracy in %", "of the integral", "kernels", "most in a fold"},
		Note: "ten folds, one against one, no choice within; published: 98 %, and 96.65 % of a fuzzy tree " +
			"with 50 rules"}
	for _, eps := range wifiEps {
		folds, err := o.each(fmt.Sprintf("rooms, eps %v", eps), len(trials), 3, len(trials)*len(wifiEps),
			func(i int, _ *rand.Rand) ([]float64, error) {
				m, _, err := sparse.Train(x.Subset(trials[i].Train),
					&sparse.Options{Eps: eps, Raw: true, Centres: 50, PerCentre: 6}, &run.Control{Ctx: o.Ctx, Workers: 1})
				if err != nil {
					return nil, err
				}
				few, dense, err := accuracies(o.Ctx, m, x.Subset(trials[i].Test), 1)
				return []float64{few, dense, float64(m.Kernels())}, err
			})
		if err != nil {
			return nil, err
		}
		kernels := column(folds, 2)
		t.Rows = append(t.Rows, []any{eps, mean(column(folds, 0)), mean(column(folds, 1)), mean(kernels),
			slices.Max(kernels)})
	}
	return t, nil
}

// DigitOptions are the sizes of SparseDigits.
type DigitOptions struct {
	Train, Test int // only this many images, the first ones; 0 is all
	Centres     int // of each digit
}

// SparseDigits is E5: MNIST with k-means centres, one against one. data has mnist/*-ubyte.gz.
func SparseDigits(o *SparseOptions, d *DigitOptions, data fs.FS) (*learner.Section, error) {
	train, err := digits(data, "train", d.Train)
	if err != nil {
		return nil, err
	}
	test, err := digits(data, "t10k", d.Test)
	if err != nil {
		return nil, err
	}
	t := &learner.Section{Title: "E5: MNIST", Columns: []string{"sparsity", "accuracy in %", "of the integral",
		"kernels of a pair", "different kernels"}, Note: fmt.Sprintf(
		"%d training images, %d test images, %d means of each digit with 4 widths each, 45 pairs; published, "+
			"with 400 means and all images: 98.12 %% with 788 kernels, 96.71 with 731, 85.66 with 53", train.Rows,
		test.Rows, d.Centres)}
	shares := []float64{0.02, 0.3, 0.7}
	one := *o
	one.Workers, one.Done = 1, nil // a training uses all workers, and tells its progress itself
	part := fmt.Sprintf("digits, %d images, %d means", train.Rows, d.Centres)
	rows, err := one.each(part, len(shares), 4, len(shares), func(i int, _ *rand.Rand) ([]float64, error) {
		m, _, err := sparse.Train(train, &sparse.Options{Raw: true, Sparsity: shares[i], Centres: d.Centres,
			PerCentre: 4, Widths: []float64{3, 9}, Peaks: "fixed", Keep: true},
			&run.Control{Ctx: o.Ctx, Workers: o.Workers, Recorder: run.RecorderFunc(func(r run.Row) error {
				o.done(len(shares)*90, fmt.Sprint(r.Detail))
				return nil
			})})
		if err != nil {
			return nil, err
		}
		few, dense, err := accuracies(o.Ctx, m, test, o.Workers)
		all := 0
		for _, f := range m.Functions() {
			all += f.Len()
		}
		return []float64{few, dense, float64(all) / float64(len(m.Functions())), float64(m.Kernels())}, err
	})
	if err != nil {
		return nil, err
	}
	for i, v := range rows {
		t.Rows = append(t.Rows, []any{shares[i], v[0], v[1], v[2], int(v[3])})
	}
	return t, nil
}

// digits is a table of the first images of MNIST, pixels from 0 to 1.
func digits(data fs.FS, part string, most int) (*table.Table, error) {
	pixels, _, _, label, err := folder{data}.images("mnist/"+part+"-images-idx3-ubyte.gz",
		"mnist/"+part+"-labels-idx1-ubyte.gz")
	if err != nil {
		return nil, err
	}
	if most > 0 && most < len(pixels) {
		pixels, label = pixels[:most], label[:most]
	}
	target := make([]float64, len(label))
	for i, l := range label {
		if l > 9 {
			return nil, fmt.Errorf("experiment: mnist: image %d of %s has the label %d", i+1, part, l)
		}
		target[i] = float64(l)
	}
	t := pixelTable("mnist "+part, pixels, target, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"})
	for j := range t.Columns {
		for i := range t.Columns[j].Values {
			t.Columns[j].Values[i] /= 255
		}
	}
	return t, nil
}
