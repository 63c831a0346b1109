package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// role is what a field of the input becomes.
type role uint8

const (
	roleDrop role = iota
	roleNumeric
	roleCategorical
	roleTarget
	roleSource
	roleWeight
)

// layout says, field by field, where the input goes.
type layout struct {
	names  []string // of the fields
	roles  []role
	also   []role // of the source, if it is a feature as well; roleDrop otherwise
	dest   []int  // of a feature: its column in the table
	out    *Table
	levels []map[string]int32 // of the columns of Options.Like; nil otherwise
}

// resolve finds the field that a column option means.
func resolve(what, ref string, list []string, name string) (int, error) {
	if i := slices.Index(list, ref); i >= 0 {
		return i, nil
	}
	if n, ok := strings.CutPrefix(ref, "#"); ok {
		k, err := strconv.Atoi(n)
		if err == nil && k < 0 {
			k += len(list) + 1
		}
		if err == nil && k >= 1 && k <= len(list) {
			return k - 1, nil
		}
		return 0, &Error{Name: name, Msg: fmt.Sprintf("%s %s: there are %d columns, #1 to #%d", what, ref, len(list), len(list)), Err: ErrColumns}
	}
	msg := fmt.Sprintf("%s: there is no column %s", what, quote(ref))
	if near := nearest(ref, list); near != "" {
		msg += fmt.Sprintf("; did you mean %s?", quote(near))
	}
	return 0, &Error{Name: name, Msg: msg + fmt.Sprintf(" (the columns are %s)", names(list)), Err: ErrColumns}
}

// newLayout decides what becomes of each named field. Kinds of features are still
// open, unless options or Like say them.
func newLayout(o *Options, name string, fields []string) (*layout, error) {
	l := &layout{names: fields, roles: make([]role, len(fields)), also: make([]role, len(fields)), dest: make([]int, len(fields)), out: &Table{Name: name}}
	first := make(map[string]int, len(fields))
	for i, f := range fields {
		if j, ok := first[f]; ok {
			return nil, &Error{Name: name, Line: 1, Column: f, Msg: fmt.Sprintf("fields %d and %d have the same name; rename one", j+1, i+1), Err: ErrColumns}
		}
		first[f] = i
		l.roles[i], l.dest[i] = roleNumeric, -1
	}
	taken := make(map[int]string)
	assign := func(what, ref string, r role, must bool) (int, error) {
		if ref == "" {
			return -1, nil
		}
		i, err := resolve(what, ref, fields, name)
		if err != nil {
			if must {
				return -1, err
			}
			return -1, nil
		}
		if before, ok := taken[i]; ok && !must {
			return -1, nil // left out by the caller
		} else if ok {
			return -1, &Error{Name: name, Column: fields[i], Msg: fmt.Sprintf("is asked for as %s and as %s", before, what), Err: ErrColumns}
		}
		taken[i] = what
		l.roles[i] = r
		return i, nil
	}
	like := o.Like
	for _, d := range o.Drop {
		if _, err := assign("drop", d, roleDrop, like == nil); err != nil {
			return nil, err
		}
	}
	for _, d := range o.Unread {
		if _, err := assign("unread", d, roleDrop, false); err != nil {
			return nil, err
		}
	}
	for _, s := range []struct {
		what, ref string
		r         role
		name      *string
	}{{"target", o.Target, roleTarget, &l.out.TargetName}, {"source", o.Source, roleSource, &l.out.SourceName}, {"weight", o.Weight, roleWeight, &l.out.WeightName}} {
		must := s.ref != ""
		if like != nil && s.ref == "" {
			s.ref = map[role]string{roleTarget: like.TargetName, roleSource: like.SourceName, roleWeight: like.WeightName}[s.r]
		}
		i, err := assign(s.what, s.ref, s.r, must)
		if err != nil {
			return nil, err
		}
		if i >= 0 {
			*s.name = fields[i]
			if s.r == roleSource && o.KeepSource {
				l.also[i] = roleNumeric
			}
		} else if like != nil {
			*s.name = s.ref
		}
	}
	if like != nil {
		return l, l.follow(like, first)
	}
	for _, c := range o.Categorical {
		i, err := resolve("categorical", c, fields, name)
		if err != nil {
			return nil, err
		}
		if l.also[i] != roleDrop {
			l.also[i] = roleCategorical
			continue
		}
		if l.roles[i] != roleNumeric && l.roles[i] != roleCategorical {
			return nil, &Error{Name: name, Column: fields[i], Msg: fmt.Sprintf("is asked for as categorical and as %s", taken[i]), Err: ErrColumns}
		}
		l.roles[i] = roleCategorical
	}
	for i := range l.roles {
		if r := l.feature(i); r != roleDrop {
			l.dest[i] = len(l.out.Columns)
			k := Numeric
			if r == roleCategorical {
				k = Categorical
			}
			l.out.Columns = append(l.out.Columns, Column{Name: fields[i], Kind: k})
		}
	}
	return l, nil
}

