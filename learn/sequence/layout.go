package sequence

import (
	"fmt"
	"math"
)

// layout says where in the weight vector what stands:
//
//	single attributes   a row of D weights each, one for each label; or, when
//	                    only observed pairs have weights, a shorter row
//	label 1-grams       D
//	label 2-grams       D·D, earlier label first, if order ≥ 2
//	label 3-grams       D·D·D, if order is 3
//	pair attributes     a row of D·D each
type layout struct {
	labels int // D
	order  int
	single int // attributes
	pair   int

	// With observed pairs only: row a holds the weights of the labels
	// seen[ptr[a]:ptr[a+1]], ascending, at the same offsets. Else nil.
	ptr  []int
	seen []int32

	at1, at2, at3, atPair, dim int
}

// maxWeights bounds the weight vector: 16 GB, and what an int counts on 32 bits.
const maxWeights = min(1<<31, math.MaxInt)

func newLayout(labels, order, single, pair int, ptr []int, seen []int32) (*layout, error) {
	l := &layout{labels: labels, order: order, single: single, pair: pair, ptr: ptr, seen: seen}
	d := float64(labels)
	size := d * float64(single)
	if ptr != nil {
		size = float64(len(seen))
	}
	l.at1 = int(size)
	size += d
	if order >= 2 {
		size += d * d
	}
	if order >= 3 {
		size += d * d * d
	}
	size += d * d * float64(pair)
	if size > maxWeights {
		return nil, fmt.Errorf("sequence: %d labels, %d attributes and %d pair attributes at order %d make %.3g weights, more than %d; raise the minimum count or lower the order", labels, single, pair, order, size, maxWeights)
	}
	l.at2 = l.at1 + labels
	l.at3 = l.at2
	if order >= 2 {
		l.at3 += labels * labels
	}
	l.atPair = l.at3
	if order >= 3 {
		l.atPair += labels * labels * labels
	}
	l.dim = l.atPair + pair*labels*labels
	return l, nil
}

// label2 and label3 return the weights of label n-grams; nil beyond the order.
func (l *layout) label2(w []float64) []float64 {
	if l.order < 2 {
		return nil
	}
	return w[l.at2:l.at3]
}

func (l *layout) label3(w []float64) []float64 {
	if l.order < 3 {
		return nil
	}
	return w[l.at3:l.atPair]
}

// addScores adds the scores of labels from the single attributes of a position
// and from the label itself. The rows of single attributes are in rows, one every
// stride floats; w itself holds them as such with stride D.
func (l *layout) addScores(dst, w, rows []float64, stride int, ids []int32, values []float64) {
	d := l.labels
	dst = dst[:d]
	switch {
	case l.ptr != nil:
		for k, a := range ids {
			v := 1.0
			if values != nil {
				v = values[k]
			}
			from := l.ptr[a]
			for i, y := range l.seen[from:l.ptr[a+1]] {
				dst[y] += v * w[from+i]
			}
		}
	case values == nil:
		// Behind a position's attributes stand those of the next, to be fetched early.
		sumRowsOf(dst, rows, ids[:cap(ids)], len(ids), stride)
	default:
		sumScaledRows(dst, rows, ids, values, stride)
	}
	for y, v := range w[l.at1 : l.at1+d] {
		dst[y] += v
	}
}

// row returns the weights of a single attribute and where they stand.
func (l *layout) row(a int) (from, to int) {
	if l.ptr != nil {
		return l.ptr[a], l.ptr[a+1]
	}
	return a * l.labels, (a + 1) * l.labels
}

// pairRow returns where the weights of a pair attribute stand.
func (l *layout) pairRow(a int) (from, to int) {
	n := l.labels * l.labels
	return l.atPair + a*n, l.atPair + (a+1)*n
}

// fillWindows stores the score of each window that ends at position t of a sequence. node holds the
// scores of its labels, pairIDs its pair attributes. dst has D^min(order, t+1) entries, earliest
// label first.
func (l *layout) fillWindows(dst, w, node []float64, pairIDs []int32, pairValues []float64, t int) {
	d := l.labels
	if t == 0 || l.order == 1 {
		copy(dst, node[:d])
		return
	}
	bigram := dst
	if l.order == 3 && t >= 2 {
		bigram = dst[:d*d] // the block of the first label, then added to the others
	}
	label2 := l.label2(w)
	for a := range d {
		row := bigram[a*d:][:d]
		for b, v := range label2[a*d:][:d] {
			row[b] = v + node[b]
		}
	}
	for k, id := range pairIDs {
		v := 1.0
		if pairValues != nil {
			v = pairValues[k]
		}
		from, to := l.pairRow(int(id))
		for i, x := range w[from:to] {
			bigram[i] += v * x
		}
	}
	if l.order == 3 && t >= 2 {
		label3 := l.label3(w)
		for a := d - 1; a >= 0; a-- {
			block := dst[a*d*d:][:d*d]
			for i, x := range label3[a*d*d:][:d*d] {
				block[i] = bigram[i] + x
			}
		}
	}
}

// windows returns D^min(order, t+1).
func (l *layout) windows(t int) int {
	n := 1
	for range min(l.order, t+1) {
		n *= l.labels
	}
	return n
}
