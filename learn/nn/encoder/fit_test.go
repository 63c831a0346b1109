package encoder

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// labelling is a task of one label a position under cross-entropy, each position by itself. The
// extra parameters are scores of the labels by the letter, spread so that few are touched.
type labelling struct {
	letters [][]int32
	labels  [][]int
	classes int
	extra   int
	apart   int // between the extra parameters of two letters
	fail    func(i int) error
	begun   []int
}

func (l *labelling) Len() int             { return len(l.letters) }
func (l *labelling) Input(i int) []int32  { return l.letters[i] }
func (l *labelling) Positions(i int) int  { return len(l.letters[i]) }
func (l *labelling) Extra() int           { return l.extra }
func (l *labelling) BeginEpoch(epoch int) { l.begun = append(l.begun, epoch) }

func (l *labelling) Loss(_, i int, scores, extra, dScores []float32, dExtra *SparseGradient) (float64,
	error) {
	if l.fail != nil {
		if err := l.fail(i); err != nil {
			return 0, err
		}
	}
	n, value := l.classes, 0.0
	for t, y := range l.labels[i] {
		row, d := append([]float32{}, scores[t*n:(t+1)*n]...), dScores[t*n:(t+1)*n]
		at := int(l.letters[i][t]) * l.apart
		if l.extra > 0 {
			add(row, extra[at:at+n])
		}
		total := 0.0
		for _, s := range row {
			total += math.Exp(float64(s))
		}
		value += math.Log(total) - float64(row[y])
		for k, s := range row {
			d[k] = float32(math.Exp(float64(s)) / total)
		}
		d[y]--
		if l.extra > 0 {
			add(dExtra.Row(at, n), d)
		}
	}
	return value, nil
}

// sorted makes sequences whose label at t is 1 where the letter there is larger than the last one
// of the sequence, 2 where it is equal, and else 0: a label needs the whole sequence.
func sorted(n, letters, longest int, seed uint64) *labelling {
	rng := rand.New(rand.NewPCG(seed, 7))
	l := &labelling{classes: 3}
	for range n {
		word := make([]int32, rng.IntN(longest)+1)
		for t := range word {
			word[t] = int32(rng.IntN(letters))
		}
		label := make([]int, len(word))
		for t, x := range word {
			switch last := word[len(word)-1]; {
			case x > last:
				label[t] = 1
			case x == last:
				label[t] = 2
			}
		}
		l.letters, l.labels = append(l.letters, word), append(l.labels, label)
	}
	return l
}

func (l *labelling) withExtra() *labelling {
	l.apart = 21
	l.extra = 21*32 + l.classes
	return l
}