// feature is the role of a field as a feature: numeric, categorical, or none.
func (l *layout) feature(i int) role {
	if l.roles[i] == roleNumeric || l.roles[i] == roleCategorical {
		return l.roles[i]
	}
	return l.also[i]
}

func (l *layout) setFeature(i int, r role) {
	if l.roles[i] == roleNumeric || l.roles[i] == roleCategorical {
		l.roles[i] = r
	} else {
		l.also[i] = r
	}
}

// follow takes the columns of an earlier table.
func (l *layout) follow(like *Table, first map[string]int) error {
	var lacking, extra []string
	s := like.Schema()
	l.out.Columns = s.Columns
	l.levels = make([]map[string]int32, len(s.Columns))
	wanted := make(map[string]bool, len(s.Columns))
	for j, c := range s.Columns {
		wanted[c.Name] = true
		i, ok := first[c.Name]
		if ok && l.roles[i] == roleSource {
			l.also[i] = roleNumeric
		}
		if !ok || l.feature(i) == roleDrop {
			lacking = append(lacking, c.Name)
			continue
		}
		l.dest[i] = j
		if c.Kind == Categorical {
			l.setFeature(i, roleCategorical)
			l.levels[j] = make(map[string]int32, len(c.Levels))
			for k, v := range c.Levels {
				l.levels[j][v] = int32(k)
			}
		}
	}
	for i, f := range l.names {
		if l.roles[i] == roleNumeric && !wanted[f] {
			extra = append(extra, f)
		}
	}
	if len(lacking) == 0 && len(extra) == 0 {
		return nil
	}
	var parts []string
	if len(lacking) > 0 {
		p := "missing: " + names(lacking)
		if near := nearest(lacking[0], extra); near != "" {
			p += fmt.Sprintf(" (the nearest is %s)", quote(near))
		}
		parts = append(parts, p)
	}
	if len(extra) > 0 {
		parts = append(parts, "unknown: "+names(extra)+"; drop what is not a feature")
	}
	trained := ""
	if like.Name != "" {
		trained = " of " + like.Name
	}
	return &Error{Name: l.out.Name, Msg: "the columns are not those" + trained + " that the model was trained on; " + strings.Join(parts, "; "), Err: ErrColumns}
}

// numericShare: a column whose sampled values are numbers in at least one half is
// meant to have numbers; the others are mistakes, not levels.
const numericShare = 0.5

// infer decides the kind of each feature from the first rows.
func (l *layout) infer(o *Options, sample [][][]byte, lines []int, missing func([]byte) bool) error {
	if o.Like != nil {
		return nil
	}
	for i := range l.roles {
		if l.feature(i) != roleNumeric {
			continue
		}
		numbers, words, at := 0, 0, 0
		for k, row := range sample {
			v := row[i]
			if missing(v) {
				continue
			}
			if _, fault := parseNumber(v, 32); fault == numberBad {
				if words == 0 {
					at = k
				}
				words++
			} else {
				numbers++
			}
		}
		switch {
		case words == 0:
		case float64(numbers) >= numericShare*float64(numbers+words):
			return &Error{Name: l.out.Name, Line: lines[at], Row: at + 1, Column: l.names[i], Err: ErrValue,
				Msg: fmt.Sprintf("%s is not a number, but %d of the first %d values are; correct it, list it as a text for missing, or declare the column categorical", quote(string(sample[at][i])), numbers, numbers+words)}
		default:
			l.setFeature(i, roleCategorical)
			l.out.Columns[l.dest[i]].Kind = Categorical
		}
	}
	return nil
}
