package sequence

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/resilient"
)

// Model is a trained labeller. It is safe for use by several goroutines.
type Model struct {
	layout    *layout
	labels    []string
	templates []*Template
	single    *dictionary
	pair      *dictionary
	w         []float64
	training  string // how it was trained, for people
	format    Format
	hard      *resilient.Difficulty // of a resilient model
	net       *network              // nil for none
}

// Difficulty lists the training sequences with the largest multipliers; nil if the model is not
// resilient.
func (m *Model) Difficulty() *resilient.Difficulty { return m.hard }

// Order returns q: scores depend on windows of up to q labels.
func (m *Model) Order() int { return m.layout.order }

// Labels returns the labels; their numbers are their places.
func (m *Model) Labels() []string { return slices.Clone(m.labels) }

// Size returns the number of weights, and how many are not zero.
func (m *Model) Size() (weights, nonzero int) {
	for _, w := range m.w {
		if w != 0 {
			nonzero++
		}
	}
	return len(m.w), nonzero
}

// Training says how the model was trained.
func (m *Model) Training() string { return m.training }

// Format says what lines the model was trained on.
func (m *Model) Format() Format { return m.format }

// Templates returns the templates of the model.
func (m *Model) Templates() []*Template { return slices.Clone(m.templates) }

// Weight is one weight in readable form.
type Weight struct {
	Attribute string   // empty for label n-grams
	Labels    []string // of one to three positions, earliest first
	Value     float64
}

// Weights calls yield for each weight that is not zero, in file order, until it
// returns false.
func (m *Model) Weights(yield func(Weight) bool) {
	l, d := m.layout, m.layout.labels
	emit := func(attribute string, at int, numbers ...int) bool {
		if m.w[at] == 0 {
			return true
		}
		labels := make([]string, len(numbers))
		for i, k := range numbers {
			labels[i] = m.labels[k]
		}
		return yield(Weight{attribute, labels, m.w[at]})
	}
	for a, name := range m.single.names {
		from, to := l.row(a)
		for at := from; at < to; at++ {
			y := at - from
			if l.ptr != nil {
				y = int(l.seen[at])
			}
			if !emit(name, at, y) {
				return
			}
		}
	}
	for at := l.at1; at < l.dim; at++ {
		ok := true
		switch i := at - l.at1; {
		case at < l.at2:
			ok = emit("", at, i)
		case at < l.at3:
			i = at - l.at2
			ok = emit("", at, i/d, i%d)
		case at < l.atPair:
			i = at - l.at3
			ok = emit("", at, i/d/d, i/d%d, i%d)
		default:
			i = at - l.atPair
			ok = emit(m.pair.names[i/d/d], at, i/d%d, i%d)
		}
		if !ok {
			return
		}
	}
}

const (
	modelKind = "sequence"
	// modelVersion is of files with a network. Version 2 is without one. Version 1 had templates with
	// <s> and </s> for marks, and shapes of ASCII.
	modelVersion = 3
)

type modelMeta struct {
	Order     int      `json:"order"`
	Templates []string `json:"templates"`
	Marks     []marks  `json:"marks,omitempty"` // of the templates; missing in version 1
	Training  string   `json:"training,omitempty"`
	Format    Format   `json:"format,omitzero"` // older files have none
}

// Write writes the model as a model file of kind "sequence"; see learn/model for the layout. It has
// arrays labels, attributes and pair attributes (utf8), and weights (float64, in the order of this
// package's layout). A network has arrays that begin with its name. When only observed pairs of
// attribute and label have weights, there are also row (int64, where each attribute's weights
// begin) and seen (int32, their labels).
func (m *Model) Write(w io.Writer) error {
	version := 2
	if m.net != nil {
		version = modelVersion
	}
	f := model.New(modelKind, version)
	meta := modelMeta{Order: m.layout.order, Templates: []string{}, Training: m.training, Format: m.format}
	for _, t := range m.templates {
		meta.Templates, meta.Marks = append(meta.Templates, t.text), append(meta.Marks, t.marks)
	}
	if err := f.SetMeta(meta); err != nil {
		return err
	}
	for _, a := range []struct {
		name string
		list []string
	}{{"labels", m.labels}, {"attributes", m.single.names}, {"pair attributes", m.pair.names}} {
		if err := f.PutStrings(a.name, a.list); err != nil {
			return err
		}
	}
	model.Put(f, "weights", m.w)
	if m.layout.ptr != nil {
		row := make([]int64, len(m.layout.ptr))
		for i, p := range m.layout.ptr {
			row[i] = int64(p)
		}
		model.Put(f, "row", row)
		model.Put(f, "seen", m.layout.seen)
	}
	if err := m.hard.Put(f); err != nil {
		return err
	}
	if m.net != nil {
		if err := m.net.put(f); err != nil {
			return err
		}
	}
	return f.Write(w)
}

