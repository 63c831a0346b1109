package experiment

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/transduce"
)

// transduceMeasures are the figures of each objective: errors, edits, and p of McNemar's test on
// errors and of the paired t-test on edits, both against the first objective on the same strings.
var transduceMeasures = []string{"wrong, %", "edits", "p of wrong", "p of edits"}

// transduceMethod is an objective with the constants to choose from.
type transduceMethod struct {
	name  string
	base  transduce.Options
	gamma []float64 // nil where there is none
}

// transduceMethods begin with the loss that outputs are judged by.
var transduceMethods = []transduceMethod{
	{"margin of edits", transduce.Options{Objective: "margin", Loss: "edit"}, []float64{0.5, 1, 2, 4}},
	{"margin of operations (Hamming)", transduce.Options{Objective: "margin", Loss: "hamming"},
		[]float64{0.5, 1, 2, 4}},
	{"margin of wrong strings", transduce.Options{Objective: "margin", Loss: "zero-one"}, []float64{1, 2, 4, 8}},
	{"max-margin of edits", transduce.Options{Objective: "max-margin", Loss: "edit"}, []float64{0.5, 1, 2, 4}},
	{"cross-entropy", transduce.Options{Objective: "likelihood", Loss: "zero-one"}, nil},
	{"cross-entropy and expected edits", transduce.Options{Objective: "risk", Loss: "edit"}, []float64{0.5,
		1, 2, 4}},
}

var transduceL2 = []float64{0.1, 0.3, 1, 3}

// transduceTask is what a trial trains and tests on. Constants are chosen by the strings of held
// that come out wrong, of a model trained on rest.
type transduceTask struct {
	rest, held, train, test []transduce.Pair
	lexicon                 *transduce.Lexicon
	options                 transduce.Options // of lattices and features
	decode                  transduce.DecodeOptions
	baseline                *PredictionMethod // put behind the others; its values are complete
}

func (t *transduceTask) data(pairs []transduce.Pair) *transduce.Data {
	return &transduce.Data{Pairs: pairs, Labelled: true, Lexicon: t.lexicon, Decode: t.decode}
}

