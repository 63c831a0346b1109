package transduce

import (
	"fmt"
	"io"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/semiring"
)

// Model makes output strings of input strings. It is read-only once made, and safe for concurrent
// use.
type Model struct {
	o       Options
	a       *alphabet
	channel *channel
	f       *features
	lexicon *Lexicon // of training; nil for none
	tagged  bool
	pairs   int // trained on
	weights []float64
}

// Form returns examples without any in them, that have tags where those of training had.
func (m *Model) Form() *Data { return &Data{Labelled: true, Tagged: m.tagged, Lexicon: m.lexicon} }

// Unseen returns the characters of an input that training did not have, each once. They are copied
// or deleted, and have no features.
func (m *Model) Unseen(input string) []rune {
	var out []rune
	for _, r := range input {
		if numberOf(m.a.runes, r) == 0 && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// Explain lists what the model was made of, and its strongest features.
func (m *Model) Explain() []learner.Section {
	facts := learner.Section{Title: "model", Columns: []string{"model", ""}, Rows: [][]any{
		{"pairs trained on", m.pairs},
		{"objective", m.o.Objective},
		{"loss", m.o.Loss},
		{"settings", learner.Settings(&m.o)},
		{"characters", len(m.a.runes)},
		{"tags", len(m.a.tags)},
		{"features", len(m.weights)},
	}}
	if m.lexicon != nil {
		facts.Rows = append(facts.Rows, []any{"states of the lexicon", m.lexicon.States()})
	}
	order := make([]int, len(m.weights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := math.Abs(m.weights[i]), math.Abs(m.weights[j])
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	list := learner.Section{Title: "features", Columns: []string{"operation", "feature", "weight"},
		Note: "^ stands before the place, | is an end of a string"}
	for _, i := range order {
		if m.weights[i] == 0 {
			break
		}
		k := m.f.table.Key(fst.StateID(i))
		what := m.a.name(k.op)
		if t := k.template & templateMask; t >= tPast && t != tKindOp && t < tJoint {
			what = "any"
		}
		list.Rows = append(list.Rows, []any{what, m.f.name(k), m.weights[i]})
	}
	return []learner.Section{facts, list}
}

const (
	fileKind    = "transduce"
	fileVersion = 1
)

type fileMeta struct {
	Options Options `json:"options"`
	Tagged  bool    `json:"tagged"`
	Pairs   int     `json:"pairs"`
}

// Write writes the model: the characters and tags, the counts of the channel by context, the keys
// of the features in two numbers each, their weights, and the lexicon, if there is one.
func (m *Model) Write(w io.Writer) error {
	c := model.New(fileKind, fileVersion)
	if err := c.SetMeta(fileMeta{m.o, m.tagged, m.pairs}); err != nil {
		return err
	}
	runes := make([]uint32, len(m.a.runes))
	for i, r := range m.a.runes {
		runes[i] = uint32(r)
	}
	model.Put(c, "characters", runes)
	if err := c.PutStrings("tags", m.a.tags); err != nil {
		return err
	}
	if err := c.PutStrings("tag lists", m.a.lists); err != nil {
		return err
	}
	model.Put(c, "contexts", packKeys(m.channel.contexts), m.channel.contexts.Len(), 2)
	start, choice, n := []int32{0}, []int32{}, []float64{}
	for _, list := range m.channel.counts {
		for _, k := range list {
			choice, n = append(choice, k.choice), append(n, k.n)
		}
		start = append(start, int32(len(choice)))
	}
	model.Put(c, "context start", start)
	model.Put(c, "context choice", choice)
	model.Put(c, "context count", n)
	model.Put(c, "features", packKeys(m.f.table), m.f.table.Len(), 2)
	model.Put(c, "weights", m.weights)
	if m.lexicon != nil {
		f := m.lexicon.f
		from, label, to, cost, final := []int32{0}, []int32{}, []int32{}, []float64{}, []float64{}
		for q := range fst.StateID(f.NumStates()) {
			for _, e := range f.Arcs(q) {
				label, to, cost = append(label, int32(e.ILabel)), append(to, int32(e.NextState)), append(cost,
					float64(e.Weight))
			}
			from, final = append(from, int32(len(label))), append(final, float64(f.Final(q)))
		}
		model.Put(c, "lexicon start", []int32{int32(f.Start())})
		model.Put(c, "lexicon arcs", from)
		model.Put(c, "lexicon label", label)
		model.Put(c, "lexicon to", to)
		model.Put(c, "lexicon cost", cost)
		model.Put(c, "lexicon final", final)
	}
	return c.Write(w)
}

func packKeys(t *fst.Table[key]) []uint64 {
	var out []uint64
	for i := range t.Len() {
		k := t.Key(fst.StateID(i))
		out = append(out, uint64(k.template)|uint64(k.op)<<16|uint64(k.seen[0])<<32|uint64(k.seen[1])<<48,
			uint64(k.seen[2])|uint64(k.seen[3])<<16|uint64(k.seen[4])<<32|uint64(k.seen[5])<<48)
	}
	return out
}

func unpackKey(a, b uint64) key {
	return key{template: uint16(a), op: op(a >> 16),
		seen: [6]uint16{uint16(a >> 32), uint16(a >> 48), uint16(b), uint16(b >> 16), uint16(b >> 32),
			uint16(b >> 48)}}
}

type loader struct{ c *model.Container }

func (l *loader) bad(format string, args ...any) error {
	return fmt.Errorf("transduce: %w: %s", model.ErrFormat, fmt.Sprintf(format, args...))
}

// Read reads a model that Write wrote, by this version of the program or an older one. It trusts
// nothing: every departure is an error that wraps model.ErrFormat or another reason of package
// model, and memory grows with the file.
func Read(r io.Reader) (*Model, error) {
	var meta fileMeta
	c, err := model.ReadKind(r, fileKind, fileVersion, &meta)
	if err != nil {
		return nil, err
	}
	l := loader{c}
	m := &Model{tagged: meta.Tagged, pairs: meta.Pairs}
	if err := learner.Complete(&m.o, &meta.Options); err != nil {
		return nil, l.bad("%v", err)
	}
	if m.a, err = l.alphabet(); err != nil {
		return nil, err
	}
	if m.channel, err = l.channel(m); err != nil {
		return nil, err
	}
	m.f = &features{a: m.a, order: int(learner.Amount(float64(m.o.Order))),
		window: int(learner.Amount(float64(m.o.Window))), damping: m.o.Damping}
	if m.f.table, err = l.keys("features", m.a); err != nil {
		return nil, err
	}
	if m.weights, err = model.Get[float64](c, "weights", m.f.table.Len()); err != nil {
		return nil, err
	}
	for i, w := range m.weights {
		if math.IsNaN(w) || math.IsInf(w, 0) {
			return nil, l.bad("weight %d is %v", i, w)
		}
	}
	if _, ok := c.Shape("lexicon start"); ok {
		m.lexicon, err = l.lexicon()
	}
	return m, err
}

func (l *loader) alphabet() (*alphabet, error) {
	a := &alphabet{}
	runes, err := model.Get[uint32](l.c, "characters")
	if err != nil {
		return nil, err
	}
	if len(runes) > maxRunes {
		return nil, l.bad("%d characters", len(runes))
	}
	for i, r := range runes {
		if r > utf8.MaxRune || !utf8.ValidRune(rune(r)) || i > 0 && r <= runes[i-1] {
			return nil, l.bad("character %d is %#x: they are code points in ascending order", i, r)
		}
		a.runes = append(a.runes, rune(r))
	}
	for _, x := range []struct {
		name string
		to   *[]string
	}{{"tags", &a.tags}, {"tag lists", &a.lists}} {
		if *x.to, err = l.c.Strings(x.name); err != nil {
			return nil, err
		}
		for i, s := range *x.to {
			if i >= edge || i > 0 && s <= (*x.to)[i-1] {
				return nil, l.bad("array %q: %.60q is out of order", x.name, s)
			}
		}
	}
	return a, nil
}

func (l *loader) keys(name string, a *alphabet) (*fst.Table[key], error) {
	packed, err := model.Get[uint64](l.c, name, -1, 2)
	if err != nil {
		return nil, err
	}
	t := fst.NewTable(hashKey)
	for i := 0; i+1 < len(packed); i += 2 {
		k := unpackKey(packed[i], packed[i+1])
		if int(k.op) >= a.ops() {
			return nil, l.bad("%s: key %d has operation %d of %d", name, i/2, k.op, a.ops())
		}
		if _, isNew := t.ID(k); !isNew {
			return nil, l.bad("%s: key %d is there twice", name, i/2)
		}
	}
	return t, nil
}

func (l *loader) channel(m *Model) (*channel, error) {
	c := &channel{a: m.a, inserts: int(learner.Amount(float64(m.o.Insertions)))}
	var err error
	if c.contexts, err = l.keys("contexts", m.a); err != nil {
		return nil, err
	}
	start, err := model.Get[int32](l.c, "context start", c.contexts.Len()+1)
	if err != nil {
		return nil, err
	}
	choice, err := model.Get[int32](l.c, "context choice")
	if err != nil {
		return nil, err
	}
	n, err := model.Get[float64](l.c, "context count", len(choice))
	if err != nil {
		return nil, err
	}
	if start[0] != 0 || int(start[len(start)-1]) != len(choice) || !slices.IsSorted(start) {
		return nil, l.bad("contexts do not divide their choices")
	}
	for id := range c.contexts.Len() {
		most := m.a.places()
		if c.contexts.Key(fst.StateID(id)).template >= gapTemplate {
			most = m.a.gaps()
		}
		var list []count
		for k := start[id]; k < start[id+1]; k++ {
			if choice[k] < 0 || int(choice[k]) >= most || !(n[k] > 0) || math.IsInf(n[k], 1) {
				return nil, l.bad("context %d has choice %d of %d, %v times", id, choice[k], most, n[k])
			}
			list = append(list, count{choice[k], n[k]})
		}
		c.counts = append(c.counts, list)
	}
	return c, nil
}

func (l *loader) lexicon() (*Lexicon, error) {
	start, err := model.Get[int32](l.c, "lexicon start", 1)
	if err != nil {
		return nil, err
	}
	final, err := model.Get[float64](l.c, "lexicon final")
	if err != nil {
		return nil, err
	}
	from, err := model.Get[int32](l.c, "lexicon arcs", len(final)+1)
	if err != nil {
		return nil, err
	}
	label, err := model.Get[int32](l.c, "lexicon label")
	if err != nil {
		return nil, err
	}
	to, err := model.Get[int32](l.c, "lexicon to", len(label))
	if err != nil {
		return nil, err
	}
	cost, err := model.Get[float64](l.c, "lexicon cost", len(label))
	if err != nil {
		return nil, err
	}
	if from[0] != 0 || int(from[len(final)]) != len(label) || !slices.IsSorted(from) || start[0] < 0 ||
		int(start[0]) >= len(final) {
		return nil, l.bad("the lexicon's states do not divide its arcs")
	}
	f := fst.NewVector[semiring.Tropical64](len(final))
	f.AddStates(len(final))
	f.SetStart(fst.StateID(start[0]))
	for q := range final {
		if math.IsNaN(final[q]) || math.IsInf(final[q], -1) {
			return nil, l.bad("lexicon: state %d has final cost %v", q, final[q])
		}
		f.SetFinal(fst.StateID(q), semiring.Tropical64(final[q]))
		for k := from[q]; k < from[q+1]; k++ {
			if label[k] < 1 || k > from[q] && label[k] <= label[k-1] || to[k] < 0 || int(to[k]) >= len(final) ||
				cost[k]-cost[k] != 0 {
				return nil, l.bad("lexicon: arc %d of state %d has label %d, cost %v, and leads to %d of %d",
					k-from[q], q, label[k], cost[k], to[k], len(final))
			}
			f.AddArc(fst.StateID(q), fst.Arc[semiring.Tropical64]{ILabel: fst.Label(label[k]),
				OLabel: fst.Label(label[k]),
				Weight: semiring.Tropical64(cost[k]), NextState: fst.StateID(to[k])})
		}
	}
	x := &Lexicon{f: f}
	x.hash = x.sum()
	return x, nil
}
