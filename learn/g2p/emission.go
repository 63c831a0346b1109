package g2p

import (
	"context"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/tropica-fst/tropica/fst"
)

// emission is the model p(u|x) and the lattices of all words. A parameter is a
// pair of a letter and a label that some word allows.
type emission struct {
	inv     *Inventory
	pairs   []Pair
	k       int // longest label
	workers int
	prob    []float64
	letter  []int32 // of each parameter
	label   []int32
	order   []int32 // parameters by letter, then label
	scarce  []bool  // parameters below MinProb, of letters that have others, which words need

	labels  [][]int // all phone strings of at most k phones, sorted
	letters [][]int32
	phones  [][]int

	// params[i] holds the parameter of the arc from state (t,j) that emits k
	// phones at (t·(m+1)+j)·(K+1)+k, or -1.
	params [][]int32

	labelID map[string]int32   // by appendPhones
	index   *fst.Table[uint64] // parameter of letter<<32 | label

	engine []*engineLattice // of each word, made when first asked for
}

// build lists labels and parameters, and sets the first weights.
func (em *emission) build(pairs []Pair) error {
	em.pairs = pairs
	em.letters, em.phones = make([][]int32, len(pairs)), make([][]int, len(pairs))
	var err error
	// Phone strings, numbered in their order.
	found := map[string][]int{"": {}}
	var key []byte
	for i := range pairs {
		p := &pairs[i]
		if em.letters[i], err = em.inv.letters(p.Word); err != nil {
			return fmt.Errorf("g2p: %s: %w", p.where(i), err)
		}
		r := em.inv.phones(p.Phones)
		em.phones[i] = r
		if !alignable(p, em.k) {
			continue
		}
		for j := range r {
			for k := 1; k <= em.k && j+k <= len(r); k++ {
				key = appendPhones(key[:0], r[j:j+k])
				if _, ok := found[string(key)]; !ok {
					found[string(key)] = r[j : j+k]
				}
			}
		}
	}
	for _, u := range found {
		em.labels = append(em.labels, u)
	}
	slices.SortFunc(em.labels, slices.Compare)
	ids := make(map[string]int32, len(em.labels))
	for id, u := range em.labels {
		ids[string(appendPhones(nil, u))] = int32(id)
	}
	em.labelID = ids
	em.index = fst.NewTable[uint64](fst.Mix)
	em.params = make([][]int32, len(pairs))
	for i := range pairs {
		x, r := em.letters[i], em.phones[i]
		n, m := len(x), len(r)
		if !alignable(&pairs[i], em.k) {
			continue
		}
		if n > maxArcs/(m+1)/(em.k+1) {
			return fmt.Errorf("g2p: %s: %d letters and %d phones are too many to align; is it one word?", pairs[i].where(i), n, m)
		}
		// Labels by where they start in r, the same for every letter.
		at := make([]int32, (m+1)*(em.k+1))
		for j := range m + 1 {
			for k := 0; k <= em.k && j+k <= m; k++ {
				key = appendPhones(key[:0], r[j:j+k])
				at[j*(em.k+1)+k] = ids[string(key)]
			}
		}
		params := slices.Repeat([]int32{-1}, n*(m+1)*(em.k+1))
		for t := range n {
			lo, hi := em.span(t, n, m)
			for j := lo; j <= hi; j++ {
				nextLo, nextHi := em.span(t+1, n, m)
				for k := 0; k <= em.k && j+k <= m; k++ {
					if j+k < nextLo || j+k > nextHi {
						continue
					}
					id, isNew := em.index.ID(uint64(x[t])<<32 | uint64(at[j*(em.k+1)+k]))
					if isNew {
						u := em.labels[at[j*(em.k+1)+k]]
						em.letter, em.label = append(em.letter, x[t]), append(em.label, at[j*(em.k+1)+k])
						em.prob = append(em.prob, firstWeight(len(u)))
					}
					params[(t*(m+1)+j)*(em.k+1)+k] = int32(id)
				}
			}
		}
		em.params[i] = params
	}
	em.order = make([]int32, len(em.prob))
	for i := range em.order {
		em.order[i] = int32(i)
	}
	slices.SortFunc(em.order, func(a, b int32) int {
		if em.letter[a] != em.letter[b] {
			return int(em.letter[a] - em.letter[b])
		}
		return int(em.label[a] - em.label[b])
	})
	return nil
}

