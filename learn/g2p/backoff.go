package g2p

import (
	"cmp"
	"math"
	"slices"
)

// Backoff lists what a letter may emit beyond the labels it was given in training. A label seen
// only rarely at the letter (AlignOptions.MinProb) has its own frequency. All others share the
// probability of something new, λ = (h+½)/(n+1), where the letter occurs n times and has h labels
// that it emits once. It is divided by what similar letters emit, and a little by the number of
// letters that emit a label at all. The estimates are those of Good and Turing, and of Kneser
// and Ney:
//
// I. J. Good, "The population frequencies of species and the estimation of population parameters",
// Biometrika 40:237–264, 1953. R. Kneser and H. Ney, "Improved backing-off for m-gram language
// modeling", ICASSP 1995.
type Backoff struct {
	Labels []int32   // by falling probability, then ascending
	Prob   []float64 // of each, given the letter
	Mass   float64   // their sum
}

// maxBackoff bounds the labels that a letter backs off to. Scripts with thousands of letters would
// take gigabytes without.
const maxBackoff = 1024

// Weights of what similar letters emit, against the number of letters that emit a label.
const similarShare = 0.9

// unseenMass is the probability that a letter that training did not have emits anything. It is
// small, so that the best output leaves such letters out, as the documentation promises.
const unseenMass = 1e-4

// backoff estimates inv.Backoff from the labels of aligned words. letters are those of each word,
// irregular ones for rare labels.
func (inv *Inventory) backoff(letters, labels [][]int32) {
	n := len(inv.Letters) + 1
	counts := make([]map[int32]float64, n)
	for i, u := range labels {
		for t, l := range u {
			x, _ := inv.base(letters[i][t])
			if x == noLetter {
				continue
			}
			if counts[x] == nil {
				counts[x] = map[int32]float64{}
			}
			counts[x][l]++
		}
	}
	// Rows of labels in their order, so that sums do not depend on that of a map.
	type entry struct {
		label int32
		prob  float64
	}
	rows := make([][]entry, n)
	totals, once := make([]float64, n), make([]float64, n)
	degree := make([]float64, len(inv.Labels)) // letters that emit a label
	for x, row := range counts {
		for l, c := range row {
			rows[x] = append(rows[x], entry{l, c})
			totals[x] += c // whole numbers: exact in any order
			if c == 1 {
				once[x]++
			}
			degree[l]++
		}
		slices.SortFunc(rows[x], func(a, b entry) int { return int(a.label - b.label) })
		for k := range rows[x] {
			rows[x][k].prob /= totals[x]
		}
	}
	general := make([]float64, len(inv.Labels))
	sum := 0.0
	for l := range general {
		general[l] = degree[l] + 0.1
		sum += general[l]
	}
	emitters := make([][]int32, len(inv.Labels)) // letters by label
	for x, row := range rows {
		for _, e := range row {
			emitters[e.label] = append(emitters[e.label], int32(x))
		}
	}
	probOf := func(x int32, l int32) float64 {
		k, _ := slices.BinarySearchFunc(rows[x], l, func(e entry, l int32) int { return int(e.label - l) })
		return rows[x][k].prob
	}
	inv.Backoff = make([]Backoff, n)
	similar := make([]float64, n)
	q := make([]float64, len(inv.Labels))
	for x := range inv.regular + 1 {
		// How similar other letters are: the labels, not the empty one, that both emit.
		clear(similar)
		all := 0.0
		for _, e := range rows[x] {
			if e.label == 0 {
				continue
			}
			for _, y := range emitters[e.label] {
				if int(y) != x {
					s := e.prob * probOf(y, e.label) / degree[e.label]
					similar[y] += s
					all += s
				}
			}
		}
		for l := range q {
			q[l] = (1 - similarShare) * general[l] / sum
		}
		for y, s := range similar {
			if s > 0 {
				for _, e := range rows[y] {
					q[e.label] += similarShare * s / all * e.prob
				}
			}
		}
		b := &inv.Backoff[x]
		free := 0.0 // of labels never seen at the letter
		for l := range q {
			if _, seen := counts[x][int32(l)]; !seen && !inv.allows(x, int32(l)) {
				free += q[l]
			}
		}
		lambda := (once[x] + 0.5) / (totals[x] + 1)
		if x == noLetter {
			lambda = unseenMass
		}
		var list []entry
		for l := range int32(len(q)) {
			if inv.allows(x, l) {
				continue
			}
			p := lambda * q[l] / free
			if c := counts[x][l]; c > 0 {
				p = c / totals[x]
			}
			list = append(list, entry{l, p})
		}
		slices.SortStableFunc(list, func(a, b entry) int { return cmp.Compare(b.prob, a.prob) })
		for _, e := range list[:min(len(list), maxBackoff)] {
			b.Labels, b.Prob = append(b.Labels, e.label), append(b.Prob, e.prob)
		}
		b.sum()
	}
}

// widen makes the first n labels that every letter backs off to labels of its own, which models
// then learn about: what training saw at one letter of a class, others of the class may stand for.
func (inv *Inventory) widen(n int) {
	for x := 1; x <= inv.regular; x++ {
		b := &inv.Backoff[x]
		for k := range min(n, len(b.Labels)) {
			at, _ := slices.BinarySearch(inv.Allowed[x], b.Labels[k])
			inv.Allowed[x] = slices.Insert(inv.Allowed[x], at, b.Labels[k])
			inv.Prob[x] = slices.Insert(inv.Prob[x], at, b.Prob[k])
		}
		k := min(n, len(b.Labels))
		b.Labels, b.Prob = b.Labels[k:], b.Prob[k:]
		b.sum()
	}
}

func (b *Backoff) sum() {
	b.Mass = 0
	for _, p := range b.Prob {
		b.Mass += p
	}
}

// allows reports whether a letter has a label of its own.
func (inv *Inventory) allows(x int, l int32) bool {
	_, ok := slices.BinarySearch(inv.Allowed[x], l)
	return ok
}

// backoffOf returns the back-off of a letter id, nil where there is none: irregular letters, and
// models of older files.
func (inv *Inventory) backoffOf(x int32) *Backoff {
	if int(x) >= len(inv.Backoff) || len(inv.Backoff[x].Labels) == 0 {
		return nil
	}
	return &inv.Backoff[x]
}

// logSumExp returns log Σ exp x, and -Inf for none.
func logSumExp(x []float64) float64 {
	most := math.Inf(-1)
	for _, v := range x {
		most = max(most, v)
	}
	if math.IsInf(most, -1) {
		return most
	}
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(v - most)
	}
	return most + math.Log(sum)
}
