package network

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// Losses at the best sharpness do not depend on a factor of the scores, and no other factor of a
// grid gives less.
func TestSharpened(t *testing.T) {
	net, err := nn.New(1, 3)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	r := &Rows{Net: net, Loss: score.SoftMax{Classes: 3}}
	var scores []float64
	for range 60 {
		k := rng.IntN(3)
		r.Y, r.W = append(r.Y, float64(k)), append(r.W, 0.5+rng.Float64())
		for c := range 3 {
			s := 4 * rng.NormFloat64()
			if c == k {
				s += 4
			}
			scores = append(scores, s)
		}
	}
	want, _ := compared(sharpened(r, scores), r.W, make([]float64, 60))
	for _, factor := range []float64{0.01, 0.3, 7, 500} {
		other := make([]float64, len(scores))
		for i, v := range scores {
			other[i] = factor * v
		}
		if got, _ := compared(sharpened(r, other), r.W, make([]float64, 60)); math.Abs(got-want) > 1e-9 {
			t.Errorf("scores times %v have the mean loss %v, not %v", factor, got, want)
		}
		losses := make([]float64, 60)
		r.Loss.Values(losses, r.Y, other)
		if got, _ := compared(losses, r.W, losses); got < want-1e-12 {
			t.Errorf("the factor %v gives %v, less than %v", factor, got, want)
		}
	}
	// Scores that say nothing are best flat.
	for i := range scores {
		scores[i] = rng.NormFloat64()
		if int(r.Y[i/3]) == i%3 {
			scores[i] -= 3
		}
	}
	if got, _ := compared(sharpened(r, scores), r.W, make([]float64,
		60)); math.Abs(got/weightOf(r.W)-math.Log(3)) > 1e-6 {
		t.Errorf("scores against the classes have the mean loss %v, not log 3", got)
	}
}

func weightOf(w []float64) float64 {
	sum := 0.0
	for _, v := range w {
		sum += v / float64(len(w))
	}
	return sum
}

// The mean and its standard error are those of the definition.
func TestCompared(t *testing.T) {
	mean, z := compared([]float64{1, 2, 3, 6}, nil, []float64{2, 2, 5, 7})
	// Differences 1, 0, 2, 1: mean 1, variance 2/3, standard error √(2/3/4).
	if mean != 3 || math.Abs(z-1/math.Sqrt(1./6)) > 1e-12 {
		t.Errorf("mean %v and %v standard errors", mean, z)
	}
	if _, z := compared([]float64{1, 2}, nil, []float64{1, 2}); z != 0 {
		t.Errorf("equal losses are %v standard errors apart", z)
	}
}

// noisy are rings with columns that say nothing, by which a network can fit wrong labels.
func noisy(n int, share float64) (*table.Table, []bool) {
	t, wrong := rings(n, share)
	rng := rand.New(rand.NewPCG(8, 9))
	for j := range 5 {
		c := table.Column{Name: fmt.Sprint("noise", j)}
		for range n {
			c.Values = append(c.Values, float32(rng.NormFloat64()))
		}
		t.Columns = append(t.Columns, c)
	}
	return t, wrong
}

// With many wrong labels a weaker relaxation is chosen, on clean rows one whose weights are those
// of plain training. The result does not depend on workers, and a resumed run does not choose
// again.
func TestAuto(t *testing.T) {
	o := &Options{Delta: 0.5, Hidden: []int{48}, Epochs: 60, ChoiceFolds: 3}
	clean, _ := noisy(360, 0)
	m, _, err := Train(clean, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.chosen != "plain" && m.chosen != "huber:0.5:2" {
		t.Errorf("on clean rows %q is chosen, which trusts them less", m.chosen)
	}
	dirty, wrong := noisy(360, 0.3)
	var saved []byte
	m, _, err = Train(dirty, o, &run.Control{Workers: 1, CheckpointEvery: 20,
		Checkpoint: func(k *run.Checkpoint) error {
			var b bytes.Buffer
			err := k.Write(&b)
			if k.Iteration == 20 {
				saved = b.Bytes()
			}
			return err
		}})
	if err != nil {
		t.Fatal(err)
	}
	if m.chosen != "huber:0.5:0.4" && m.chosen != "huber:0.5:0.08" || m.hard.Folds != 3 {
		t.Errorf("with wrong labels %q is chosen, and rows are listed by %d folds", m.chosen, m.hard.Folds)
	}
	place, bad := map[string]bool{}, 0
	for i, b := range wrong {
		place[dirty.At(i)] = b
	}
	for _, h := range m.hard.Top[:40] {
		if place[h.Place] {
			bad++
		}
	}
	if bad < 22 { // 12 by chance
		t.Errorf("of the forty hardest rows %d are wrong", bad)
	}
	k, err := run.ReadCheckpoint(bytes.NewReader(saved))
	if err != nil {
		t.Fatal(err)
	}
	again, r, err := Train(dirty, o, &run.Control{Workers: 3, Resume: k})
	if err != nil || !slices.Equal(again.w, m.w) || !slices.Equal(again.hard.Top, m.hard.Top) ||
		again.chosen != m.chosen {
		t.Errorf("taken up it is another model (%v, %v)", r, err)
	}
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		t.Fatal(err)
	}
	if back, err := Read(&file); err != nil || back.chosen != m.chosen {
		t.Errorf("the file has the choice %q, %v", back.chosen, err)
	}
	delete(k.Scalars, "way")
	k.Arrays["own"] = nil
	if _, _, err := Train(dirty, o, &run.Control{Resume: k}); !errors.Is(err, run.ErrOther) {
		t.Errorf("a checkpoint without a choice: %v", err)
	}
	o.Hold = 0.2
	if _, _, err := Train(dirty, o, nil); err == nil {
		t.Error("auto holds rows out")
	}
}

// The choice does not depend on the number of workers, and an interrupt ends it.
func TestChooseWorkers(t *testing.T) {
	data, _ := rings(90, 0.2)
	net, err := nn.New(2, 6, 3)
	if err != nil {
		t.Fatal(err)
	}
	r := &Rows{Net: net, Loss: score.SoftMax{Classes: 3}, Y: data.Target}
	for i := range data.Rows {
		r.X = append(r.X, data.Columns[0].Values[i], data.Columns[1].Values[i])
	}
	ways := (&Options{Delta: 0.5}).ways()
	d := resilient.Descent{Rate: 0.05, Batch: 16}
	one, err := Choose(t.Context(), r, ways, d, 5, 4, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	three, err := Choose(t.Context(), r, ways, d, 5, 4, 1, 3)
	if err != nil || !slices.Equal(one.Mean, three.Mean) || !slices.Equal(one.Z, three.Z) ||
		one.Best != three.Best {
		t.Errorf("with three workers %+v, %v; with one %+v", three, err, one)
	}
	if min(one.Z[0], one.Z[1], one.Z[2], one.Z[3]) != 0 {
		t.Errorf("no way is the best: %v", one.Z)
	}
	d.Rate = 1e9
	if _, err := Choose(t.Context(), r, ways[:1], d, 5, 4, 1, 2); err == nil {
		t.Error("losses that are not finite are taken")
	}
}
