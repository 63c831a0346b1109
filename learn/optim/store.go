package optim

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/tropica-fst/tropica/learn/run"
)

// store puts the planes into a checkpoint, with their shares of the minimum. Slopes are compressed:
// those of counted features have few values, and take an eighth of their size or less.
func (m *master) store(k *run.Checkpoint) {
	var b bytes.Buffer
	z, _ := flate.NewWriter(&b, flate.BestSpeed) // the level is one that there is
	var row []byte
	var alpha, idle, heights, tasks []float64
	for i := range m.cuts.Planes {
		p := &m.cuts.Planes[i]
		alpha, idle = append(alpha, m.alpha[i]), append(idle, float64(m.idle[i]))
		heights, tasks = append(heights, p.B), append(tasks, float64(p.Task))
		// A slope begins with how many numbers it has, and whether it names places.
		row = binary.AppendUvarint(row[:0], uint64(len(p.Values)))
		last := int32(-1)
		if p.At == nil {
			row = append(row, 0)
		} else {
			row = append(row, 1)
		}
		for _, j := range p.At {
			row = binary.AppendUvarint(row, uint64(j-last))
			last = j
		}
		for _, v := range p.Values {
			row = binary.LittleEndian.AppendUint64(row, math.Float64bits(v))
		}
		z.Write(row) // a buffer takes everything
	}
	z.Close()
	if k.Files == nil {
		k.Files = map[string][]byte{}
	}
	k.Files["planes"] = b.Bytes()
	k.Arrays["alpha"], k.Arrays["plane idle"] = alpha, idle
	k.Arrays["plane heights"], k.Arrays["plane tasks"] = heights, tasks
}

// restore takes up what store has put into a checkpoint, in place of the planes there are.
func (m *master) restore(k *run.Checkpoint) error {
	bad := fmt.Errorf("optim: %s: %w: its planes do not fit", k.Solver, run.ErrOther)
	alpha, idle := k.Arrays["alpha"], k.Arrays["plane idle"]
	heights, tasks := k.Arrays["plane heights"], k.Arrays["plane tasks"]
	if n := len(alpha); len(idle) != n || len(heights) != n || len(tasks) != n {
		return bad
	}
	z := bufio.NewReader(flate.NewReader(bytes.NewReader(k.Files["planes"])))
	c := Cuts{}
	for i := range alpha {
		p := Plane{B: heights[i], Task: int(tasks[i])}
		size, err := binary.ReadUvarint(z)
		named, err2 := z.ReadByte()
		if err != nil || err2 != nil || size > uint64(m.n) || p.Task < 0 || p.Task >= len(m.next) ||
			named > 1 || named == 0 && size != 0 && size != uint64(m.n) {
			return bad
		}
		last := int64(-1)
		for range int(size) * int(named) {
			step, err := binary.ReadUvarint(z)
			if last += int64(step); err != nil || step < 1 || step > uint64(m.n) || last >= int64(m.n) {
				return bad
			}
			p.At = append(p.At, int32(last))
		}
		row := make([]byte, 8*size)
		if _, err := io.ReadFull(z, row); err != nil {
			return bad
		}
		for ; len(row) > 0; row = row[8:] {
			p.Values = append(p.Values, math.Float64frombits(binary.LittleEndian.Uint64(row)))
		}
		c.Add(p, m.n)
	}
	if _, err := z.ReadByte(); err != io.EOF {
		return bad
	}
	*m.cuts, m.alpha, m.idle = c, append([]float64(nil), alpha...), nil
	for _, v := range idle {
		m.idle = append(m.idle, int(v))
	}
	return nil
}
