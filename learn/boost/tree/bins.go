package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/run"
)

// ErrData reports features, gradients or options that no tree can be grown from.
var ErrData = errors.New("unusable data")

// MaxBins is the largest number of bins of a column, missing values not counted:
// a code is one byte, and one code is theirs.
const MaxBins = 255

// BinOptions adjusts NewBins; nil is the zero value.
type BinOptions struct {
	Max int // bins of a column; 0 is MaxBins
	// of the rows, for the quantiles; nil is all 1. Rows of weight 0 leave no trace in bins and
	// thresholds
	Weights    []float64
	SketchSize int             // entries of a quantile sketch; 0 is 2048
	Workers    int             // goroutines; 0 is one a processor. The bins do not depend on it
	Ctx        context.Context // when it is cancelled, the next column is an error; nil is never
}

// blockColumns is how many columns share a block. Eight codes fit in one word. Eight histograms of
// 256 cells, 32 KB, stay in the first-level cache while the rows of a node pass.
const blockColumns = 8

// Bins is a table in one byte a cell. Code c of a numeric column says that the value
// is above Threshold(c-1) and at most Threshold(c); of a categorical one, which
// level. The code Values(j) says that the value is missing.
//
// Codes lie in blocks of eight columns: a block has one 64-bit word a row, column k of the block in
// bits 8k … 8k+7. The words of eight blocks are adjacent, row by row, in a panel: a row of a node
// is one cache line for 64 columns. Beside that each column has its codes by itself, for rows that
// are divided by one column. Bins are safe for use by several goroutines.
type Bins struct {
	rows    int
	columns []column
	blocks  []block
	sparse  *sparseBins // of a sparse table, in place of blocks
}

type column struct {
	name        string
	categorical bool
	values      int          // codes that are not missing
	theta       []float64    // upper bound of each code but the last; nil if categorical
	levels      []int32      // categorical: level of each code, ascending
	codes       []uint8      // categorical: code of each level; missing if it has none
	rows        []uint8      // code of each row; nil in sparse bins
	edges       *[256]uint32 // nil in sparse bins
}

type block struct {
	first, columns int
	stride         int      // cells of one column's histogram: the power of two that holds values+1
	codes          []uint64 // of its panel, from its first word on
	step           int      // words of a row of the panel
}

// panelBlocks is how many blocks share a panel.
const panelBlocks = 8

