package layered

// Keyed makes a Machine layer by layer, where a column is a key of words. The columns of a layer
// are numbered in the order in which arcs lead to them. All are known when the layer before is
// done.
type Keyed struct {
	Builder
	limits  Limits
	l       int      // layers
	class   []uint32 // of each symbol
	Classes int

	t       int        // the layer whose arcs are made
	Tab     *wordTable // its columns
	Next    *wordTable // of the layer behind it, as many as arcs have led to
	to, off []uint32   // its arcs, by column and class
	Total   int        // columns of all layers
	bytes   int64      // of the layers before t
}

// NewKeyed returns an empty machine of l positions whose symbols have the given classes.
func NewKeyed(lim Limits, l int, class []uint32, classes int) *Keyed {
	return &Keyed{limits: lim, l: l, class: class, Classes: classes, t: -1}
}

// Start gives the column of the first layer.
func (g *Keyed) Start(key []uint64) {
	g.Next = newWordTable(len(key))
	g.Next.insert(key)
	g.Total = 1
}

// Open moves on to the next layer and returns its number of columns. words is the number of words
// of the columns after it.
func (g *Keyed) Open(words int) int {
	g.t++
	g.Tab, g.Next = g.Next, newWordTable(words)
	n := g.Tab.Len()
	g.to, g.off = make([]uint32, 0, n*g.Classes), make([]uint32, 0, n*g.Classes)
	return n
}

// Arc leads the next column and class to a column of the layer behind, with a value.
func (g *Keyed) Arc(key []uint64, value uint32) {
	g.to = append(g.to, uint32(g.Next.insert(key)))
	g.off = append(g.off, value)
}

// Room returns the error of a machine that has outgrown its limits, or of a context that is done.
func (g *Keyed) Room() error {
	n, arcs := g.Tab.Len(), cap(g.to)
	return g.limits.Over(g.l, g.t, g.Total+g.Next.Len(),
		g.bytes+WithGraph(arcs, n)+int64(arcs)*4+g.Next.bytes()+g.Tab.bytes())
}

// Close ends a layer that has all its arcs.
func (g *Keyed) Close() error {
	n := g.Tab.Len()
	if err := g.Layer(Spec{Labels: len(g.class), Class: g.class, Classes: g.Classes, Columns: n, Next: g.to,
		Off: g.off}); err != nil {
		return err
	}
	g.bytes += WithGraph(len(g.to), n)
	g.Total += g.Next.Len()
	return nil
}

// Finish returns the core, whose columns of the last layer have nothing to come.
func (g *Keyed) Finish() (*Machine, error) {
	zero := g.Value(0)
	final := make([]uint32, g.Next.Len())
	for c := range final {
		final[c] = zero
	}
	return g.Builder.Finish(final)
}
