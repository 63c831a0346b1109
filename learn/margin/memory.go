package margin

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/space"
)

// memory keeps outputs of every sample that inference found. Each of them is a bound of the
// sample's largest score, at any weights and for any reference: planes of the risk can be made of
// them without another inference.
type memory[X, Y, A any] struct {
	s    space.Remembering[X, Y, A]
	data []space.Sample[X, A]
	most int // of a sample
	kept [][]kept[Y]
	time int // rounds of keeping
}

// kept is an output of a sample. Its value is its score and add, the loss.
type kept[Y any] struct {
	y    Y
	add  float64
	used int // the last time that it was the best
}

// newMemory returns nil where the space cannot remember, or none are to be kept.
func newMemory[X, Y, A any](s space.Space[X, Y, A], data []space.Sample[X, A], most int) *memory[X, Y, A] {
	r, ok := s.(space.Remembering[X, Y, A])
	if !ok || most <= 0 {
		return nil
	}
	return &memory[X, Y, A]{s: r, data: data, most: most, kept: make([][]kept[Y], len(data))}
}

// best returns the output of sample i of largest value at w, and that value; -1 where there is
// none.
func (m *memory[X, Y, A]) best(i int, w []float64) (at int, value float64) {
	at, value = -1, math.Inf(-1)
	for k := range m.kept[i] {
		o := &m.kept[i][k]
		if v := o.add + m.s.Score(m.data[i].X, w, o.y); at < 0 || v > value {
			at, value = k, v
		}
	}
	return at, value
}

// keep keeps what was found at w for each sample. Samples are independent of each other.
func (m *memory[X, Y, A]) keep(workers int, w []float64, found []space.Solution[Y]) {
	m.time++
	run.Each(workers, len(found), func(_, i int) error { // cannot fail
		y := &found[i]
		k, v := m.best(i, w)
		if k >= 0 && v >= y.Value-1e-9*(1+math.Abs(y.Value)) {
			m.kept[i][k].used = m.time
			return nil
		}
		o := kept[Y]{y.Y, y.Value - m.s.Score(m.data[i].X, w, y.Y), m.time}
		if len(m.kept[i]) < m.most {
			m.kept[i] = append(m.kept[i], o)
			return nil
		}
		oldest := 0
		for k := range m.kept[i] {
			if m.kept[i][k].used < m.kept[i][oldest].used {
				oldest = k
			}
		}
		m.kept[i][oldest] = o
		return nil
	})
}

// store puts what is kept into a checkpoint, under a name.
func (m *memory[X, Y, A]) store(k *run.Checkpoint, name string) {
	if m == nil {
		return
	}
	b := binary.AppendUvarint(nil, uint64(m.time))
	for i := range m.kept {
		b = binary.AppendUvarint(b, uint64(len(m.kept[i])))
		for j := range m.kept[i] {
			o := &m.kept[i][j]
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(o.add))
			b = binary.AppendUvarint(b, uint64(o.used))
			b = m.s.AppendOutput(b, m.data[i].X, o.y)
		}
	}
	if k.Files == nil {
		k.Files = map[string][]byte{}
	}
	k.Files[name] = b
}

// restore takes up what store has put into a checkpoint. One without it leaves the memory empty.
func (m *memory[X, Y, A]) restore(k *run.Checkpoint, name string) error {
	if m == nil || k == nil || k.Files[name] == nil {
		return nil
	}
	b := k.Files[name]
	bad := fmt.Errorf("%w: its outputs do not fit", run.ErrOther)
	next := func() (int, bool) {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > math.MaxInt32 {
			return 0, false
		}
		b = b[n:]
		return int(v), true
	}
	ok := true
	if m.time, ok = next(); !ok {
		return bad
	}
	for i := range m.kept {
		n, ok := next()
		if !ok || n > m.most {
			return bad
		}
		m.kept[i] = nil
		for range n {
			if len(b) < 8 {
				return bad
			}
			o := kept[Y]{add: math.Float64frombits(binary.LittleEndian.Uint64(b))}
			b = b[8:]
			if o.used, ok = next(); !ok || o.add-o.add != 0 {
				return bad
			}
			var err error
			if o.y, b, err = m.s.ReadOutput(b, m.data[i].X); err != nil {
				return bad
			}
			m.kept[i] = append(m.kept[i], o)
		}
	}
	if len(b) > 0 {
		return bad
	}
	return nil
}
