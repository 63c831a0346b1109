package gibbs

// Counts are sums over samples of the probabilities of labels given all other labels.
//
// At[t][side] is by the label of a neighbour, in rows of Stride floats: for side 0 the left one
// (row 0 alone where there is none), for side 1 the right one. Order 1 has side 0 alone, with one
// row; order 3 has Windows in their place, where each of the three forms counts a third.
type Counts struct {
	Stride  int
	Labels  []int
	Data    []float32
	offset  []int       // of the sides of each position
	Windows [][]float64 // order 3
	own     [][]float64 // the rows of Windows, each once
	Order   int
	N       float64 // samples
}

// NewCounts returns counts of zero for a model; shared, positions whose windows are complete have
// one place in common.
func NewCounts(m *Model, shared bool) *Counts {
	c := &Counts{Labels: m.Sizes, Order: m.Order, Stride: Stride(m)}
	if m.Order == 3 {
		c.Windows = make([][]float64, len(m.Theta))
		for t, row := range m.Theta {
			if shared && t >= m.Order {
				c.Windows[t] = c.Windows[t-1]
				continue
			}
			c.Windows[t] = make([]float64, len(row))
			c.own = append(c.own, c.Windows[t])
		}
		return c
	}
	n := 0
	c.offset = make([]int, 2*len(m.Sizes))
	for t := range m.Sizes {
		for d := range 2 {
			if shared && t > m.Order-1 && c.rows(t, d) > 0 && c.rows(t-1, d) == c.rows(t, d) {
				c.offset[2*t+d] = c.offset[2*(t-1)+d]
				continue
			}
			c.offset[2*t+d] = n
			n += c.rows(t, d) * c.Stride
		}
	}
	c.Data = make([]float32, n)
	return c
}

// Stride returns the floats of a row: 16 or 32 for few labels, so that rows fill registers.
func Stride(m *Model) int {
	widest := 1
	for _, n := range m.Sizes {
		widest = max(widest, n)
	}
	switch {
	case widest <= 16:
		return 16
	case widest <= most:
		return most
	}
	return widest
}

// rows returns the rows of side d of position t.
func (c *Counts) rows(t, d int) int {
	switch {
	case d == 0 && (t == 0 || c.Order == 1):
		return 1
	case d == 0:
		return c.Labels[t-1]
	case t == len(c.Labels)-1 || c.Order == 1:
		return 0
	}
	return c.Labels[t+1]
}

// side returns the rows of side d of position t.
func (c *Counts) side(t, d int) []float32 {
	return c.Data[c.offset[2*t+d]:][:c.rows(t, d)*c.Stride]
}

// renew returns counts, and puts fresh ones in their place.
func renew(at []*Counts, m *Model, shared bool) []*Counts {
	taken := append([]*Counts(nil), at...)
	for g := range at {
		at[g] = NewCounts(m, shared)
	}
	return taken
}

// Add adds o, scaled, to c.
func (c *Counts) Add(o *Counts, scale float32) {
	c.N += float64(scale) * o.N
	if scale == 1 {
		for i, x := range o.Data {
			c.Data[i] += x
		}
	} else {
		for i, x := range o.Data {
			c.Data[i] += scale * x
		}
	}
	for t, row := range o.own {
		to := c.own[t]
		for i, x := range row {
			to[i] += float64(scale) * x
		}
	}
}
