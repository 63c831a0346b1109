package g2p

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/metrics"
)

// Decoding says which output a model gives for a word.
type Decoding string

const (
	// Viterbi expands the best label string. The default of models without n-grams.
	Viterbi Decoding = "viterbi"
	// Merged takes, of the phone strings of the best label strings, the most probable one: all
	// label strings that spell it count.
	Merged Decoding = "merged"
	// MinRisk takes, of the most probable phone strings, the one with the least
	// expected edit distance. It lowers the phone error rate of a cross-entropy
	// model a little, a margin model's hardly, and costs some word accuracy.
	MinRisk Decoding = "min-risk"
	// Pooled is MinRisk over the best label strings of every network of a model, with the mean of
	// their probabilities. With one network, or none, it is MinRisk.
	Pooled Decoding = "pooled"
)

// Ngrams expands the best label string by the scores of the linear model and, times NgramWeight,
// those of the n-gram model; the search is a beam. The default of models with n-grams. All other
// decodings are of the linear model alone.
const Ngrams Decoding = "ngrams"

// DecodeOptions adjusts Predict and NBest; the zero value is right.
type DecodeOptions struct {
	Decoding   Decoding // "" is Ngrams for models that have them, else Viterbi
	Best       int      // label strings that Merged and MinRisk examine; 0 is 50
	Candidates int      // phone strings that MinRisk chooses from; 0 is 20
	// NgramWeight is for Ngrams; 0 is 3. On words of the CMU dictionary 2 to 4 do alike.
	NgramWeight float64
	// Strings is how many phone strings NBest looks for, in at most 64 times Best label strings; 0 is
	// those of Best.
	Strings int

	// Report is told of words without an output that the constraint accepts; nil is no one. Predict
	// and NBest call it before they return.
	Report func(word string, how Fallback)
}

const maxDoublings = 64

func (o *DecodeOptions) withDefaults() (DecodeOptions, error) {
	var d DecodeOptions
	if o != nil {
		d = *o
	}
	if d.NgramWeight == 0 {
		d.NgramWeight = 3
	}
	if d.Best <= 0 {
		d.Best = 50
	}
	if d.Candidates <= 0 {
		d.Candidates = 20
	}
	if !slices.Contains([]Decoding{"", Viterbi, Merged, MinRisk, Pooled, Ngrams}, d.Decoding) {
		return d, fmt.Errorf("g2p: no decoding is called %q; there are %q, %q, %q, %q and %q", d.Decoding, Viterbi,
			Merged, MinRisk, Pooled, Ngrams)
	}
	return d, nil
}

// Hypothesis is a pronunciation.
type Hypothesis struct {
	Phones  []string `json:"phones"`
	LogProb float64  `json:"log_prob"` // of all label strings that spell it, together
}

// Predict returns the pronunciation of a word. Letters that training did not have emit nothing;
// Inventory.Unseen names them. The error is that of a word which is not UTF-8, or of an unknown
// decoding. O(letters · labels²) for Viterbi, times Best for the others.
func (m *Model) Predict(word string, opts *DecodeOptions) ([]string, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	x, err := m.Inventory.letters(word)
	if err != nil {
		return nil, fmt.Errorf("g2p: %w", err)
	}
	c := m.Features.compile(x)
	s := m.search()
	defer searches.Put(s)
	phones := m.decode(&c, s, &o)
	o.report(word, s)
	return m.Inventory.names(phones), nil
}

func (o *DecodeOptions) report(word string, s *search) {
	if s.fallback != "" && o.Report != nil {
		o.Report(word, s.fallback)
	}
}

// NBest returns the pronunciations of the opts.Best label strings with the
// highest scores, most probable first. Where these are fewer than opts.Strings, it takes more label
// strings. Probabilities are exact: over all phone strings they sum to one.
func (m *Model) NBest(word string, opts *DecodeOptions) ([]Hypothesis, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	x, err := m.Inventory.letters(word)
	if err != nil {
		return nil, fmt.Errorf("g2p: %w", err)
	}
	c := m.Features.compile(x)
	s := m.search()
	defer searches.Put(s)
	m.prepare(&c, s)
	o.report(word, s)
	logZ := s.total()
	var out []Hypothesis
	best := m.merged(s, o.Best)
	for n := o.Best; len(best) < o.Strings && n < maxDoublings*o.Best; {
		n *= 2
		more := m.merged(s, n)
		if len(more) == len(best) && s.fewer(n) {
			break
		}
		best = more
	}
	for _, h := range best {
		out = append(out, Hypothesis{Phones: m.Inventory.names(h.phones), LogProb: h.score - logZ})
	}
	return out, nil
}

