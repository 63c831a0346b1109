package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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
	roleID
)

// layout says, field by field, where the input goes.
type layout struct {
	names []string // of the fields
	roles []role
	also  []role // of the source, if it is a feature as well; roleDrop otherwise
	dest  []int  // of a feature: its column in the table; of what is carried along, its place in Table.ID
	date  []bool // the field holds dates
	out   *Table

	reading Reading
	ignore  bool               // columns that Options.Like does not have are left out
	levels  []map[string]int32 // of the columns of Options.Like; nil otherwise
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
		return 0, &Error{Name: name, Msg: fmt.Sprintf("%s %s: there are %d columns, #1 to #%d", what, ref,
			len(list), len(list)), Err: ErrColumns}
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
	l := &layout{names: fields, roles: make([]role, len(fields)), also: make([]role, len(fields)),
		dest: make([]int, len(fields)), date: make([]bool, len(fields)), out: &Table{Name: name},
		reading: o.reading()}
	first := make(map[string]int, len(fields))
	for i, f := range fields {
		if j, ok := first[f]; ok {
			return nil, &Error{Name: name, Line: 1, Column: f, Msg: fmt.Sprintf("fields %d and %d have the same "+
				"name; rename one", j+1, i+1), Err: ErrColumns}
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
			return -1, &Error{Name: name, Column: fields[i],
				Msg: fmt.Sprintf("is asked for as %s and as %s", before, what), Err: ErrColumns}
		}
		taken[i] = what
		l.roles[i] = r
		return i, nil
	}
	like := o.Like
	l.ignore = o.Extra
	for _, d := range o.Drop {
		if _, err := assign("drop", d, roleDrop, like == nil); err != nil {
			return nil, err
		}
	}
	for _, d := range l.reading.ID {
		// Those of Like may be absent.
		i, err := assign("id", d, roleID, slices.Contains(o.ID, d))
		if err != nil {
			return nil, err
		}
		if i >= 0 {
			l.dest[i] = len(l.out.ID)
			l.out.ID = append(l.out.ID, Text{Name: fields[i]})
		}
	}
	for i, f := range fields {
		l.date[i] = slices.Contains(l.reading.DateOf, f)
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
	}{{"target", o.Target, roleTarget, &l.out.TargetName}, {"source", o.Source, roleSource, &l.out.SourceName},
		{"weight", o.Weight, roleWeight, &l.out.WeightName}} {
		must := s.ref != ""
		if like != nil && s.ref == "" {
			s.ref = map[role]string{roleTarget: like.TargetName, roleSource: like.SourceName,
				roleWeight: like.WeightName}[s.r]
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
			return nil, &Error{Name: name, Column: fields[i],
				Msg: fmt.Sprintf("is asked for as categorical and as %s", taken[i]), Err: ErrColumns}
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
			if l.ignore {
				l.roles[i] = roleDrop
				continue
			}
			extra = append(extra, f)
		}
	}
	if len(lacking) == 0 && len(extra) == 0 {
		return nil
	}
	var parts []string
	var fixes []Fix
	if len(lacking) > 0 {
		p := "missing: " + names(lacking)
		if l.reading.Separator == "" && len(l.names) == 1 {
			p += " (there is one column: is the separator another?)"
		}
		if near := nearest(lacking[0], extra); near != "" {
			p += fmt.Sprintf(" (the nearest is %s)", quote(near))
		}
		parts = append(parts, p)
	}
	if len(extra) > 0 {
		parts = append(parts, "unknown: "+names(extra))
		fixes = []Fix{{Option: "Drop", Value: "COLUMNS", Effect: "to leave out what is no feature"}}
	}
	trained := ""
	if like.Name != "" {
		trained = " of " + like.Name
	}
	return &Error{Name: l.out.Name, Msg: "the columns are not those" + trained +
		" that the model was trained on; " + strings.Join(parts, "; "), Fixes: fixes, Err: ErrColumns}
}

// numericShare: a column whose sampled values are numbers in at least one half is
// meant to have numbers; the others are mistakes, not levels.
const numericShare = 0.5

