package table

import "strconv"

// Features are float32, which distinguishes all whole numbers only up to 2²⁴. Seconds since 1970
// are rounded to multiples of 128. A warning reports when this merges values that differ in the
// input.

// coarse is where float32 begins to leave out whole numbers.
const coarse = 1 << 24

// mostLarge bounds how many values of a column a chunk remembers. Values of a column that merge at
// all do so often. With 4096 values, each standing for two or more in float32, some pair is found
// unless they are spread over more than a million.
const mostLarge = 4096

// large are values of one column in one chunk from coarse on, by what float32 makes of
// them, until two have merged.
type large struct {
	seen   map[float32]float64
	merged bool
	row    int // of the chunk, of the second
	values [2]float64
}

// plain writes a number without an exponent, in as many digits as tell it from others.
func plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// isCoarse reports whether float32 leaves out whole numbers at x.
func isCoarse(x float32) bool { return x >= coarse || x <= -coarse }

// note remembers the exact value of column j in row r.
func (c *chunk) note(j, r int, exact float64) {
	if c.large == nil {
		c.large = make([]large, len(c.dicts))
	}
	l := &c.large[j]
	if l.merged {
		return
	}
	was, ok := l.seen[float32(exact)]
	switch {
	case ok && was != exact:
		l.merged, l.row, l.values = true, r, [2]float64{was, exact}
		l.seen = nil
	case !ok && len(l.seen) < mostLarge:
		if l.seen == nil {
			l.seen = make(map[float32]float64)
		}
		l.seen[float32(exact)] = exact
	}
}

// merged is the first pair of different values of a column that became one.
type merged struct {
	line   int // of the second; 0 is none
	values [2]float64
}

// mergeLarge takes what a chunk noted.
func (b *builder) mergeLarge(c *chunk) {
	for j := range c.large {
		if l := &c.large[j]; l.merged && b.merged[j].line == 0 {
			b.merged[j] = merged{b.line + 1 + c.lineOf(l.row), l.values}
		}
		c.large[j].seen = nil
	}
}

// warnMerged says which columns lost differences.
func (b *builder) warnMerged() {
	for j, m := range b.merged {
		if m.line > 0 && b.out.Columns[j].Kind == Numeric {
			b.out.warn("column %s: features are float32, in which %s and %s (line %d) are one number, and so "+
				"perhaps are others: subtract a constant or divide the column first, or drop it if it is an identifier",
				quote(b.out.Columns[j].Name), plain(m.values[0]), plain(m.values[1]), m.line)
		}
	}
}
