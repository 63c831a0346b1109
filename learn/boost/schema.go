package boost

import (
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// Schema is what a model remembers of its training table.
type Schema struct {
	Columns []Column `json:"columns"`
	Target  string   `json:"target,omitempty"`
	Classes []string `json:"classes,omitempty"` // nil for regression
	Source  string   `json:"source,omitempty"`  // column of domains, which is no feature
	Weight  string   `json:"weight,omitempty"`  // column of weights
	// AbsentMissing is that of table.Table; models of XGBoost have it, and those of tables read so.
	AbsentMissing bool `json:"absent_missing,omitempty"`
	// Reading is how the texts of the training table were written, and so those of tables to come.
	Reading *table.Reading `json:"reading,omitempty"`
}

// Column is a column's name and, for a categorical one, its levels: a value is
// the index of its level.
type Column struct {
	Name        string   `json:"name"`
	Categorical bool     `json:"categorical,omitempty"`
	Levels      []string `json:"levels,omitempty"`
}

// Loss returns the loss of that name (score.Parse) if it suits the classes: two for a loss with
// margins, one for each score of a soft-max, none else.
func (s *Schema) Loss(name string) (Loss, error) {
	l, err := score.Parse(name)
	if err != nil {
		return nil, err
	}
	if n, k := len(s.Classes), l.Outputs(); k > 1 && n != k || k == 1 && score.HasMargin(l) != (n == 2) {
		return nil, fmt.Errorf("%d classes and the loss %s", n, name)
	}
	return l, nil
}

// SchemaOf describes a table.
func SchemaOf(t *table.Table) Schema {
	s := Schema{Target: t.TargetName, Classes: slices.Clone(t.Classes), Source: t.SourceName,
		Weight: t.WeightName, AbsentMissing: t.AbsentMissing}
	if r := t.Reading; !r.IsZero() {
		s.Reading = &r
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		s.Columns = append(s.Columns, Column{c.Name, c.Kind == table.Categorical, slices.Clone(c.Levels)})
	}
	return s
}

// Table returns an empty table of this description: what a reader of prediction
// data takes as its model.
func (s *Schema) Table() *table.Table {
	t := &table.Table{TargetName: s.Target, Classes: slices.Clone(s.Classes), SourceName: s.Source,
		WeightName: s.Weight, AbsentMissing: s.AbsentMissing}
	if s.Reading != nil {
		t.Reading = *s.Reading
	}
	for _, c := range s.Columns {
		kind := table.Numeric
		if c.Categorical {
			kind = table.Categorical
		}
		t.Columns = append(t.Columns, table.Column{Name: c.Name, Kind: kind, Levels: slices.Clone(c.Levels)})
	}
	return t
}

// Match returns an error that names the first column in which a table differs
// from the description.
func (s *Schema) Match(t *table.Table) error {
	if t == nil {
		return fmt.Errorf("boost: %w: there is no table", ErrData)
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		switch {
		case i >= len(s.Columns):
			return fmt.Errorf("boost: %s: %w: column %d, %q, is one more than the model has", t.Title(),
				ErrData, i+1, c.Name)
		case c.Name != s.Columns[i].Name:
			return fmt.Errorf("boost: %s: %w: column %d is %q, the model has %q there", t.Title(), ErrData, i+1,
				c.Name, s.Columns[i].Name)
		case (c.Kind == table.Categorical) != s.Columns[i].Categorical:
			return fmt.Errorf("boost: %s: %w: column %q is categorical in one of table and model only",
				t.Title(), ErrData, c.Name)
		case !slices.Equal(c.Levels, s.Columns[i].Levels):
			return fmt.Errorf("boost: %s: %w: the levels of column %q are not the model's; read the table with the "+
				"model's columns", t.Title(), ErrData, c.Name)
		case len(c.Values) != t.Rows && t.Sparse == nil:
			return fmt.Errorf("boost: %s: %w: column %q has %d values for %d rows", t.Title(), ErrData, c.Name,
				len(c.Values), t.Rows)
		}
	}
	if n := len(t.Columns); n < len(s.Columns) {
		return fmt.Errorf("boost: %s: %w: column %q of the model is missing", t.Title(), ErrData, s.Columns[n].Name)
	}
	return nil
}
