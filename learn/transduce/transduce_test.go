package transduce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// tiny are pairs over few characters, so that every alignment can be listed.
func tiny() *Data {
	pair := func(x, y string, tags ...string) Pair { return Pair{Input: x, Output: y, Tags: tags} }
	return &Data{Labelled: true, Pairs: []Pair{pair("ab", "abb", "P"), pair("ba", "ab", "S"), pair("aab",
		"b", "P"),
		pair("b", "", "S"), pair("a", "bba", "P", "Q"), pair("abab", "abab")}}
}

func prepared(t *testing.T, d *Data, o Options) *Problem {
	t.Helper()
	p, err := Prepare(d, &o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// enumerated is one alignment, listed without the lattice: an output, its operations, and the
// features that it has.
type enumerated struct {
	output   []rune
	features map[key]float64
	wrong    float64 // operations that differ from the best alignment
	gold     bool
}

// enumerate lists all alignments of an input with at most so many insertions between characters.
func enumerate(f *features, t *text, gold *edits, most int) []enumerated {
	var out []enumerated
	var e edits
	var inserts [][]op
	var symbols []op
	for s := range f.a.runes {
		symbols = append(symbols, insertion(uint16(s+1)))
	}
	inserts = append(inserts, nil)
	for from, length := 0, 1; length <= most; length++ {
		end := len(inserts)
		for _, head := range inserts[from:end] {
			for _, s := range symbols {
				inserts = append(inserts, append(slices.Clone(head), s))
			}
		}
		from = end
	}
	finish := func() {
		x := enumerated{features: map[key]float64{}, gold: true}
		for _, p := range f.path(t, &e) {
			f.visit(t, &p, func(k key) { x.features[k] += f.value(k.template) })
		}
		for i, ins := range e.insert {
			for k, o := range ins {
				_, n := f.a.emits(t, i, o)
				x.output = append(x.output, f.a.runes[n-1])
				if k >= len(gold.insert[i]) || gold.insert[i][k] != o {
					x.wrong++
				}
			}
			x.wrong += float64(max(0, len(gold.insert[i])-len(ins)))
			if i < len(e.at) {
				if r, _ := f.a.emits(t, i, e.at[i]); r != 0 {
					x.output = append(x.output, r)
				}
				if e.at[i] != gold.at[i] {
					x.wrong++
				}
			}
		}
		x.gold = x.wrong == 0
		out = append(out, x)
	}
	var step func(i int)
	step = func(i int) {
		for _, ins := range inserts {
			e.insert = append(e.insert[:i:i], ins)
			if i == len(t.x) {
				finish()
				continue
			}
			choices := []op{opCopy, opDelete}
			for s, r := range f.a.runes {
				if r != t.x[i] {
					choices = append(choices, substitution(uint16(s+1)))
				}
			}
			for _, o := range choices {
				e.at = append(e.at[:i:i], o)
				step(i + 1)
			}
		}
	}
	step(0)
	return out
}

// Lattices have every alignment once, with the scores, losses and truths that an enumeration of all
// operations gives, for every objective and loss.
func TestObjectivesAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, d := range []struct {
		insertions int
		pairs      []Pair
	}{
		{1, []Pair{{Input: "ab", Output: "abb", Tags: []string{"P"}}, {Input: "ba", Output: "c",
			Tags: []string{"S"}}}},
		{2, []Pair{{Input: "b", Output: "", Tags: []string{"S", "P"}}, {Input: "a", Output: "bca"}}},
	} {
		data := &Data{Labelled: true, Pairs: d.pairs}
		for _, loss := range []string{"edit", "hamming", "zero-one"} {
			p := prepared(t, data, Options{Loss: loss, Beam: 100, Insertions: d.insertions})
			x := make([]float64, p.Dim())
			for j := range x {
				x[j] = rng.NormFloat64()
			}
			for i := range d.pairs {
				text := p.a.text(&d.pairs[i])
				all := enumerate(p.f, text, goldOf(t, p, data, i), d.insertions)
				for _, o := range []Options{{Objective: likelihood}, {Objective: margin, Gamma: 1.5},
					{Objective: maxMargin, Gamma: 0.7, Beta: 3},
					{Objective: risk, Gamma: 2}, {Objective: margin, Gamma: 1, Alignment: "best"}} {
					terms := p.terms(&o)
					got, err := terms.Worker().Eval(i, x, nil)
					if err != nil {
						t.Fatal(err)
					}
					if want := direct(p, &terms.objective, all, text, loss,
						x); math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
						t.Errorf("%s of %s: pair %d: %v, by enumeration of %d alignments %v", o.Objective, loss, i, got,
							len(all), want)
					}
				}
			}
		}
	}
}

