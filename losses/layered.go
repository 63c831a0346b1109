package losses

// keyed makes a core layer by layer, where a column is a key of words. The columns of a layer
// are numbered in the order in which arcs lead to them, and are all known when the layer before is
// done.
type keyed struct {
	builder
	limits  limits
	l       int      // layers
	class   []uint32 // of each symbol
	classes int

	t       int        // the layer whose arcs are made
	tab     *wordTable // its columns
	next    *wordTable // of the layer behind it, as many as arcs have led to
	to, off []uint32   // its arcs, by column and class
	total   int        // columns of all layers
	bytes   int64      // of the layers before t
}

func newKeyed(lim limits, l int, class []uint32, classes int) *keyed {
	return &keyed{limits: lim, l: l, class: class, classes: classes, t: -1}
}

// start gives the column of the first layer.
func (g *keyed) start(key []uint64) {
	g.next = newWordTable(len(key))
	g.next.insert(key)
	g.total = 1
}

// open moves on to the next layer and returns its number of columns. words is the number of words
// of the columns after it.
func (g *keyed) open(words int) int {
	g.t++
	g.tab, g.next = g.next, newWordTable(words)
	n := g.tab.len()
	g.to, g.off = make([]uint32, 0, n*g.classes), make([]uint32, 0, n*g.classes)
	return n
}

// arc leads the next column and class to a column of the layer behind, with a value.
func (g *keyed) arc(key []uint64, value uint32) {
	g.to = append(g.to, uint32(g.next.insert(key)))
	g.off = append(g.off, value)
}

// room returns the error of a machine that has outgrown its limits, or of a context that is done.
func (g *keyed) room() error {
	n, arcs := g.tab.len(), cap(g.to)
	return g.limits.over(g.l, g.t, g.total+g.next.len(), g.bytes+withGraph(arcs, n)+int64(arcs)*4+g.next.bytes()+g.tab.bytes())
}

// close ends a layer that has all its arcs.
func (g *keyed) close() error {
	n := g.tab.len()
	if err := g.layer(spec{Labels: len(g.class), Class: g.class, Classes: g.classes, Columns: n, Next: g.to, Off: g.off}); err != nil {
		return err
	}
	g.bytes += withGraph(len(g.to), n)
	g.total += g.next.len()
	return nil
}

// finish returns the core, whose columns of the last layer have nothing to come.
func (g *keyed) finish() (*core, error) {
	zero := g.value(0)
	final := make([]uint32, g.next.len())
	for c := range final {
		final[c] = zero
	}
	return g.builder.finish(final)
}
