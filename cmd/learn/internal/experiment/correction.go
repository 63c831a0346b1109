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
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/structured"
	"github.com/tropica-fst/tropica/losses"
)

// Correction restores strings from noisy ones. y is a random string of 8 to 12 letters out of four,
// and x is y with random edits at rate 0.2. The kernel counts 1- to 3-grams, the loss is the edit
// distance. Candidates are the strings within two edits of x whose bigrams occurred in training.
// Methods of decoding are compared by what they find and prove, and with the identity and the
// output of the nearest training input.
func Correction(ctx context.Context, o *PredictionOptions) (*PredictionReport, error) {
	train, test, repetitions := 300, 60, 10
	if o.Quick {
		train, test, repetitions = 60, 8, 2
	}
	return o.repeat(ctx, "Correction of random strings",
		[]string{"edits", "F above the best found", "gap", "exact, %", "strings tried"},
		[]string{fmt.Sprintf("%d training strings", train)}, repetitions,
		func(ctx context.Context, _ string, rng *rand.Rand) ([]PredictionMethod, error) {
			return correctionTrial(ctx, train, test, rng, o.Workers)
		})
}

// noisy edits a string at a rate: substitutions, insertions and deletions alike.
func noisy(y []int, rate float64, alphabet int, rng *rand.Rand) []int {
	var x []int
	for _, a := range y {
		if rng.Float64() >= rate {
			x = append(x, a)
			continue
		}
		switch rng.IntN(3) {
		case 0:
			x = append(x, (a+1+rng.IntN(alphabet-1))%alphabet)
		case 1:
			x = append(x, rng.IntN(alphabet), a)
		}
	}
	if len(x) == 0 {
		x = append(x, rng.IntN(alphabet))
	}
	return x
}

