package g2p

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/losses"
)

// words reads some of a language's words from the repository's test data.
func words(t testing.TB, language, part string, n int) []Pair {
	t.Helper()
	name := filepath.Join("..", "..", "testdata", "g2p", language+"_"+part+".tsv")
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pairs, err := ReadPairs(f, name)
	if err != nil {
		t.Fatal(err)
	}
	return pairs[:min(n, len(pairs))]
}

func prepared(t testing.TB, pairs []Pair, o *Options) *Problem {
	t.Helper()
	p, err := Prepare(context.Background(), pairs, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.BuildGraphs(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := p.need(context.Background(), NGramMargin); err != nil {
		t.Fatal(err)
	}
	return p
}

// objectives has every kind, with constants that differ from the defaults.
func objectives() []Objective {
	return []Objective{
		{Kind: CrossEntropy, L2: 0.1}, {Kind: HammingMargin, Gamma: 2, L2: 0.3},
		{Kind: SoftmaxMargin, Gamma: 1, L2: 0.3}, {Kind: SoftmaxMargin, Gamma: -1, L2: 0},
		{Kind: NGramMargin, Gamma: 2, L2: 0.3}, {Kind: NGramMargin, Gamma: -0.5, L2: 0},
		{Kind: LatentMargin, Gamma: 4, L2: 0.3}, {Kind: LatentMargin, Gamma: 0, L2: 0.3},
		{Kind: MaxMargin, Gamma: 1, L2: 0.2, Beta: 3}, {Kind: RiskMix, L2: 0.3, Mix: 0.3}, {Kind: RiskMix, L2: 0.3, Mix: 1},
	}
}

func random(rng *rand.Rand, n int, scale float64) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = scale * rng.NormFloat64()
	}
	return w
}

// short keeps words whose label strings can be enumerated.
func short(pairs []Pair, letters int) []Pair {
	return slices.DeleteFunc(slices.Clone(pairs), func(p Pair) bool { return len([]rune(p.Word)) > letters })
}

// Values and gradients with respect to scores are those of sums over all label
// strings, for every objective, on whole and on restricted lattices.
func TestObjectivesByEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	pairs := short(words(t, "ady", "train", 400), 5)
	restricted, ngrams := 0, 0
	for k, budget := range []int{0, 30} {
		// Bigrams with c = 1, and trigrams with another c.
		p := prepared(t, pairs, &Options{MaxEdges: budget, NGram: []losses.NGram{{}, {N: 3, C: 0.5}}[k]})
		restricted += p.Stats.Restricted
		ngrams += p.Stats.RestrictedNGram
		for _, o := range objectives() {
			o, err := o.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			e := p.evaluation(o, 1)
			w := random(rng, e.Dim(), 0.5)
			if _, err := e.Eval(w, make([]float64, e.Dim())); err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(p.words); i += 3 {
				// The lattice is that of the objective's own machine: what was taken away for
				// another still competes.
				score, fatal := logScores(e, &p.words[i], w), t.Fatalf
				for t, size := range p.words[i].sizes {
					for b := range size {
						gone := o.Kind.usesLoss() && p.words[i].full != nil && p.words[i].full[t][b] < 0 ||
							o.Kind == NGramMargin && p.words[i].fullNGram != nil && p.words[i].fullNGram[t][b] < 0
						if math.IsInf(score[p.words[i].shape.pairs[t]+b], -1) != gone {
							fatal("%v, word %d: label %d of letter %d is in the lattice or not, wrongly", o, i, b, t)
						}
					}
				}
				value, grad := enumerate(e, &p.words[i], w)
				own := gradientOf(t, e, &p.words[i], w)
				if d := math.Abs(value-e.value[i]) / max(1, math.Abs(value)); !(d < 1e-11) {
					t.Fatalf("%v, word %d: value %v, by enumeration %v", o, i, e.value[i], value)
				}
				for k, g := range grad {
					if got := own[k]; !(math.Abs(got-g) < 1e-10) {
						t.Fatalf("%v, word %d: gradient %d is %v, by enumeration %v", o, i, k, got, g)
					}
				}
			}
		}
	}
	if restricted == 0 || ngrams == 0 {
		t.Fatal("no lattice was restricted: the budget is too large for this test")
	}
}

