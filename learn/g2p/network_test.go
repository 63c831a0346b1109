package g2p

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/nn/encoder"
	"github.com/tropica-fst/tropica/learn/run"
)

// small are options of networks that train within tenths of a second.
func small(o NetworkOptions) *NetworkOptions {
	o.Hidden, o.Epochs = 8, 4
	return &o
}

// tableNetwork is a network of a user's own: a score for every letter and label.
type tableNetwork struct{ letters, labels int }

func (n tableNetwork) Dim() int                            { return n.letters * n.labels }
func (n tableNetwork) Outputs() int                        { return n.labels }
func (n tableNetwork) Start(params []float32, seed uint64) { clear(params) }
func (n tableNetwork) NewPass() encoder.Pass[[]int32]      { return &tablePass{tableNetwork: n} }

type tablePass struct {
	tableNetwork
	scores []float32
	batch  [][]int32
}

func (p *tablePass) Forward(params []float32, batch [][]int32, _ *rand.Rand) []float32 {
	p.scores, p.batch = p.scores[:0], batch
	for _, x := range batch {
		for _, letter := range x {
			p.scores = append(p.scores, params[int(letter)*p.labels:int(letter+1)*p.labels]...)
		}
	}
	return p.scores
}

func (p *tablePass) Backward(_, dScores, grad []float32) {
	for _, x := range p.batch {
		for _, letter := range x {
			for k := range p.labels {
				grad[int(letter)*p.labels+k] += dScores[k]
			}
			dScores = dScores[p.labels:]
		}
	}
}

// taskLoss returns the sum of a task's losses with all scores given, and their gradients.
func taskLoss(t *testing.T, task *networkTask, scores [][]float32, extra []float32) (sum float64,
	dScores [][]float32, dExtra []float32) {
	t.Helper()
	dExtra = make([]float32, len(extra))
	for i := range task.Len() {
		d := make([]float32, len(scores[i]))
		g := encoder.NewSparseGradient(len(extra))
		v, err := task.Loss(0, i, scores[i], extra, d, g)
		if err != nil {
			t.Fatal(err)
		}
		sum += v
		dScores = append(dScores, d)
		for k, x := range g.Row(0, len(extra)) {
			dExtra[k] += x
		}
	}
	return sum, dScores, dExtra
}

// With a network that scores nothing, the losses of all words and their gradient are those of the
// linear model, penalty included; and derivatives by the network's scores are slopes.
func TestNetworkTask(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	testNetworkTask(t, rng, prepared(t, words(t, "gre", "train", 30), nil))
	views := ViewOptions{History: 4, Phones: 3, MinCount: 1, Marks: []string{"a", "i"}}
	testNetworkTask(t, rng, prepared(t, words(t, "gre", "train", 20), &Options{Views: views}))
}

