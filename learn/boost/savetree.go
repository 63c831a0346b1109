package boost

import (
	"fmt"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/model"
)

// treeArrays are many trees, one after the other, as a file holds them.
type treeArrays struct {
	n                             int
	nodes                         []int64 // first node of each tree, and the end
	feature, left, right, count   []int32
	flags                         []uint8
	threshold, value, gain, cover []float64
	set                           []int32 // of a node: number of its set in the file, or -1
	sets                          []int64 // first word of each set, and the end
	words                         []uint64
}

// add appends p when it is a tree.
func (a *treeArrays) add(p Predictor) bool {
	t, ok := p.(*tree.Tree)
	if !ok {
		return false
	}
	if a.n == 0 {
		a.nodes, a.sets = []int64{0}, []int64{0}
	}
	a.n++
	base := int32(len(a.sets) - 1)
	a.feature = append(a.feature, t.Feature...)
	a.left = append(a.left, t.Left...)
	a.right = append(a.right, t.Right...)
	a.count = append(a.count, t.Count...)
	a.flags = append(a.flags, t.Flags...)
	a.threshold = append(a.threshold, t.Threshold...)
	a.value = append(a.value, t.Value...)
	a.gain = append(a.gain, t.Gain...)
	a.cover = append(a.cover, t.Cover...)
	for at := range t.Feature {
		s := int32(-1)
		if t.Set != nil && t.Set[at] >= 0 {
			s = base + t.Set[at]
		}
		a.set = append(a.set, s)
	}
	for _, s := range t.Sets {
		a.words = append(a.words, s...)
		a.sets = append(a.sets, int64(len(a.words)))
	}
	a.nodes = append(a.nodes, int64(len(a.feature)))
	return true
}

func (a *treeArrays) put(c *model.Container, prefix string) {
	if a.n == 0 {
		return
	}
	prefix += "tree_"
	model.Put(c, prefix+"nodes", a.nodes)
	model.Put(c, prefix+"feature", a.feature)
	model.Put(c, prefix+"threshold", a.threshold)
	model.Put(c, prefix+"left", a.left)
	model.Put(c, prefix+"right", a.right)
	model.Put(c, prefix+"flags", a.flags)
	model.Put(c, prefix+"value", a.value)
	model.Put(c, prefix+"gain", a.gain)
	model.Put(c, prefix+"cover", a.cover)
	model.Put(c, prefix+"count", a.count)
	if len(a.sets) > 1 {
		model.Put(c, prefix+"set", a.set)
		model.Put(c, prefix+"sets", a.sets)
		model.Put(c, prefix+"words", a.words)
	}
}

// getTrees reads what put stored; every tree is checked against the schema.
func getTrees(c *model.Container, prefix string, s *Schema) ([]Predictor, error) {
	prefix += "tree_"
	if _, ok := c.Shape(prefix + "nodes"); !ok {
		return nil, nil
	}
	var a treeArrays
	var err error
	if a.nodes, err = model.Get[int64](c, prefix+"nodes"); err != nil {
		return nil, err
	}
	if a.feature, err = model.Get[int32](c, prefix+"feature"); err != nil {
		return nil, err
	}
	n := len(a.feature)
	for _, x := range []struct {
		name string
		to   *[]int32
	}{{"left", &a.left}, {"right", &a.right}, {"count", &a.count}} {
		if *x.to, err = model.Get[int32](c, prefix+x.name, n); err != nil {
			return nil, err
		}
	}
	for _, x := range []struct {
		name string
		to   *[]float64
	}{{"threshold", &a.threshold}, {"value", &a.value}, {"gain", &a.gain}, {"cover", &a.cover}} {
		if *x.to, err = model.Get[float64](c, prefix+x.name, n); err != nil {
			return nil, err
		}
	}
	if a.flags, err = model.Get[uint8](c, prefix+"flags", n); err != nil {
		return nil, err
	}
	if _, ok := c.Shape(prefix + "set"); ok {
		if a.set, err = model.Get[int32](c, prefix+"set", n); err != nil {
			return nil, err
		}
		if a.sets, err = model.Get[int64](c, prefix+"sets"); err != nil {
			return nil, err
		}
		if a.words, err = model.Get[uint64](c, prefix+"words"); err != nil {
			return nil, err
		}
	}
	bad := func(i int, format string, v ...any) error {
		return fmt.Errorf("boost: tree %d: %w: %s", i, model.ErrFormat, fmt.Sprintf(format, v...))
	}
	if !ascending(a.nodes, n) || a.set != nil && !ascending(a.sets, len(a.words)) {
		return nil, bad(0, "the arrays do not say where trees or sets begin")
	}
	out := make([]Predictor, len(a.nodes)-1)
	for i := range out {
		from, to := a.nodes[i], a.nodes[i+1]
		t := &tree.Tree{Feature: a.feature[from:to:to], Threshold: a.threshold[from:to:to],
			Left: a.left[from:to:to], Right: a.right[from:to:to], Flags: a.flags[from:to:to],
			Value: a.value[from:to:to], Gain: a.gain[from:to:to], Cover: a.cover[from:to:to],
			Count: a.count[from:to:to]}
		if a.set != nil {
			if err := a.cutSets(t, from, to); err != nil {
				return nil, bad(i, "%v", err)
			}
		}
		if err := t.Check(len(s.Columns)); err != nil {
			return nil, bad(i, "%v", err)
		}
		for at, f := range t.Feature {
			if f >= 0 && s.Columns[f].Categorical != (t.Set != nil && t.Set[at] >= 0) {
				return nil, bad(i, "node %d splits column %q as the other kind", at, s.Columns[f].Name)
			}
		}
		out[i] = t
	}
	return out, nil
}

// cutSets gives a tree its own sets.
func (a *treeArrays) cutSets(t *tree.Tree, from, to int64) error {
	for at, s := range a.set[from:to] {
		if s < 0 {
			continue
		}
		if int(s)+1 >= len(a.sets) {
			return fmt.Errorf("node %d has set %d of %d", at, s, len(a.sets)-1)
		}
		if t.Set == nil {
			t.Set = make([]int32, to-from)
			for i := range t.Set {
				t.Set[i] = -1
			}
		}
		t.Set[at] = int32(len(t.Sets))
		t.Sets = append(t.Sets, a.words[a.sets[s]:a.sets[s+1]])
	}
	return nil
}

// ascending reports whether the numbers begin at 0, do not fall, and end at end.
func ascending(x []int64, end int) bool {
	if len(x) == 0 || x[0] != 0 || x[len(x)-1] != int64(end) {
		return false
	}
	for i := 1; i < len(x); i++ {
		if x[i] < x[i-1] {
			return false
		}
	}
	return true
}