// gradientOf returns the gradient of a word with respect to its pair scores.
func gradientOf(t *testing.T, e *evaluation, w *word, weights []float64) []float64 {
	t.Helper()
	out := make([]float64, w.shape.pairs[len(w.x)])
	if _, err := e.word(&e.scorers[0], w, weights, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// logScores returns the scores of all pairs, unary ones and the Hamming margin added in, -Inf
// where the lattice was restricted.
func logScores(e *evaluation, w *word, weights []float64) []float64 {
	f := e.p.Features
	out := make([]float64, w.shape.pairs[len(w.x)])
	full := w.full
	switch {
	case e.o.Kind == NGramMargin:
		full = w.fullNGram
	case !e.o.Kind.usesLoss():
		full = nil
	}
	for t, size := range w.sizes {
		u := make([]float64, size)
		groupUnary(&e.p.groups, weights, &w.compiled, t, u)
		for b := range u {
			if e.o.Kind == HammingMargin && b != int(w.gold[t]) {
				u[b] += e.o.Gamma
			}
			if full != nil && full[t] != nil && full[t][b] < 0 {
				u[b] = math.Inf(-1)
			}
		}
		at := int(f.pairAt[w.pair[t]]) - f.bigrams.Len()
		row := out[w.shape.pairs[t]:w.shape.pairs[t+1]]
		for i := range row {
			row[i] = e.score.Scores[at+i]/e.o.beta() + u[i%size]
		}
	}
	return out
}

// enumerate evaluates an objective on one word by going through its label
// strings.
func enumerate(e *evaluation, w *word, weights []float64) (value float64, grad []float64) {
	o := &e.o
	inv := e.p.Inventory
	score := logScores(e, w, weights) // -Inf outside of a restricted lattice
	grad = make([]float64, len(score))
	type path struct {
		at    []int
		theta float64
		loss  float64
		right bool
	}
	var paths []path
	var gold path
	u := make([]int32, len(w.x))
	for {
		var q path
		left, allowed, wrong := 0, true, 0
		var spelt []int
		for t, b := range u {
			at := w.shape.pairs[t] + left*w.sizes[t] + int(b)
			q.at = append(q.at, at)
			q.theta += score[at]
			left = int(b)
			if b != w.gold[t] {
				wrong++
			}
			spelt = append(spelt, inv.Labels[inv.Allowed[w.x[t]][b]]...)
		}
		allowed = !math.IsInf(q.theta, -1)
		q.loss = float64(table(spelt, w.ref))
		if o.Kind == NGramMargin {
			q.loss = e.p.opts.NGram.Value(spelt, w.ref)
		}
		q.right = slices.Equal(spelt, w.ref)
		if wrong == 0 {
			gold = q
		}
		if allowed {
			paths = append(paths, q)
		}
		t := len(u) - 1
		for ; t >= 0; t-- {
			if u[t]++; int(u[t]) < w.sizes[t] {
				break
			}
			u[t] = 0
		}
		if t < 0 {
			break
		}
	}
	add := func(f float64, weight func(path) float64) float64 {
		z := 0.0
		for _, q := range paths {
			z += weight(q)
		}
		for _, q := range paths {
			for _, at := range q.at {
				grad[at] += f * weight(q) / z
			}
		}
		return math.Log(z)
	}
	minusGold := func(f float64) float64 {
		for _, at := range gold.at {
			grad[at] -= f
		}
		return gold.theta
	}
	plain := func(q path) float64 { return math.Exp(q.theta) }
	switch o.Kind {
	case CrossEntropy, HammingMargin: // the margin is in the scores already
		value = add(1, plain) - minusGold(1)
	case SoftmaxMargin, MaxMargin, NGramMargin:
		b := o.beta()
		value = add(1, func(q path) float64 { return math.Exp(b * (q.theta + o.Gamma*q.loss)) })/b - minusGold(1)
	case LatentMargin:
		value = add(1, func(q path) float64 { return math.Exp(q.theta + o.Gamma*q.loss) })
		value -= add(-1, func(q path) float64 {
			if !q.right {
				return 0
			}
			return math.Exp(q.theta)
		})
	case RiskMix:
		z, mean := 0.0, 0.0
		for _, q := range paths {
			z += plain(q)
			mean += plain(q) * q.loss
		}
		mean /= z
		for _, q := range paths {
			for _, at := range q.at {
				grad[at] += o.Mix * plain(q) / z * (q.loss - mean)
			}
		}
		value = o.Mix*mean + (1-o.Mix)*(add(1-o.Mix, plain)-minusGold(1-o.Mix))
	}
	return value, grad
}

// table is the edit distance by the whole table.
func table(a, b []int) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			switch {
			case i == 0:
				d[i][j] = j
			case j == 0:
				d[i][j] = i
			case a[i-1] == b[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j-1], d[i-1][j], d[i][j-1])
			}
		}
	}
	return d[len(a)][len(b)]
}

