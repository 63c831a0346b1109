package tracking

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/margin"
	"github.com/tropica-fst/tropica/learn/run"
)

func simulated(t testing.TB, preset string, seeds ...uint64) []*Movie {
	t.Helper()
	o := Presets[preset]
	var out []*Movie
	for _, s := range seeds {
		m, _, err := Simulate(&o, s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

func judged(t testing.TB, m *Model, movies []*Movie) *Report {
	t.Helper()
	p, err := m.Predict(context.Background(), movies, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Judge(movies, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// In this order, on movies that no method has seen: nearest neighbour, assignment by distance,
// weights by hand, single events, whole frames.
func TestOrderOfMethods(t *testing.T) {
	train, test := simulated(t, "default", 1, 2, 3), simulated(t, "default", 11, 12, 13, 14, 15, 16)
	last := math.Inf(1)
	for _, method := range []Method{Nearest, Distance, HandSet, Local, MarginMethod} {
		o := &Options{Method: string(method)}
		o.Lambda, o.Gap = 1e-2, 1e-3
		m, _, err := Train(train, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := judged(t, m, test)
		if !(r.Loss < last) {
			t.Errorf("%s: loss %v, the method before has %v", method, r.Loss, last)
		}
		last = r.Loss
	}
	if last > 0.04 {
		t.Errorf("the margin's loss is %v", last)
	}
}

// A daughter is nearer to a neighbour than to its mother. Distances alone give it to the neighbour,
// and the symmetry of daughters gives it to the mother.
func TestSymmetricDivisions(t *testing.T) {
	m := &Movie{Name: "divisions", Width: 1000, Height: 1000, Frames: make([][]Detection, 2),
		Events: make([][]Event, 1)}
	add := func(frame int, x, y float64) int {
		list := &m.Frames[frame]
		*list = append(*list, Detection{ID: len(*list) + 1, X: x, Y: y, Area: 200})
		return len(*list) - 1
	}
	for k := range 16 {
		x, y, d := 100+200*float64(k%4), 100+200*float64(k/4), float64(k%3)
		mother, neighbour := add(0, x, y), add(0, x+40, y)
		a, b, c := add(1, x-20-d, y), add(1, x+22, y+d), add(1, x+43, y+3)
		m.Events[0] = append(m.Events[0], Event{Divide, []int{mother}, []int{a, b}},
			Event{Move, []int{neighbour}, []int{c}})
	}
	slices.SortFunc(m.Events[0], compareEvents)
	m.Edges = EdgesOf(m.Events)
	movies := []*Movie{m}
	for method, least := range map[Method]float64{Distance: 0.1, Symmetric: 0} {
		model, r, err := Train(movies, &Options{Method: string(method)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if loss := judged(t, model, movies).Loss; loss < least || method == Symmetric && (loss > 0 || r.F > 0) {
			t.Errorf("%s: loss %v, 1 - LNK %v", method, loss, r.F)
		}
	}
}

// A model reads back and links as before, for any number of workers; a damaged one is refused.
func TestModelFile(t *testing.T) {
	movies := simulated(t, "default", 1)
	m, _, err := Train(movies, &Options{Method: "local"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	file := b.Bytes()
	again, err := Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Predict(context.Background(), movies, 1)
	if err != nil {
		t.Fatal(err)
	}
	q, err := again.Predict(context.Background(), movies, 3)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, q); diff != "" {
		t.Error(diff)
	}
	for i := 0; i < len(file); i += 97 {
		x := slices.Clone(file)
		x[i] ^= 4
		if _, err := Read(bytes.NewReader(x)); err == nil {
			t.Errorf("a file with byte %d changed was taken", i)
		}
	}
}

// Training that was interrupted and goes on from its checkpoint gives the same weights, with any
// number of workers.
func TestResume(t *testing.T) {
	movies := simulated(t, "default", 1)
	o := &Options{}
	o.Gap = 0.05
	whole, r, err := Train(movies, o, &run.Control{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if r.Iterations < 8 {
		t.Fatalf("%d steps: too few for this test", r.Iterations)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var kept *run.Checkpoint
	_, _, err = Train(movies, o, &run.Control{Ctx: ctx, Workers: 2, CheckpointEvery: 5,
		Checkpoint: func(k *run.Checkpoint) error {
			if k.Iteration == 5 {
				kept = k
				cancel()
			}
			return nil
		}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("an interrupted run ends with %v", err)
	}
	m, _, err := Train(movies, o, &run.Control{Workers: 2, Resume: kept})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.w, whole.w) {
		t.Error("other weights after going on")
	}
	if _, _, err := Train(simulated(t, "default", 2), o, &run.Control{Resume: kept}); !errors.Is(
		err, run.ErrOther) {
		t.Errorf("a checkpoint of other movies: %v", err)
	}
}

// From a third of the detections annotated the loss is not far from all of them.
func TestPartialAnnotations(t *testing.T) {
	train, test := simulated(t, "default", 1, 2), simulated(t, "default", 11, 12)
	full, _, err := Train(train, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	var part []*Movie
	for _, m := range train {
		x := *m
		x.Partial, x.Events = true, nil
		for _, list := range m.Events {
			var some []Event
			for _, e := range list {
				if n++; n%3 == 0 {
					some = append(some, e)
				}
			}
			x.Events = append(x.Events, some)
		}
		part = append(part, &x)
	}
	o := &Options{}
	m, _, err := Train(part, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, b := judged(t, full, test).Loss, judged(t, m, test).Loss
	if b > 2*a+0.02 {
		t.Errorf("loss %v from a third, %v from all", b, a)
	}
	if _, err := Judge(part, make([]*Prediction, 2), 0); err == nil {
		t.Error("partial labels were judged")
	}
}

func TestTrainRefuses(t *testing.T) {
	plain := &Movie{Frames: [][]Detection{{{ID: 1}}, {{ID: 1}}}}
	lonely := &Movie{Frames: [][]Detection{{{ID: 1}}, {}}, Events: [][]Event{{{Disappear, []int{0}, nil}}}}
	nan := &Movie{Frames: [][]Detection{{{ID: 1, X: math.NaN()}}, {{ID: 1}}},
		Events: [][]Event{{{Move, []int{0}, []int{0}}}}}
	for _, c := range []struct {
		movie *Movie
		opts  *Options
		want  string
	}{
		{plain, nil, "no tracks to learn from"}, {lonely, nil, "no link to learn from"},
		{nan, nil, "frame 0: detection 1: x is NaN"},
		{plain, &Options{Neighbours: -3}, "neighbours"}, {plain, &Options{Method: "magic"}, `"magic" is none of`},
	} {
		if _, _, err := Train([]*Movie{c.movie}, c.opts, nil); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// Any learner of package margin runs on the samples.
func TestTransferOnSamples(t *testing.T) {
	near, s, m, err := Samples(simulated(t, "default", 1), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	o := &margin.TransferOptions{}
	o.Gap = 0.1
	_, per, _, err := margin.Transfer(s, append([][]sample{}, near[:10], near[10:]), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err = m.WithWeights(per[1].W)
	if err != nil {
		t.Fatal(err)
	}
	if r := judged(t, m, simulated(t, "default", 9)); r.Loss > 0.2 {
		t.Errorf("loss %v", r.Loss)
	}
}

// The prior of a wide gate is that of the default: its scale comes from the links that are true.
func TestPriorOfAWideGate(t *testing.T) {
	movies := simulated(t, "clean", 1)
	first := 0.0
	for _, gate := range []float64{0, 1e3, 1e9} {
		m, _, err := Train(movies, &Options{Method: string(Distance), Gate: gate}, nil)
		if err != nil {
			t.Fatal(err)
		}
		cost := m.w[offsets[Appear.block()]]
		if first == 0 {
			first = cost
		}
		if cost/first > 7 || cost/first < 0.14 { // the grid is of 0.15 to 1 times that scale
			t.Errorf("gate %g: an appearance costs %g, %g by default", gate, -cost, -first)
		}
	}
}
