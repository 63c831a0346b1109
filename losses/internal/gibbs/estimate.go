package gibbs

import "math"

// Estimate is what counts say of windows.
type Estimate struct {
	// shaped as the potentials; Err is the jackknife's standard error, nil unless asked for
	Mean, Err [][]float64
	Tied      []float64 // Mean summed over the positions of complete windows
	TiedErr   []float64
	Rounds    int // of control variates
	// degrees of freedom of the errors: one less than the groups that were compared
	Degrees, TiedDegrees int
}

// pool says which groups are compared as one. Groups are parts of the run in turn, each of Groups
// groups of chains. Where chains mix slowly, the parts of one chain are alike: compared one by one
// they would promise too much. So parts are put together (batch means) until those of half the size
// say nearly the same.
type pool struct {
	parts int   // of one block
	block []int // by group
	n     int   // blocks
}

// alike is by how much the variance of whole chains may exceed that of their parts.
const alike = 1.2

func newPool(groups, parts int) pool {
	p := pool{parts: parts, block: make([]int, groups), n: groups / parts}
	for g := range p.block {
		p.block[g] = g/Groups/parts*Groups + g%Groups
	}
	return p
}

// pooled chooses a pool by the variance of n numbers, x(g, i) in group g, that it leads to in all.
func pooled(groups, n int, x func(g, i int) float64) pool {
	parts := groups / Groups
	if parts < 2 {
		return newPool(groups, 1)
	}
	whole := newPool(groups, parts)
	total := func(p pool) float64 {
		sum := 0.0
		for i := range n {
			sum += p.variance(func(g int) float64 { return x(g, i) })
		}
		return sum
	}
	most := total(whole)
	for k := 1; k < parts; k++ {
		if parts%k > 0 {
			continue
		}
		if p := newPool(groups, k); most <= alike*total(p) {
			return p
		}
	}
	return whole
}

// variance returns the variance of the mean of x over all groups.
func (p pool) variance(x func(g int) float64) float64 {
	var sums [64]float64
	for g, b := range p.block {
		sums[b] += x(g)
	}
	mean, v := 0.0, 0.0
	for _, s := range sums[:p.n] {
		mean += s / float64(p.n)
	}
	for _, s := range sums[:p.n] {
		v += (s - mean) * (s - mean)
	}
	k, n := float64(p.parts), float64(p.n)
	return v / (k * k * n * (n - 1))
}

// rounds are the numbers of rounds of control variates to choose from.
var rounds = [...]int{0, 1, 3}

// Windows turns counts by group into probabilities of windows.
//
// Order 2: both Rao-Blackwell forms are averaged. The raw frequency of a neighbour minus its
// probability is a control variate of mean zero, with the mean of the conditionals given that
// neighbour as its coefficient. Marginals of sites are corrected so, a few rounds in alternate
// directions, and windows are raked to them. As many rounds as make the jackknife's error of the
// sites least are taken: three where the distribution is diffuse, none or one where it is peaked,
// since corrections add up to too much there. Other orders take the forms as they are.
//
// Errors are made of cells, of tied windows alone, or not at all.
func Windows(m *Model, groups []*Counts, e Errors) *Estimate {
	if m.Order == 2 && len(m.Sizes) > 1 {
		if e == NoErrors {
			groups = halves(m, groups)
		}
		return newPairs(m, groups).windows(e)
	}
	return plain(m, groups, e)
}

// Errors says which errors an Estimate has.
type Errors int

// The errors of an Estimate.
const (
	NoErrors Errors = iota
	TiedErrors
	CellErrors
)

// halves puts groups together into two: enough to choose the rounds by.
func halves(m *Model, groups []*Counts) []*Counts {
	out := []*Counts{NewCounts(m, false), NewCounts(m, false)}
	for g, c := range groups {
		out[g&1].Add(c, 1)
	}
	return out
}

func shape(m *Model) [][]float64 {
	rows := make([][]float64, len(m.Theta))
	n := 0
	for _, row := range m.Theta {
		n += len(row)
	}
	all := make([]float64, n)
	for t, row := range m.Theta {
		rows[t], all = all[:len(row):len(row)], all[len(row):]
	}
	return rows
}

// tiedLen returns the number of complete windows of a position, 0 where positions differ.
func tiedLen(m *Model) int {
	n := 0
	for t := m.Order - 1; t < len(m.Theta); t++ {
		if n == 0 {
			n = len(m.Theta[t])
		}
		if len(m.Theta[t]) != n {
			return 0
		}
	}
	return n
}