// wrong counts the positions that the network labels wrong.
func wrong(net Network[[]int32], params []float32, l *labelling) (wrong, positions int) {
	scores := net.NewPass().Forward(params[:net.Dim()], l.letters, nil)
	for i, labels := range l.labels {
		for t, y := range labels {
			row := scores[:l.classes]
			scores = scores[l.classes:]
			if l.extra > 0 {
				row = append([]float32{}, row...)
				at := int(l.letters[i][t]) * l.apart
				add(row, params[net.Dim()+at:net.Dim()+at+l.classes])
			}
			for _, s := range row {
				if s > row[y] {
					wrong++
					break
				}
			}
			positions++
		}
	}
	return wrong, positions
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func small(kind Kind) Shape {
	s := Convolutional(6, 3)
	if kind == Recurrence {
		s = Recurrent(6, 3)
	}
	s.Tables[0].Width, s.Hidden, s.Layers, s.InputDropout, s.Dropout = 8, 16, 2, 0, .1
	return s
}

// Both ready networks learn what needs the whole sequence, and know it of sequences that they have
// not seen.
func TestLearnsToCompareWithTheEnd(t *testing.T) {
	train, test := sorted(300, 6, 6, 1), sorted(100, 6, 6, 2)
	for _, kind := range []Kind{Convolution, Recurrence} {
		t.Run(string(kind), func(t *testing.T) {
			s := small(kind)
			s.Dropout = 0
			net := must(s.Letters())
			params, r, err := Fit(net, train, &Options{Rate: .01, Batch: 16, Epochs: 40}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if n, of := wrong(net, params, train); n > 0 {
				t.Errorf("%d of %d training labels are wrong", n, of)
			}
			if n, of := wrong(net, params, test); n > of/10 {
				t.Errorf("%d of %d test labels are wrong", n, of)
			}
			if r.Iterations != 40 || r.Reason != AllEpochs {
				t.Errorf("%d epochs, %s", r.Iterations, r.Reason)
			}
		})
	}
}

func fitted(t *testing.T, l *labelling, o Options, c *run.Control) []float32 {
	t.Helper()
	params, _, err := Fit(must(small(Convolution).Letters()), l, &o, c)
	if err != nil {
		t.Fatal(err)
	}
	return params
}

func TestWorkersAndSeeds(t *testing.T) {
	l := sorted(50, 6, 6, 1).withExtra()
	o := Options{Epochs: 3, Batch: 16, Block: 3, Seed: 4}
	want := fitted(t, l, o, &run.Control{Workers: 1})
	for _, workers := range []int{2, 5} {
		if !cmp.Equal(want, fitted(t, l, o, &run.Control{Workers: workers})) {
			t.Errorf("%d workers changed the result", workers)
		}
	}
	o.Seed = 5
	if cmp.Equal(want, fitted(t, l, o, nil)) {
		t.Error("another seed gave the same")
	}
	o.Seed = 3
	net := must(small(Convolution).Letters())
	all, r, err := FitAll(net, 3, nil, Stage[[]int32]{Task: l, Options: &o})
	if err != nil || len(all) != 3 || r.Iterations != 9 {
		t.Fatal(len(all), r, err)
	}
	if !cmp.Equal(all[1], want) {
		t.Error("a member differs from a run of its own with its seed")
	}
	if l.begun[len(l.begun)-1] != 2 || l.begun[len(l.begun)-4] != 2 {
		t.Errorf("the task was told of the epochs %v", l.begun)
	}
}

// A run that is broken off anywhere, also within an epoch and in a later member or stage,
// continues to the same bits.
func TestResume(t *testing.T) {
	net := must(small(Convolution).Letters())
	o := &Options{Epochs: 2, Batch: 8, Seed: 1}
	dev := 0
	second := *o
	second.Dev = func(context.Context, []float32) (float64, error) {
		dev++
		return math.Abs(float64(dev%4 - 2)),
			nil
	}
	train := func(l *labelling, c *run.Control) ([][]float32, error) {
		all, _, err := FitAll(net, 2, c, Stage[[]int32]{Task: l, Options: o}, Stage[[]int32]{"then", l, &second})
		return all, err
	}
	want, err := train(sorted(40, 6, 6, 1).withExtra(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, stop := range []int{0, 25, 40, 70, 120, 200, 290} { // losses of a run: 2·2·2·40
		dev = 0
		ctx, cancel := context.WithCancel(t.Context())
		l := sorted(40, 6, 6, 1).withExtra()
		calls := 0
		l.fail = func(int) error {
			if calls++; calls > stop {
				cancel()
			}
			return nil
		}
		var file bytes.Buffer
		_, err := train(l, &run.Control{Ctx: ctx, Workers: 1,
			Checkpoint: func(k *run.Checkpoint) error { file.Reset(); return k.Write(&file) }})
		var broken *run.InterruptedError
		if !errors.As(err, &broken) {
			t.Fatalf("stopped after %d losses: %v", stop, err)
		}
		k, err := run.ReadCheckpoint(&file)
		if err != nil {
			t.Fatal(err)
		}
		l.fail = nil
		got, err := train(l, &run.Control{Resume: k})
		if err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(want, got) {
			t.Errorf("stopped after %d losses, the run went elsewhere", stop)
		}
	}
	// Whole epochs, by the limit of the control.
	dev = 0
	var last *run.Checkpoint
	c := run.Control{Stop: run.Stop{Iterations: 5}, CheckpointEvery: 1,
		Checkpoint: func(k *run.Checkpoint) error { last = k; return nil }}
	if _, err := train(sorted(40, 6, 6, 1).withExtra(), &c); err != nil {
		t.Fatal(err)
	}
	if got, err := train(sorted(40, 6, 6, 1).withExtra(), &run.Control{Resume: last}); err != nil ||
		!cmp.Equal(want, got) {
		t.Errorf("after five epochs, the run went elsewhere: %v", err)
	}
	other := *last
	other.Files = map[string][]byte{}
	if _, err := train(sorted(40, 6, 6, 1), &run.Control{Resume: &other}); err == nil {
		t.Error("an empty checkpoint was taken up")
	}
}

// Steps on a few extra parameters leave the others as they are, and a task may have only these.
func TestExtraParametersAreSparse(t *testing.T) {
	l := sorted(30, 3, 4, 1).withExtra()
	net := must(small(Convolution).Letters())
	start := make([]float32, net.Dim()+l.Extra())
	net.Start(start[:net.Dim()], 1)
	for i := range start[net.Dim():] {
		start[net.Dim()+i] = 2
	}
	params, _, err := Fit(net, l, &Options{Epochs: 2, Start: start, ExtraRate: .1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	near := map[int]bool{} // chunks of 16 of the letters 0, 1 and 2
	for x := range 3 {
		for k := range 3 {
			near[(x*21+k)/chunk] = true
		}
	}
	moved := 0
	for i, v := range params[net.Dim():] {
		if v != 2 {
			moved++
			if !near[i/chunk] {
				t.Fatalf("extra parameter %d moved", i)
			}
		}
	}
	if moved < 9 {
		t.Errorf("%d extra parameters moved", moved)
	}
}

func TestDevelopmentData(t *testing.T) {
	l := sorted(30, 6, 4, 1)
	losses := []float64{3, 1, 2, 2, 0.5, 0}
	var seen [][]float32
	o := Options{Epochs: 6, Dev: func(_ context.Context, p []float32) (float64, error) {
		seen = append(seen, append([]float32{}, p...))
		return losses[len(seen)-1], nil
	}}
	var valid []float64
	net := must(small(Convolution).Letters())
	params, r, err := Fit(net, l, &o, &run.Control{Stop: run.Stop{Patience: 2},
		Recorder: run.RecorderFunc(func(r run.Row) error { valid = append(valid, *r.Valid); return nil })})
	if err != nil || r.Reason != run.OutOfPatience {
		t.Fatal(r, err)
	}
	if diff := cmp.Diff(losses[:4], valid); diff != "" {
		t.Error(diff)
	}
	if !cmp.Equal(params, seen[1]) {
		t.Error("the parameters are not those of the best epoch")
	}
}

func TestProgressFromTheFirstBatch(t *testing.T) {
	l := sorted(64, 6, 4, 1)
	var rows []run.Row
	fitted(t, l, Options{Epochs: 2, Batch: 8}, &run.Control{Live: run.RecorderFunc(func(r run.Row) error {
		rows = append(rows, r)
		return nil
	})})
	if len(rows) < 2 || rows[0].Iteration != 1 || rows[0].Objective <= 0 || rows[0].Step <= 0 {
		t.Errorf("progress: %+v", rows)
	}
}

func TestInterruptIsFast(t *testing.T) {
	l := sorted(20000, 6, 6, 1)
	ctx, cancel := context.WithCancel(t.Context())
	var at time.Time
	time.AfterFunc(50*time.Millisecond, func() { at = time.Now(); cancel() })
	_, _, err := Fit(must(small(Convolution).Letters()), l, &Options{Epochs: 1000}, &run.Control{Ctx: ctx})
	if late := time.Since(at); !errors.Is(err, context.Canceled) || late > 5*time.Second { // milliseconds, on a machine with nothing else to do
		t.Errorf("stopped %v late: %v", late, err)
	}
}

func TestFitErrors(t *testing.T) {
	l := sorted(5, 6, 4, 1)
	bad := errors.New("bad sequence")
	l.fail = func(i int) error {
		if i == 3 {
			return bad
		}
		return nil
	}
	net := must(small(Convolution).Letters())
	if _, _, err := Fit(net, l, nil, nil); !errors.Is(err, bad) {
		t.Error(err)
	}
	l.fail = nil
	for name, o := range map[string]Options{
		"rates -1": {Rate: -1}, "-3 epochs": {Epochs: -3}, "share": {Constant: 1},
		"Start has 3":  {Start: make([]float32, 3)},
		"smaller rate": {Rate: 1e30, Clip: -1},
	} {
		if _, _, err := Fit(net, l, &o, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := Fit(net, &labelling{}, nil, nil); err == nil {
		t.Error("no sequences were accepted")
	}
	wide := *l
	wide.letters = append(wide.letters[:4:4], nil)
	wide.labels = append(wide.labels[:4:4], nil) // a sequence without positions is none
	if _, _, err := Fit(net, &wide, nil, nil); err != nil {
		t.Error(err)
	}
	if _, _, err := Fit(net, l, &Options{Rate: 1e30, Clip: -1}, nil); !errors.Is(err, optim.ErrNotFinite) {
		t.Error(err)
	}
}

// The schedule rises, stays, and falls to almost nothing.
func TestSchedule(t *testing.T) {
	o := must((&Options{}).withDefaults())
	rate := o.schedule(1000)
	for step, want := range map[int]float64{1: .02, 25: .5, 50: 1, 300: 1, 301: 1, 651: .5, 1000: 1. / 700} {
		if got := rate(step); math.Abs(got-want) > 1e-12 {
			t.Errorf("step %d: %v, not %v", step, got, want)
		}
	}
	o = must((&Options{WarmUp: -1, Constant: -1}).withDefaults())
	if rate := o.schedule(10); rate(1) != 1 || rate(6) != .5 {
		t.Error(rate(1), rate(6))
	}
}

func TestFile(t *testing.T) {
	s := small(Recurrence)
	s.Chars = CharShape{Table{5, 3}, 4, 3}
	net := must(s.Tokens())
	params := make([]float32, net.Dim()+2)
	net.Start(params[:net.Dim()], 1)
	f := model.New("test", 1)
	if err := s.Put(f, "net", params); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := f.Write(&file); err != nil {
		t.Fatal(err)
	}
	back, err := model.Read(&file, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, p, err := Get(back, "net", 2)
	if err != nil || !cmp.Equal(got, s) || !cmp.Equal(p, params) {
		t.Fatal(got, err)
	}
	if _, _, err := Get(back, "net", 3); !errors.Is(err, model.ErrFormat) {
		t.Error(err)
	}
	params[3] = float32(math.NaN())
	if _, _, err := Get(back, "net", 2); err != nil {
		t.Error(err)
	}
	for _, text := range []string{`{`, `{"kind":"lstm"}`, `{"kind":"conv","outputs":3,"tables":[{"size":16777216,"width":65536}],"hidden":1,"layers":1,"reach":1}`} {
		f := model.New("test", 1)
		f.PutStrings("net shape", []string{text})
		model.Put(f, "net", params)
		if _, _, err := Get(f, "net", 2); !errors.Is(err, model.ErrFormat) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