// NewBins bins the columns of x. Quantiles come from a Sketch of each column. A column with no more
// distinct values than bins gets each of them exactly. A threshold is midway between the largest
// value on one side and the smallest on the other. A categorical column keeps its 255 heaviest
// levels, and the others count as missing.
//
// Bins of a sparse table are those of the same table when it is dense, and cost what there are
// entries.
//
// It costs O(rows·columns·log(bins)) time and, above what it returns, memory for a
// sketch a goroutine. Infinite values and levels out of range are errors.
func NewBins(x *table.Table, o *BinOptions) (*Bins, error) {
	if o == nil {
		o = &BinOptions{}
	}
	most := o.Max
	if most == 0 {
		most = MaxBins
	}
	if most < 1 || most > MaxBins {
		return nil, fmt.Errorf("tree: %w: %d bins; there may be 1 to %d", ErrData, o.Max, MaxBins)
	}
	if err := checkTable(x); err != nil {
		return nil, err
	}
	if o.Weights != nil && len(o.Weights) != x.Rows {
		return nil, fmt.Errorf("tree: %s: %w: %d weights for %d rows", x.Title(), ErrData, len(o.Weights), x.Rows)
	}
	for i, w := range o.Weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			return nil, fmt.Errorf("tree: %s: %w: the weight %v is not a finite number from 0", x.At(i), ErrData, w)
		}
	}
	b := &Bins{rows: x.Rows, columns: make([]column, len(x.Columns))}
	if x.Sparse != nil {
		return b, b.binSparse(x, most, o)
	}
	errs := make([]error, len(x.Columns))
	run.Jobs(o.Workers, len(x.Columns), func(_, j int) {
		if errs[j] = cancelled(o.Ctx); errs[j] == nil {
			errs[j] = b.columns[j].prepare(x, j, most, o)
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, errs[slices.IndexFunc(errs, func(e error) bool { return e != nil })]
	}
	b.encode(x, o, true)
	return b, cancelled(o.Ctx)
}

// cancelled is the error of a context, which may be nil.
func cancelled(ctx context.Context) error {
	if ctx != nil && ctx.Err() != nil {
		return fmt.Errorf("tree: stopped: %w", ctx.Err())
	}
	return nil
}

// checkTable returns an error unless x has rows and columns of that many values.
func checkTable(x *table.Table) error {
	if x == nil || x.Rows <= 0 || len(x.Columns) == 0 {
		return fmt.Errorf("tree: %w: no rows or no columns", ErrData)
	}
	if x.Rows > math.MaxInt32 {
		return fmt.Errorf("tree: %s: %w: %d rows; there may be %d", x.Title(), ErrData, x.Rows, math.MaxInt32)
	}
	if x.Sparse != nil {
		if err := x.CheckSparse(); err != nil {
			return fmt.Errorf("tree: %w: %w", ErrData, err)
		}
		return nil
	}
	for j := range x.Columns {
		if c := &x.Columns[j]; len(c.Values) != x.Rows {
			return fmt.Errorf("tree: %s: %w: column %q has %d values for %d rows", x.Title(), ErrData, c.Name,
				len(c.Values), x.Rows)
		}
	}
	return nil
}

// checkValue returns an error unless v may stand in that column.
func checkValue(x *table.Table, j, i int) error {
	c := &x.Columns[j]
	v := c.Values[i]
	if math.IsInf(float64(v), 0) {
		return fmt.Errorf("tree: %s: %w: column %q is infinite", x.At(i), ErrData, c.Name)
	}
	if c.Kind == table.Categorical && v == v && (v < 0 || v != float32(int32(v)) || v >= MaxLevel) {
		return fmt.Errorf("tree: %s: %w: column %q has %v, which is not a level's index", x.At(i),
			ErrData, c.Name, v)
	}
	return nil
}

// MaxLevel bounds a level's index from above, so that a stray number cannot ask for any
// amount of memory. Up to there float32 holds integers exactly.
const MaxLevel = 1 << 24

// prepare finds the bins of column j.
func (c *column) prepare(x *table.Table, j, most int, o *BinOptions) error {
	in := &x.Columns[j]
	c.name, c.categorical = in.Name, in.Kind == table.Categorical
	for i, v := range in.Values {
		if v-v != 0 || c.categorical { // NaN, infinite, or a level
			if err := checkValue(x, j, i); err != nil {
				return err
			}
		}
	}
	if c.categorical {
		c.prepareLevels(in.Values, o.Weights, most)
		return nil
	}
	s := Sketch{Size: max(o.SketchSize, 0)}
	if s.size() < 4*most {
		s.Size = 4 * most
	}
	s.addColumn(in.Values, o.Weights)
	cuts := s.Cuts(most)
	c.values = len(cuts)
	c.theta = make([]float64, max(len(cuts)-1, 0))
	for b := range c.theta {
		c.theta[b] = float64(cuts[b]) // until the smallest value of the next bin is known
	}
	c.setEdges()
	return nil
}

// setEdges derives the search table from theta.
func (c *column) setEdges() {
	if c.edges == nil {
		c.edges = new([256]uint32)
	}
	for b := range c.edges {
		c.edges[b] = math.MaxUint32
		if b < len(c.theta) {
			c.edges[b] = ordered(floor32(c.theta[b]))
		}
	}
}

// floor32 is the largest float32 that is at most v. For any float32 x, x <= v
// as real numbers exactly when x <= floor32(v).
func floor32(v float64) float32 {
	f := float32(v)
	if float64(f) > v {
		f = math.Nextafter32(f, float32(math.Inf(-1)))
	}
	return f
}

// DroppedLevels counts the levels of a categorical column that are not among its most
// heaviest, which trees take for missing, and their rows. Values are as NewBins wants them;
// w are weights, nil is all 1.
func DroppedLevels(values []float32, w []float64, most int) (levels, rows int) {
	for _, v := range values {
		if v == v && !(v >= 0 && v < MaxLevel) {
			return 0, 0 // NewBins has an error for it
		}
	}
	var c column
	c.prepareLevels(values, w, most)
	seen := make([]bool, len(c.codes))
	for i, v := range values {
		if v != v || w != nil && !(w[i] > 0) || int(c.codes[int(v)]) < c.values {
			continue
		}
		rows++
		if !seen[int(v)] {
			seen[int(v)] = true
			levels++
		}
	}
	return levels, rows
}

func (c *column) prepareLevels(values []float32, w []float64, most int) {
	var mass []float64
	for i, v := range values {
		if v != v {
			continue
		}
		for int(v) >= len(mass) {
			mass = append(mass, 0)
		}
		if w == nil {
			mass[int(v)]++
		} else {
			mass[int(v)] += w[i]
		}
	}
	for l, m := range mass {
		if m > 0 {
			c.levels = append(c.levels, int32(l))
		}
	}
	if len(c.levels) > most {
		slices.SortStableFunc(c.levels, func(a, b int32) int { return cmp.Compare(mass[b], mass[a]) })
		c.levels = c.levels[:most]
		slices.Sort(c.levels)
	}
	c.values = len(c.levels)
	c.codes = slices.Repeat([]uint8{uint8(c.values)}, len(mass))
	for code, l := range c.levels {
		c.codes[l] = uint8(code)
	}
}

// code returns the code of a value. The search takes the eight halvings of 255
// edges without a branch that depends on the value.
func (c *column) code(v float32) uint8 {
	if v != v {
		return uint8(c.values)
	}
	if c.categorical {
		if v >= 0 && int(v) < len(c.codes) {
			return c.codes[int(v)]
		}
		return uint8(c.values)
	}
	if c.values == 0 {
		return 0 // all missing in training: the one code there is
	}
	k, e, at := uint64(ordered(v)), c.edges, 0
	for bit := 7; bit >= 0; bit-- {
		// The difference is negative where the edge is less: its sign is the bit.
		at |= int((uint64(e[uint8(at+1<<bit-1)])-k)>>63) << bit
	}
	return uint8(at)
}

// encode computes the codes of all rows. With settle, thresholds move midway between the values on
// both sides, ignoring rows of weight 0.
func (b *Bins) encode(x *table.Table, o *BinOptions, settle bool) {
	weights := o.Weights
	b.blocks = make([]block, (len(b.columns)+blockColumns-1)/blockColumns)
	for k := range b.blocks {
		bl := &b.blocks[k]
		bl.first = k * blockColumns
		bl.columns = min(blockColumns, len(b.columns)-bl.first)
		bl.stride = 4
		for _, c := range b.columns[bl.first : bl.first+bl.columns] {
			for bl.stride < c.values+1 {
				bl.stride *= 2
			}
		}
	}
	for from := 0; from < len(b.blocks); from += panelBlocks {
		panel := b.blocks[from:min(from+panelBlocks, len(b.blocks))]
		step := len(panel)
		if step == 3 || step == 7 {
			step++ // so that no row lies in two lines
		}
		words := make([]uint64, step*b.rows)
		for k := range panel {
			panel[k].codes, panel[k].step = words[k:], step
		}
	}
	for j := range b.columns {
		b.columns[j].rows = make([]uint8, b.rows)
	}
	chunks := (b.rows + rowBlock - 1) / rowBlock
	least := make([][256]uint32, len(b.columns)) // smallest key of each bin
	for j := range least {
		for c := range least[j] {
			least[j][c] = math.MaxUint32
		}
	}
	var mu sync.Mutex
	run.Jobs(o.Workers, chunks*len(b.blocks), func(_, task int) {
		if cancelled(o.Ctx) != nil {
			return
		}
		bl := &b.blocks[task/chunks]
		from := task % chunks * rowBlock
		to := min(b.rows, from+rowBlock)
		for k := range bl.columns {
			c := &b.columns[bl.first+k]
			values, codes := x.Columns[bl.first+k].Values[from:to], c.rows[from:to]
			if !settle || c.categorical {
				for i, v := range values {
					codes[i] = c.code(v)
				}
				continue
			}
			var low [256]uint32
			for i := range low {
				low[i] = math.MaxUint32
			}
			for i, v := range values {
				code := c.code(v)
				codes[i] = code
				if v == v && (weights == nil || weights[from+i] > 0) {
					low[code] = min(low[code], ordered(v))
				}
			}
			mu.Lock()
			for i := range low {
				least[bl.first+k][i] = min(least[bl.first+k][i], low[i])
			}
			mu.Unlock()
		}
		bl.pack(b.columns, from, to)
	})
	if !settle {
		return
	}
	for j := range b.columns {
		c := &b.columns[j]
		if c.categorical {
			continue
		}
		for i := range c.theta {
			// Half of each, not half of the sum, which may overflow in neither.
			c.theta[i] = middle(float32(c.theta[i]), unordered(least[j][i+1]))
		}
		c.setEdges()
	}
}

// pack makes the words of rows from … to-1 from the codes of the columns.
func (bl *block) pack(columns []column, from, to int) {
	var codes [blockColumns][]uint8
	for k := range codes {
		codes[k] = columns[bl.first+min(k, bl.columns-1)].rows[from:to]
	}
	used := ^uint64(0) >> (64 - 8*bl.columns)
	at := from * bl.step
	for i, c := range codes[0] {
		w := uint64(c) | uint64(codes[1][i])<<8 | uint64(codes[2][i])<<16 | uint64(codes[3][i])<<24 |
			uint64(codes[4][i])<<32 | uint64(codes[5][i])<<40 | uint64(codes[6][i])<<48 | uint64(codes[7][i])<<56
		bl.codes[at] = w & used
		at += bl.step
	}
}

// middle is the middle of a < b, at least a and less than b as float64s: exact for
// float32s, which leave room for a bit.
func middle(a, b float32) float64 {
	return float64(a)/2 + float64(b)/2
}

// With bins other rows, such as those held out, as b's are. x must have b's
// columns; levels that b has not seen count as missing.
func (b *Bins) With(x *table.Table, workers int) (*Bins, error) {
	if err := checkTable(x); err != nil {
		return nil, err
	}
	if len(x.Columns) != len(b.columns) {
		return nil, fmt.Errorf("tree: %s: %w: %d columns, the bins have %d", x.Title(), ErrData,
			len(x.Columns), len(b.columns))
	}
	if (x.Sparse != nil) != (b.sparse != nil) {
		return nil, fmt.Errorf("tree: %s: %w: the table is sparse or the bins are, and the other is not",
			x.Title(), ErrData)
	}
	if x.Sparse != nil {
		return b.withSparse(x, workers)
	}
	for j := range x.Columns {
		if c := &b.columns[j]; x.Columns[j].Name != c.name ||
			(x.Columns[j].Kind == table.Categorical) != c.categorical {
			return nil, fmt.Errorf("tree: %s: %w: column %d is %q (%v), the bins have %q there", x.Title(), ErrData,
				j+1, x.Columns[j].Name, x.Columns[j].Kind, c.name)
		}
		for i, v := range x.Columns[j].Values {
			if v-v != 0 || b.columns[j].categorical {
				if err := checkValue(x, j, i); err != nil {
					return nil, err
				}
			}
		}
	}
	out := &Bins{rows: x.Rows, columns: slices.Clone(b.columns)}
	out.encode(x, &BinOptions{Workers: workers}, false)
	return out, nil
}

// Rows is the number of rows.
func (b *Bins) Rows() int { return b.rows }

// Columns is the number of columns.
func (b *Bins) Columns() int { return len(b.columns) }

// Name is the name of column j.
func (b *Bins) Name(j int) string { return b.columns[j].name }

// Categorical reports whether column j is.
func (b *Bins) Categorical(j int) bool { return b.columns[j].categorical }

// Values is the number of codes of column j that are not missing; it is also the
// code of missing values.
func (b *Bins) Values(j int) int { return b.columns[j].values }

// Code is the code of row i in column j.
func (b *Bins) Code(i, j int) uint8 {
	if b.sparse != nil {
		return b.sparse.code(int32(i), j)
	}
	return b.columns[j].rows[i]
}

// beyond is the threshold after the last code of a column: what is present is
// below it. It leaves room for a larger float32, which XGBoost's x < c needs.
var beyond = float64(math.Nextafter32(math.MaxFloat32, 0))

// Threshold is the upper bound of code c of the numeric column j: values up to
// it have a code of at most c.
func (b *Bins) Threshold(j, c int) float64 {
	if t := b.columns[j].theta; c < len(t) {
		return t[c]
	}
	return beyond
}

// Level is the level that code c of the categorical column j stands for.
func (b *Bins) Level(j, c int) int { return int(b.columns[j].levels[c]) }