// firstWeight is the weight of a label before the first iteration.
func firstWeight(phones int) float64 {
	switch phones {
	case 0:
		return 0.3
	case 1:
		return 1
	}
	return 0.05 * math.Pow(0.1, float64(phones-2))
}

func appendPhones(key []byte, u []int) []byte {
	for _, p := range u {
		key = append(key, byte(p), byte(p>>8), byte(p>>16))
	}
	return key
}

// span returns the least and greatest number of phones that may have been
// emitted after t letters.
func (em *emission) span(t, n, m int) (lo, hi int) {
	return max(0, m-em.k*(n-t)), min(m, em.k*t)
}

// expectedDirect adds the expected count of every parameter to counts, and
// returns the log-likelihood. Columns are scaled to sum one, so that words of
// any length do.
func (em *emission) expectedDirect(ctx context.Context, counts []float64) (float64, error) {
	var alpha, beta, scale []float64
	ll := 0.0
	for i, params := range em.params {
		n, m := len(em.letters[i]), len(em.phones[i])
		if i&255 == 0 && ctx.Err() != nil {
			return 0, fmt.Errorf("g2p: alignment stopped: %w", ctx.Err())
		}
		if params == nil {
			continue
		}
		w := m + 1
		alpha, beta, scale = sized(alpha, (n+1)*w), sized(beta, (n+1)*w), sized(scale, n+1)
		clear(alpha)
		clear(beta)
		alpha[0] = 1
		logZ := 0.0
		for t := 0; t < n && !math.IsInf(logZ, -1); t++ {
			lo, hi := em.span(t, n, m)
			next := alpha[(t+1)*w : (t+2)*w]
			for j := lo; j <= hi; j++ {
				a := alpha[t*w+j]
				if a == 0 {
					continue
				}
				for k, id := range params[(t*w+j)*(em.k+1) : (t*w+j+1)*(em.k+1)] {
					if id >= 0 {
						next[j+k] += a * em.prob[id]
					}
				}
			}
			sum := 0.0
			for _, a := range next {
				sum += a
			}
			scale[t+1] = sum
			logZ += math.Log(sum)
			for j := range next {
				next[j] /= sum
			}
		}
		if math.IsInf(logZ, -1) || math.IsNaN(logZ) {
			continue
		}
		ll += logZ
		beta[n*w+m] = 1 / alpha[n*w+m]
		for t := n - 1; t >= 0; t-- {
			lo, hi := em.span(t, n, m)
			for j := lo; j <= hi; j++ {
				a, b := alpha[t*w+j], 0.0
				for k, id := range params[(t*w+j)*(em.k+1) : (t*w+j+1)*(em.k+1)] {
					if id >= 0 {
						e := em.prob[id] * beta[(t+1)*w+j+k] / scale[t+1]
						b += e
						counts[id] += a * e
					}
				}
				beta[t*w+j] = b
			}
		}
	}
	return ll, nil
}

// countSlack keeps labels whose expected count approaches MinCount from below.
// A label that one word forces has a count of 1 up to rounding and convergence;
// without slack, the last bits of the sums would decide over it.
const countSlack = 1e-6

// leastCount is the count of a label that a word needs and that has none: rounding
// took it below every number.
const leastCount = 1e-300