// The sweeps of this package agree with the shared evaluator of package losses
// on the loss machines of real words.
func TestSweepsAgainstEvaluator(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	p := prepared(t, words(t, "ice", "train", 120), nil)
	var b graphBuilder
	var ev losses.Evaluator
	var r losses.Result
	for _, gamma := range []float64{1, 4, -2} {
		e := p.evaluation(Objective{Kind: SoftmaxMargin, Gamma: gamma}, 1)
		risk := p.evaluation(Objective{Kind: RiskMix, Mix: 1}, 1)
		w := random(rng, e.Dim(), 0.3)
		for _, x := range []*evaluation{e, risk} {
			if _, err := x.Eval(w, make([]float64, x.Dim())); err != nil {
				t.Fatal(err)
			}
		}
		for i := range p.words {
			word := &p.words[i]
			labels := make(losses.Expansions, len(word.x))
			for s, x := range word.x {
				for _, l := range p.Inventory.Allowed[x] {
					labels[s] = append(labels[s], p.Inventory.Labels[l])
				}
			}
			m, err := b.expand.Build(word.ref, labels, nil)
			if err != nil {
				t.Fatal(err)
			}
			pot := losses.NewLatticePotentials(word.sizes, 2)
			score := logScores(e, word, w)
			gold, left := 0.0, 0
			for s, row := range pot.Theta {
				copy(row, score[word.shape.pairs[s]:word.shape.pairs[s+1]])
				gold += row[left*word.sizes[s]*min(s, 1)+int(word.gold[s])]
				left = int(word.gold[s])
			}
			if err := ev.Eval(m, pot, gamma, losses.WantMarginals|losses.WantRisk|losses.WantRiskGradient, &r); err != nil {
				t.Fatal(err)
			}
			if d := math.Abs(r.LogZ - gold - e.value[i]); !(d < 1e-9) {
				t.Fatalf("word %d: value %v, evaluator %v", i, e.value[i], r.LogZ-gold)
			}
			if d := math.Abs(r.Risk - risk.value[i]); !(d < 1e-10) {
				t.Fatalf("word %d: risk %v, evaluator %v", i, risk.value[i], r.Risk)
			}
			own, riskOwn := gradientOf(t, e, word, w), gradientOf(t, risk, word, w)
			new(scorer).subtractGold(word, -1, own) // leaves the marginals
			for s, row := range r.Marginals {
				for z, q := range row {
					at := word.shape.pairs[s] + z
					if d := math.Abs(q - own[at]); !(d < 1e-10) {
						t.Fatalf("word %d: marginal %v, evaluator %v", i, own[at], q)
					}
					if d := math.Abs(r.RiskGradient[s][z] - riskOwn[at]); !(d < 1e-9) {
						t.Fatalf("word %d: risk gradient %v, evaluator %v", i, riskOwn[at], r.RiskGradient[s][z])
					}
				}
			}
		}
	}
}

// Sums in logarithms give what the fast sweeps give, and go on where those
// cannot: weights in the hundreds, a margin beyond the range of floats.
func TestSlowSweeps(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	p := prepared(t, words(t, "ady", "train", 800)[600:700], &Options{MaxEdges: 60})
	if p.Stats.Restricted == 0 {
		t.Fatal("no lattice was restricted")
	}
	for _, o := range objectives() {
		o, err := o.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		e := p.evaluation(o, 1)
		w := random(rng, e.Dim(), 0.4)
		checkGradient(t, e, w, rng, 1e-6)
	}
	// Far out the whole evaluation is finite, and its gradient is right.
	for _, o := range []Objective{{Kind: LatentMargin, Gamma: 200}, {Kind: MaxMargin, Gamma: 50, Beta: 6}, {Kind: CrossEntropy}} {
		e := p.evaluation(o, 2)
		w := random(rng, e.Dim(), 100)
		checkGradient(t, e, w, rng, 1e-4)
	}
}