func testNetworkTask(t *testing.T, rng *rand.Rand, p *Problem) {
	t.Helper()
	first := p.Features.bigrams.Len()
	labels := p.Labels()
	for _, o := range objectives() {
		o, err := o.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.need(context.Background(), o.Kind); err != nil {
			t.Fatal(err)
		}
		w := random(rng, p.dim(), 0.3)
		extra := make([]float32, len(w))
		free := 0.0
		for i := range w {
			extra[i] = float32(w[i])
			w[i] = float64(extra[i])
			if i < first || i >= p.groups.dim {
				free += w[i] * w[i] // without penalty beside a network
			}
		}
		task := p.networkTask(o, true, 1)
		scores := make([][]float32, task.Len())
		for i := range scores {
			scores[i] = make([]float32, task.Positions(i)*labels)
		}
		got, _, dExtra := taskLoss(t, task, scores, extra)
		grad := make([]float64, len(w))
		want, err := p.evaluation(o, 1).Eval(w, grad)
		if want -= o.L2 / 2 * free; err != nil || !(math.Abs(got-want) < 1e-9*math.Abs(want)) {
			t.Errorf("%v: losses of %v, the linear model has %v (%v)", o, got, want, err)
		}
		for i, d := range dExtra {
			g := grad[i]
			if i < first || i >= p.groups.dim {
				g -= o.L2 * w[i]
			}
			if !(math.Abs(float64(d)-g) < 2e-4*max(1, math.Abs(g))) {
				t.Fatalf("%v: derivative %d is %v, the linear model has %v", o, i, d, g)
			}
		}
		for i := range scores {
			for k := range scores[i] {
				scores[i][k] = float32(rng.NormFloat64())
			}
		}
		_, dScores, _ := taskLoss(t, task, scores, extra)
		const h = 1.0 / 256 // exact in float32
		dot := 0.0
		up, down := make([][]float32, len(scores)), make([][]float32, len(scores))
		for i := range scores {
			for k, s := range scores[i] {
				d := float32(rng.IntN(3) - 1)
				dot += float64(d) * float64(dScores[i][k])
				up[i], down[i] = append(up[i], s+h*d), append(down[i], s-h*d)
			}
		}
		above, _, _ := taskLoss(t, task, up, extra)
		below, _, _ := taskLoss(t, task, down, extra)
		if slope := (above - below) / (2 * h); !(math.Abs(slope-dot) < 2e-3*max(1, math.Abs(dot))) {
			t.Errorf("%v: slope %v, the gradient says %v", o, slope, dot)
		}
	}
}

// The recipe counts accents where phones have some, and costs nothing elsewhere.
func TestRecipe(t *testing.T) {
	pairs := words(t, "gre", "train", 60)
	var o Options
	new(NetworkOptions).Recipe(len(pairs), &o)
	if p := prepared(t, pairs, &o); p.views != nil || p.Features.grams.Len() > 0 {
		t.Error("views, or features of letters, without marked phones")
	}
	for i := range pairs {
		phones := slices.Clone(pairs[i].Phones)
		if k := slices.Index(phones, "a"); k >= 0 {
			phones[k] = "a\u0301"
		}
		pairs[i].Phones = phones
	}
	p := prepared(t, pairs, &o)
	if p.views == nil || p.views.marks == nil || p.views.marks.kinds != 1 {
		t.Fatal("the accents of a are not counted")
	}
	m, _, err := p.FitNetworks(Objective{Kind: HammingMargin, Gamma: 1}, small(NetworkOptions{Members: 2}), nil)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		t.Fatal(err)
	}
	n, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range words(t, "gre", "test", 20) {
		for _, d := range []Decoding{Viterbi, Pooled} {
			a, err1 := m.Predict(q.Word, &DecodeOptions{Decoding: d})
			b, err2 := n.Predict(q.Word, &DecodeOptions{Decoding: d})
			if err1 != nil || err2 != nil || !slices.Equal(a, b) {
				t.Errorf("%q is read %v, and %v after loading (%v, %v)", q.Word, a, b, err1, err2)
			}
		}
	}
}

// A network of the user's own learns what linear features of single letters would, and has no file.
func TestOwnNetwork(t *testing.T) {
	pairs := words(t, "ice", "train", 60)
	p := prepared(t, pairs, &Options{Features: FeatureOptions{Bare: true}})
	net := tableNetwork{1 + len(p.Inventory.Letters), p.Labels()}
	m, r, err := p.FitNetworks(Objective{Kind: CrossEntropy}, &NetworkOptions{Own: []LetterNetwork{net},
		Epochs: 60, Rate: 0.05, Batch: 10}, nil)
	if err != nil || r.Iterations != 60 || r.Reason != run.AllPasses {
		t.Fatalf("%+v, %v", r, err)
	}
	wrong := 0
	for _, q := range pairs {
		got, err := m.Predict(q.Word, nil)
		if err != nil {
			t.Fatal(err)
		}
		wrong += metrics.Edits(got, q.Phones).Errors
	}
	if wrong > 60 {
		t.Errorf("%d wrong phones in the training words", wrong)
	}
	if err := m.Write(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "own") {
		t.Errorf("a network without a format was written (%v)", err)
	}
	if _, _, err := p.FitNetworks(Objective{Kind: CrossEntropy},
		&NetworkOptions{Own: []LetterNetwork{tableNetwork{3, 2}}}, nil); err == nil {
		t.Error("a network of two labels was accepted")
	}
}