// normalize makes counts the new probabilities, without the labels that are
// rare. A rare label stays when it lies on the best alignment of a word that has no
// alignment without rare labels. Sums run over labels in their order.
func (em *emission) normalize(counts []float64, prune bool, minCount, minProb float64) {
	rare := make([]bool, len(counts))
	em.scarce = make([]bool, len(counts))
	fresh := make([]float64, len(counts)) // log-probabilities before rare labels are dropped
	some := false
	em.eachLetter(func(ids []int32) {
		total := 0.0
		for _, id := range ids {
			total += counts[id]
		}
		for _, id := range ids {
			fresh[id] = math.Inf(-1)
			if em.prob[id] > 0 {
				fresh[id] = math.Log(max(counts[id], leastCount)) - math.Log(max(total, leastCount))
				rare[id] = counts[id] < leastCount || prune && (counts[id] < minCount*(1-countSlack) || counts[id] < minProb*total)
				some = some || rare[id]
			}
		}
	})
	if some {
		em.keepNeeded(rare, fresh)
	}
	em.eachLetter(func(ids []int32) {
		kept, total := 0.0, 0.0
		for _, id := range ids {
			total += counts[id]
		}
		for _, id := range ids {
			em.scarce[id] = prune && em.prob[id] > 0 && !rare[id] && counts[id] < minProb*total
			if em.prob[id] == 0 || rare[id] {
				counts[id] = 0
			} else {
				counts[id] = max(counts[id], leastCount)
			}
			kept += counts[id]
		}
		for _, id := range ids {
			em.prob[id] = 0
			if kept > 0 {
				em.prob[id] = counts[id] / kept
			}
		}
	})
}

// eachLetter calls do with the parameters of each letter, in the order of labels.
func (em *emission) eachLetter(do func(ids []int32)) {
	for i := 0; i < len(em.order); {
		k := i
		for k < len(em.order) && em.letter[em.order[k]] == em.letter[em.order[i]] {
			k++
		}
		do(em.order[i:k])
		i = k
	}
}

// keepNeeded clears rare for the labels on the best alignment, by logp, of every word
// that has no alignment without rare labels. What one word needs does not depend on
// what others need, nor on their order.
func (em *emission) keepNeeded(rare []bool, logp []float64) {
	usable := make([]bool, len(rare))
	for id := range rare {
		usable[id] = !rare[id] && em.prob[id] > 0
	}
	var reached []bool
	var best bestPath
	for i, params := range em.params {
		if params == nil {
			continue
		}
		n, m := len(em.letters[i]), len(em.phones[i])
		w := m + 1
		reached = sized(reached, (n+1)*w)
		clear(reached)
		reached[0] = true
		for t := range n {
			lo, hi := em.span(t, n, m)
			for j := lo; j <= hi; j++ {
				if !reached[t*w+j] {
					continue
				}
				for k, id := range params[(t*w+j)*(em.k+1) : (t*w+j+1)*(em.k+1)] {
					if id >= 0 && usable[id] {
						reached[(t+1)*w+j+k] = true
					}
				}
			}
		}
		if reached[n*w+m] {
			continue
		}
		for _, id := range best.find(em, i, logp) {
			rare[id] = false
		}
	}
}

// tieSlack is the difference of log-probabilities below which two paths count as
// equally good. Where letters share phones symmetrically, probabilities are
// equal up to rounding, and rounding is not to decide.
const tieSlack = 1e-9

// viterbi fills al.Labels and al.Lost. Of equally good labels the first in order wins.
func (em *emission) viterbi(al *Alignment) {
	al.Labels = make([][]int32, len(em.letters))
	logp := make([]float64, len(em.prob))
	for id, p := range em.prob {
		logp[id] = math.Log(p)
	}
	var best bestPath
	for i, params := range em.params {
		if params == nil {
			al.Lost = append(al.Lost, i)
			continue
		}
		ids := best.find(em, i, logp)
		u := make([]int32, len(ids))
		for t, id := range ids {
			u[t] = em.label[id]
		}
		al.Labels[i] = u
	}
}

