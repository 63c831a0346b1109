package g2p

import (
	"context"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/run"
)

// AlignOptions adjusts the alignment of letters and phones; the zero value is
// right for 1000 to 100000 words of an alphabetic script.
type AlignOptions struct {
	MaxPhones  int     // longest label; 0 is 2, at most 64
	Iterations int     // of expectation maximization; 0 is 10
	PruneFrom  int     // first iteration (from 1) that drops rare labels; 0 is 5
	MinCount   float64 // labels of a letter with a smaller expected count are dropped, but see Align; 0 is 1, negative is none

	// MinProb, as MinCount, drops labels with a smaller p(u|x). 0 is none for up to 2000 words,
	// .001 up to 20000 and .004 above; negative is none.
	MinProb float64
	// Widen gives every letter so many labels that similar letters have, the most probable of
	// Inventory.Backoff. Linear models do not gain from it, and pay for longer lists.
	Widen int
	// Direct sweeps the lattices by a loop of our own in place of
	// ops.ExpectedCounts: the same counts, 15 times as fast.
	Direct  bool
	Workers int // 0 is GOMAXPROCS; results do not depend on it
	// Live, if not nil, receives a row after each iteration, whose objective is the negative
	// log-likelihood.
	Live run.Recorder
}

func (o *AlignOptions) withDefaults(words int) AlignOptions {
	var d AlignOptions
	if o != nil {
		d = *o
	}
	if d.MaxPhones <= 0 {
		d.MaxPhones = 2
	}
	if d.Iterations <= 0 {
		d.Iterations = 10
	}
	if d.PruneFrom <= 0 {
		d.PruneFrom = 5
	}
	if d.MinCount == 0 {
		d.MinCount = 1
	}
	d.Workers = run.WorkersOf(d.Workers)
	if d.MinProb == 0 {
		switch {
		case words > 20000:
			d.MinProb = 0.004
		case words > 2000:
			d.MinProb = 0.001
		}
	}
	return d
}

// Bounds on what can be aligned: the arcs of the lattice of one pair are at most
// letters · phones · MaxPhones.
const (
	maxPhones = 64
	maxArcs   = 1 << 24
)

// Alignment is the outcome of Align.
type Alignment struct {
	Inventory *Inventory

	// Labels[i] is the best label of each letter of pair i, as an index into
	// Inventory.Labels, or nil where the pair is lost.
	Labels [][]int32
	Lost   []int     // pairs that cannot be aligned: they have no letters, or more than 64 phones a letter
	LogLik []float64 // log-likelihood of the words before each iteration, without those lost

	phones  [][]int   // of each pair
	letters [][]int32 // of each pair, irregular ones for those with a scarce label
}

// Align finds which phones each letter stands for, by expectation maximization. In its model every
// letter x independently emits a phone string u of at most MaxPhones phones with probability
// p(u|x). The first weights depend on the length of u only (.3, 1, .05, .005, …), since uniform
// ones lead to worse and arbitrary alignments. From some iteration on rare labels are dropped for
// good, which keeps the inventory small. A rare label stays when a pair needs it: it lies on the
// best path of a pair that has no path without rare labels. Each pair is then aligned by its best
// path, and a letter may emit the labels it was given there.
//
// Pairs with more than MaxPhones phones a letter, most of them abbreviations, have no part in the
// maximization. They are aligned at the end, where letters may emit other strings at a price.
//
// Lattices grow with the square of the labels of a letter. Labels below MinProb that pairs need
// would make those of the CMU dictionary thirteen times as large. They belong to irregular letters,
// which replace the letters of these pairs and have one label each. So do the strings that only
// pairs with too many phones need. The model learns all else from the pairs. What it learns of such
// labels is their frequency, in Inventory.Backoff.
//
// The lattice of a pair has the states (letters read, phones emitted). It is Compose(word, EMIT,
// phones), where EMIT is the transducer of one letter to a string of phones. Expected counts are
// the posteriors that ForwardBackward gives its arcs, carried back to the arcs of EMIT through the
// trace of the composition.
//
// References: A. P. Dempster, N. M. Laird, D. B. Rubin, "Maximum likelihood from incomplete data
// via the EM algorithm", J. Royal Statistical Society B 39:1–38, 1977; for letters and phones, S.
// Jiampojamarn, G. Kondrak and T. Sherif, "Applying many-to-many alignments and hidden Markov
// models to letter-to-phoneme conversion", NAACL 2007.
//
// The cost is O(iterations · Σ letters · phones · MaxPhones). Errors: words that
// are not UTF-8 or too long, the context's.
func Align(ctx context.Context, pairs []Pair, opts *AlignOptions) (*Alignment, error) {
	o := opts.withDefaults(len(pairs))
	if o.MaxPhones > maxPhones {
		return nil, fmt.Errorf("g2p: labels of up to %d phones: %d are possible", o.MaxPhones, maxPhones)
	}
	letters, phones, err := collect(pairs, o.MaxPhones)
	if err != nil {
		return nil, err
	}
	inv := &Inventory{Letters: letters, Phones: phones}
	em := &emission{inv: inv, k: o.MaxPhones, workers: o.Workers}
	if err := em.build(pairs); err != nil {
		return nil, err
	}
	expected := em.expectedDirect
	if !o.Direct {
		expected = em.expectedEngine
	}
	al := &Alignment{Inventory: inv, phones: em.phones}
	counts := make([]float64, len(em.prob))
	for it := 1; it <= o.Iterations; it++ {
		clear(counts)
		ll, err := expected(ctx, counts)
		if err != nil {
			return nil, err
		}
		al.LogLik = append(al.LogLik, ll)
		if err := live(o.Live, "alignment", it, o.Iterations, -ll); err != nil {
			return nil, err
		}
		em.normalize(counts, it >= o.PruneFrom, o.MinCount, o.MinProb)
	}
	em.viterbi(al)
	em.alignLong(al)
	if err := em.inventory(al, max(0, o.Widen)); err != nil {
		return nil, err
	}
	for x, list := range inv.Allowed {
		if len(list) > math.MaxUint16 {
			return nil, fmt.Errorf("g2p: letter %q is aligned with %d different phone strings, more than %d",
				inv.Letters[x-1], len(list), math.MaxUint16)
		}
	}
	return al, nil
}