// checkGradient compares the gradient with central differences along random
// directions.
func checkGradient(t *testing.T, e *evaluation, w []float64, rng *rand.Rand, tol float64) {
	t.Helper()
	grad := make([]float64, len(w))
	if _, err := e.Eval(w, grad); err != nil {
		t.Fatalf("%v: %v", e.o, err)
	}
	for range 3 {
		d := random(rng, len(w), 1)
		dot := 0.0
		for i := range d {
			dot += d[i] * grad[i]
		}
		const h = 1e-5
		at := func(s float64) float64 {
			x := slices.Clone(w)
			for i := range x {
				x[i] += s * d[i]
			}
			v, err := e.Eval(x, nil)
			if err != nil {
				t.Fatalf("%v: %v", e.o, err)
			}
			return v
		}
		if slope := (at(h) - at(-h)) / (2 * h); !(math.Abs(slope-dot) < tol*max(1, math.Abs(dot))) {
			t.Fatalf("%v: slope %v, gradient says %v", e.o, slope, dot)
		}
	}
}

func TestGradients(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	p := prepared(t, words(t, "gre", "train", 100), nil)
	for _, o := range objectives() {
		o, err := o.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		e := p.evaluation(o, 1)
		checkGradient(t, e, random(rng, e.Dim(), 0.3), rng, 1e-6)
	}
}

// Any number of workers gives the same bits.
func TestWorkersDoNotMatter(t *testing.T) {
	pairs := words(t, "ice", "train", 150)
	var want []float64
	var value float64
	for i, workers := range []int{1, 2, 5} {
		p := prepared(t, pairs, &Options{Workers: workers})
		e := p.evaluation(DefaultObjective(LatentMargin), workers)
		w, grad := random(rand.New(rand.NewPCG(6, 6)), e.Dim(), 0.3), make([]float64, e.Dim())
		v, err := e.Eval(w, grad)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			want, value = grad, v
		} else if v != value || !slices.Equal(grad, want) {
			t.Fatalf("%d workers: another result", workers)
		}
	}
}