// unusualLog is the log-probability of a string that a letter emits in no regular alignment,
// without its phones. Each phone takes the inverse of their number.
const unusualLog = -7

// alignLong aligns pairs with more than k phones a letter: regular labels where they serve, and
// any other strings. The latter are new labels, behind the others.
func (em *emission) alignLong(al *Alignment) {
	if em.inv.Letters == nil {
		return
	}
	lost := al.Lost
	al.Lost = nil
	perPhone := -math.Log(float64(len(em.inv.Phones)))
	var score []float64
	var back []int
	for _, i := range lost {
		x, r := em.letters[i], em.phones[i]
		n, w := len(x), len(r)+1
		if n == 0 || len(r) > maxPhones*n {
			al.Lost = append(al.Lost, i)
			continue
		}
		most := min(maxPhones, (len(r)+n-1)/n+2)
		if n > maxArcs/w/(most+1) {
			al.Lost = append(al.Lost, i)
			continue
		}
		score, back = slices.Repeat([]float64{math.Inf(-1)}, (n+1)*w), sized(back, (n+1)*w)
		score[0] = 0
		for t := range n {
			for j, s := range score[t*w : (t+1)*w] {
				for k := 0; k <= most && j+k < w && !math.IsInf(s, -1); k++ {
					p := unusualLog + float64(k)*perPhone
					if k <= em.k {
						if id := em.find(x[t], r[j:j+k]); id >= 0 && em.prob[id] > 0 {
							p = math.Log(em.prob[id])
						}
					}
					if at := (t+1)*w + j + k; s+p > score[at] {
						score[at], back[at] = s+p, k
					}
				}
			}
		}
		u := make([]int32, n)
		for t, j := n-1, len(r); t >= 0; t-- {
			k := back[(t+1)*w+j]
			u[t] = em.labelOf(r[j-k : j])
			j -= k
		}
		al.Labels[i] = u
	}
}

// labelOf returns the label of a phone string, a new one if there is none.
func (em *emission) labelOf(u []int) int32 {
	key := string(appendPhones(nil, u))
	id, ok := em.labelID[key]
	if !ok {
		id = int32(len(em.labels))
		em.labelID[key] = id
		em.labels = append(em.labels, u)
	}
	return id
}

// bestPath finds best alignments; it keeps memory from word to word.
type bestPath struct {
	score []float64
	back  []int32
	ids   []int32
}

// find returns the parameter of each letter of word i on its best alignment by logp.
// The word must have one whose parameters are all finite; every word that is alignable
// has, since normalize keeps one. The slice is valid until the next call.
func (b *bestPath) find(em *emission, i int, logp []float64) []int32 {
	n, m := len(em.letters[i]), len(em.phones[i])
	params, w := em.params[i], m+1
	b.score, b.back, b.ids = sized(b.score, (n+1)*w), sized(b.back, (n+1)*w), sized(b.ids, n)
	for j := range b.score {
		b.score[j] = math.Inf(-1)
	}
	b.score[0] = 0
	for t := range n {
		lo, hi := em.span(t, n, m)
		for j := lo; j <= hi; j++ {
			if math.IsInf(b.score[t*w+j], -1) {
				continue
			}
			for k, id := range params[(t*w+j)*(em.k+1) : (t*w+j+1)*(em.k+1)] {
				if id < 0 || math.IsInf(logp[id], -1) {
					continue
				}
				at, s := (t+1)*w+j+k, b.score[t*w+j]+logp[id]
				if s > b.score[at]+tieSlack || s > b.score[at]-tieSlack && em.label[id] < em.label[b.back[at]] {
					b.score[at], b.back[at] = s, id
				}
			}
		}
	}
	for t, j := n, m; t > 0; t-- {
		id := b.back[t*w+j]
		b.ids[t-1] = id
		j -= len(em.labels[em.label[id]])
	}
	return b.ids
}