// goldOf repeats how Prepare aligns a pair.
func goldOf(t *testing.T, p *Problem, d *Data, i int) *edits {
	t.Helper()
	var texts []*text
	for k := range d.Pairs {
		texts = append(texts, p.a.text(&d.Pairs[k]))
	}
	_, aligned, err := newChannel(context.Background(), p.a, texts, p.o.Insertions, 1)
	if err != nil {
		t.Fatal(err)
	}
	return aligned[i]
}

// direct computes an objective from its definition.
func direct(p *Problem, o *objective, all []enumerated, text *text, loss string, x []float64) float64 {
	beta, gamma := 1.0, 0.0
	if o.kind == maxMargin {
		beta, gamma = o.beta, o.gamma
	}
	if o.kind == margin {
		gamma = o.gamma
	}
	var z, right, plain []float64
	var costs []float64
	for _, e := range all {
		s := 0.0
		for k, v := range e.features {
			if id := p.f.table.Find(k); id != fst.NoState {
				s += v * x[id]
			}
		}
		same := slices.Equal(e.output, text.y)
		var l float64
		switch loss {
		case "edit":
			l = float64(metrics.EditDistance(e.output, text.y))
		case "hamming":
			l = e.wrong
		default:
			if !same {
				l = 1
			}
		}
		z, plain, costs = append(z, beta*(s+gamma*l)), append(plain, s), append(costs, l)
		if same && (!o.aligned || e.gold) {
			right = append(right, beta*s)
		}
	}
	value := (logSum(z...) - logSum(right...)) / beta
	if o.kind == risk {
		n := logSum(plain...)
		for i, s := range plain {
			value += o.gamma * costs[i] * math.Exp(s-n)
		}
	}
	return value
}

// Gradients are those of central differences.
func TestGradients(t *testing.T) {
	d := tiny()
	rng := rand.New(rand.NewPCG(3, 4))
	for _, loss := range []string{"edit", "hamming"} {
		p := prepared(t, d, Options{Loss: loss, Beam: 12, Insertions: 2, Order: 3})
		for _, o := range []Options{{Objective: likelihood}, {Objective: margin, Gamma: 1.5},
			{Objective: maxMargin, Gamma: 0.7, Beta: 3},
			{Objective: risk, Gamma: 2}, {Objective: risk, Gamma: 1, Alignment: "best"}} {
			f := optim.NewSum(p.terms(&o), nil)
			x := make([]float64, f.Dim())
			for j := range x {
				x[j] = 0.3 * rng.NormFloat64()
			}
			r, err := losses.CheckGradient(f.Eval, x, 40, rand.New(rand.NewPCG(5, 6)))
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Err(1e-6); err != nil {
				t.Errorf("%s of %s: %v", o.Objective, loss, err)
			}
		}
	}
}