// Merged features are the features: the value of cross-entropy is what a model
// with all weights gives, and weights survive the way there and back.
func TestGroupsAreFeatures(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	pairs := words(t, "gre", "train", 120)
	p := prepared(t, pairs, nil)
	if p.Stats.Trained >= p.Stats.Weights {
		t.Fatalf("nothing was merged: %d weights of %d", p.Stats.Trained, p.Stats.Weights)
	}
	o := Objective{Kind: CrossEntropy, L2: 0.7}
	e := p.evaluation(o, 1)
	x := random(rng, e.Dim(), 0.4)
	value, err := e.Eval(x, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := p.Model(o, x)
	sum := 0.0
	for _, w := range m.Weights {
		sum += o.L2 / 2 * w * w
	}
	for i := range p.words {
		w := &p.words[i]
		c := p.Features.compile(w.x)
		var s scores
		m.score(&c, &s)
		left := 0
		for k, b := range w.gold {
			sum -= s.unary[s.shape.unary[k]+int(b)] + s.binary[s.shape.pairs[k]+left*s.sizes[k]+int(b)]
			left = int(b)
		}
		sum += s.logZ()
	}
	if !(math.Abs(sum-value) < 1e-9*value) {
		t.Fatalf("the problem's value is %v, the model's %v", value, sum)
	}
	for i, y := range p.Features.project(&p.groups, m.Weights) {
		if !(math.Abs(y-x[i]) < 1e-12) {
			t.Fatalf("weight %d came back as %v, not %v", i, y, x[i])
		}
	}
}

// A few words are learned by heart, whatever the objective.
func TestOverfit(t *testing.T) {
	pairs := words(t, "gre", "train", 30)
	p := prepared(t, pairs, nil)
	for _, kind := range Kinds() {
		o := DefaultObjective(kind)
		o.L2 = 0.001
		m, res, err := p.Fit(context.Background(), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !res.Reason.Converged() {
			t.Errorf("%v ended by %q", o, res.Reason)
		}
		for i := range p.words {
			q := pairs[p.words[i].index]
			got, err := m.Predict(q.Word, nil)
			if err != nil || !slices.Equal(got, q.Phones) {
				t.Errorf("%v: %q is read %v, should be %v (%v)", o, q.Word, got, q.Phones, err)
			}
		}
	}
}

func TestFitStops(t *testing.T) {
	p := prepared(t, words(t, "gre", "train", 60), nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := p.Fit(ctx, DefaultObjective(CrossEntropy), nil); err == nil {
		t.Error("a cancelled fit returned no error")
	}
	if _, err := Prepare(ctx, words(t, "gre", "train", 60), nil); err == nil {
		t.Error("a cancelled preparation returned no error")
	}
	for _, o := range []Objective{{Kind: "best"}, {Kind: LatentMargin, Gamma: math.NaN()}, {L2: -1}, {Kind: RiskMix, Mix: 2}, {Kind: MaxMargin, Beta: -1}} {
		if _, _, err := p.Fit(context.Background(), o, nil); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	if _, _, err := p.Fit(context.Background(), Objective{L2: 1}, &FitOptions{Init: []float64{1}}); err == nil {
		t.Error("a start of the wrong length was accepted")
	}
	// A start at the answer ends at once.
	o := DefaultObjective(CrossEntropy)
	m, first, err := p.Fit(context.Background(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, again, err := p.Fit(context.Background(), o, &FitOptions{Init: m.Weights})
	if err != nil || again.F > first.F+1e-9*first.F || again.Iterations > first.Iterations/2 {
		t.Errorf("from %v in %d iterations, then %v in %d more: %v", first.F, first.Iterations, again.F, again.Iterations, err)
	}
}

func Example() {
	pairs := []Pair{
		{Word: "ship", Phones: []string{"ʃ", "ɪ", "p"}}, {Word: "shop", Phones: []string{"ʃ", "ɒ", "p"}}, {Word: "sip", Phones: []string{"s", "ɪ", "p"}},
		{Word: "hip", Phones: []string{"h", "ɪ", "p"}}, {Word: "posh", Phones: []string{"p", "ɒ", "ʃ"}}, {Word: "box", Phones: []string{"b", "ɒ", "k", "s"}},
		{Word: "six", Phones: []string{"s", "ɪ", "k", "s"}}, {Word: "hop", Phones: []string{"h", "ɒ", "p"}}, {Word: "fish", Phones: []string{"f", "ɪ", "ʃ"}},
		{Word: "fox", Phones: []string{"f", "ɒ", "k", "s"}}, {Word: "mix", Phones: []string{"m", "ɪ", "k", "s"}}, {Word: "mop", Phones: []string{"m", "ɒ", "p"}},
	}
	m, err := Train(context.Background(), pairs, DefaultObjective(LatentMargin), nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, word := range []string{"shox", "hish", "pix"} {
		phones, err := m.Predict(word, nil)
		fmt.Println(word, phones, err)
	}
	// Output:
	// shox [ʃ ɒ k s] <nil>
	// hish [h ɪ ʃ] <nil>
	// pix [p ɪ k s] <nil>
}

// Margins between those that the fast sweeps can count and those beyond every number:
// the fast sweeps must say in time that they cannot.
func TestLargeMargins(t *testing.T) {
	var pairs []Pair
	for i := range 40 {
		phones := []string{}
		for range i % 4 {
			phones = append(phones, "A", "B", "C")
		}
		pairs = append(pairs, Pair{Word: strings.Repeat("x", 1+i%12), Phones: append(phones, "D")})
	}
	p := prepared(t, pairs, nil)
	for gamma := 30.0; gamma <= 130; gamma += 10 {
		for _, kind := range []Kind{LatentMargin, MaxMargin} {
			o, err := Objective{Kind: kind, Gamma: gamma, L2: 1}.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			e := p.evaluation(o, 1)
			grad := make([]float64, e.Dim())
			if _, err := e.Eval(make([]float64, e.Dim()), grad); err != nil {
				t.Fatal(err)
			}
			for i, g := range grad {
				if math.IsNaN(g) || math.IsInf(g, 0) {
					t.Fatalf("%v, gamma %v: gradient[%d] is %v", kind, gamma, i, g)
				}
			}
		}
	}
}
