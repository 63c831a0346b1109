package ops

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// outputSet is a set of output strings, each with its weight, in military order:
// shorter first, then by labels. It is immutable once made.
type outputSet[W any] []outputTerm[W]

// outputSets is the algebra of transducers that need not be functional: ⊕ is
// union, summing the weights of equal strings.
type outputSets[W semiring.Divisible[W]] struct {
	held int64 // bytes of the sets that are kept
	pass int64 // and of those that steps made since the last begin

	look      func() error // at the limits, and the time,
	made, ask int64        // when so many bytes have been gone through
	err       error        // of look
}

func (*outputSets[W]) one() outputSet[W]          { return outputSet[W]{{weight: semiring.One[W]()}} }
func (*outputSets[W]) zero() outputSet[W]         { return nil }
func (*outputSets[W]) isZero(r outputSet[W]) bool { return len(r) == 0 }
func (*outputSets[W]) vanished(r outputSet[W]) bool {
	return len(r) == 0 || slices.ContainsFunc(r, func(t outputTerm[W]) bool { return !cancels(t.weight) })
}
func (a *outputSets[W]) begin()                             { a.pass = 0 }
func (a *outputSets[W]) bytes() int64                       { return a.held + a.pass }
func (a *outputSets[W]) watch(look func() error)            { a.look = look }
func (a *outputSets[W]) failed() error                      { return a.err }
func (*outputSets[W]) weight(r outputSet[W]) W              { return r[0].weight }
func (*outputSets[W]) terms(r outputSet[W]) []outputTerm[W] { return r }
func (*outputSets[W]) outputBefore(r outputSet[W]) []fst.Label {
	if len(r) == 0 {
		return nil
	}
	return r[0].labels
}

func (*outputSets[W]) label(r outputSet[W]) fst.Label {
	if len(r[0].labels) == 0 {
		return fst.Epsilon
	}
	return r[0].labels[0]
}

func (a *outputSets[W]) keep(r outputSet[W]) outputSet[W] {
	a.held += termBytes(r)
	return r
}

// only counts anew: the sets themselves go to the collector.
func (a *outputSets[W]) only(left iter.Seq[*outputSet[W]]) {
	a.held = 0
	for r := range left {
		a.held += termBytes(*r)
	}
}

// termBytes is what a set takes.
func termBytes[W any](r outputSet[W]) int64 {
	n := int64(0)
	for i := range r {
		n += 48 + 4*int64(len(r[i].labels))
	}
	return n
}

// spent counts the sets visited, and reports whether a limit ends the sum. Sets double with each
// state, so that one sum may take longer than all before.
func (a *outputSets[W]) spent(sets ...outputSet[W]) bool {
	for _, r := range sets {
		a.made += termBytes(r)
	}
	if a.made >= a.ask && a.err == nil && a.look != nil {
		a.ask = a.made + 1<<20
		a.err = a.look()
	}
	return a.err != nil
}

// sum is the ⊕-sum of the weights of all outputs, which is the least where weights have the path
// property.
func (*outputSets[W]) sum(r outputSet[W]) W {
	sum := semiring.Zero[W]()
	for i := range r {
		sum = sum.Plus(r[i].weight)
	}
	return sum
}

func (*outputSets[W]) member(r outputSet[W]) bool {
	for i := range r {
		if !r[i].weight.Member() {
			return false
		}
	}
	return true
}

// each maps the terms, dropping what becomes 0̄. The map keeps their order.
func (outputSets[W]) each(r outputSet[W], to func(outputTerm[W]) outputTerm[W]) outputSet[W] {
	out := make(outputSet[W], 0, len(r))
	for _, t := range r {
		if t = to(t); !semiring.IsZero(t.weight) {
			out = append(out, t)
		}
	}
	return out
}

