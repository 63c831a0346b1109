// Package lossspec reads losses as `fst loss` writes them: one JSON object with a kind.
package lossspec

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/losses"
)

// Spec is a loss: one with a direct construction, or a transducer.
type Spec struct {
	Direct losses.Loss                // nil for a transducer
	Value  func(y, ref []int) float64 // the loss of one string; nil for a transducer
	Whole  func(y, ref []int) float64 // Value without the band, for a cap; nil without a cap

	Band int      // of edit and local losses; 0 is none
	Cap  *float64 // greatest loss; nil is none

	File     string  // of a transducer
	Rational bool    // a transducer over probabilities, else a tropical one
	C        float64 // added to counts of n-grams and of rational transducers

	Ignored []string // fields that losses of this kind do not have, in words
}

// lossInput is a loss as it is written, with the fields of all kinds.
type lossInput struct {
	Kind   string     `json:"kind"`
	Match  *costTable `json:"match"`
	Sub    *costTable `json:"sub"`
	Ins    *costTable `json:"ins"`
	Del    *costTable `json:"del"`
	Band   Integer    `json:"band"`
	Cap    *Number    `json:"cap"`
	N      *Integer   `json:"n"`
	C      *Number    `json:"c"`
	Scale  *Number    `json:"scale"`
	Labels []string   `json:"labels"`
	Misses *Number    `json:"missing"`
	Excess *Number    `json:"spurious"`
	Type   *Number    `json:"type"`
	File   string     `json:"file"`
	Family string     `json:"family"`
}

// lossKinds says which fields each kind has beside its name, and how it is made of them.
var lossKinds = map[string]struct {
	fields []string
	make   func(s *Spec, in *lossInput) error
}{
	"edit":       {strings.Fields("match sub ins del band cap"), (*Spec).edit},
	"local":      {strings.Fields("match sub ins del band"), (*Spec).local},
	"ngram":      {strings.Fields("n c"), (*Spec).ngram},
	"hamming":    {strings.Fields("scale"), (*Spec).hamming},
	"span":       {strings.Fields("labels missing spurious type"), (*Spec).span},
	"transducer": {strings.Fields("file family c"), (*Spec).transducer},
}

// Parse reads one. The error names the field and what it takes.
func Parse(raw json.RawMessage) (*Spec, error) {
	if len(raw) == 0 {
		return nil, errors.New("missing")
	}
	var in lossInput
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	s := &Spec{Band: int(in.Band)}
	if err := s.common(&in); err != nil {
		return nil, err
	}
	kind, ok := lossKinds[in.Kind]
	if !ok {
		return nil, fmt.Errorf("kind %q is none of edit, local, ngram, hamming, span, transducer", in.Kind)
	}
	if err := kind.make(s, &in); err != nil {
		return nil, err
	}
	var written map[string]json.RawMessage
	if err := json.Unmarshal(raw, &written); err != nil {
		return nil, err
	}
	// those of common are 0 here, where the kind has none
	known := append([]string{"kind", "c", "band", "cap"}, kind.fields...)
	for _, field := range slices.Sorted(maps.Keys(written)) {
		// as encoding/json takes names
		if !slices.ContainsFunc(known, func(f string) bool { return strings.EqualFold(f, field) }) {
			s.Ignored = append(s.Ignored, fmt.Sprintf("%q, which %s losses do not have (they have %s)", field, in.Kind,
				strings.Join(kind.fields, ", ")))
		}
	}
	return s, nil
}

// common sets what several kinds have, and refuses it where it would change the loss and cannot.
func (s *Spec) common(in *lossInput) error {
	if in.C != nil {
		s.C = float64(*in.C)
		if s.C != 0 && in.Kind != "ngram" && !(in.Kind == "transducer" && in.Family == "rational") {
			what := fmt.Sprintf("%q", in.Kind)
			if in.Kind == "transducer" {
				what = fmt.Sprintf("transducers of family %q", in.Family)
			}
			return fmt.Errorf("c = %v belongs to ngram losses and rational transducers, not to %s", s.C, what)
		}
	}
	if in.Band < 0 {
		return fmt.Errorf("band %d is negative", in.Band)
	}
	if in.Band > 0 && in.Kind != "edit" && in.Kind != "local" {
		return fmt.Errorf("a band belongs to edit and local losses, not to %q", in.Kind)
	}
	if in.Cap != nil {
		if in.Kind != "edit" {
			return fmt.Errorf("a cap belongs to edit losses, not to %q", in.Kind)
		}
		x := float64(*in.Cap)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("cap is %v, not a finite number", x)
		}
		s.Cap = &x
	}
	return nil
}

// errNoCost refuses a loss that is 0 for every string, which is the zero value that the
// library takes for its default.
var errNoCost = errors.New("all its costs are 0, so that it is 0 for every string; a case without a loss " +
	"has gamma 0")

