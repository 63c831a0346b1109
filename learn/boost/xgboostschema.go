package boost

import (
	"math/bits"
	"slices"
	"strconv"

	"github.com/tropica-fst/tropica/learn/boost/tree"
)

// xgbSchema describes the columns of an XGBoost model.
func xgbSchema(names, types []string, columns int, like *Schema, outputs int, classifies bool,
	trees []*tree.Tree) (Schema, error) {
	if columns == 0 || len(names) != 0 && len(names) != columns || len(types) != 0 && len(types) != columns {
		return Schema{}, badXGBoost("%d columns, %d names and %d types of them", columns, len(names), len(types))
	}
	// Which columns are categorical the types say, or the splits of files without.
	levels := map[int32]int{}
	used := int32(-1)
	for _, t := range trees {
		for at, j := range t.Feature {
			used = max(used, j)
			if j < 0 || t.Set == nil || t.Set[at] < 0 {
				continue
			}
			levels[j] = max(levels[j], 1)
			set := t.Sets[t.Set[at]]
			for w := len(set) - 1; w >= 0; w-- {
				if right := ^set[w]; right != 0 {
					levels[j] = max(levels[j], 64*w+bits.Len64(right))
					break
				}
			}
		}
	}
	// A file that claims a huge number of columns must show for it.
	if like == nil && len(names) == 0 && columns > 1<<20 && columns > 64*(int(used)+1) {
		return Schema{}, badXGBoost("%d columns, but the trees read none after column %d", columns, used)
	}
	categorical := func(j int) bool {
		if len(types) > 0 {
			return types[j] == "c"
		}
		return levels[int32(j)] > 0
	}
	if like != nil {
		s := *like
		s.AbsentMissing = true
		if len(s.Columns) == columns-1 && numberedFromOne(s.Columns) {
			s.Columns = slices.Insert(slices.Clone(s.Columns), 0, Column{Name: "0"})
		}
		if len(s.Columns) != columns {
			return Schema{}, badXGBoost("%d columns; the table has %d", columns, len(s.Columns))
		}
		for j, c := range s.Columns {
			if c.Categorical != categorical(j) {
				return Schema{}, badXGBoost("column %d, %q, is categorical in one of model and table only", j+1, c.Name)
			}
		}
		if classifies && s.Classes != nil && len(s.Classes) != max(outputs, 2) {
			return Schema{}, badXGBoost("%d classes; the table has %d", max(outputs, 2), len(s.Classes))
		}
		return s, nil
	}
	s := Schema{AbsentMissing: true}
	for j := range columns {
		c := Column{Name: "f" + strconv.Itoa(j), Categorical: categorical(j)}
		if len(names) > 0 {
			c.Name = names[j]
		}
		if c.Categorical {
			c.Levels = numbers(levels[int32(j)])
		}
		s.Columns = append(s.Columns, c)
	}
	if classifies {
		s.Classes = numbers(max(outputs, 2))
	}
	return s, nil
}

// numberedFromOne reports whether the columns are called 1, 2, …, as those of a LIBSVM file
// are. To XGBoost these are the second, the third and so on: it counts from 0, and the first
// occurs in no row.
func numberedFromOne(columns []Column) bool {
	for j, c := range columns {
		if c.Name != strconv.Itoa(j+1) {
			return false
		}
	}
	return true
}

// numbers are the names 0 … n-1.
func numbers(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(i)
	}
	return out
}