func (a *outputSets[W]) step(r outputSet[W], e *fst.Arc[W]) outputSet[W] {
	a.pass += termBytes(r)
	if a.spent(r) {
		return nil
	}
	return a.each(r, func(t outputTerm[W]) outputTerm[W] {
		if e.OLabel != fst.Epsilon {
			t.labels = append(t.labels[:len(t.labels):len(t.labels)], e.OLabel)
		}
		t.weight = t.weight.Times(e.Weight)
		return t
	})
}

func (a *outputSets[W]) stop(r outputSet[W], final W) outputSet[W] {
	return a.each(r, func(t outputTerm[W]) outputTerm[W] {
		t.weight = t.weight.Times(final)
		return t
	})
}

func compareMilitary(a, b []fst.Label) int {
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return slices.Compare(a, b)
}

func (a *outputSets[W]) plus(r, t outputSet[W]) (outputSet[W], bool) {
	if a.spent(r, t) {
		return nil, true
	}
	if len(r) == 0 || len(t) == 0 {
		return append(r[:len(r):len(r)], t...), true
	}
	out := make(outputSet[W], 0, len(r)+len(t))
	for len(r) > 0 && len(t) > 0 {
		switch c := compareMilitary(r[0].labels, t[0].labels); {
		case c < 0:
			out, r = append(out, r[0]), r[1:]
		case c > 0:
			out, t = append(out, t[0]), t[1:]
		default:
			out = append(out, outputTerm[W]{r[0].labels, t[0].weight.Plus(r[0].weight)})
			r, t = r[1:], t[1:]
		}
	}
	return append(append(out, r...), t...), true
}

// plusAll is the sum of all rs as plus makes it, one after another: in n·log n of their terms.
func (a *outputSets[W]) plusAll(rs []outputSet[W]) outputSet[W] {
	if a.spent(rs...) {
		return nil
	}
	n := 0
	for _, r := range rs {
		n += len(r)
	}
	all := make(outputSet[W], 0, n)
	for _, r := range rs {
		all = append(all, r...)
	}
	slices.SortStableFunc(all, func(x, y outputTerm[W]) int { return compareMilitary(x.labels, y.labels) })
	out := all[:0]
	for _, t := range all {
		if last := len(out) - 1; last >= 0 && slices.Equal(out[last].labels, t.labels) {
			out[last].weight = t.weight.Plus(out[last].weight)
		} else {
			out = append(out, t)
		}
	}
	return out
}

// divisor has one term: the first label if all strings have it, and the sum of
// the weights.
func (*outputSets[W]) divisor(d, r outputSet[W]) outputSet[W] {
	var out outputTerm[W]
	for i, t := range slices.Concat(d, r) {
		if i == 0 {
			out = outputTerm[W]{t.labels[:min(1, len(t.labels))], t.weight}
			continue
		}
		out.weight = out.weight.Plus(t.weight)
		if len(out.labels) > 0 && (len(t.labels) == 0 || t.labels[0] != out.labels[0]) {
			out.labels = nil
		}
	}
	if len(d)+len(r) == 0 {
		return nil
	}
	return outputSet[W]{out}
}

func (a *outputSets[W]) divide(d, r outputSet[W]) outputSet[W] {
	return a.each(r, func(t outputTerm[W]) outputTerm[W] {
		return outputTerm[W]{t.labels[len(d[0].labels):], d[0].weight.DivideLeft(t.weight)}
	})
}

func (a *outputSets[W]) rounded(q func(W) W) func(outputSet[W]) outputSet[W] {
	return func(r outputSet[W]) outputSet[W] {
		return a.each(r, func(t outputTerm[W]) outputTerm[W] {
			t.weight = q(t.weight)
			return t
		})
	}
}

func (*outputSets[W]) equal(r, t outputSet[W]) bool {
	return slices.EqualFunc(r, t, func(x, y outputTerm[W]) bool {
		return slices.Equal(x.labels, y.labels) && x.weight.Equal(y.weight)
	})
}

func (*outputSets[W]) appendKey(dst []byte, r outputSet[W]) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(r)))
	for _, t := range r {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(t.labels)))
		for _, l := range t.labels {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(l))
		}
		dst = t.weight.AppendKey(dst)
	}
	return dst
}
