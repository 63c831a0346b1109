package gibbs

// Form is what one group of chains says of tied windows: the mean of both Rao-Blackwell forms, and
// raw counts minus each, which have mean zero.
type Form struct {
	Mean    []float64
	Control []float64 // raw - left, then raw - right
}

// sums adds up the counts of tied windows, [left][label]: of order 2 by the left form and by the
// right one.
func (c *Counts) sums(m *Model) (left, right []float64) {
	n := tiedLen(m)
	left = make([]float64, n)
	q, l := m.Order, len(m.Sizes)
	if c.Windows != nil {
		for t := q - 1; t < l; t++ {
			if t > q-1 && &c.Windows[t][0] == &c.Windows[t-1][0] {
				break // shared
			}
			for i, x := range c.Windows[t] {
				left[i] += x
			}
		}
		return left, nil
	}
	labels := 0
	if q <= l {
		labels = m.Sizes[q-1]
	}
	for t := q - 1; t < l; t++ {
		if t > q-1 && c.offset[2*t] == c.offset[2*t-2] {
			break
		}
		rows := c.side(t, 0)
		for i := range left {
			left[i] += float64(rows[i/labels*c.Stride+i%labels])
		}
	}
	if q == 1 {
		return left, nil
	}
	right = make([]float64, n)
	for t := range l - 1 {
		if t > 0 && c.offset[2*t+1] == c.offset[2*t-1] {
			break
		}
		rows := c.side(t, 1)
		for i := range right {
			right[i] += float64(rows[i%labels*c.Stride+i/labels])
		}
	}
	return left, right
}

// Shared is Windows for tied windows alone, from counts that may be shared by positions.
func Shared(m *Model, groups []*Counts) *Estimate {
	forms := Forms(m, groups, nil)
	e := &Estimate{}
	e.Tied, e.TiedErr, e.TiedDegrees = Mean(forms)
	return e
}

// Mean returns the mean of the forms, its standard errors, and their degrees of freedom.
func Mean(forms []Form) (mean, err []float64, degrees int) {
	n, k := len(forms[0].Mean), float64(len(forms))
	mean = make([]float64, n)
	for i := range n {
		for g := range forms {
			mean[i] += forms[g].Mean[i] / k
		}
	}
	err, degrees = spread(len(forms), n, func(g, i int) float64 { return forms[g].Mean[i] })
	return mean, err, degrees
}

// Forms returns the form of each group, with controls where raw counts are given (order 2).
func Forms(m *Model, groups []*Counts, raw [][]float64) []Form {
	out := make([]Form, len(groups))
	total := float64(max(0, len(m.Sizes)-m.Order+1))
	scaled := func(x []float64) {
		sum := 0.0
		for _, y := range x {
			sum += y
		}
		if sum > 0 {
			for i := range x {
				x[i] *= total / sum
			}
		}
	}
	for g, c := range groups {
		left, right := c.sums(m)
		scaled(left)
		f := &out[g]
		f.Mean = append([]float64(nil), left...)
		if right == nil {
			continue
		}
		scaled(right)
		for i, x := range right {
			f.Mean[i] = (f.Mean[i] + x) / 2
		}
		if raw == nil {
			continue
		}
		scaled(raw[g])
		n := len(left)
		f.Control = make([]float64, 2*n)
		for i, x := range raw[g] {
			f.Control[i], f.Control[n+i] = x-left[i], x-right[i]
		}
	}
	return out
}

// Sums adds the forms of windows to rows shaped as the potentials, each form with an equal share
// (order 1 and 2).
func (c *Counts) Sums(m *Model, rows [][]float64) {
	for t, row := range rows {
		n := m.Sizes[t]
		share := 1.0
		if t > 0 && m.Order == 2 {
			share = 0.5
			right := c.side(t-1, 1)
			for i := range row {
				row[i] += share * float64(right[i%n*c.Stride+i/n])
			}
		}
		left := c.side(t, 0)
		for i := range row {
			row[i] += share * float64(left[i/n*c.Stride+i%n])
		}
	}
}
