package fst

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/tropica-fst/tropica/semiring"
)

// LinearTypes returns the types of files that hold a LinearModel.
func LinearTypes() []string { return []string{"linear-classifier", "linear-tagger"} }

var linearVersions = map[string]int32{"linear-tagger": 1, "linear-classifier": 0}

// ReadLinear reads what follows h, which s.ReadHeader has just returned and whose type
// is one of LinearTypes. Errors are BinaryErrors. Whatever the file holds, what is returned
// can be expanded without a panic: nodes and labels are in range, and contexts
// fall back in no circle. Time and memory are within a constant factor of the file's size.
func ReadLinear[W semiring.Codec[W]](s *Stream, h *Header) (*LinearModel[W], error) {
	var zero W
	if h.ArcType != zero.ArcType() {
		return nil, s.fail("a machine with arcs of type %q, not %q", h.ArcType, zero.ArcType())
	}
	version, ok := linearVersions[h.FstType]
	if !ok {
		return nil, s.fail("a machine of type %q is no linear model", h.FstType)
	}
	if h.Version != version {
		return nil, s.fail("version %d of the %s format; %d is what can be read", h.Version, h.FstType, version)
	}
	b := &bodyReader[W]{Stream: s, h: h, layout: layoutOf[W]()}
	m := &LinearModel[W]{isyms: h.InputSymbols, osyms: h.OutputSymbols}
	future, err := s.int64()
	if err != nil {
		return nil, err
	}
	if future < 0 || future > maxLinearFuture {
		s.pos -= 8
		return nil, s.fail("a window of %d words; %d is the most", future, maxLinearFuture)
	}
	m.future = int(future)
	words, err := s.int32()
	if err != nil {
		return nil, err
	}
	if m.maxInput = Label(words); words < 1 {
		s.pos -= 4
		return nil, s.fail("%d is the highest label of a word", words)
	}
	groups, err := s.int64()
	if err != nil {
		return nil, err
	}
	if groups < 0 || groups > maxState {
		s.pos -= 8
		return nil, s.fail("%d groups of features", groups)
	}
	m.groups = make([]linearGroup[W], 0, s.room(groups, 44))
	for i := range groups {
		g, err := b.linearGroup(m.future)
		if err != nil {
			if e, ok := err.(*BinaryError); ok {
				e.Err = fmt.Errorf("group %d of features: %w", i, e.Err)
			}
			return nil, err
		}
		m.groups = append(m.groups, g)
	}
	if err := b.linearWords(m); err != nil {
		return nil, err
	}
	if h.FstType == "linear-classifier" {
		classes, err := s.int64()
		if err != nil {
			return nil, err
		}
		if classes < 1 || classes > groups || groups%classes != 0 || m.future != 0 {
			s.pos -= 8
			return nil, s.fail("%d classes, where there are %d groups of features and a window of %d", classes, groups, m.future)
		}
		m.classes = int(classes)
	}
	return m, nil
}

// linearWords reads what the model knows of words.
func (b *bodyReader[W]) linearWords(m *LinearModel[W]) error {
	le := binary.LittleEndian
	if _, err := b.items(16, func(src []byte) {
		m.words = append(m.words, linearRange{int64(le.Uint64(src)), int64(le.Uint64(src[8:]))})
	}); err != nil {
		return err
	}
	labels := func(to *[]Label) error {
		_, err := b.items(4, func(src []byte) { *to = append(*to, Label(le.Uint32(src))) })
		return err
	}
	if err := labels(&m.pool); err != nil {
		return err
	}
	if err := labels(&m.outputs); err != nil {
		return err
	}
	for _, l := range slices.Concat(m.pool, m.outputs) {
		if l <= 0 {
			return b.fail("output label %d", l)
		}
	}
	if len(m.words) != int(m.maxInput)+1 {
		return b.fail("%d words, where labels go up to %d", len(m.words), m.maxInput)
	}
	for word, r := range m.words {
		if r.length < 0 || r.begin < 0 || r.length > int64(len(m.pool)) || r.begin > int64(len(m.pool))-r.length {
			return b.fail("word %d: outputs %d to %d of %d", word, r.begin, r.begin+r.length-1, len(m.pool))
		}
	}
	n, err := b.int64()
	if err != nil {
		return err
	}
	if err := labels(&m.features); err != nil {
		return err
	}
	if n != int64(len(m.groups)) || int64(len(m.features)) != n*(int64(m.maxInput)+1) {
		return b.fail("%d features in %d groups, where %d words have one in each of %d", len(m.features), n, m.maxInput, len(m.groups))
	}
	return nil
}