// trial trains every objective with the constants that it does best with. Gamma is chosen first, at
// an l2 of 0.3, then l2 at that gamma. Where l2 changes, gamma is not chosen again.
func (t *transduceTask) trial(ctx context.Context, workers int) ([]PredictionMethod, error) {
	control := &run.Control{Ctx: ctx, Workers: workers, Stop: run.Stop{Relative: 1e-3}}
	problems := map[string]*transduce.Problem{}
	rest := "rest"
	if len(t.rest) == len(t.train) {
		rest = "train"
	}
	prepared := func(part string, pairs []transduce.Pair, loss string) (*transduce.Problem, error) {
		key := part + " " + loss
		if p := problems[key]; p != nil {
			return p, nil
		}
		arcs := 0
		for _, p := range problems {
			arcs += p.Arcs()
		}
		if arcs > 1<<23 { // some 400 MB
			clear(problems)
		}
		o := t.options
		o.Loss = loss
		p, err := transduce.Prepare(t.data(pairs), &o, control)
		problems[key] = p
		return p, err
	}
	fit := func(part string, pairs, test []transduce.Pair, m *transduceMethod, gamma,
		l2 float64) (*transduce.Predictions, error) {
		p, err := prepared(part, pairs, m.base.Loss)
		if err != nil {
			return nil, err
		}
		o := m.base
		o.Gamma, o.L2 = gamma, l2
		model, _, err := p.Fit(&o, control)
		if err != nil {
			return nil, err
		}
		return model.Predict(ctx, t.data(test), workers)
	}
	type outcome struct {
		wrong []bool
		edits []float64
	}
	var first outcome
	var out []PredictionMethod
	for k := range transduceMethods {
		m := &transduceMethods[k]
		best, least := [2]float64{0, 0.3}, math.Inf(1)
		tried := map[[2]float64]bool{}
		try := func(gamma, l2 float64) error {
			if tried[[2]float64{gamma, l2}] {
				return nil
			}
			tried[[2]float64{gamma, l2}] = true
			p, err := fit(rest, t.rest, t.held, m, gamma, l2)
			if err != nil {
				return err
			}
			// Edits decide between settings with as many wrong strings.
			j := p.Judge(t.data(t.held))
			if v := j[0].Value + 1e-6*j[1].Value; v < least {
				best, least = [2]float64{gamma, l2}, v
			}
			return nil
		}
		for _, g := range m.gamma {
			if err := try(g, 0.3); err != nil {
				return nil, err
			}
		}
		gamma := best[0]
		for _, l2 := range transduceL2 {
			if err := try(gamma, l2); err != nil {
				return nil, err
			}
		}
		p, err := fit("train", t.train, t.test, m, best[0], best[1])
		if err != nil {
			return nil, err
		}
		var o outcome
		o.wrong, o.edits = p.Wrong(t.data(t.test))
		if k == 0 {
			first = o
		}
		out = append(out, method(m.name, fmt.Sprintf("gamma=%g l2=%g", best[0], best[1]), first.wrong, o.wrong,
			first.edits, o.edits))
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	if t.baseline != nil {
		out = append(out, *t.baseline)
	}
	return out, nil
}

// method is the row of one method beside the first.
func method(name, setting string, firstWrong, wrong []bool, firstEdits, edits []float64) PredictionMethod {
	m := PredictionMethod{Name: name, Setting: setting, Values: []float64{0, 0, 1, 1}}
	for i := range wrong {
		if wrong[i] {
			m.Values[0] += 100 / float64(len(wrong))
		}
		m.Values[1] += edits[i] / float64(len(wrong))
	}
	if t, err := metrics.McNemar(firstWrong, wrong); err == nil && t.P == t.P {
		m.Values[2] = float64(t.P)
	}
	if t, err := metrics.PairedT(firstEdits, edits); err == nil && t.P == t.P {
		m.Values[3] = float64(t.P)
	}
	return m
}

// TransduceOptions adjusts Transduce.
type TransduceOptions struct {
	*PredictionOptions
	Set       string   // "spelling", "inflection" or "ocr"
	Languages []string // of inflection
	Train     int      // training pairs, and of inflection development pairs at most; 0 is all
}

// Transduce compares objectives of the string transducer on tasks that are judged by strings. They
// are the correction of misspelt words by a lexicon, inflected forms of lemmas, and words whose
// letters were recognised, lost and doubled.
func Transduce(ctx context.Context, data fs.FS, o *TransduceOptions) (*PredictionReport, error) {
	switch o.Set {
	case "spelling":
		return transduceSpelling(ctx, data, o)
	case "inflection":
		return transduceInflection(ctx, data, o)
	}
	return transduceLetters(ctx, data, o)
}

// transduceSpelling has the draws of Spelling, and so its tests.
func transduceSpelling(ctx context.Context, data fs.FS, o *TransduceOptions) (*PredictionReport, error) {
	s, repetitions, err := readSpelling(data, o.PredictionOptions)
	if err != nil {
		return nil, err
	}
	return o.repeat(ctx, "Spelling correction from a lexicon by a transducer", transduceMeasures,
		[]string{s.part()}, repetitions,
		func(ctx context.Context, _ string, rng *rand.Rand) ([]PredictionMethod, error) {
			lexicon, train, test, err := s.sample(rng)
			if err != nil {
				return nil, err
			}
			if o.Train > 0 {
				train = train[:min(o.Train, len(train))]
			}
			held, rest := apartByWord(train, 5)
			text := func(x []int) string {
				var b strings.Builder
				for _, a := range x {
					b.WriteRune(s.letters[a])
				}
				return b.String()
			}
			pairs := func(list []pair) []transduce.Pair {
				var out []transduce.Pair
				for _, p := range list {
					out = append(out, transduce.Pair{Input: text(p.x), Output: text(p.y)})
				}
				return out
			}
			var entries []transduce.Entry
			for _, w := range lexicon {
				entries = append(entries, transduce.Entry{Word: text(w)})
			}
			x, err := transduce.NewLexicon(entries)
			if err != nil {
				return nil, err
			}
			t := &transduceTask{rest: pairs(rest), held: pairs(held), train: pairs(train), test: pairs(test),
				lexicon: x,
				options: transduce.Options{Beam: spellingBeam},
				decode:  transduce.DecodeOptions{Decoding: transduce.Merged}}
			return t.trial(ctx, o.Workers)
		})
}

// spellingBeam is wider than the default. By the channel, with a pair's own counts left out, the
// right word is within 7 of the best word of the lexicon for 87 % of training misspellings, and
// within 10 for 91 %.
const spellingBeam = 10

// transduceInflection has a part for each language. Constants are chosen on the development set.
func transduceInflection(ctx context.Context, data fs.FS, o *TransduceOptions) (*PredictionReport, error) {
	d := folder{data}
	read := func(name string) ([]transduce.Pair, error) {
		f, found, err := d.open("inflection/" + name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in, err := table.Uncompressed(f, found)
		if err != nil {
			return nil, err
		}
		return transduce.ReadPairs(in, found, &transduce.ReadOptions{Format: transduce.Sigmorphon})
	}
	if o.Quick && o.Train == 0 {
		o.Train = 200
	}
	return o.repeat(ctx, "Inflection by a transducer", transduceMeasures, o.Languages, 1,
		func(ctx context.Context, language string, _ *rand.Rand) ([]PredictionMethod, error) {
			t := &transduceTask{}
			for name, to := range map[string]*[]transduce.Pair{"trn": &t.train, "dev": &t.held, "tst": &t.test} {
				var err error
				if *to, err = read(language + "." + name + ".tsv"); err != nil {
					return nil, err
				}
			}
			if o.Train > 0 {
				t.train = t.train[:min(o.Train, len(t.train))]
				t.held = t.held[:min(o.Train, len(t.held))]
			}
			if o.Quick {
				t.held, t.test = t.held[:min(100, len(t.held))], t.test[:min(100, len(t.test))]
			}
			t.rest = t.train
			return t.trial(ctx, o.Workers)
		})
}

// transduceLetters has the words of the OCR letters with the data's own division. A letter is read
// as that of the nearest mean image, over training words whose number has the other parity, or, for
// the test, over all training words. Then letters are lost or doubled, as a wrong segmentation
// does.
func transduceLetters(ctx context.Context, data fs.FS, o *TransduceOptions) (*PredictionReport, error) {
	d := folder{data}
	train, err := readLetters(d, "ocr-letters/ocr-letters-train.tsv.gz")
	if err != nil {
		return nil, err
	}
	test, err := readLetters(d, "ocr-letters/ocr-letters-test.tsv.gz")
	if err != nil {
		return nil, err
	}
	repetitions := 3
	if o.Quick {
		train, test, repetitions = train[:min(300, len(train))], test[:min(150, len(test))], 1
	}
	if o.Train > 0 {
		train = train[:min(o.Train, len(train))]
	}
	return o.repeat(ctx, "Words of recognised letters, some lost or doubled", transduceMeasures,
		[]string{fmt.Sprintf("%d training words", len(train))}, repetitions,
		func(ctx context.Context, _ string, rng *rand.Rand) ([]PredictionMethod, error) {
			t := &transduceTask{decode: transduce.DecodeOptions{Decoding: transduce.Merged}}
			var halves [2]*letterMeans
			for parity := range 2 {
				halves[parity] = meansOf(train, func(i int) bool { return i%2 != parity })
			}
			whole := meansOf(train, func(int) bool { return true })
			for i := range train {
				t.train = append(t.train, train[i].pair(halves[i%2], rng))
			}
			for i := range test {
				t.test = append(t.test, test[i].pair(whole, rng))
			}
			for i, p := range t.train {
				if i%5 == 0 {
					t.held = append(t.held, p)
				} else {
					t.rest = append(t.rest, p)
				}
			}
			return t.trial(ctx, o.Workers)
		})
}

// letterWord is a word of letters with their images.
type letterWord struct {
	text   string
	images []string
}

func readLetters(d folder, name string) ([]letterWord, error) {
	f, found, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in, err := table.Uncompressed(f, found)
	if err != nil {
		return nil, err
	}
	records, err := dataset.ReadTSV(in, found, &dataset.TSVOptions{Header: true})
	if err != nil {
		return nil, err
	}
	var out []letterWord
	last := ""
	for _, r := range records {
		if len(r.Fields) < 4 || len(r.Fields[2]) != 1 || r.Fields[2][0] < 'a' || r.Fields[2][0] > 'z' ||
			len(r.Fields[3]) != letterPixels {
			return nil, fmt.Errorf("experiment: %s:%d: expected word, position, a letter and %d pixels", found,
				r.Line, letterPixels)
		}
		if r.Fields[0] != last || len(out) == 0 {
			out, last = append(out, letterWord{}), r.Fields[0]
		}
		w := &out[len(out)-1]
		w.text += r.Fields[2]
		w.images = append(w.images, r.Fields[3])
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("experiment: %s has no word", found)
	}
	return out, nil
}

const letterPixels = 128

// letterMeans are the mean images of the letters.
type letterMeans struct {
	mean [26][letterPixels]float64
	n    [26]float64
}

func meansOf(words []letterWord, of func(i int) bool) *letterMeans {
	m := &letterMeans{}
	for i, w := range words {
		if !of(i) {
			continue
		}
		for k, image := range w.images {
			c := w.text[k] - 'a'
			m.n[c]++
			for j := range letterPixels {
				m.mean[c][j] += float64(image[j] - '0')
			}
		}
	}
	for c := range m.mean {
		for j := range m.mean[c] {
			m.mean[c][j] /= math.Max(1, m.n[c])
		}
	}
	return m
}

// read returns the letter of the nearest mean.
func (m *letterMeans) read(image string) byte {
	best, least := 0, math.Inf(1)
	for c := range m.mean {
		if m.n[c] == 0 {
			continue
		}
		d := 0.0
		for j := range letterPixels {
			v := m.mean[c][j] - float64(image[j]-'0')
			d += v * v
		}
		if d < least {
			best, least = c, d
		}
	}
	return byte('a' + best)
}

// pair reads a word. Of the letters read, 6 % are lost and 6 % come twice.
func (w *letterWord) pair(m *letterMeans, rng *rand.Rand) transduce.Pair {
	var x []byte
	for _, image := range w.images {
		c := m.read(image)
		switch u := rng.Float64(); {
		case u < 0.06:
		case u < 0.12:
			x = append(x, c, c)
		default:
			x = append(x, c)
		}
	}
	if len(x) == 0 {
		x = append(x, m.read(w.images[0]))
	}
	return transduce.Pair{Input: string(x), Output: w.text}
}

// TransduceSets lists the tasks of Transduce.
func TransduceSets() []string { return slices.Clone([]string{"inflection", "spelling", "ocr"}) }