// The scores of several networks are their mean, kind by kind; files keep them; parts can be
// selected; and the pooled strings are those of an enumeration.
func TestEnsemble(t *testing.T) {
	pairs := words(t, "gre", "train", 80)
	p := prepared(t, pairs, nil)
	m, _, err := p.FitNetworks(Objective{Kind: LatentMargin, Gamma: 1, L2: 0.3},
		small(NetworkOptions{Networks: BothNetworks, Members: 3, Features: true}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if kinds := m.Networks(); !slices.Equal(kinds, []Networks{Convolutional, Recurrent, Convolutional}) {
		t.Fatalf("networks %v", kinds)
	}
	var file, again bytes.Buffer
	if err := m.Write(&file); err != nil {
		t.Fatal(err)
	}
	n, err := Read(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Write(&again); err != nil || !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Errorf("saved again, the model has other bytes (%v)", err)
	}
	if _, err := m.Select(3); err == nil {
		t.Error("network 3 of 3 was selected")
	}
	test := short(words(t, "gre", "test", 40), 6)
	for _, q := range test {
		x, _ := m.Inventory.letters(q.Word)
		c := m.Features.compile(x)
		var all scores
		m.score(&c, &all)
		mean := make([]float64, len(all.unary))
		pair := make([]float64, len(all.binary))
		for k := range 3 {
			one, err := m.Select(k)
			if err != nil {
				t.Fatal(err)
			}
			var s scores
			one.score(&c, &s)
			share := []float64{0.25, 0.5, 0.25}[k]
			for i, u := range s.unary {
				mean[i] += share * u
			}
			for i, u := range s.binary {
				pair[i] += share * u
			}
		}
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if !slices.EqualFunc(mean, all.unary, near) || !slices.EqualFunc(pair, all.binary, near) {
			t.Fatalf("%q: the scores are not the mean of the networks'", q.Word)
		}
		for _, d := range []Decoding{Viterbi, MinRisk, Pooled} {
			a, err1 := m.Predict(q.Word, &DecodeOptions{Decoding: d})
			b, err2 := n.Predict(q.Word, &DecodeOptions{Decoding: d})
			if err1 != nil || err2 != nil || !slices.Equal(a, b) {
				t.Errorf("%q is read %v, and %v after loading", q.Word, a, b)
			}
		}
	}
	testPooled(t, m, test[:6])
	testHostileNetworks(t, n)
}

// testHostileNetworks changes what a file says of networks: it is refused.
func testHostileNetworks(t *testing.T, m *Model) {
	t.Helper()
	file := func() *model.Container {
		c, err := m.container()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	params, weights := memberArrays(1)
	for name, change := range map[string]func(c *model.Container){
		"two parameters": func(c *model.Container) { model.Put(c, params, []float32{1, 2}) },
		"no number":      func(c *model.Container) { model.Put(c, weights, []float64{math.NaN()}) },
		"no weights":     func(c *model.Container) { model.Put(c, weights, []float64{}) },
	} {
		c := file()
		change(c)
		if _, err := fromContainer(c); !errors.Is(err, model.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(b *memberMeta){
		"share":       func(b *memberMeta) { b.Share = 0.9 },
		"no share":    func(b *memberMeta) { b.Share = 0 },
		"kind":        func(b *memberMeta) { b.Kind = "own" },
		"letters":     func(b *memberMeta) { b.Shape.Tables[0].Size++ },
		"no letters":  func(b *memberMeta) { b.Shape.Tables = nil },
		"labels":      func(b *memberMeta) { b.Shape.Outputs-- },
		"no units":    func(b *memberMeta) { b.Shape.Hidden = 0 },
		"large units": func(b *memberMeta) { b.Shape.Hidden = 1 << 30 },
		"other units": func(b *memberMeta) { b.Shape.Hidden++ },
	} {
		c := file()
		var meta fileMeta
		if err := c.Meta(&meta); err != nil {
			t.Fatal(err)
		}
		change(&meta.Networks[1])
		if err := c.SetMeta(meta); err != nil {
			t.Fatal(err)
		}
		if _, err := fromContainer(c); !errors.Is(err, model.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// testPooled compares pooled decoding with sums over all label strings of the letters' own labels.
func testPooled(t *testing.T, m *Model, test []Pair) {
	t.Helper()
	m.Inventory.Backoff = nil
	for _, q := range test {
		x, _ := m.Inventory.letters(q.Word)
		c := m.Features.compile(x)
		prob := map[string]float64{}
		phones := map[string][]int{}
		for k, b := range m.members {
			one, _ := m.Select(k)
			var s scores
			one.score(&c, &s)
			logZ := s.logZ()
			for _, h := range s.nBest(1 << 20) {
				u := m.spell(&s, h.labels)
				key := string(appendPhones(nil, u))
				phones[key] = u
				prob[key] += b.share * math.Exp(h.score-logZ)
			}
		}
		risk := func(u []int) (sum float64) {
			for key, p := range prob {
				sum += p * float64(metrics.EditDistance(u, phones[key]))
			}
			return sum
		}
		least := math.Inf(1)
		for _, u := range phones {
			least = min(least, risk(u))
		}
		got := m.decode(&c, m.search(), &DecodeOptions{Decoding: Pooled, Best: 1 << 20, Candidates: 1 << 20})
		if r := risk(got); r > least+1e-9 {
			t.Errorf("%q: the pooled output has the expected distance %v, the best %v", q.Word, r, least)
		}
	}
}

// The same bits come out for any number of workers, and of a run that was cut off and resumed.
func TestNetworksResume(t *testing.T) {
	p := prepared(t, words(t, "gre", "train", 70), &Options{Features: FeatureOptions{Bare: true}})
	o := Objective{Kind: SoftmaxMargin, Gamma: 1}
	no := small(NetworkOptions{Networks: BothNetworks, Members: 3})
	bytesOf := func(m *Model) []byte {
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	want, r, err := p.FitNetworks(o, no, &run.Control{Workers: 1})
	if err != nil || r.Iterations != 12 {
		t.Fatalf("%+v, %v", r, err)
	}
	two, _, err := p.FitNetworks(o, no, &run.Control{Workers: 2})
	if err != nil || !bytes.Equal(bytesOf(want), bytesOf(two)) {
		t.Fatalf("two workers train another model (%v)", err)
	}
	for _, at := range []int{1, 6, 11} {
		ctx, cancel := context.WithCancel(context.Background())
		var saved bytes.Buffer
		c := &run.Control{Ctx: ctx, Workers: 2, Problem: "g2p test=1",
			Recorder: run.RecorderFunc(func(r run.Row) error {
				if r.Iteration == at {
					cancel()
				}
				return nil
			}),
			Checkpoint: func(k *run.Checkpoint) error { saved.Reset(); return k.Write(&saved) }}
		if _, _, err := p.FitNetworks(o, no, c); !errors.Is(err, context.Canceled) {
			t.Fatalf("cut off at %d: %v", at, err)
		}
		k, err := run.ReadCheckpoint(&saved)
		if err != nil {
			t.Fatal(err)
		}
		last := 0
		m, r, err := p.FitNetworks(o, no, &run.Control{Resume: k, Problem: "g2p test=1",
			Recorder: run.RecorderFunc(func(r run.Row) error { last = r.Iteration; return nil })})
		if err != nil || r.Iterations != 12 || last != 12 || !bytes.Equal(bytesOf(want), bytesOf(m)) {
			t.Errorf("resumed after %d passes, %d were made, and the model is another one (%v)", at, last, err)
		}
		if _, _, err := p.FitNetworks(o, no, &run.Control{Resume: k, Problem: "g2p test=2"}); !errors.Is(err,
			run.ErrOther) {
			t.Errorf("a checkpoint of another problem was resumed (%v)", err)
		}
	}
}