// linearGroup reads one group.
func (b *bodyReader[W]) linearGroup(future int) (g linearGroup[W], err error) {
	delay, err := b.int64()
	if err != nil {
		return g, err
	}
	if delay < 0 || delay > int64(future) {
		b.pos -= 8
		return g, b.fail("a delay of %d in a window of %d words", delay, future)
	}
	g.delay = int(delay)
	if g.start, err = b.int32(); err != nil {
		return g, err
	}
	// Edges come in the order of a hash table; sorted by child they are as they were made.
	type made struct {
		linearEdge
		child int32
	}
	var edges []made
	le := binary.LittleEndian
	if _, err := b.items(16, func(src []byte) {
		edges = append(edges, made{linearEdge{int32(le.Uint32(src)), Label(le.Uint32(src[4:])), Label(le.Uint32(src[8:]))}, int32(le.Uint32(src[12:]))})
	}); err != nil {
		return g, err
	}
	slices.SortFunc(edges, func(x, y made) int { return cmp.Compare(x.child, y.child) })
	g.edges = NewTable(hashLinearEdge)
	n := int32(len(edges)) + 1
	for i, e := range edges {
		if e.child != int32(i)+1 || e.parent < 0 || e.parent >= n {
			return g, b.fail("an edge from node %d to %d of %d", e.parent, e.child, n)
		}
		if _, isNew := g.edges.ID(e.linearEdge); !isNew {
			return g, b.fail("two edges under labels %d and %d at node %d", e.in, e.out, e.parent)
		}
	}
	nodes, err := b.int64()
	if err != nil {
		return g, err
	}
	if nodes != int64(n) {
		b.pos -= 8
		return g, b.fail("%d nodes, where edges make %d", nodes, n)
	}
	g.nodes = make([]linearNode[W], 0, b.room(nodes, 4))
	for range n {
		var x linearNode[W]
		if x.back, err = b.int32(); err != nil {
			return g, err
		}
		if x.weight, err = b.weight(); err != nil {
			return g, err
		}
		if x.final, err = b.weight(); err != nil {
			return g, err
		}
		if x.back < -1 || x.back >= n {
			return g, b.fail("node %d falls back to node %d of %d", len(g.nodes), x.back, n)
		}
		g.nodes = append(g.nodes, x)
	}
	if _, err := b.items(4, func(src []byte) { g.next = append(g.next, int32(le.Uint32(src))) }); err != nil {
		return g, err
	}
	if len(g.next) != int(n) || slices.ContainsFunc(append(g.next, g.start), func(x int32) bool { return x < 0 || x >= n }) {
		return g, b.fail("start %d or followers of %d nodes of %d out of range", g.start, len(g.next), n)
	}
	if q := g.circle(); q >= 0 {
		return g, b.fail("node %d falls back to itself", q)
	}
	return g, nil
}

// circle returns a node that falls back to itself, -1 if none does. O(nodes).
func (g *linearGroup[W]) circle() int {
	mark := make([]int32, len(g.nodes)) // the walk that came by first, from 1
	for i := range g.nodes {
		q := int32(i)
		for ; q != noNode && mark[q] == 0; q = g.nodes[q].back {
			mark[q] = int32(i) + 1
		}
		if q != noNode && mark[q] == int32(i)+1 {
			return int(q)
		}
	}
	return -1
}

// WriteLinear writes m as a file of its type. OpenFst reads it, and has the same machine
// of it; its own file has the edges in the order of a hash table, where here they
// are in the order of the nodes.
func WriteLinear[W semiring.Codec[W]](w io.Writer, m *LinearModel[W]) error {
	h := &Header{FstType: m.Type(), ArcType: (*new(W)).ArcType(), Version: linearVersions[m.Type()], Properties: ILabelSorted, Start: -1,
		InputSymbols: m.isyms, OutputSymbols: m.osyms}
	if m.isyms != nil {
		h.Flags |= HasInputSymbols
	}
	if m.osyms != nil {
		h.Flags |= HasOutputSymbols
	}
	le := binary.LittleEndian
	out := bufio.NewWriterSize(w, 64<<10)
	dst := h.appendBinary(nil)
	dst = le.AppendUint64(dst, uint64(m.future))
	dst = le.AppendUint32(dst, uint32(m.maxInput))
	dst = le.AppendUint64(dst, uint64(len(m.groups)))
	flush := func() error {
		_, err := out.Write(dst)
		dst = dst[:0]
		return err
	}
	for i := range m.groups {
		g := &m.groups[i]
		dst = le.AppendUint64(dst, uint64(g.delay))
		dst = le.AppendUint32(dst, uint32(g.start))
		dst = le.AppendUint64(dst, uint64(g.edges.Len()))
		for k := range g.edges.Len() {
			e := g.edges.Key(StateID(k))
			dst = le.AppendUint32(le.AppendUint32(dst, uint32(e.parent)), uint32(e.in))
			dst = le.AppendUint32(le.AppendUint32(dst, uint32(e.out)), uint32(k+1))
		}
		dst = le.AppendUint64(dst, uint64(len(g.nodes)))
		for _, x := range g.nodes {
			dst = x.final.AppendBinary(x.weight.AppendBinary(le.AppendUint32(dst, uint32(x.back))))
		}
		dst = le.AppendUint64(dst, uint64(len(g.next)))
		for _, x := range g.next {
			dst = le.AppendUint32(dst, uint32(x))
		}
		if err := flush(); err != nil {
			return err
		}
	}
	dst = le.AppendUint64(dst, uint64(len(m.words)))
	for _, r := range m.words {
		dst = le.AppendUint64(le.AppendUint64(dst, uint64(r.begin)), uint64(r.length))
	}
	for i, list := range [][]Label{m.pool, m.outputs, m.features} {
		if i == 2 {
			dst = le.AppendUint64(dst, uint64(len(m.groups)))
		}
		dst = le.AppendUint64(dst, uint64(len(list)))
		for _, l := range list {
			dst = le.AppendUint32(dst, uint32(l))
		}
		if err := flush(); err != nil {
			return err
		}
	}
	if m.classes > 0 {
		dst = le.AppendUint64(dst, uint64(m.classes))
	}
	if err := flush(); err != nil {
		return err
	}
	return out.Flush()
}