// plain is Windows without control variates.
func plain(m *Model, groups []*Counts, errors Errors) *Estimate {
	e := &Estimate{Mean: shape(m)}
	total := 0.0
	for _, g := range groups {
		total += g.N
	}
	value := func(g *Counts, t, i int) float64 {
		if g.Windows != nil {
			return g.Windows[t][i]
		}
		n := m.Sizes[t]
		return float64(g.side(t, 0)[i/n*g.Stride+i%n])
	}
	tied := tiedLen(m)
	e.Tied = make([]float64, tied)
	sums := make([][]float64, len(groups))
	for g := range sums {
		sums[g] = make([]float64, tied)
	}
	for t, row := range e.Mean {
		for i := range row {
			for j, g := range groups {
				x := value(g, t, i)
				row[i] += x / total
				if t >= m.Order-1 && tied > 0 {
					sums[j][i] += x / g.N
				}
			}
			if t >= m.Order-1 && tied > 0 {
				e.Tied[i] += row[i]
			}
		}
	}
	if errors == NoErrors {
		return e
	}
	e.TiedErr, e.TiedDegrees = spread(len(groups), tied, func(g, i int) float64 { return sums[g][i] })
	if errors != CellErrors {
		return e
	}
	e.Err = shape(m)
	var at, cell []int // of the cells in turn
	for t, row := range e.Mean {
		for i := range row {
			at, cell = append(at, t), append(cell, i)
		}
	}
	err, degrees := spread(len(groups), len(at), func(g, i int) float64 {
		return value(groups[g], at[i], cell[i]) / groups[g].N
	})
	e.Degrees = degrees
	for i, x := range err {
		e.Err[at[i]][cell[i]] = x
	}
	return e
}

// spread returns the standard errors of the means of n numbers, x(g, i) in group g, and their
// degrees of freedom.
func spread(groups, n int, x func(g, i int) float64) ([]float64, int) {
	p := pooled(groups, n, x)
	err := make([]float64, n)
	for i := range err {
		err[i] = math.Sqrt(p.variance(func(g int) float64 { return x(g, i) }))
	}
	return err, p.n - 1
}

// pairs is the estimator of order 2. Replicate g of a jackknife leaves group g out; the last one
// has all.
type pairs struct {
	m      *Model
	stride int
	counts []*Counts
	sites  [][len(rounds)][]float32 // by replicate and rounds, rows of stride floats
}

func newPairs(m *Model, groups []*Counts) *pairs {
	p := &pairs{m: m, stride: Stride(m)}
	all := NewCounts(m, false)
	for _, g := range groups {
		all.Add(g, 1)
	}
	for _, g := range groups {
		less := NewCounts(m, false)
		less.Add(all, 1)
		less.Add(g, -1)
		p.counts = append(p.counts, less)
	}
	p.counts = append(p.counts, all)
	return p
}

// correct fills sites of a replicate.
func (p *pairs) correct(k *Counts, work *Counts, buf []float32) [len(rounds)][]float32 {
	l, s := len(p.m.Sizes), p.stride
	rb, m, n0, n1 := buf[:l*s], buf[l*s:2*l*s], buf[2*l*s:3*l*s], buf[3*l*s:4*l*s]
	clear(buf)
	for t := range l {
		for side := range 2 {
			rows, to := k.side(t, side), work.side(t, side)
			freq := n0[t*s:]
			if side == 1 {
				freq = n1[t*s:]
			}
			if side == 0 {
				sumRows(rb[t*s:][:s], rows)
			}
			normalise(to, rows, freq, s)
		}
		n := 0.
		for _, x := range rb[t*s:][:s] {
			n += float64(x)
		}
		scale := float32(1 / n)
		for i := range s {
			rb[t*s+i] *= scale
			n0[t*s+i] *= scale
			n1[t*s+i] *= scale
		}
	}
	copy(m, rb)
	var out [len(rounds)][]float32
	done := 0
	x, e := make([]float32, s), make([]float32, s)
	for i, want := range rounds {
		for ; done < want; done++ {
			for step := range l {
				t := step
				if done&1 == 1 {
					t = l - 1 - step
				}
				copy(x, rb[t*s:][:s])
				if t > 0 {
					for b := range e {
						e[b] = m[(t-1)*s+b] - n0[t*s+b]
					}
					mulAdd(x, e[:p.m.Sizes[t-1]], work.side(t, 0))
				}
				if t+1 < l {
					for b := range e {
						e[b] = m[(t+1)*s+b] - n1[t*s+b]
					}
					mulAdd(x, e[:p.m.Sizes[t+1]], work.side(t, 1))
				}
				sum := float32(0)
				for a := range p.m.Sizes[t] {
					x[a] = max(x[a], 1e-9)
					sum += x[a]
				}
				f := 1 / sum
				for a := range p.m.Sizes[t] {
					m[t*s+a] = x[a] * f
				}
			}
		}
		out[i] = append([]float32(nil), m...)
	}
	return out
}

// sumRows adds rows to sum.
func sumRows(sum, rows []float32) {
	for ; len(rows) > 0; rows = rows[len(sum):] {
		for a, x := range rows[:len(sum)] {
			sum[a] += x
		}
	}
}

// normalise stores rows divided by their sums, and the sums.
func normalise(to, rows, sums []float32, stride int) {
	for b := 0; b*stride < len(rows); b++ {
		row, dst := rows[b*stride:][:stride], to[b*stride:][:stride]
		sum := float32(0)
		for _, x := range row {
			sum += x
		}
		sums[b] = sum
		f := 1 / (sum + 1e-6)
		for a, x := range row {
			dst[a] = x * f
		}
	}
}