func (s *Spec) edit(in *lossInput) error {
	e := losses.Edit{Band: s.Band}
	var err error
	if e.Match, err = in.Match.number("match", 0); err != nil {
		return err
	}
	switch {
	case in.Sub == nil:
		e.Sub = 1
	case in.Sub.row != nil:
		return errors.New("sub must be a number or an array of arrays, sub[y][yi]")
	default:
		e.Sub, e.SubTable = in.Sub.constant, in.Sub.table
	}
	if e.Ins, e.InsTable, err = in.Ins.numbers("ins", 1); err != nil {
		return err
	}
	if e.Del, e.DelTable, err = in.Del.numbers("del", 1); err != nil {
		return err
	}
	if e.Match == 0 && e.Sub == 0 && e.Ins == 0 && e.Del == 0 && e.SubTable == nil && e.InsTable == nil &&
		e.DelTable == nil {
		return errNoCost
	}
	s.Direct, s.Value = e, e.Value
	if s.Cap != nil { // for enumeration
		whole := e
		whole.Band = 0
		s.Value = func(y, ref []int) float64 { return min(e.Value(y, ref), *s.Cap) }
		s.Whole = func(y, ref []int) float64 { return min(whole.Value(y, ref), *s.Cap) }
	}
	return nil
}

func (s *Spec) local(in *lossInput) error {
	x := losses.Local{Band: s.Band}
	for _, f := range []struct {
		name string
		in   *costTable
		def  float64
		to   *float64
	}{{"match", in.Match, 1, &x.Match}, {"sub", in.Sub, -1, &x.Sub}, {"ins", in.Ins, -1, &x.Ins},
		{"del", in.Del, -1, &x.Del}} {
		v, err := f.in.number(f.name, f.def)
		if err != nil {
			return err
		}
		*f.to = v
	}
	if x.Match == 0 && x.Sub == 0 && x.Ins == 0 && x.Del == 0 {
		return errNoCost
	}
	s.Direct, s.Value = x, x.Value
	return nil
}

func (s *Spec) ngram(in *lossInput) error {
	if in.N == nil {
		return errors.New("n is missing")
	}
	n := losses.NGram{N: int(*in.N), C: s.C}
	s.Direct, s.Value = n, n.Value
	return nil
}

func (s *Spec) hamming(in *lossInput) error {
	h := losses.Hamming{Scale: 1}
	if in.Scale != nil {
		h.Scale = float64(*in.Scale)
	}
	if h.Scale == 0 {
		return errNoCost
	}
	s.Direct, s.Value = h, h.Value
	return nil
}

func (s *Spec) span(in *lossInput) error {
	if in.Labels == nil {
		return errors.New("labels is missing: the name of each symbol, such as B-NP, I-NP and O")
	}
	c := losses.SpanCosts{Missing: 1, Spurious: 1}
	for _, f := range []struct {
		in *Number
		to *float64
	}{{in.Misses, &c.Missing}, {in.Excess, &c.Spurious}, {in.Type, &c.Type}} {
		if f.in != nil {
			*f.to = float64(*f.in)
		}
	}
	if c.Missing == 0 && c.Spurious == 0 {
		return errNoCost
	}
	if in.Type != nil && c.Type <= 0 { // 0 is the library's default, and negative none
		if c.Type < 0 {
			return fmt.Errorf("type is %v, a negative cost", c.Type)
		}
		c.Type = -1
	}
	x, err := losses.NewSpan(in.Labels, c)
	if err != nil {
		return err
	}
	s.Direct, s.Value = x, x.Value
	return nil
}

func (s *Spec) transducer(in *lossInput) error {
	switch in.Family {
	case "tropical":
	case "rational":
		s.Rational = true
	default:
		return fmt.Errorf("family %q is neither tropical nor rational", in.Family)
	}
	if in.File == "" {
		return errors.New("file is missing")
	}
	s.File = in.File
	return nil
}

// costTable is a cost, or a table of them.
type costTable struct {
	constant float64
	row      []float64
	table    [][]float64
}

func (t *costTable) UnmarshalJSON(b []byte) error {
	var x Number
	if err := json.Unmarshal(b, &x); err == nil {
		t.constant = float64(x)
		return nil
	}
	if err := json.Unmarshal(b, &t.row); err == nil {
		return nil
	}
	t.row = nil
	if err := json.Unmarshal(b, &t.table); err != nil {
		return errors.New("a cost is a number, an array of numbers by symbol, or (sub) an array of arrays")
	}
	return nil
}

// number is what a cost is that has no table: def, where t is nil.
func (t *costTable) number(name string, def float64) (float64, error) {
	switch {
	case t == nil:
		return def, nil
	case t.row != nil || t.table != nil:
		return 0, fmt.Errorf("%s must be a number here", name)
	default:
		return t.constant, nil
	}
}

// numbers is what a cost is that may be one for each symbol: def for all, where t is nil.
func (t *costTable) numbers(name string, def float64) (float64, []float64, error) {
	switch {
	case t == nil:
		return def, nil, nil
	case t.table != nil:
		return 0, nil, fmt.Errorf("%s must be a number or an array of numbers", name)
	default:
		return t.constant, t.row, nil
	}
}
