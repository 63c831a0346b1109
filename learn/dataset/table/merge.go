package table

import (
	"fmt"
	"strconv"
)

// MergeForms returns an empty table of the form that all of the given ones have together: what
// Options.Like takes to read the parts of a table in several files alike. Columns must have the
// same names, in any order, and the same kinds; levels, classes and sources are those of all.
// Columns of LIBSVM files, which are numbered, are as many as the longest has.
//
// The error names the first file that differs, and the column.
func MergeForms(forms ...*Table) (*Table, error) {
	if len(forms) == 0 {
		return nil, fmt.Errorf("table: there are no forms")
	}
	first := forms[0]
	out := &Table{TargetName: first.TargetName, SourceName: first.SourceName, WeightName: first.WeightName, AbsentMissing: first.AbsentMissing, Reading: first.Reading}
	longest := first
	for _, t := range forms {
		if numbered(t) && numbered(longest) && len(t.Columns) > len(longest.Columns) {
			longest = t
		}
	}
	levels := make([]map[string]bool, len(longest.Columns))
	at := map[string]int{}
	for j, c := range longest.Columns {
		at[c.Name], levels[j] = j, map[string]bool{}
		out.Columns = append(out.Columns, Column{Name: c.Name, Kind: c.Kind})
	}
	classes, sources := map[string]bool{}, map[string]bool{}
	for _, t := range forms {
		bad := func(column, format string, args ...any) error {
			return &Error{Name: t.Name, Column: column, Msg: fmt.Sprintf(format, args...), Err: ErrColumns}
		}
		if (t.Classes == nil) != (first.Classes == nil) {
			return nil, &Error{Name: t.Name, Column: t.TargetName, Err: ErrColumns, Fixes: []Fix{{Option: "Task", Value: "classification"}},
				Msg: fmt.Sprintf("the target is a class in one of %s and %s, and a number in the other", quote(first.Name), quote(t.Name))}
		}
		if len(t.Columns) != len(longest.Columns) && !(numbered(t) && numbered(longest)) {
			return nil, bad("", "%d columns of features, and %s has %d", len(t.Columns), quote(longest.Name), len(longest.Columns))
		}
		for _, c := range t.Columns {
			j, ok := at[c.Name]
			if !ok {
				return nil, bad(c.Name, "%s has no such column", quote(longest.Name))
			}
			if c.Kind != out.Columns[j].Kind {
				return nil, &Error{Name: t.Name, Column: c.Name, Err: ErrColumns, Fixes: []Fix{{Option: "Categorical", Value: c.Name}},
					Msg: fmt.Sprintf("the column is %v here, and %v in %s", c.Kind, out.Columns[j].Kind, quote(longest.Name))}
			}
			for _, l := range c.Levels {
				levels[j][l] = true
			}
		}
		for _, c := range t.Classes {
			classes[c] = true
		}
		for _, s := range t.Sources {
			sources[s] = true
		}
	}
	names := func(set map[string]bool) []string {
		var list []string
		for s := range set {
			list = append(list, s)
		}
		list, _ = sorted(list)
		return list
	}
	for j := range out.Columns {
		if out.Columns[j].Kind == Categorical {
			out.Columns[j].Levels = names(levels[j])
		}
	}
	if first.Classes != nil {
		out.Classes = names(classes)
	}
	if first.Sources != nil {
		out.Sources = names(sources)
	}
	return out, nil
}

// numbered reports whether the columns are those of a LIBSVM file: numbers that rise by one.
func numbered(t *Table) bool {
	if len(t.Columns) == 0 {
		return true
	}
	from, err := strconv.Atoi(t.Columns[0].Name)
	if err != nil {
		return false
	}
	for j, c := range t.Columns {
		if c.Kind != Numeric || c.Name != strconv.Itoa(from+j) {
			return false
		}
	}
	return true
}
