package boost

import (
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
)

// Files are containers of package model of this kind and version.
const (
	fileKind    = "boost"
	fileVersion = 1
)

// ensembleMeta is the header's part of a file: all but the numbers.
type ensembleMeta struct {
	Algorithm string          `json:"algorithm"`
	Settings  json.RawMessage `json:"settings,omitempty"`
	Loss      string          `json:"loss"`
	Schema    Schema          `json:"schema"`
	Families  []familyMeta    `json:"families,omitempty"`
	Start     []string        `json:"start"` // shortest decimals that read back equal
	Rows      int             `json:"rows"`
	Outputs   int             `json:"outputs"`
	Joint     bool            `json:"joint,omitempty"`
}

type familyMeta struct {
	Splits  int    `json:"splits"`
	Lambda  string `json:"lambda"`
	Learner string `json:"learner,omitempty"`
}

func (e *Ensemble) meta() (ensembleMeta, error) {
	m := ensembleMeta{Algorithm: e.Algorithm, Loss: e.Loss.Name(), Schema: e.Schema, Rows: e.Rows,
		Outputs: e.Outputs(), Joint: e.Joint}
	if e.Settings != "" {
		if !json.Valid([]byte(e.Settings)) {
			return m, fmt.Errorf("boost: the settings of the model are not JSON: %.40q", e.Settings)
		}
		m.Settings = json.RawMessage(e.Settings)
	}
	for _, f := range e.Families {
		fm := familyMeta{Splits: f.Splits, Lambda: number(f.Lambda)}
		if f.Learner != nil {
			fm.Learner = f.Learner.Name()
		}
		m.Families = append(m.Families, fm)
	}
	for _, v := range e.Start {
		m.Start = append(m.Start, number(v))
	}
	return m, nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func (m *ensembleMeta) ensemble() (*Ensemble, error) {
	l, err := score.Parse(m.Loss)
	if err != nil {
		if l = lossOf(m.Loss); l == nil {
			return nil, fmt.Errorf("%w: %w", model.ErrFormat, err)
		}
	}
	e := &Ensemble{Algorithm: m.Algorithm, Settings: string(m.Settings), Loss: l, Schema: m.Schema,
		Rows: m.Rows, Joint: m.Joint}
	bad := func(format string, v ...any) error {
		return fmt.Errorf("boost: %w: %s", model.ErrFormat, fmt.Sprintf(format, v...))
	}
	if len(m.Start) != l.Outputs() {
		return nil, bad("%d start scores for the loss %s", len(m.Start), m.Loss)
	}
	for _, s := range m.Start {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || v-v != 0 {
			return nil, bad("start score %q", s)
		}
		e.Start = append(e.Start, v)
	}
	if len(e.Schema.Columns) == 0 || m.Rows < 0 {
		return nil, bad("%d columns, %d rows", len(e.Schema.Columns), m.Rows)
	}
	for _, f := range m.Families {
		v, err := strconv.ParseFloat(f.Lambda, 64)
		if err != nil || !(v > 0) || f.Splits < 0 || f.Splits > MaxSplits {
			return nil, bad("family of %d splits, lambda %q", f.Splits, f.Lambda)
		}
		family := Family{Splits: f.Splits, Lambda: v}
		if f.Learner != "" {
			family.Learner = named(f.Learner)
			family.Complexity = func(int, int) float64 { return math.Inf(1) }
		}
		e.Families = append(e.Families, family)
	}
	return e, nil
}

// named stands for a learner that a model file records by name only.
type named string

func (n named) Name() string { return string(n) }
func (n named) Prepare(*Data, int) (Fitter, error) {
	return nil, fmt.Errorf("boost: the learner %s is not part of the model file: set it in the options",
		string(n))
}

// Write writes the model; Read reads it back so that all scores are the same to
// the last bit, on any platform. Predictors of a user's type must be registered.
func (e *Ensemble) Write(w io.Writer) error {
	c := model.New(fileKind, fileVersion)
	m, err := e.meta()
	if err != nil {
		return err
	}
	if err := c.SetMeta(m); err != nil {
		return fmt.Errorf("boost: %w", err)
	}
	if err := putTerms(c, "", e); err != nil {
		return err
	}
	if err := e.Hard.Put(c); err != nil {
		return fmt.Errorf("boost: %w", err)
	}
	return c.Write(w)
}

// Read reads a model that Write wrote, by this version of the program or an older
// one. It trusts nothing: every departure is an error with one of package model's
// reasons, and memory grows with the file.
func Read(r io.Reader) (*Ensemble, error) {
	var m ensembleMeta
	c, err := model.ReadKind(r, fileKind, fileVersion, &m)
	if err != nil {
		return nil, err
	}
	e, err := m.ensemble()
	if err != nil {
		return nil, err
	}
	if err := getTerms(c, "", e); err != nil {
		return nil, err
	}
	if e.Hard, err = resilient.GetDifficulty(c); err != nil {
		return nil, err
	}
	return e, nil
}

var (
	registry sync.Map // name -> func([]byte) (Predictor, error)
	losses   sync.Map // name -> Loss
)

// RegisterPredictor makes predictors of a user's type part of model files, under
// a name that must stay the same; it is meant for init functions. The type must
// encode itself to the bytes that decode understands.
func RegisterPredictor[P interface {
	Predictor
	encoding.BinaryMarshaler
}](name string, decode func([]byte) (P, error)) {
	var p P
	registry.Store(fmt.Sprintf("%T", p), name)
	registry.Store("name:"+name, func(b []byte) (Predictor, error) { return decode(b) })
}

// RegisterLoss makes a user's loss known to Read by its name.
func RegisterLoss(l Loss) { losses.Store(l.Name(), l) }

func lossOf(name string) Loss {
	if l, ok := losses.Load(name); ok {
		return l.(Loss)
	}
	return nil
}

// putTerms stores the terms: weight, output, family, round and factor of each, and
// which stored predictor it has. A number from 0 is a tree, -1-i user's predictor
// i.
func putTerms(c *model.Container, prefix string, e *Ensemble) error {
	n := len(e.Terms)
	weight, factor := make([]float64, n), make([]float64, n)
	output, family, round, which := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	var trees treeArrays
	var kinds []string
	blob, start := []uint8{}, []int64{0}
	for i := range e.Terms {
		t := &e.Terms[i]
		weight[i], factor[i] = t.Weight, 1
		output[i], family[i], round[i] = int32(t.Output), int32(t.Family), int32(t.Round)
		p := t.Predictor
		if s, ok := p.(Scaled); ok {
			p, factor[i] = s.Of, s.Factor
		}
		if trees.add(p) {
			which[i] = int32(trees.n - 1)
			continue
		}
		name, ok := registry.Load(fmt.Sprintf("%T", p))
		b, marshals := p.(encoding.BinaryMarshaler)
		if !ok || !marshals {
			return fmt.Errorf("boost: term %d cannot be saved: its type %T is not registered (RegisterPredictor)",
				i, p)
		}
		data, err := b.MarshalBinary()
		if err != nil {
			return fmt.Errorf("boost: term %d cannot be saved: %w", i, err)
		}
		which[i] = int32(-1 - len(kinds))
		kinds = append(kinds, name.(string))
		blob = append(blob, data...)
		start = append(start, int64(len(blob)))
	}
	model.Put(c, prefix+"weight", weight)
	model.Put(c, prefix+"factor", factor)
	model.Put(c, prefix+"output", output)
	model.Put(c, prefix+"family", family)
	model.Put(c, prefix+"round", round)
	model.Put(c, prefix+"predictor", which)
	trees.put(c, prefix)
	if len(kinds) > 0 {
		if err := c.PutStrings(prefix+"user_kinds", kinds); err != nil {
			return err
		}
		model.Put(c, prefix+"user_start", start)
		model.Put(c, prefix+"user_bytes", blob)
	}
	return nil
}

// getTerms reads what putTerms stored and checks every number against the model.
func getTerms(c *model.Container, prefix string, e *Ensemble) error {
	bad := func(format string, v ...any) error {
		return fmt.Errorf("boost: %w: %s", model.ErrFormat, fmt.Sprintf(format, v...))
	}
	weight, err := model.Get[float64](c, prefix+"weight")
	if err != nil {
		return err
	}
	n := len(weight)
	factor, err := model.Get[float64](c, prefix+"factor", n)
	if err != nil {
		return err
	}
	var lists [4][]int32
	for i, name := range []string{"output", "family", "round", "predictor"} {
		if lists[i], err = model.Get[int32](c, prefix+name, n); err != nil {
			return err
		}
	}
	output, family, round, which := lists[0], lists[1], lists[2], lists[3]
	trees, err := getTrees(c, prefix, &e.Schema)
	if err != nil {
		return err
	}
	users, err := getUsers(c, prefix)
	if err != nil {
		return err
	}
	terms := make([]Term, n)
	for i := range terms {
		var p Predictor
		switch k := int(which[i]); {
		case k >= 0 && k < len(trees):
			p = trees[k]
		case k < 0 && -1-k < len(users):
			p = users[-1-k]
		default:
			return bad("term %d has predictor %d of %d trees and %d others", i, which[i], len(trees), len(users))
		}
		if factor[i] != 1 {
			p = Scaled{p, factor[i]}
		}
		switch {
		case weight[i]-weight[i] != 0 || factor[i]-factor[i] != 0:
			return bad("term %d has weight %v and factor %v", i, weight[i], factor[i])
		case output[i] < 0 || int(output[i]) >= e.Outputs():
			return bad("term %d adds to score %d of %d", i, output[i], e.Outputs())
		case family[i] < -1 || int(family[i]) >= len(e.Families):
			return bad("term %d has family %d of %d", i, family[i], len(e.Families))
		case round[i] < 0 || i > 0 && round[i] < round[i-1]:
			return bad("term %d has round %d after round %d", i, round[i], round[max(i-1, 0)])
		}
		terms[i] = Term{Weight: weight[i], Predictor: p, Output: int(output[i]), Family: int(family[i]),
			Round: int(round[i])}
	}
	e.Terms = terms
	return nil
}

func getUsers(c *model.Container, prefix string) ([]Predictor, error) {
	if !slices.Contains(c.Names(), prefix+"user_kinds") {
		return nil, nil
	}
	kinds, err := c.Strings(prefix + "user_kinds")
	if err != nil {
		return nil, err
	}
	start, err := model.Get[int64](c, prefix+"user_start", len(kinds)+1)
	if err != nil {
		return nil, err
	}
	blob, err := model.Get[uint8](c, prefix+"user_bytes")
	if err != nil {
		return nil, err
	}
	out := make([]Predictor, len(kinds))
	for i, kind := range kinds {
		if start[i] < 0 || start[i] > start[i+1] || start[i+1] > int64(len(blob)) {
			return nil, fmt.Errorf("boost: %w: predictor %d has the bytes %d to %d of %d", model.ErrFormat, i,
				start[i], start[i+1], len(blob))
		}
		decode, ok := registry.Load("name:" + kind)
		if !ok {
			return nil, fmt.Errorf("boost: the model has a predictor of kind %q, which this program does not know "+
				"(RegisterPredictor)", kind)
		}
		if out[i], err = decode.(func([]byte) (Predictor, error))(blob[start[i]:start[i+1]]); err != nil {
			return nil, fmt.Errorf("boost: predictor %d, of kind %q: %w", i, kind, err)
		}
	}
	return out, nil
}
