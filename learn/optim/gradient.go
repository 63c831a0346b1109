package optim

// Gradient accumulates what terms add to a gradient. It adds at once where one goroutine owns the
// vector. Otherwise it keeps a log that is replayed in the order of the examples. Both give the
// same bits.
type Gradient struct {
	dense []float64
	log   *gradientLog
}

// Add adds v to coordinate j.
func (g *Gradient) Add(j int, v float64) {
	if g.log == nil {
		g.dense[j] += v
		return
	}
	s := &g.log.parts[j>>g.log.shift]
	s.runs = append(s.runs, run32{uint32(j), 1})
	s.values = append(s.values, v)
}

// AddRow adds row to the coordinates at, at+1, …
func (g *Gradient) AddRow(at int, row []float64) {
	if g.log == nil {
		d := g.dense[at : at+len(row)]
		for i, v := range row {
			d[i] += v
		}
		return
	}
	for len(row) > 0 {
		k := at >> g.log.shift
		n := min(len(row), (k+1)<<g.log.shift-at)
		s := &g.log.parts[k]
		s.runs = append(s.runs, run32{uint32(at), uint32(n)})
		s.values = append(s.values, row[:n]...)
		at, row = at+n, row[n:]
	}
}

// gradientLog holds additions in the order in which they came, apart for each
// stripe of the vector: 2^shift coordinates.
type gradientLog struct {
	shift int
	parts []gradientPart
}

type run32 struct{ at, n uint32 }

type gradientPart struct {
	runs   []run32
	values []float64
}

// logStripes is the largest number of parts of a log: enough to share among the workers of one
// machine, few enough to write each part in long runs.
const logStripes = 32

func newGradientLog(dim int) *gradientLog {
	l := &gradientLog{}
	for dim>>l.shift >= logStripes {
		l.shift++
	}
	l.parts = make([]gradientPart, dim>>l.shift+1)
	return l
}

func (l *gradientLog) reset() {
	for i := range l.parts {
		l.parts[i].runs, l.parts[i].values = l.parts[i].runs[:0], l.parts[i].values[:0]
	}
}

// replay adds one stripe of the log to grad.
func (l *gradientLog) replay(part int, grad []float64) {
	p := &l.parts[part]
	v := p.values
	for _, r := range p.runs {
		if r.n == 1 {
			grad[r.at] += v[0]
			v = v[1:]
			continue
		}
		d := grad[r.at : r.at+r.n]
		for i, x := range v[:len(d)] {
			d[i] += x
		}
		v = v[r.n:]
	}
}

func (l *gradientLog) bytes() int {
	n := 0
	for i := range l.parts {
		n += 8 * (len(l.parts[i].runs) + len(l.parts[i].values))
	}
	return n
}