// inventory keeps the labels that the alignments use, and widens the lists of letters. A scarce
// label becomes that of an irregular letter of its own.
func (em *emission) inventory(al *Alignment, widen int) error {
	inv := em.inv
	used := make([]bool, len(em.labels))
	for l, u := range em.labels { // letters back off to every phone
		used[l] = len(u) <= 1
	}
	allowed, irregular := map[uint64]bool{}, map[uint64]int32{}
	key := func(x, l int32) uint64 { return uint64(x)<<32 | uint64(l) }
	known := map[uint64]bool{} // labels that letters emit in regular alignments
	al.letters = em.letters
	inv.regular = len(inv.Letters)
	scarce := map[uint64]bool{}
	for _, id := range em.order {
		if em.prob[id] > 0 {
			known[key(em.letter[id], em.label[id])] = true
		}
		if em.scarce[id] {
			scarce[key(em.letter[id], em.label[id])] = true
		}
	}
	regular := make([]bool, len(inv.Letters)+1) // letters that are aligned with other labels
	for i, u := range al.Labels {
		for t, l := range u {
			if x := em.letters[i][t]; known[key(x, l)] && !scarce[key(x, l)] {
				regular[x] = true
			}
		}
	}
	var labels []int32 // of irregular letters
	for i, u := range al.Labels {
		for t, l := range u {
			used[l] = true
			k := key(em.letters[i][t], l)
			if known[k] && (!scarce[k] || !regular[em.letters[i][t]]) {
				allowed[k] = true
				continue
			}
			at, ok := irregular[k]
			if !ok {
				inv.of, labels = append(inv.of, em.letters[i][t]), append(labels, l)
				at = int32(inv.regular + len(inv.of))
				irregular[k] = at
			}
			al.letters[i][t] = at
		}
	}
	// Letters are code points in ascending order: these are of private use.
	next := rune(irregularFrom)
	if n := inv.regular; n > 0 {
		next = max(next, inv.Letters[n-1]+1)
	}
	for range inv.of {
		inv.Letters = append(inv.Letters, next)
		next++
	}
	if next > utf8.MaxRune || len(inv.Letters) >= boundary {
		return fmt.Errorf("g2p: %d different letters and %d irregular ones are too many", inv.regular, len(inv.of))
	}
	number := make([]int32, len(em.labels))
	order := make([]int32, len(em.labels))
	for l := range order {
		order[l] = int32(l)
	}
	slices.SortFunc(order, func(a, b int32) int { return slices.Compare(em.labels[a], em.labels[b]) })
	for _, l := range order {
		if used[l] {
			number[l] = int32(len(inv.Labels))
			inv.Labels = append(inv.Labels, slices.Clone(em.labels[l]))
		}
	}
	for _, u := range al.Labels {
		for t := range u {
			u[t] = number[u[t]]
		}
	}
	inv.Allowed = make([][]int32, len(inv.Letters)+1)
	inv.Prob = make([][]float64, len(inv.Letters)+1)
	for _, id := range em.order {
		x, l := em.letter[id], em.label[id]
		if allowed[key(x, l)] {
			inv.Allowed[x] = append(inv.Allowed[x], number[l])
			inv.Prob[x] = append(inv.Prob[x], em.prob[id])
		}
	}
	for k, l := range labels {
		inv.Allowed[inv.regular+1+k], inv.Prob[inv.regular+1+k] = []int32{number[l]}, []float64{1}
	}
	for x := range inv.Allowed {
		if len(inv.Allowed[x]) == 0 { // never seen
			inv.Allowed[x], inv.Prob[x] = []int32{0}, []float64{1}
		}
	}
	inv.backoff(al.letters, al.Labels)
	inv.widen(widen)
	return nil
}

// sized returns s with length n and arbitrary contents.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n+n/2)[:n]
	}
	return s[:n]
}