// mulAdd adds e·rows to x.
func mulAdd(x, e, rows []float32) {
	s := len(x)
	for b, f := range e {
		row := rows[b*s:][:s]
		for a, y := range row {
			x[a] += f * y
		}
	}
}

// rake stores in o the windows that end at t, with the margins of sites.
func (p *pairs) rake(k *Counts, t int, m []float32, o, f []float32) {
	s, n, nb := p.stride, p.m.Sizes[t], p.m.Sizes[t-1]
	left, right := k.side(t, 0), k.side(t-1, 1)
	for b := range nb {
		row, from := o[b*s:][:s], left[b*s:][:s]
		copy(row, from)
		for a := range n {
			row[a] += right[a*s+b]
		}
	}
	before, at := m[(t-1)*s:], m[t*s:][:s]
	for range 3 {
		clear(f)
		for b := range nb {
			row := o[b*s:][:s]
			sum := float32(0)
			for _, x := range row {
				sum += x
			}
			g := before[b] / (sum + 1e-20)
			for a, x := range row {
				x *= g
				row[a] = x
				f[a] += x
			}
		}
		for a := range f {
			f[a] = at[a] / (f[a] + 1e-20)
		}
		for b := range nb {
			row := o[b*s:][:s]
			for a, g := range f {
				row[a] *= g
			}
		}
	}
}

func (p *pairs) windows(errors Errors) *Estimate {
	l, s, g := len(p.m.Sizes), p.stride, len(p.counts)-1
	work := NewCounts(p.m, false)
	buf := make([]float32, 4*l*s)
	for _, k := range p.counts {
		p.sites = append(p.sites, p.correct(k, work, buf))
	}
	chosen, least := 0, math.Inf(1)
	single := newPool(g, 1)
	for i := range rounds {
		total := 0.0
		for j := range l * s {
			total += math.Sqrt(single.variance(func(r int) float64 { return float64(p.sites[r][i][j]) }))
		}
		if total < least {
			chosen, least = i, total
		}
	}
	e := &Estimate{Mean: shape(p.m), Rounds: rounds[chosen]}
	// Replicate r leaves group r out: it moves by 1/(g-1) of what the group does.
	site := func(r, i int) float64 { return float64(p.sites[r][chosen][i]) }
	scale := float64((g - 1) * (g - 1))
	all := pooled(g, l*s, site)
	cells := errors == CellErrors
	replicates := p.counts
	switch errors {
	case CellErrors:
		e.Err, e.Degrees = shape(p.m), all.n-1
	case NoErrors:
		replicates = p.counts[g:]
	}
	first := g + 1 - len(replicates)
	tied := tiedLen(p.m)
	sums := make([][]float64, g+1)
	for r := range sums {
		sums[r] = make([]float64, tied)
	}
	for a := range p.m.Sizes[0] {
		e.Mean[0][a] = site(g, a)
		if cells {
			e.Err[0][a] = math.Sqrt(scale * all.variance(func(r int) float64 { return site(r, a) }))
		}
	}
	size := 0
	for t := 1; t < l; t++ {
		size = max(size, p.m.Sizes[t-1]*s)
	}
	rows, f := make([][]float32, g+1), make([]float32, s)
	for r := range rows {
		rows[r] = make([]float32, size)
	}
	n := float32(all.n)
	share := float32(scale) / (float32(all.parts*all.parts) * n * (n - 1))
	by := make([]float32, all.n)
	for t := 1; t < l; t++ {
		n := p.m.Sizes[t]
		for i, k := range replicates {
			r := first + i
			p.rake(k, t, p.sites[r][chosen], rows[r], f)
			if tied > 0 {
				for b := range p.m.Sizes[t-1] {
					to := sums[r][b*n:][:n]
					for a, x := range rows[r][b*s:][:n] {
						to[a] += float64(x)
					}
				}
			}
		}
		for b := range p.m.Sizes[t-1] {
			for a, x := range rows[g][b*s:][:n] {
				e.Mean[t][b*n+a] = float64(x)
			}
		}
		if !cells {
			continue
		}
		for b := range p.m.Sizes[t-1] {
			to := e.Err[t][b*n:][:n]
			for a := range to {
				clear(by)
				mean, v := float32(0), float32(0)
				for r, row := range rows[:g] {
					by[all.block[r]] += row[b*s+a]
					mean += row[b*s+a]
				}
				mean /= float32(all.n)
				for _, x := range by {
					v += (x - mean) * (x - mean)
				}
				to[a] = math.Sqrt(float64(share * v))
			}
		}
	}
	if tied > 0 {
		e.Tied = sums[g]
	}
	if tied > 0 && errors != NoErrors {
		e.TiedErr, e.TiedDegrees = spread(g, tied, func(r, i int) float64 { return sums[r][i] })
		for i := range e.TiedErr {
			e.TiedErr[i] *= float64(g - 1)
		}
	}
	return e
}
