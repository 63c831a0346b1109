package almo_test

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/almo"
	"github.com/tropica-fst/tropica/learn/dataset/dense"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/minimax"
)

func sonar(t *testing.T) *table.Table {
	t.Helper()
	x, err := table.Open(os.DirFS("../../testdata/tables/uci"), "sonar.csv.gz",
		&table.Options{Target: "class", Task: table.Classification})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// The learner is package minimax on the same numbers, and its file gives the same predictions.
func TestLearner(t *testing.T) {
	x := sonar(t)
	for _, o := range []almo.Options{{L2: 1e-2}, {Hidden: []int{4}, Heldout: 0.2, Seed: 3}} {
		m, r, err := almo.Train(x, &o, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, d, err := almo.Encode(x, "")
		if err != nil {
			t.Fatal(err)
		}
		plain, err := o.Minimax()
		if err != nil {
			t.Fatal(err)
		}
		if o.Heldout > 0 {
			if d, plain.Network.Heldout, err = almo.Split(d, o.Heldout, plain.Seed); err != nil {
				t.Fatal(err)
			}
		}
		f, err := minimax.Train(d, plain)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f.Model.Params, m.Params); diff != "" || r.F != f.Worst {
			t.Errorf("another model: %s", diff)
		}
		var file bytes.Buffer
		if err := m.Write(&file); err != nil {
			t.Fatal(err)
		}
		again, err := almo.Learner{}.Read(&file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := m.Predict(t.Context(), x, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := again.Predict(t.Context(), x, 3)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("the model read predicts otherwise: %v %s", err, diff)
		}
		for i := range x.Rows {
			p := want.Probability[2*i : 2*i+2]
			if math.Abs(p[0]+p[1]-1) > 1e-12 || (p[1] > 0.5) != (want.Score[i] > 0) {
				t.Fatalf("row %d: score %v, probabilities %v", i, want.Score[i], p)
			}
		}
		sections := again.Explain()
		if len(o.Hidden) == 0 && (len(sections) != 2 || len(sections[1].Rows) != 61) || len(o.Hidden) > 0 &&
			len(sections) != 1 {
			t.Errorf("%d sections", len(sections))
		}
	}
}

// Zero options are the documented defaults, None is nothing at all, and errors name the option.
func TestOptions(t *testing.T) {
	o, err := (&almo.Options{}).Minimax()
	if err != nil {
		t.Fatal(err)
	}
	if o.Beta1 != 1e-4 || o.Batch != 128 || o.Gap != 1e-3 || o.Seed != 1 || len(o.Losses) != 3 ||
		o.Solver != minimax.Auto {
		t.Errorf("defaults: %+v", o)
	}
	o, err = (&almo.Options{L2: learner.None, Batch: learner.None, Gap: learner.None, Seed: learner.None,
		Radius: 1}).Minimax()
	if err != nil || o.Beta1 != 0 || o.Batch != -1 || o.Gap != -1 || o.Seed != 0 {
		t.Errorf("none: %+v, %v", o, err)
	}
	for says, o := range map[string]almo.Options{
		"losses: none given": {Losses: []string{""}}, `losses: score: there is no loss "nothing"`: {
			Losses: []string{"nothing"}},
		"bias: a radius holds biases too":                       {Radius: 1, Bias: 1},
		"offsets: they are for --units regret":                  {Offsets: []float64{1}},
		"min: the weight of hinge is -1":                        {Losses: []string{"hinge"}, Min: []float64{-1}},
		"steps: constant steps need a --rate":                   {Steps: "constant"},
		"steps: those of networks (--hidden) are constant":      {Steps: "adaptive", Hidden: []int{2}},
		`vertices: "x" is not a finite number`:                  {Vertices: "1,0,0;x,0,1"},
		"l2: -3 is out of range: it must be at least 0":         {L2: -3},
		`solver: "fast" is none of auto, mirror-prox`:           {Solver: "fast"},
		"heldout: 1 is out of range: it must be at least 0 and": {Heldout: 1},
	} {
		if _, err := o.Minimax(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, should say %s", err, says)
		}
	}
	if _, _, err := almo.Split(&dense.Data{X: []float64{1}, Rows: 1, Features: 1, Class: []int32{0}, Classes: 2},
		0.5, 1); err == nil {
		t.Error("one row was split")
	}
	if _, _, err := (almo.Learner{}).Train(sonar(t), "options", nil); err == nil {
		t.Error("options of another type")
	}
	if _, err := almo.Read(strings.NewReader("no model")); err == nil {
		t.Error("a file of words was read")
	}
}