// infer decides the kind of each feature from the first rows, and which fields are dates.
func (l *layout) infer(o *Options, sample [][][]byte, lines []int, missing func([]byte) bool) error {
	if o.Like != nil {
		return nil
	}
	for i := range l.roles {
		target := l.roles[i] == roleTarget && o.Task != Classification && o.Classes == nil
		if l.feature(i) != roleNumeric && !target {
			continue
		}
		var texts [][]byte
		var at []int // sampled rows of the texts
		for k, row := range sample {
			if v := row[i]; !missing(v) {
				texts, at = append(texts, v), append(at, k)
			}
		}
		numbers, dates, word, date := l.count(texts)
		words := len(texts) - numbers - dates
		share := numericShare * float64(len(texts))
		fail := func(k int, msg string, fixes []Fix) error {
			if !target {
				fixes = append(fixes, Fix{Option: "Categorical", Value: l.names[i], Effect: "if these are names"})
			} else if o.Task == AutoTask {
				fixes = append(fixes, Fix{Option: "Task", Value: "classification",
					Effect: "if these are names of classes"})
			}
			return &Error{Name: l.out.Name, Line: lines[at[k]], Row: at[k] + 1, Column: l.names[i], Err: ErrValue,
				Msg: quote(string(texts[k])) + msg, Fixes: fixes}
		}
		switch {
		case words == 0 && dates == 0:
			l.noteZeros(i, texts)
			continue
		case dates > 0 && numbers > 0 && float64(numbers+dates) >= share:
			return fail(date, fmt.Sprintf(
				" is a date, but %d of the first %d values are numbers; write them all one way", numbers, len(texts)),
				nil)
		case words == 0:
			l.date[i] = true
			l.reading.DateOf = append(l.reading.DateOf, l.names[i])
			continue
		}
		if d, ok := l.reading.unmask(texts); ok {
			return fail(d.at, fmt.Sprintf(" is read as a word, but %d of the first %d values are %s if they are "+
				"read another way", d.read, len(texts), d.what()), d.fixes(string(texts[d.at])))
		}
		if target {
			continue // decideTarget sees all rows
		}
		if float64(numbers+dates) >= share {
			kind := "a number"
			if dates > 0 {
				kind = "a date"
			}
			var fixes []Fix
			if d, ok := l.reading.unmask(texts[word : word+1]); ok {
				fixes = d.fixes(string(texts[word]))
			}
			return fail(word, fmt.Sprintf(" is not %s, but %d of the first %d values are; correct it", kind,
				numbers+dates, len(texts)), append(fixes,
				Fix{Option: "Missing", Value: string(texts[word]), Effect: "if it means that the value is missing"}))
		}
		l.noteDigits(i, texts)
		l.setFeature(i, roleCategorical)
		l.out.Columns[l.dest[i]].Kind = Categorical
	}
	return nil
}

// count counts the texts that are numbers and those that are dates under the Reading. It returns
// the first that is neither, and the first date.
func (l *layout) count(texts [][]byte) (numbers, dates, word, date int) {
	word, date = -1, -1
	for k, v := range texts {
		if _, fault := l.reading.number(v, 32); fault != numberBad {
			numbers++
		} else if _, fault := l.reading.value(v, 32, l.reading.Dates != ""); fault != numberBad {
			dates++
			if date < 0 {
				date = k
			}
		} else if word < 0 {
			word = k
		}
	}
	return numbers, dates, word, date
}

// manyLevels is the number of levels from which a column of words that begin with digits is warned
// of: fewer are bins or grades, such as 18-25 and 3rd.
const manyLevels = 20

// noteDigits warns of a column of words where at least numericShare begin as numbers do and no
// option reads them: 27k, 0x1f, (12.5), digits of another script. As levels they lose their order.
func (l *layout) noteDigits(i int, texts [][]byte) {
	levels := make(map[string]bool)
	example, begin := "", 0
	for _, v := range texts {
		levels[string(v)] = true
		text := strings.TrimLeftFunc(string(v), func(c rune) bool {
			return unicode.IsSpace(c) || unicode.Is(unicode.Sc, c) || strings.ContainsRune("+-−([<>≤≥~≈=.", c)
		})
		if c, _ := utf8.DecodeRuneInString(text); unicode.IsDigit(c) {
			if begin++; example == "" {
				example = string(v)
			}
		}
	}
	if len(levels) < manyLevels || float64(begin) < numericShare*float64(len(texts)) {
		return
	}
	l.out.warnFix([]Fix{{Option: "Categorical", Value: l.names[i], Effect: "if these are names"}},
		"column %s: %d of the first %d values begin with digits, such as %s, but are read as words, whose order "+
			"is lost; write plain numbers if they are numbers",
		quote(l.names[i]), begin, len(texts), quote(example))
}

// noteZeros warns of numbers that begin with a zero, as codes do: postal codes lose it. All of
// one length are codes; a year and month such as 0105 would be as well.
func (l *layout) noteZeros(i int, texts [][]byte) {
	if l.feature(i) != roleNumeric {
		return
	}
	for _, v := range texts {
		if len(v) > 1 && v[0] == '0' && v[1]-'0' <= 9 {
			l.out.warnFix([]Fix{{Option: "Categorical", Value: l.names[i], Effect: "if these are codes, not amounts"}},
				"column %s: %s begins with a zero and is read as the number %s", quote(l.names[i]), quote(string(v)),
				strings.TrimLeft(string(v[:len(v)-1]), "0")+string(v[len(v)-1]))
			return
		}
	}
}