// Read reads what Write wrote. The error says what is wrong with the file.
func Read(r io.Reader) (*Model, error) {
	var meta modelMeta
	f, err := model.ReadKind(r, modelKind, modelVersion, &meta)
	if err != nil {
		return nil, err
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("sequence: %w: %s", model.ErrFormat, fmt.Sprintf(format, args...))
	}
	if meta.Order < 1 || meta.Order > maxOrder {
		return nil, bad("order %d", meta.Order)
	}
	if err := meta.Format.check(); err != nil {
		return nil, bad("%v", err)
	}
	m := &Model{training: meta.Training, format: meta.Format}
	if f.Version > 1 && len(meta.Marks) != len(meta.Templates) {
		return nil, bad("%d templates, and marks of %d", len(meta.Templates), len(meta.Marks))
	}
	for i, line := range meta.Templates {
		t, err := ParseTemplate(line)
		if err != nil {
			return nil, bad("%v", err)
		}
		if t.marks, t.ascii = sentenceMarks, f.Version == 1; !t.ascii {
			t.marks = meta.Marks[i]
		}
		m.templates = append(m.templates, t)
	}
	if m.labels, err = f.Strings("labels"); err != nil {
		return nil, err
	}
	singles, err := f.Strings("attributes")
	if err != nil {
		return nil, err
	}
	pairs, err := f.Strings("pair attributes")
	if err != nil {
		return nil, err
	}
	m.single, m.pair = newDictionary(singles), newDictionary(pairs)
	if len(m.labels) == 0 || len(m.single.numbers()) != len(singles) || len(m.pair.numbers()) != len(pairs) {
		return nil, bad("no labels, or attributes of the same name")
	}
	if sorted := slices.Clone(m.labels); len(slices.Compact(slices.Sorted(slices.Values(sorted)))) != len(m.labels) {
		return nil, bad("labels of the same name: %s", strings.Join(m.labels, " "))
	}
	var ptr []int
	var seen []int32
	if _, ok := f.Shape("row"); ok {
		row, err := model.Get[int64](f, "row", len(singles)+1)
		if err != nil {
			return nil, err
		}
		if seen, err = model.Get[int32](f, "seen"); err != nil {
			return nil, err
		}
		ptr = make([]int, len(row))
		for i, p := range row {
			if p < 0 || p > int64(len(seen)) || i > 0 && p < row[i-1] || i == 0 && p != 0 || i == len(row)-1 && p != int64(len(seen)) {
				return nil, bad("row %d begins at %d", i, p)
			}
			ptr[i] = int(p)
		}
		for _, y := range seen {
			if y < 0 || int(y) >= len(m.labels) {
				return nil, bad("label number %d of %d", y, len(m.labels))
			}
		}
	}
	if m.layout, err = newLayout(len(m.labels), meta.Order, len(singles), len(pairs), ptr, seen); err != nil {
		return nil, bad("%v", err)
	}
	if m.hard, err = resilient.GetDifficulty(f); err != nil {
		return nil, err
	}
	if m.net, err = getNetwork(f, len(m.labels)); err != nil {
		return nil, err
	}
	if m.w, err = model.Get[float64](f, "weights", m.layout.dim); err != nil {
		return nil, err
	}
	for i, w := range m.w {
		if w-w != 0 {
			return nil, bad("weight %d is %v", i, w)
		}
	}
	return m, nil
}
