package gibbs

import "math"

// Estimate is what counts say of windows.
type Estimate struct {
	// shaped as the potentials; Err is the jackknife's standard error, nil unless asked for
	Mean, Err [][]float64
	Tied      []float64 // Mean summed over the positions of complete windows
	TiedErr   []float64
	Rounds    int // of control variates
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
func Windows(m *Model, groups []*Counts, cells bool) *Estimate {
	if m.Order == 2 && len(m.Sizes) > 1 {
		return newPairs(m, groups).windows(cells)
	}
	return plain(m, groups, cells)
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
func plain(m *Model, groups []*Counts, cells bool) *Estimate {
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
	if cells {
		e.Err = shape(m)
	}
	k := float64(len(groups))
	tied := tiedLen(m)
	e.Tied, e.TiedErr = make([]float64, tied), make([]float64, tied)
	sums := make([][]float64, len(groups))
	for g := range sums {
		sums[g] = make([]float64, tied)
	}
	for t, row := range e.Mean {
		for i := range row {
			sum := 0.0
			for _, g := range groups {
				sum += value(g, t, i)
			}
			row[i] = sum / total
			v := 0.0
			for j, g := range groups {
				x := value(g, t, i) / g.N
				v += (x - row[i]) * (x - row[i])
				if t >= m.Order-1 && tied > 0 {
					sums[j][i] += x
				}
			}
			if cells {
				e.Err[t][i] = math.Sqrt(v / k / (k - 1))
			}
			if t >= m.Order-1 && tied > 0 {
				e.Tied[i] += row[i]
			}
		}
	}
	for i, x := range e.Tied {
		v := 0.0
		for _, s := range sums {
			v += (s[i] - x) * (s[i] - x)
		}
		e.TiedErr[i] = math.Sqrt(v / k / (k - 1))
	}
	return e
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

func (p *pairs) windows(cells bool) *Estimate {
	l, s, g := len(p.m.Sizes), p.stride, len(p.counts)-1
	work := NewCounts(p.m, false)
	buf := make([]float32, 4*l*s)
	for _, k := range p.counts {
		p.sites = append(p.sites, p.correct(k, work, buf))
	}
	scale := float64(g-1) / float64(g)
	chosen, least := 0, math.Inf(1)
	for i := range rounds {
		total := 0.0
		for j := range l * s {
			total += math.Sqrt(p.spread(func(r int) float64 { return float64(p.sites[r][i][j]) }))
		}
		if total < least {
			chosen, least = i, total
		}
	}
	e := &Estimate{Mean: shape(p.m), Rounds: rounds[chosen]}
	if cells {
		e.Err = shape(p.m)
	}
	tied := tiedLen(p.m)
	sums := make([][]float64, g+1)
	for r := range sums {
		sums[r] = make([]float64, tied)
	}
	for a := range p.m.Sizes[0] {
		e.Mean[0][a] = float64(p.sites[g][chosen][a])
		if cells {
			e.Err[0][a] = math.Sqrt(scale * p.spread(func(r int) float64 { return float64(p.sites[r][chosen][a]) }))
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
	for t := 1; t < l; t++ {
		n := p.m.Sizes[t]
		for r, k := range p.counts {
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
				mean, v := float32(0), float32(0)
				for _, row := range rows[:g] {
					mean += row[b*s+a]
				}
				mean /= float32(g)
				for _, row := range rows[:g] {
					x := row[b*s+a] - mean
					v += x * x
				}
				to[a] = math.Sqrt(scale * float64(v))
			}
		}
	}
	if tied > 0 {
		e.Tied = sums[g]
		e.TiedErr = make([]float64, tied)
		for i := range tied {
			e.TiedErr[i] = math.Sqrt(scale * p.spread(func(r int) float64 { return sums[r][i] }))
		}
	}
	return e
}

// spread returns the sum of squares about the mean over the replicates that leave a group out.
func (p *pairs) spread(x func(r int) float64) float64 {
	g := len(p.counts) - 1
	mean, v := 0.0, 0.0
	for r := range g {
		mean += x(r)
	}
	mean /= float64(g)
	for r := range g {
		d := x(r) - mean
		v += d * d
	}
	return v
}