// The sums agree with the engine's: log Z with exp(γL) and the expected loss, of the lattice as an
// acceptor and of losses.Edit as an automaton.
func TestAgainstTheEngine(t *testing.T) {
	d := tiny()
	p := prepared(t, d, Options{Beam: 6, Insertions: 2})
	rng := rand.New(rand.NewPCG(7, 8))
	x := make([]float64, p.Dim())
	for j := range x {
		x[j] = rng.NormFloat64()
	}
	o := Options{Objective: margin, Gamma: 0.8}
	terms := p.terms(&o)
	for i := range p.words {
		w := &p.words[i]
		score := w.scores(x, terms.scale, nil)
		f := fst.NewVector[semiring.Log64](0)
		f.AddStates(w.states)
		f.SetStart(0)
		f.SetFinal(fst.StateID(w.states-1), 0)
		shape := fst.NewVector[semiring.Log64](0) // the strings alone
		shape.AddStates(w.states)
		shape.SetStart(0)
		shape.SetFinal(fst.StateID(w.states-1), 0)
		for _, e := range w.arcs {
			l := fst.Label(numberOf(p.a.runes, e.out))
			f.AddArc(fst.StateID(e.from), fst.Arc[semiring.Log64]{ILabel: l, OLabel: l, NextState: fst.StateID(e.to),
				Weight: semiring.Log64(-(score[e.place] + score[e.past]))})
			shape.AddArc(fst.StateID(e.from), fst.Arc[semiring.Log64]{ILabel: l, OLabel: l,
				NextState: fst.StateID(e.to)})
		}
		var ref []int
		for _, r := range d.Pairs[i].Output {
			ref = append(ref, int(numberOf(p.a.runes, r))-1)
		}
		b, err := losses.Unit.Automaton(shape, ref, len(p.a.runes), nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := (&losses.Lattice{A: f}).Eval(b, o.Gamma, losses.WantRisk|losses.WantPlain, ops.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var s sweep
		z, _ := s.forward(w.lattice, score, 1, o.Gamma, nil, false)
		z0, mean := s.forward(w.lattice, score, 1, 0, nil, true)
		for _, v := range []struct {
			what      string
			got, want float64
		}{{"log Z with the loss", z, want.LogZ}, {"log Z", z0, want.LogZ0}, {"expected loss", mean, want.Risk}} {
			if math.Abs(v.got-v.want) > 1e-9*(1+math.Abs(v.want)) {
				t.Errorf("pair %d: %s is %v, of the engine %v", i, v.what, v.got, v.want)
			}
		}
	}
}

// A beam keeps the alignments whose probability by the channel is within it of the best, and no
// other.
func TestBeam(t *testing.T) {
	d := tiny()
	p := prepared(t, d, Options{Insertions: 2})
	for i := range d.Pairs[:3] {
		text := p.a.text(&d.Pairs[i])
		probs := p.channel.probs(text, nil)
		var scores []float64
		for _, e := range enumerateEdits(p.a, text, 2) {
			scores = append(scores, channelScore(probs, e))
		}
		best := slices.Max(scores)
		total := 0.0
		for _, s := range scores {
			total += math.Exp(s)
		}
		if math.Abs(total-1) > 1e-9 {
			t.Errorf("pair %d: the channel's probabilities sum to %v", i, total)
		}
		for _, beam := range []float64{0.5, 2, 5} {
			want := 0
			for _, s := range scores {
				if s >= best-beam {
					want++
				}
			}
			b := p.builder(context.Background(), text)
			b.p, b.beam = probs, beam
			l, err := b.build()
			if err != nil {
				t.Fatal(err)
			}
			// A state merges paths of one history, so others may come in by it.
			if got := int(paths(l)); got < want || beam < 1 && got > 3*want {
				t.Errorf("pair %d, beam %v: %d paths, %d are within the beam", i, beam, got, want)
			}
		}
	}
}

func enumerateEdits(a *alphabet, t *text, most int) []*edits {
	var out []*edits
	var step func(e edits, i, k int)
	step = func(e edits, i, k int) {
		clone := func() edits {
			c := edits{at: slices.Clone(e.at)}
			for _, in := range e.insert {
				c.insert = append(c.insert, slices.Clone(in))
			}
			return c
		}
		if k < most {
			for s := range a.runes {
				c := clone()
				c.insert[i] = append(c.insert[i], insertion(uint16(s+1)))
				step(c, i, k+1)
			}
		}
		if i == len(t.x) {
			c := clone()
			out = append(out, &c)
			return
		}
		for s := -2; s < len(a.runes); s++ {
			o := op(s + 2)
			if s >= 0 {
				if o = substitution(uint16(s + 1)); a.runes[s] == t.x[i] {
					continue
				}
			}
			c := clone()
			c.at, c.insert = append(c.at, o), append(c.insert, nil)
			step(c, i+1, 0)
		}
	}
	step(edits{insert: [][]op{nil}}, 0, 0)
	return out
}

func channelScore(p *probs, e *edits) float64 {
	s := 0.0
	for i, in := range e.insert {
		for k, o := range in {
			s += p.of(i, k, o)
		}
		s += p.gaps(i, len(in))[0]
		if i < len(e.at) {
			s += p.of(i, 0, e.at[i])
		}
	}
	return s
}

func paths(l *lattice) float64 {
	n := make([]float64, l.states)
	n[0] = 1
	for _, e := range l.arcs {
		n[e.to] += n[e.from]
	}
	return n[l.states-1]
}

// Merged outputs have the probabilities that adding over all paths gives, and the order of them.
func TestMerged(t *testing.T) {
	d := tiny()
	p := prepared(t, d, Options{Insertions: 2, Beam: 4})
	m, _, err := p.Fit(&Options{L2: 0.1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Pairs {
		s, err := m.lattice(context.Background(), m.a.text(&d.Pairs[i]), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		sum := map[string]float64{}
		total := 0.0
		var walk func(q int32, out string, score float64)
		from := make([][]*arc, s.states)
		for k := range s.arcs {
			from[s.arcs[k].from] = append(from[s.arcs[k].from], &s.arcs[k])
		}
		walk = func(q int32, out string, score float64) {
			if int(q) == s.states-1 {
				sum[out] += math.Exp(score)
				total += math.Exp(score)
				return
			}
			for _, e := range from[q] {
				next := out
				if e.out != 0 {
					next += string(e.out)
				}
				walk(e.to, next, score+s.of(e))
			}
		}
		walk(0, "", 0)
		got, err := s.merged(context.Background(), 5)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) < min(5, len(sum)) && len(got) == 0 {
			t.Errorf("pair %d: %d outputs of %d", i, len(got), len(sum))
		}
		for k, h := range got {
			// What is left out is below exp(-9) of the best path, each.
			want := sum[h.Output] / total
			if p := math.Exp(h.LogProb); p > want*(1+1e-9) || p < want*0.98 {
				t.Errorf("pair %d: %q has probability %v, over all paths %v", i, h.Output, p, want)
			}
			if k > 0 && h.LogProb > got[k-1].LogProb {
				t.Errorf("pair %d: outputs are out of order: %v", i, got)
			}
		}
	}
}

// plurals are made by a rule that no table of training words holds: s, but es after s and x, and
// ies for a y.
func plurals(n int, seed uint64) []Pair {
	rng := rand.New(rand.NewPCG(seed, 0))
	var out []Pair
	for range n {
		var b []byte
		for range 2 + rng.IntN(4) {
			b = append(b, "abdesxy"[rng.IntN(7)])
		}
		x := string(b)
		p := Pair{Input: x, Output: x, Tags: []string{"N", "SG"}}
		if rng.IntN(3) > 0 {
			p.Tags[1] = "PL"
			switch last := b[len(b)-1]; last {
			case 's', 'x':
				p.Output = x + "es"
			case 'y':
				p.Output = x[:len(x)-1] + "ies"
			default:
				p.Output = x + "s"
			}
		}
		out = append(out, p)
	}
	return out
}

// A rule with context is learnt from 150 words by every objective and solver, and holds for new
// words.
func TestLearnsARule(t *testing.T) {
	train, test := &Data{Pairs: plurals(150, 1), Labelled: true}, &Data{Pairs: plurals(100, 2), Labelled: true}
	for _, o := range []Options{{}, {Objective: likelihood, Loss: "zero-one"}, {Loss: "hamming"},
		{Objective: maxMargin}, {Objective: risk},
		{Alignment: "best"}, {Solver: "adam", Rate: 0.1}} {
		o.Insertions = 3
		m, _, err := Train(train, &o, &run.Control{Stop: run.Stop{Iterations: 40}})
		if err != nil {
			t.Fatal(err)
		}
		q, err := m.Predict(context.Background(), test, 0)
		if err != nil {
			t.Fatal(err)
		}
		if j := q.Judge(test); j[0].Value > 3 {
			t.Errorf("%+v: %v", o, j)
		}
	}
}

// Pairs whose given alignment is outside of the beam are trained on by it all the same: reduplication
// and infixes, with few pairs and a narrow beam.
func TestAlignmentOutsideTheBeam(t *testing.T) {
	var pairs []Pair
	for i, x := range []string{"bukas", "halik", "takbo", "sulat", "kain", "inom", "lakad", "bili", "gawa", "tulog"} {
		y := x[:2] + x
		if i%2 == 0 {
			y = x[:1] + "um" + x[1:2] + x
		}
		pairs = append(pairs, Pair{Input: x, Output: y})
	}
	for _, beam := range []float64{0.5, 2, 7} {
		o := &Options{Alignment: "best", Beam: beam, Insertions: 5}
		if _, _, err := Train(&Data{Pairs: pairs, Labelled: true}, o, &run.Control{Stop: run.Stop{Iterations: 5}}); err != nil {
			t.Errorf("beam %v: %v", beam, err)
		}
	}
}

// A model of pairs without tags reads none: an input with tags has the output that it has without.
func TestTagsOfNoMeaning(t *testing.T) {
	without := func(pairs []Pair) []Pair {
		for i := range pairs {
			pairs[i].Tags = nil
		}
		return pairs
	}
	m, _, err := Train(&Data{Pairs: without(plurals(60, 1)), Labelled: true}, &Options{Insertions: 3},
		&run.Control{
			Stop: run.Stop{Iterations: 20}})
	if err != nil {
		t.Fatal(err)
	}
	var got []*Predictions
	for _, pairs := range [][]Pair{without(plurals(60, 2)), plurals(60, 2)} {
		q, err := m.Predict(t.Context(), &Data{Pairs: pairs, Decode: DecodeOptions{NBest: 2}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, q)
	}
	if d := cmp.Diff(got[0].Each, got[1].Each); d != "" {
		t.Error(d)
	}
}

// A model that is written and read predicts the same bits, in every decoding and with a lexicon;
// and so do models trained with other numbers of workers.
func TestSaved(t *testing.T) {
	words := []Entry{{"ab", 0.5}, {"aab", 1}, {"bb", 0}, {"", 2}, {"aXb", 3}}
	lexicon, err := NewLexicon(words)
	if err != nil {
		t.Fatal(err)
	}
	d := &Data{Labelled: true, Lexicon: lexicon, Pairs: []Pair{{Input: "ab", Output: "ab"}, {Input: "ba",
		Output: "bb"},
		{Input: "aa", Output: "aab"}, {Input: "bba", Output: "bb"}, {Input: "b", Output: ""}}}
	var files [][]byte
	for _, workers := range []int{1, 3} {
		m, _, err := Train(d, &Options{Insertions: 2}, &run.Control{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			t.Fatal(err)
		}
		files = append(files, b.Bytes())
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("three workers make another model than one")
	}
	m, _, err := Train(d, &Options{Insertions: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Read(bytes.NewReader(files[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, decoding := range Decodings() {
		q := &Data{Pairs: []Pair{{Input: "abb"}, {Input: "a?"}, {Input: "bbbbbb"}},
			Decode: DecodeOptions{Decoding: decoding, NBest: 3}}
		a, err := m.Predict(context.Background(), q, 1)
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Predict(context.Background(), q, 2)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%s: the model that was read predicts otherwise: %s", decoding, diff)
		}
		for i, p := range a.Each {
			if !p.Found || !lexicon.Has(p.Output) {
				t.Errorf("%s: %q becomes %q, which is not in the lexicon", decoding, q.Pairs[i].Input, p.Output)
			}
		}
	}
	for n := 0; n < len(files[0]); n += 1 + len(files[0])/60 {
		if _, err := Read(bytes.NewReader(files[0][:n])); err == nil {
			t.Fatalf("a file cut to %d of %d bytes is read", n, len(files[0]))
		}
	}
	if diff := cmp.Diff(r.Explain(), m.Explain()); diff != "" {
		t.Error(diff)
	}
}

// With a lexicon the prediction is the best of its strings, found by scoring each alone.
func TestLexiconDecoding(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var words []Entry
	seen := map[string]bool{}
	for len(words) < 40 {
		var b []byte
		for range 1 + rng.IntN(5) {
			b = append(b, "abc"[rng.IntN(3)])
		}
		if !seen[string(b)] {
			seen[string(b)] = true
			words = append(words, Entry{string(b), float64(rng.IntN(4))})
		}
	}
	lexicon, err := NewLexicon(words)
	if err != nil {
		t.Fatal(err)
	}
	d := &Data{Labelled: true, Lexicon: lexicon}
	for _, w := range words[:20] {
		x := []byte(w.Word)
		x[rng.IntN(len(x))] = 'b'
		d.Pairs = append(d.Pairs, Pair{Input: string(x), Output: w.Word})
	}
	m, _, err := Train(d, &Options{Insertions: 3, Beam: 30}, nil)
	if err != nil {
		t.Fatal(err)
	}
	q := &Data{Pairs: []Pair{{Input: "abc"}, {Input: "cc"}, {Input: "bacab"}, {Input: "a"}}}
	p, err := m.Predict(context.Background(), q, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range q.Pairs {
		best, least := "", math.Inf(-1)
		for _, w := range words {
			one, err := NewLexicon([]Entry{w})
			if err != nil {
				t.Fatal(err)
			}
			s, err := m.lattice(context.Background(), m.a.text(&q.Pairs[i]), one, 60)
			if err != nil {
				t.Fatal(err)
			}
			if s.states == 0 {
				continue
			}
			if to, _ := s.best(); to[s.states-1] > least {
				best, least = w.Word, to[s.states-1]
			}
		}
		if p.Each[i].Output != best {
			t.Errorf("%q becomes %q, of the words alone %q is best", q.Pairs[i].Input, p.Each[i].Output, best)
		}
	}
}

// A machine as a lexicon may have cycles and ε, and more than one path for a string.
func TestLexiconOf(t *testing.T) {
	f := fst.NewVector[semiring.Tropical64](0)
	f.AddStates(3)
	f.SetStart(0)
	f.SetFinal(2, 0)
	add := func(q fst.StateID, l rune, w float64, to fst.StateID) {
		f.AddArc(q, fst.Arc[semiring.Tropical64]{ILabel: fst.Label(l), OLabel: fst.Label(l),
			Weight: semiring.Tropical64(w), NextState: to})
	}
	add(0, 'a', 1, 0)
	add(0, 0, 2, 1)
	add(1, 'b', 1, 2)
	add(0, 'b', 7, 2)
	x, err := LexiconOf(f)
	if err != nil {
		t.Fatal(err)
	}
	for word, in := range map[string]bool{"b": true, "aaab": true, "a": false, "ba": false, "": false} {
		if x.Has(word) != in {
			t.Errorf("%q: %v", word, x.Has(word))
		}
	}
	q, cost := x.f.Start(), 0.0
	for _, r := range "aab" { // by ε, which costs 2
		var c float64
		q, c = x.next(q, r)
		cost += c
	}
	if cost += float64(x.f.Final(q)); cost != 5 {
		t.Errorf("aab costs %v", cost)
	}
	add(1, 'c', 1, 2)
	arcs := slices.Clone(f.Arcs(1))
	arcs[1].OLabel = 'd'
	f.SetArcs(1, arcs)
	if _, err := LexiconOf(f); err == nil || !strings.Contains(err.Error(), "acceptor") {
		t.Errorf("a transducer is taken: %v", err)
	}
}

// Rows are the edit distance, for all strings up to a length.
func TestRows(t *testing.T) {
	for _, ref := range []string{"", "a", "abba", "abcab"} {
		r := newRows([]rune(ref))
		var walk func(q int32, s []rune, sum float64)
		walk = func(q int32, s []rune, sum float64) {
			if got, want := sum+r.end(q), float64(metrics.EditDistance(s, []rune(ref))); got != want {
				t.Fatalf("%q to %q: %v, not %v", string(s), ref, got, want)
			}
			if len(s) == 6 {
				return
			}
			for _, c := range "abz" {
				to, more := r.next(q, c)
				walk(to, append(s[:len(s):len(s)], c), sum+more)
			}
		}
		walk(0, nil, 0)
	}
}

func TestReadPairs(t *testing.T) {
	for _, x := range []struct {
		text string
		o    ReadOptions
		want []Pair
		err  string
	}{
		{"a\tb\n\nc\td\n", ReadOptions{}, []Pair{{Input: "a", Output: "b", Source: "f:1"}, {Input: "c",
			Output: "d", Source: "f:3"}}, ""},
		{"go\twent\tV;PST\n", ReadOptions{Format: Sigmorphon}, []Pair{{Input: "go", Output: "went",
			Tags: []string{"V", "PST"}, Source: "f:1"}}, ""},
		{"go\tV;PST\twent\n", ReadOptions{Format: TagsBefore}, []Pair{{Input: "go", Output: "went",
			Tags: []string{"V", "PST"}, Source: "f:1"}}, ""},
		{"go\n", ReadOptions{Unlabelled: true}, []Pair{{Input: "go", Source: "f:1"}}, ""},
		{"go\tV;PST\n", ReadOptions{Unlabelled: true, Tagged: true}, []Pair{{Input: "go", Tags: []string{"V",
			"PST"}, Source: "f:1"}}, ""},
		{"go\twent\tV\n", ReadOptions{Unlabelled: true}, []Pair{{Input: "go", Tags: []string{"V"},
			Source: "f:1"}}, ""},
		{"a\tb\nc\n", ReadOptions{}, nil, "f:2: 1 tab-separated fields; the first line has 2"},
		{"a\n", ReadOptions{}, nil, "f:1: there is no output"},
		{"\tb\n", ReadOptions{}, nil, "f:1: there is no input"},
		{"a\tb\tV;;X\n", ReadOptions{}, nil, "f:1: an empty tag"},
		{"a\tb\n", ReadOptions{Format: Sigmorphon}, nil, "f:1: there are no tags"},
		{"a\tb\tc\td\n", ReadOptions{}, nil, "f:1: 4 tab-separated fields"},
		{"a\t\xff\n", ReadOptions{}, nil, "f:1:3: byte 0xff is not UTF-8"},
	} {
		got, err := ReadPairs(strings.NewReader(x.text), "f", &x.o)
		if x.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), x.err) {
				t.Errorf("%q: error %v, not %s", x.text, err, x.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", x.text, err)
		}
		if diff := cmp.Diff(x.want, got); diff != "" {
			t.Errorf("%q: %s", x.text, diff)
		}
	}
}

func TestRefusals(t *testing.T) {
	long := strings.Repeat("a", maxLength+1)
	for _, x := range []struct {
		d    *Data
		o    Options
		want string
	}{
		{&Data{Labelled: true}, Options{}, "there is no pair"},
		{&Data{Pairs: []Pair{{Input: "a"}}}, Options{}, "no outputs"},
		{&Data{Labelled: true, Pairs: []Pair{{Input: long, Output: "a", Source: "f:7"}}}, Options{}, "f:7"},
		{&Data{Labelled: true, Pairs: []Pair{{Input: "a", Output: "aaaaa", Source: "f:7"}}},
			Options{Insertions: 1}, "raise insertions"},
		{tiny(), Options{Loss: "none"}, `loss: "none"`},
		{tiny(), Options{Order: 9}, "order: 9 is out of range"},
	} {
		_, _, err := Train(x.d, &x.o, nil)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("error %v, not %s", err, x.want)
		}
	}
	if _, err := Read(strings.NewReader("x")); !errors.Is(err, model.ErrFormat) {
		t.Errorf("reading garbage: %v", err)
	}
}

// A run that is resumed ends where the whole run does.
func TestResume(t *testing.T) {
	d := &Data{Pairs: plurals(60, 3), Labelled: true}
	o := &Options{Solver: "adam", Rate: 0.1, Insertions: 3}
	whole, _, err := Train(d, o, &run.Control{Stop: run.Stop{Iterations: 8}})
	if err != nil {
		t.Fatal(err)
	}
	var kept *run.Checkpoint
	ctx, cancel := context.WithCancelCause(context.Background())
	_, _, err = Train(d, o, &run.Control{Ctx: ctx, Stop: run.Stop{Iterations: 8},
		Checkpoint:      func(k *run.Checkpoint) error { kept = k; return nil },
		CheckpointEvery: 3, Recorder: run.RecorderFunc(func(r run.Row) error {
			if r.Iteration == 4 {
				cancel(errors.New("stopped here"))
			}
			return nil
		})})
	if err == nil || kept == nil {
		t.Fatalf("the run was not interrupted: %v", err)
	}
	again, _, err := Train(d, o, &run.Control{Resume: kept, Stop: run.Stop{Iterations: 8}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(whole.weights, again.weights) {
		t.Error("the resumed run ends elsewhere")
	}
	o.Gamma = 3
	if _, _, err := Train(d, o, &run.Control{Resume: kept, Stop: run.Stop{Iterations: 8}}); !errors.Is(err,
		run.ErrOther) {
		t.Errorf("resumed with another gamma: %v", err)
	}
}

func ExampleTrain() {
	var pairs []Pair
	for _, verb := range strings.Fields("walk talk play help jump look call want") {
		pairs = append(pairs, Pair{Input: verb, Output: verb + "ed", Tags: []string{"PST"}}, Pair{Input: verb,
			Output: verb, Tags: []string{"PRS"}})
	}
	m, _, err := Train(&Data{Pairs: pairs, Labelled: true}, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := m.Predict(context.Background(), &Data{Pairs: []Pair{{Input: "hunt", Tags: []string{"PST"}},
		{Input: "hunt", Tags: []string{"PRS"}}}}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Each[0].Output, p.Each[1].Output)
	// Output: hunted hunt
}
