package table

import (
	"fmt"
	"math"
	"regexp"
)

// usable rejects tables from which nothing can be learned. Where the classes are known already,
// rows are to be predicted or measured, and one class is enough.
func (t *Table) usable(known bool) error {
	if t.Weight != nil {
		sum := 0.0
		for _, w := range t.Weight {
			sum += w
		}
		if sum == 0 {
			return &Error{Name: t.Name, Column: t.WeightName, Msg: "all weights are 0", Err: ErrUseless}
		}
		if sum > maxWeight {
			return &Error{Name: t.Name, Column: t.WeightName, Msg: "the sum of the weights is too large to compute " +
				"with; scale them", Err: ErrValue}
		}
	}
	if !known && len(t.Classes) == 1 {
		return &Error{Name: t.Name, Column: t.TargetName, Msg: fmt.Sprintf("all rows are of one class, %s; a "+
			"classifier needs two", quote(t.Classes[0])), Err: ErrUseless}
	}
	return nil
}

const maxWeight = 1e300

// describe warns of columns that say nothing.
func (t *Table) describe(o *Options) {
	var constant, empty []string
	for j := range t.Columns {
		if o.cancelled(t.Name) != nil {
			return
		}
		c := &t.Columns[j]
		t.identifies(c)
		switch {
		case t.Varies(j):
		case t.HasMissing(j):
			empty = append(empty, c.Name)
		default:
			constant = append(constant, c.Name)
		}
	}
	if len(empty) > 0 {
		t.warn("columns in which every value is missing: %s", names(empty))
	}
	if len(constant) > 0 && t.Rows > 1 {
		t.warn("columns with one value only: %s", names(constant))
	}
	if t.Target != nil && t.Classes == nil && t.Rows > 1 {
		for i, y := range t.Target {
			if y != t.Target[0] {
				break
			}
			if i == t.Rows-1 {
				t.warn("the target %s has one value only", quote(t.TargetName))
			}
		}
	}
}

// identifierRows is the least number of rows of a table in which identifiers are looked for: in few
// rows all sorts of values differ.
const identifierRows = 20

// identifies warns of a column that most likely only identifies rows. Such columns count the rows,
// have a telling name and whole numbers without repetition, or have another level in every row.
func (t *Table) identifies(c *Column) {
	if t.Rows < identifierRows || len(c.Values) != t.Rows {
		return
	}
	fix := []Fix{{Option: "ID", Value: c.Name, Effect: "to carry it along and learn nothing from it"},
		{Option: "Drop", Value: c.Name, Effect: "to leave it out"}}
	if c.Kind == Categorical {
		if len(c.Levels) == t.Rows {
			t.warnFix(fix, "column %s: every row has another level, as identifiers and free text have", quote(c.Name))
		}
		return
	}
	counts := true
	for i, v := range c.Values {
		if v != float32(math.Trunc(float64(v))) {
			return // NaN too
		}
		counts = counts && (i == 0 || v == c.Values[i-1]+1)
	}
	if counts {
		t.warnFix(fix, "column %s counts the rows: a model learns their order in the file from it", quote(c.Name))
		return
	}
	if !identifierName.MatchString(c.Name) {
		return
	}
	seen := make(map[float32]bool, t.Rows)
	for _, v := range c.Values {
		if seen[v] {
			return
		}
		seen[v] = true
	}
	t.warnFix(fix, "column %s has another number in every row, and the name of an identifier", quote(c.Name))
}

var identifierName = regexp.MustCompile(
	`^(?i:id|index|key|row|nr|no|number|.*[_ .-](id|index|key|nr|no))$|[a-z](ID|Id)$`)

// CheckFolds returns an error that names what is lacking unless the table can be divided into k
// folds. A class with fewer rows than folds is a warning, since some fold will have none of it.
func (t *Table) CheckFolds(k int) (warnings []string, err error) {
	if k < 2 {
		return nil, &Error{Name: t.Name, Msg: fmt.Sprintf("%d folds; two or more are needed", k), Err: ErrUseless}
	}
	if t.Rows < k {
		return nil, &Error{Name: t.Name, Msg: fmt.Sprintf("%d rows are fewer than %d folds", t.Rows, k),
			Err: ErrUseless}
	}
	if t.Source != nil {
		for s, n := range t.SourceCounts() {
			if n < k {
				return nil, &Error{Name: t.Name, Column: t.SourceName, Msg: fmt.Sprintf("source %s has %d rows, fewer "+
					"than %d folds", quote(t.Sources[s]), n, k), Err: ErrUseless}
			}
		}
	}
	for c, n := range t.ClassCounts() {
		if n < k {
			warnings = append(warnings, fmt.Sprintf("class %s has %d rows, fewer than %d folds",
				quote(t.Classes[c]), n, k))
		}
	}
	return warnings, nil
}

// CheckSources returns an error if the table has no sources, or if a source has no rows or no
// weight. Mixtures that include such a source would be meaningless.
func (t *Table) CheckSources() error {
	if t.Source == nil {
		return &Error{Name: t.Name, Msg: "no column says which source a row is from; name it", Err: ErrColumns}
	}
	weight := make([]float64, len(t.Sources))
	for i, s := range t.Source {
		if t.Weight != nil {
			weight[s] += t.Weight[i]
		} else {
			weight[s]++
		}
	}
	for s, n := range t.SourceCounts() {
		if n == 0 {
			return &Error{Name: t.Name, Column: t.SourceName,
				Msg: fmt.Sprintf("source %s has no rows", quote(t.Sources[s])), Err: ErrUseless}
		}
		if weight[s] == 0 {
			return &Error{Name: t.Name, Column: t.SourceName,
				Msg: fmt.Sprintf("all rows of source %s have weight 0", quote(t.Sources[s])), Err: ErrUseless}
		}
	}
	return nil
}
