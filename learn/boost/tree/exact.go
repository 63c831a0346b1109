package tree

import (
	"slices"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/run"
)

// exact finds splits at every threshold: the middle of any two neighbouring values
// in a node. It keeps the sample's rows in the order of each column, a node's
// always together, in the same range of every order.
type exact struct {
	x       *table.Table
	columns []column  // levels of the categorical ones
	sorted  [][]int32 // by column: all rows by value, equal values by number, missing ones last
	order   [][]int32 // the sample's, by node
	buffer  [][]int32 // one a worker
	goes    []uint8   // 1 for rows that go left
	found   []best
	masks   map[int32][]bool
	scratch []bench
}

// NewExactGrower returns a Grower that considers every threshold: the reference for
// binned growth, and better on small tables with many distinct values. A tree costs
// O(rows·columns·depth) and memory is four bytes a cell twice, beside the table, which must
// not change while the Grower is in use. Infinite values and levels out of range
// are errors. Of a sparse table it makes a dense one, with the error of table.Dense where that
// would take too much memory.
func NewExactGrower(x *table.Table, o Options) (*Grower, error) {
	if err := checkTable(x); err != nil {
		return nil, err
	}
	x, err := x.Dense(table.DenseCells / 4) // orders are eight bytes a cell more
	if err != nil {
		return nil, err
	}
	e := &exact{x: x, columns: make([]column, len(x.Columns)), sorted: make([][]int32, len(x.Columns)),
		order: make([][]int32, len(x.Columns)), goes: make([]uint8, x.Rows)}
	errs := make([]error, len(x.Columns))
	run.Jobs(o.Workers, len(x.Columns), func(_, j int) {
		if errs[j] = cancelled(o.Ctx); errs[j] != nil {
			return
		}
		for i := range x.Rows {
			if errs[j] = checkValue(x, j, i); errs[j] != nil {
				return
			}
		}
		c := &e.columns[j]
		values := x.Columns[j].Values
		c.name, c.categorical = x.Columns[j].Name, x.Columns[j].Kind == table.Categorical
		if c.categorical {
			c.prepareLevels(values, nil, MaxBins)
		}
		rows := make([]int32, x.Rows)
		for i := range rows {
			rows[i] = int32(i)
		}
		slices.SortStableFunc(rows, func(a, b int32) int {
			v, w := values[a], values[b]
			switch {
			case v < w || v == v && w != w:
				return -1
			case v > w || v != v && w == w:
				return 1
			}
			return 0
		})
		e.sorted[j] = rows
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return newGrower(e, o)
}

func (e *exact) size() (int, int)       { return e.x.Rows, len(e.x.Columns) }
func (e *exact) categorical(j int) bool { return e.columns[j].categorical }

func (e *exact) start(g *Grower) error {
	in := make([]uint8, e.x.Rows)
	for _, i := range g.rows {
		in[i] = 1
	}
	run.Jobs(g.o.Workers, len(g.columns), func(_, k int) {
		j := g.columns[k]
		to := e.order[j][:0]
		for _, i := range e.sorted[j] {
			if in[i] == 1 {
				to = append(to, i)
			}
		}
		e.order[j] = to
	})
	for len(e.scratch) < run.WorkersOf(g.o.Workers) {
		e.scratch = append(e.scratch, bench{})
		e.buffer = append(e.buffer, make([]int32, e.x.Rows))
	}
	return nil
}

func (e *exact) seal(n *Node) {
	if !n.best.categorical {
		n.Threshold = n.best.threshold
	}
}

func (e *exact) left(n *Node, row int32) bool {
	v := e.x.Columns[n.Column].Values[row]
	if n.Categorical {
		c := &e.columns[n.Column]
		code := c.code(v)
		if int(code) == c.values {
			return n.MissingLeft
		}
		return n.Set[code>>6]>>(code&63)&1 == 1
	}
	if v != v {
		return n.MissingLeft
	}
	return float64(v) <= n.Threshold
}

func (e *exact) split(t *Tree, at int, n *Node) { splitLevels(&e.columns[n.Column], t, at, n) }

func (e *exact) partition(g *Grower, nodes []int32) {
	for _, at := range nodes {
		n := &g.nodes[at]
		for _, i := range g.rows[n.from:n.to] {
			e.goes[i] = 0
			if e.left(n, i) {
				e.goes[i] = 1
			}
		}
	}
	run.Jobs(g.o.Workers, len(g.columns)+1, func(w, k int) {
		order := g.rows
		if k < len(g.columns) {
			order = e.order[g.columns[k]]
		}
		for _, at := range nodes {
			n := &g.nodes[at]
			rows, other := order[n.from:n.to], e.buffer[w]
			l, r := 0, 0
			for _, i := range rows {
				yes := int(e.goes[i])
				rows[l] = i
				other[r] = i
				l += yes
				r += 1 - yes
			}
			copy(rows[l:], other[:r])
			if k == len(g.columns) {
				a, b := &g.nodes[n.Left], &g.nodes[n.Right]
				a.from, a.to, b.from, b.to = n.from, n.from+int32(l), n.from+int32(l), n.to
			}
		}
	})
}

func (e *exact) evaluate(g *Grower, parents []int32) {
	var nodes []int32
	nodes, e.masks = g.opened(nodes, parents)
	d := len(g.columns)
	e.found = slices.Grow(e.found[:0], d*len(nodes))[:d*len(nodes)]
	workers := g.o.Workers
	if len(nodes) > 0 && len(nodes) <= 2 && int(g.nodes[nodes[0]].to-g.nodes[nodes[0]].from)*d < 10000 {
		workers = 1
	}
	run.Jobs(workers, len(e.found), func(w, i int) {
		e.found[i] = best{}
		at, j := nodes[i/d], g.columns[i%d]
		if (e.masks == nil || e.masks[at][j]) && !g.stopped() {
			e.search(g, &e.scratch[w], &g.nodes[at], int(j), &e.found[i])
		}
	})
	g.choose(nodes, e.found, d)
}

// search looks for the best split of a node in one column.
func (e *exact) search(g *Grower, w *bench, n *Node, j int, out *best) {
	s := gainsOf(g, n)
	rows, values := e.order[j][n.from:n.to], e.x.Columns[j].Values
	if c := &e.columns[j]; c.categorical {
		var seen [256]bool
		var missing Cell
		for _, i := range rows {
			if code := c.code(values[i]); int(code) == c.values {
				missing = missing.plus(g.cells[i])
			} else {
				seen[code] = true
				add(&w.cells[code], g.cells[i])
			}
		}
		occupied := w.occupied[:0]
		for code, yes := range seen {
			if yes {
				occupied = append(occupied, uint8(code))
			}
		}
		s.levels(out, j, occupied, w.cells[:], missing, nil)
		clear(w.cells[:])
		return
	}
	present := len(rows)
	var missing Cell
	for present > 0 && values[rows[present-1]] != values[rows[present-1]] {
		present--
		missing = missing.plus(g.cells[rows[present]])
	}
	e.cut(&s, g.cells, out, j, rows[:present], values, Cell{}, missing, false)
	if missing.H != 0 {
		e.cut(&s, g.cells, out, j, rows[:present], values, missing, missing, true)
	}
}

// cut is gains.cut over rows in the order of their values.
func (e *exact) cut(s *gains, cells []Cell, b *best, j int, rows []int32, values []float32, left,
	missing Cell, missingLeft bool) {
	direction := int8(0)
	if s.o.Monotone != nil {
		direction = s.o.Monotone[j]
	}
	need, at := s.need(b), -1
	var atLeft Cell
	for k, i := range rows {
		left = left.plus(cells[i])
		if k+1 < len(rows) && values[rows[k+1]] == values[i] {
			continue
		}
		right := s.total.minus(left)
		if !s.admissible(left) {
			continue
		}
		if !s.admissible(right) {
			break
		}
		var score float64
		if s.plain {
			gl, hl := float64(left.G), float64(left.H>>s.scale.shift)+s.l2
			gr, hr := float64(right.G), float64(right.H>>s.scale.shift)+s.l2
			score = gl*gl/hl + gr*gr/hr
		} else {
			score = s.both(left, right, direction)
		}
		if score > need {
			need, at, atLeft = score, k, left
		}
	}
	if at < 0 {
		return
	}
	*b = best{gain: (need - s.parent) * s.unit, score: need, column: int32(j), missingLeft: missingLeft,
		left: atLeft, threshold: beyond}
	if at+1 < len(rows) {
		b.threshold = middle(values[rows[at]], values[rows[at+1]])
	}
	if missing.H == 0 {
		b.missingLeft = 2*(atLeft.H>>s.scale.shift) >= s.total.H>>s.scale.shift
	}
}