func correctionTrial(ctx context.Context, train, test int, rng *rand.Rand,
	workers int) ([]PredictionMethod, error) {
	const alphabet = 4
	var xs, ys [][]int
	for range train + test {
		y := make([]int, 8+rng.IntN(5))
		for i := range y {
			y[i] = rng.IntN(alphabet)
		}
		ys = append(ys, y)
		xs = append(xs, noisy(y, 0.2, alphabet, rng))
	}
	k := kernel.Kernel[kernel.Strings](kernel.NGram{Least: 1, Order: 3, Normal: true})
	inputs, queries := kernel.Strings(xs[:train]), kernel.Strings(xs[train:])
	ko := kernel.Options{Ctx: ctx, Workers: workers}
	gram, err := kernel.Gram(k, inputs, &ko)
	if err != nil {
		return nil, err
	}
	// Lambda by leave-one-out among the training outputs.
	candidates, err := structured.NewCandidates(nil, ys[:train], losses.Unit.Value, workers)
	if err != nil {
		return nil, err
	}
	best, lambda := math.Inf(1), 0.0
	for _, l := range []float64{1e-4, 1e-3, 1e-2, 1e-1} {
		w, err := structured.NewWeights(k, inputs, gram, l, nil, &structured.WeightOptions{Options: ko})
		if err != nil {
			return nil, err
		}
		alpha, err := leftOut(w, heldBlocks(train, train, rng))
		if err != nil {
			return nil, err
		}
		d, err := candidates.DecodeAll(alpha, train, workers)
		if err != nil {
			return nil, err
		}
		sum := 0.0
		for i := range d {
			sum += losses.Unit.Value(ys[d[i].Output], ys[i])
		}
		if sum < best {
			best, lambda = sum, l
		}
	}
	w, err := structured.NewWeights(k, inputs, gram, lambda, nil, &structured.WeightOptions{Options: ko})
	if err != nil {
		return nil, err
	}
	alpha, err := w.Weights(ctx, queries, workers)
	if err != nil {
		return nil, err
	}
	for i := range test {
		structured.Truncate(alpha[i*train:][:train], 0.02)
	}
	cross, err := kernel.Cross(k, queries, inputs, &ko)
	if err != nil {
		return nil, err
	}
	grams, err := structured.NewGrams(ys[:train], 2)
	if err != nil {
		return nil, err
	}
	type found struct {
		y []int
		d structured.Decoded[[]int]
	}
	methods := []structured.Method{structured.Auto, structured.List, structured.BestFirst, structured.KBest,
		structured.LocalSearch}
	results := make([][]found, test)
	err = eachOf(ctx, workers, test, func(i int) error {
		l, err := structured.Near(ctx, queries[i], 2, alphabet, grams)
		if err != nil {
			return err
		}
		for _, m := range methods {
			budget := 3000
			if m == structured.List {
				budget = 1 << 20
			}
			s, err := structured.NewStrings(ys[:train], alphabet, losses.Unit,
				&structured.StringOptions{Method: m, Budget: budget})
			if err != nil {
				return err
			}
			d, err := s.DecodeIn(ctx, l, alpha[i*train:][:train])
			if err != nil {
				return err
			}
			results[i] = append(results[i], found{d.Output, d})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := []PredictionMethod{{Name: "identity", Values: make([]float64, 5)},
		{Name: "nearest neighbour", Values: make([]float64, 5)}}
	for _, m := range methods {
		out = append(out, PredictionMethod{Name: "Algorithm 1, " + string(m), Values: make([]float64, 5),
			Setting: fmt.Sprintf("lambda=%g", lambda)})
	}
	share := 1 / float64(test)
	for i := range test {
		truth := ys[train+i]
		row := cross[i*train:][:train]
		nearest := 0
		for j, v := range row {
			if v > row[nearest] {
				nearest = j
			}
		}
		out[0].Values[0] += share * losses.Unit.Value(queries[i], truth)
		out[1].Values[0] += share * losses.Unit.Value(ys[nearest], truth)
		least := math.Inf(1)
		for _, f := range results[i] {
			least = math.Min(least, f.d.Value)
		}
		for m, f := range results[i] {
			v := out[2+m].Values
			v[0] += share * losses.Unit.Value(f.y, truth)
			v[1] += share * (f.d.Value - least)
			if !math.IsInf(f.d.LowerBound, -1) {
				v[2] += share * f.d.Gap()
			}
			if f.d.Exact == structured.ExactOverCandidates || f.d.Exact == structured.ExactOverSpace {
				v[3] += 100 * share
			}
			v[4] += share * float64(f.d.Steps)
		}
	}
	return out, nil
}

// Spelling corrects misspelt words by choosing from a lexicon: the words of the data's list.
// It is divided by correct words, so that those tested on were never an output of a
// misspelling in training. The lexicon's words spelt right are training examples too, for all
// methods know the lexicon.
//
// Algorithm 1 decodes the edit distance over words of the lexicon within some edits of the input.
// It is compared with the nearest word by edit distance (the alphabetically first among equals).
// Two others are the same less the logarithm of the word's frequency, weighted by training
// misspellings, and the output of the most similar training input. Frequencies are those of
// misspellings of other words in the list, which has no others, and so are hardly informative.
func Spelling(ctx context.Context, data fs.FS, o *PredictionOptions) (*PredictionReport, error) {
	s, repetitions, err := readSpelling(data, o)
	if err != nil {
		return nil, err
	}
	return o.repeat(ctx, "Spelling correction from a lexicon", []string{"wrong words, %", "edits", "exact, %"},
		[]string{s.part()}, repetitions,
		func(ctx context.Context, _ string, rng *rand.Rand) ([]PredictionMethod, error) {
			return s.trial(ctx, rng)
		})
}

// readSpelling reads the misspellings, and returns sizes and repetitions by the options.
func readSpelling(data fs.FS, o *PredictionOptions) (*spelling, int, error) {
	d := folder{data}
	const file = "spelling/spell-errors.tsv.gz"
	if err := d.need("spelling", []string{file}); err != nil {
		return nil, 0, err
	}
	f, found, err := d.open(file)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	in, err := table.Uncompressed(f, found)
	if err != nil {
		return nil, 0, err
	}
	records, err := dataset.ReadTSV(in, found, nil)
	if err != nil {
		return nil, 0, err
	}
	s := &spelling{errors: map[string][]string{}, workers: o.Workers}
	for k, r := range records {
		if len(r.Fields) < 2 {
			return nil, 0, fmt.Errorf("experiment: %s:%d: %d fields; there must be two", found, r.Line, len(r.Fields))
		}
		word, wrong := strings.ToLower(r.Fields[0]), strings.ToLower(r.Fields[1])
		if k == 0 || strings.ContainsAny(word+wrong, "_?") || word == wrong {
			continue // the heading; blanks and unclear letters
		}
		if s.errors[word] == nil {
			s.words = append(s.words, word)
		}
		s.errors[word] = append(s.errors[word], wrong)
	}
	slices.Sort(s.words)
	s.letters = letters(s.words, s.errors)
	s.lexicon, s.train, s.test = 4000, 3000, 1000
	repetitions := 5
	if o.Quick {
		s.lexicon, s.train, s.test, repetitions = 300, 150, 60, 2
	}
	return s, repetitions, nil
}

// part names the table of the sizes; draws depend on it.
func (s *spelling) part() string {
	return fmt.Sprintf("%d words, %d misspellings to train on", s.lexicon, s.train)
}

type spelling struct {
	words                []string
	errors               map[string][]string
	letters              []rune
	lexicon, train, test int
	workers              int
}

func letters(words []string, errors map[string][]string) []rune {
	seen := map[rune]bool{}
	for _, w := range words {
		for _, s := range append([]string{w}, errors[w]...) {
			for _, r := range s {
				seen[r] = true
			}
		}
	}
	var out []rune
	for r := range seen {
		out = append(out, r)
	}
	slices.Sort(out)
	return out
}

func (s *spelling) symbols(word string) []int {
	var out []int
	for _, r := range word {
		k, _ := slices.BinarySearch(s.letters, r)
		out = append(out, k)
	}
	return out
}

// pair is an input and what it should be.
type pair struct{ x, y []int }

// sample draws a lexicon, misspellings of one half of it to train on, and of the other to test
// on.
func (s *spelling) sample(rng *rand.Rand) (lexicon [][]int, train, test []pair, err error) {
	if s.lexicon > len(s.words) {
		return nil, nil, nil, fmt.Errorf("%d words, of %d", s.lexicon, len(s.words))
	}
	var a, b []pair
	for k, i := range rng.Perm(len(s.words))[:s.lexicon] {
		word := s.words[i]
		y := s.symbols(word)
		lexicon = append(lexicon, y)
		for _, x := range s.errors[word] {
			if p := (pair{s.symbols(x), y}); k%2 == 0 {
				a = append(a, p)
			} else {
				b = append(b, p)
			}
		}
	}
	rng.Shuffle(len(a), func(i, j int) { a[i], a[j] = a[j], a[i] })
	rng.Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
	return lexicon, a[:min(s.train, len(a))], b[:min(s.test, len(b))], nil
}

// spellingLambdas and spellingEdits are what training misspellings choose from.
var (
	spellingLambdas = []float64{1e-6, 1e-5, 1e-4, 1e-3}
	spellingEdits   = []int{0, 1} // beyond the nearest word
	unigramWeights  = []float64{0.05, 0.1, 0.2, 0.4}
)

func (s *spelling) trial(ctx context.Context, rng *rand.Rand) ([]PredictionMethod, error) {
	lexicon, train, test, err := s.sample(rng)
	if err != nil {
		return nil, err
	}
	alphabet := len(s.letters)
	lex, err := structured.NewLexicon(lexicon, alphabet)
	if err != nil {
		return nil, err
	}
	// A fifth of the training misspellings, of words apart, choose the settings.
	held, rest := apartByWord(train, 5)
	type choice struct {
		lambda float64
		slack  int
	}
	best, least := choice{}, math.Inf(1)
	unigram, low := 0.0, math.Inf(1)
	for _, l := range spellingLambdas {
		m, err := s.fit(ctx, lexicon, rest, l)
		if err != nil {
			return nil, err
		}
		for _, slack := range spellingEdits {
			r, err := m.judge(ctx, lex, held, slack)
			if err != nil {
				return nil, err
			}
			if r[0] < least {
				best, least = choice{l, slack}, r[0]
			}
		}
	}
	counts := frequencies(lexicon, rest)
	for _, u := range unigramWeights {
		r, err := s.baseline(ctx, lex, held, counts, u)
		if err != nil {
			return nil, err
		}
		if r[0] < low {
			unigram, low = u, r[0]
		}
	}
	m, err := s.fit(ctx, lexicon, train, best.lambda)
	if err != nil {
		return nil, err
	}
	first, err := m.judge(ctx, lex, test, best.slack)
	if err != nil {
		return nil, err
	}
	near, err := s.baseline(ctx, lex, test, nil, 0)
	if err != nil {
		return nil, err
	}
	weighted, err := s.baseline(ctx, lex, test, frequencies(lexicon, train), unigram)
	if err != nil {
		return nil, err
	}
	similar, err := m.similar(ctx, test)
	if err != nil {
		return nil, err
	}
	return []PredictionMethod{
		{"Algorithm 1", first, fmt.Sprintf("lambda=%g slack=%d", best.lambda, best.slack)},
		{"nearest word", near, ""},
		{"nearest word and unigrams", weighted, fmt.Sprintf("weight=%g", unigram)},
		{"nearest training input", similar, ""},
	}, nil
}

// apartByWord parts misspellings so that no word is on both sides.
func apartByWord(all []pair, parts int) (held, rest []pair) {
	number := map[string]int{}
	for _, p := range all {
		key := fmt.Sprint(p.y)
		if _, ok := number[key]; !ok {
			number[key] = len(number)
		}
		if number[key]%parts == 0 {
			held = append(held, p)
		} else {
			rest = append(rest, p)
		}
	}
	return held, rest
}

// frequencies counts the misspellings of each word in training, and one for being a word.
func frequencies(lexicon [][]int, train []pair) map[string]float64 {
	out := map[string]float64{}
	for _, w := range lexicon {
		out[fmt.Sprint(w)]++
	}
	for _, p := range train {
		out[fmt.Sprint(p.y)]++
	}
	return out
}

type speller struct {
	*spelling
	pairs   []pair
	inputs  kernel.Strings
	kernel  kernel.Kernel[kernel.Strings]
	weights *structured.WeightModel[kernel.Strings]
	decoder *structured.Strings
}

// fit trains on misspellings and on the words themselves.
func (s *spelling) fit(ctx context.Context, lexicon [][]int, train []pair, lambda float64) (*speller, error) {
	m := &speller{spelling: s, kernel: kernel.NGram{Least: 1, Order: 3, Normal: true}}
	m.pairs = slices.Clone(train)
	for _, w := range lexicon {
		m.pairs = append(m.pairs, pair{w, w})
	}
	var ys [][]int
	for _, p := range m.pairs {
		m.inputs, ys = append(m.inputs, marked(p.x, len(s.letters))), append(ys, p.y)
	}
	var err error
	if m.weights, err = structured.NewWeights(m.kernel, m.inputs, nil, lambda, nil,
		&structured.WeightOptions{Options: kernel.Options{Ctx: ctx, Workers: s.workers}}); err != nil {
		return nil, err
	}
	m.decoder, err = structured.NewStrings(ys, len(s.letters), losses.Unit,
		&structured.StringOptions{Budget: 2000})
	return m, err
}

// marked puts marks at both ends, so that n-grams there are known as such.
func marked(x []int, mark int) []int {
	return slices.Concat([]int{mark}, x, []int{mark})
}

// judge corrects misspellings, among words up to slack edits farther than the nearest.
func (m *speller) judge(ctx context.Context, lex *structured.Lexicon, test []pair,
	slack int) ([]float64, error) {
	var queries kernel.Strings
	for _, p := range test {
		queries = append(queries, marked(p.x, len(m.letters)))
	}
	alpha, err := m.weights.Weights(ctx, queries, m.workers)
	if err != nil {
		return nil, err
	}
	n := len(m.pairs)
	exact := make([]bool, len(test))
	got := make([][]int, len(test))
	err = eachOf(ctx, m.workers, len(test), func(i int) error {
		l, err := structured.WordLattice(nearest(lex, test[i].x, slack), len(m.letters))
		if err != nil {
			return err
		}
		a := alpha[i*n:][:n]
		structured.Truncate(a, 0.05)
		d, err := m.decoder.DecodeIn(ctx, l, a)
		got[i], exact[i] = d.Output, d.Exact == structured.ExactOverCandidates
		return err
	})
	return figures(test, got, exact), err
}

// nearest returns the words of a lexicon as near as the nearest, and up to slack edits farther.
func nearest(lex *structured.Lexicon, x []int, slack int) [][]int {
	for edits := 0; ; edits++ {
		if near := lex.Within(x, edits); len(near) > 0 {
			if slack > 0 {
				near = lex.Within(x, edits+slack)
			}
			return near
		}
	}
}

func figures(test []pair, got [][]int, exact []bool) []float64 {
	out := make([]float64, 3)
	for i, p := range test {
		if !slices.Equal(got[i], p.y) {
			out[0] += 100 / float64(len(test))
		}
		out[1] += float64(metrics.EditDistance(got[i], p.y)) / float64(len(test))
		if exact != nil && exact[i] {
			out[2] += 100 / float64(len(test))
		}
	}
	return out
}

// baseline takes the word of the least edit distance less weight times the logarithm of its
// frequency.
func (s *spelling) baseline(ctx context.Context, lex *structured.Lexicon, test []pair,
	counts map[string]float64, weight float64) ([]float64, error) {
	got := make([][]int, len(test))
	most := 0.0
	for _, c := range counts {
		most = math.Max(most, math.Log(c))
	}
	err := eachOf(ctx, s.workers, len(test), func(i int) error {
		least := math.Inf(1)
		for _, w := range nearest(lex, test[i].x, int(math.Ceil(weight*most))) {
			f := float64(metrics.EditDistance(w, test[i].x))
			if weight > 0 {
				f -= weight * math.Log(counts[fmt.Sprint(w)])
			}
			if f < least {
				got[i], least = w, f
			}
		}
		return nil
	})
	return figures(test, got, nil), err
}

// similar takes the output of the most similar training input.
func (m *speller) similar(ctx context.Context, test []pair) ([]float64, error) {
	var queries kernel.Strings
	for _, p := range test {
		queries = append(queries, marked(p.x, len(m.letters)))
	}
	n := len(m.inputs)
	cross, err := kernel.Cross(m.kernel, queries, m.inputs, &kernel.Options{Ctx: ctx, Workers: m.workers})
	if err != nil {
		return nil, err
	}
	got := make([][]int, len(test))
	for i := range test {
		best, row := 0, cross[i*n:][:n]
		for j, v := range row {
			if v > row[best] {
				best = j
			}
		}
		got[i] = m.pairs[best].y
	}
	return figures(test, got, nil), nil
}
