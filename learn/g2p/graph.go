package g2p

import (
	"slices"

	"github.com/tropica-fst/tropica/losses"
)

// layers builds a machine in which every label is a class of its own, as
// losses.Evaluator.EvalFactored likes it. sizes[t] is the number of labels of letter t,
// columns(t) that of columns before letter t. arc returns the column and the index of the value
// that a label leads to; its value is Excluded where there is no such arc.
func layers(b *losses.Builder, sizes []int, columns func(t int) int, arc func(t, column, label int) (next, value uint32)) error {
	labels := make([]uint32, slices.Max(sizes))
	for i := range labels {
		labels[i] = uint32(i)
	}
	var next, value []uint32
	for t, size := range sizes {
		next, value = next[:0], value[:0]
		for c := range columns(t) {
			for k := range size {
				to, v := arc(t, c, k)
				next, value = append(next, to), append(value, v)
			}
		}
		if err := b.Layer(losses.Layer{Labels: size, Class: labels[:size], Classes: size, Columns: columns(t), Next: next, Off: value}); err != nil {
			return err
		}
	}
	return nil
}

// lossMachine returns m for the whole lists of labels. full[t] gives, for each label of letter t,
// its label in m, or -1 where it was taken from the lattice: a label without strings.
func lossMachine(m *losses.Machine, sizes []int, full [][]int32) (*losses.Machine, error) {
	var b losses.Builder
	b.SetBase(m.Base())
	err := layers(&b, sizes, m.Columns, func(t, column, label int) (next, value uint32) {
		if full[t] != nil {
			if label = int(full[t][label]); label < 0 {
				return 0, losses.Excluded
			}
		}
		_, class := m.Classes(t)
		next, value = m.Arc(t, uint32(column), int(class[label]))
		return next, b.Value(m.Value(value))
	})
	if err != nil {
		return nil, err
	}
	final := make([]uint32, m.Columns(len(sizes)))
	for c := range final {
		final[c] = b.Value(m.Value(m.Final(uint32(c))))
	}
	return b.Finish(final)
}

// rightMachine returns the machine of loss 0 for the label strings that expand to exactly r. full
// is that of lossMachine. Its columns are the numbers of phones emitted, restricted to those on
// some path to the end. It is nil when there is none.
func rightMachine(r []int, lists [][][]int, full [][]int32) (*losses.Machine, error) {
	n, w := len(lists), len(r)+1
	// alive[t·w+j]: the rest of r can be emitted from here.
	alive := make([]bool, (n+1)*w)
	alive[n*w+len(r)] = true
	// step returns where label k of letter t leads after j phones, and whether the end can be
	// reached from there.
	step := func(t, j, k int) (to int, ok bool) {
		u := lists[t][k]
		to = j + len(u)
		return to, (full[t] == nil || full[t][k] >= 0) && to < w && alive[(t+1)*w+to] && slices.Equal(r[j:to], u)
	}
	for t := n - 1; t >= 0; t-- {
		for j := range w {
			for k := range lists[t] {
				if _, ok := step(t, j, k); ok {
					alive[t*w+j] = true
					break
				}
			}
		}
	}
	if !alive[0] {
		return nil, nil
	}
	// number[t·w+j]: the column, among those that are alive and reached.
	number := make([]uint32, (n+1)*w)
	at := make([][]int, n+1)
	at[0] = []int{0}
	sizes := make([]int, n)
	for t := range n {
		sizes[t] = len(lists[t])
		for _, j := range at[t] {
			for k := range lists[t] {
				if to, ok := step(t, j, k); ok && !slices.Contains(at[t+1], to) {
					number[(t+1)*w+to] = uint32(len(at[t+1]))
					at[t+1] = append(at[t+1], to)
				}
			}
		}
	}
	var b losses.Builder
	zero := b.Value(0)
	err := layers(&b, sizes, func(t int) int { return len(at[t]) }, func(t, column, label int) (next, value uint32) {
		to, ok := step(t, at[t][column], label)
		if !ok {
			return 0, losses.Excluded
		}
		return number[(t+1)*w+to], zero
	})
	if err != nil {
		return nil, err
	}
	return b.Finish([]uint32{zero})
}