// decode returns phones as indices.
func (m *Model) decode(c *compiled, s *search, o *DecodeOptions) []int {
	var best []spelt
	if o.Decoding == Pooled && len(m.members) > 1 {
		best = m.pooled(c, s, o.Best)
	} else {
		m.prepare(c, s)
		switch {
		case m.Ngrams != nil && (o.Decoding == "" || o.Decoding == Ngrams):
			return m.spell(&s.scores, m.joint(&s.scores, c.x, o.NgramWeight))
		case slices.Contains([]Decoding{"", Viterbi, Ngrams}, o.Decoding):
			return m.spell(&s.scores, s.best())
		}
		best = m.merged(s, o.Best)
	}
	if o.Decoding == Merged || len(best) == 1 {
		return best[0].phones
	}
	// Expected edit distance under the normalised weights of the n best.
	at, least := 0, math.Inf(1)
	for i := range best[:min(o.Candidates, len(best))] {
		sum := 0.0
		for k := range best {
			if k != i {
				sum += math.Exp(best[k].score-best[0].score) * float64(metrics.EditDistance(best[i].phones, best[k].phones))
			}
		}
		if sum < least {
			at, least = i, sum
		}
	}
	return best[at].phones
}

// spelt is a phone string with the log of its weight.
type spelt struct {
	phones []int
	score  float64
}

// merged returns the phone strings of the n best label strings, by falling weight. The weight is
// that of all label strings that spell them; with views it is that of those among the n best.
func (m *Model) merged(s *search, n int) []spelt {
	var out []spelt
	at := map[string]int{}
	for _, h := range s.paths(n) {
		phones := m.spell(&s.scores, h.labels)
		key := string(appendPhones(nil, phones))
		i, ok := at[key]
		switch {
		case !ok && s.trellis == nil:
			at[key] = len(out)
			out = append(out, spelt{phones, m.logWeight(&s.scores, phones)})
		case !ok:
			at[key] = len(out)
			out = append(out, spelt{phones, h.score})
		case s.trellis != nil:
			out[i].score = logAdd(out[i].score, h.score)
		}
	}
	slices.SortStableFunc(out, func(a, b spelt) int { return cmp.Compare(b.score, a.score) })
	return out
}

// logAdd returns log(exp(a)+exp(b)) of finite numbers.
func logAdd(a, b float64) float64 {
	hi, lo := max(a, b), min(a, b)
	return hi + math.Log1p(math.Exp(lo-hi))
}

// fewer reports whether there are at most n label strings.
func (s *scores) fewer(n int) bool {
	all := 1
	for _, size := range s.sizes {
		if all *= size; all > n {
			return false
		}
	}
	return true
}

// path is a label string with its score.
type path struct {
	labels []int32
	score  float64
}

// nBest returns the n best label strings, best first: every label keeps the n
// best ways to reach it. Ties go by the left label's place, then its rank.
func (s *scores) nBest(n int) []path {
	type way struct {
		score      float64
		left, rank int32
		label      int32 // place
	}
	letters := len(s.sizes)
	if letters == 0 {
		return []path{{}}
	}
	byScore := func(a, b way) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.left, b.left), cmp.Compare(a.rank, b.rank),
			cmp.Compare(a.label, b.label))
	}
	ways := make([][][]way, letters)
	before := [][]way{{{}}}
	var all []way
	for t, size := range s.sizes {
		ways[t] = make([][]way, size)
		for b := range size {
			all = all[:0]
			for a, list := range before {
				pair := s.binary[s.shape.pairs[t]+a*size+b]
				for rank, w := range list {
					all = append(all, way{w.score + pair, int32(a), int32(rank), int32(b)})
				}
			}
			slices.SortFunc(all, byScore)
			if back := s.backsOff(t, b); back != nil {
				// Both are sorted: way i with label k is behind at least (i+1)(k+1)-1 others.
				ways := slices.Clone(all[:min(n, len(all))])
				all = all[:0]
				for i, w := range ways {
					for k := range min(n/(i+1), len(back.Prob)) {
						all = append(all, way{w.score + math.Log(back.Prob[k]/back.Prob[0]), w.left, w.rank, int32(b + k)})
					}
				}
				slices.SortFunc(all, byScore)
			}
			kept := slices.Clone(all[:min(n, len(all))])
			for i := range kept {
				kept[i].score += s.unary[s.shape.unary[t]+b]
			}
			ways[t][b] = kept
		}
		before = ways[t]
	}
	all = all[:0]
	for b, list := range before {
		for rank, w := range list {
			all = append(all, way{w.score, int32(b), int32(rank), 0})
		}
	}
	slices.SortFunc(all, byScore)
	var out []path
	for _, w := range all[:min(n, len(all))] {
		p := path{labels: make([]int32, letters), score: w.score}
		for t := letters - 1; t >= 0; t-- {
			w = ways[t][w.left][w.rank]
			p.labels[t] = w.label
		}
		out = append(out, p)
	}
	return out
}
