package table

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// targetRule says how the target is read.
type targetRule struct {
	classes bool // number its texts
	numbers bool // read it as numbers (with classes: where it is one)
	most    int  // classes
	fixed   map[string]int32
	byValue map[float64]int32 // of fixed classes that are all numbers: "1" is "+1" and "1.0"
	list    []string
	reading *Reading
	date    bool // targets are dates
	labels  bool // the format says that they are classes
}

// value reads a target, or the name of a class, as a number.
func (t *targetRule) value(text []byte) (float64, numberFault) {
	if t.reading == nil {
		return parseNumber(text, 64)
	}
	return t.reading.value(text, 64, t.date)
}

func newTargetRule(o *Options) *targetRule {
	if classes, ok := o.known(); ok {
		t := &targetRule{numbers: classes == nil, list: classes}
		if classes != nil {
			t.fixed = make(map[string]int32)
			t.byValue = make(map[float64]int32)
			for k, c := range classes {
				t.fixed[c] = int32(k)
				if x, fault := parseNumber([]byte(c), 64); fault == numberFine && t.byValue != nil {
					t.byValue[x] = int32(k)
				} else {
					t.byValue = nil
				}
			}
		}
		return t
	}
	switch o.Task {
	case Classification:
		return &targetRule{classes: true, most: maxClasses}
	case Regression:
		return &targetRule{numbers: true}
	}
	return &targetRule{classes: true, numbers: true, most: 1024}
}

func (t *targetRule) known(text []byte) bool {
	_, ok := t.fixed[string(text)]
	return ok
}

func (t *targetRule) store(c *chunk, r int, name string, text []byte) bool {
	if t.fixed != nil {
		k, ok := t.fixed[string(text)]
		if !ok && t.byValue != nil {
			if x, fault := t.value(text); fault == numberFine {
				k, ok = t.byValue[x]
			}
		}
		if !ok {
			c.fail(r, 0, name, ErrValue, "%s is not a class of the training data, which are %s",
				quote(string(text)), names(t.list))
			return false
		}
		c.numbers = append(c.numbers, float64(k))
		return true
	}
	if t.numbers {
		x, fault := t.value(text)
		switch {
		case fault == numberFine:
		case !t.classes || fault != numberBad:
			c.fail(r, 0, name, ErrValue, "the target %s", fault.describe(text, 64))
			if t.reading != nil && fault == numberBad {
				if d, ok := t.reading.unmask([][]byte{text}); ok {
					c.err.Fixes = d.fixes(string(text))
				}
			}
			return false
		default:
			x = math.NaN()
		}
		c.numbers = append(c.numbers, x)
	}
	if t.classes && !c.overflow {
		k, ok := c.classes.code(text, r, t.most)
		if !ok {
			c.overflow = true
			return true
		}
		if c.classes.first[k] == int32(r) && !utf8.Valid(text) {
			c.fail(r, 0, name, ErrSyntax, "%s is not UTF-8; convert the input first", quote(string(text)))
			return false
		}
		c.classOf = append(c.classOf, k)
	}
	return true
}

var asNumbers = Fix{Option: "Task", Value: "regression", Effect: "if these are numbers to predict"}

func (b *builder) tooManyClasses() error {
	return &Error{Name: b.out.Name, Column: b.out.TargetName, Err: ErrValue,
		Msg: fmt.Sprintf("more than %d classes: these are not labels", b.rule.most), Fixes: []Fix{asNumbers}}
}

// decideTarget settles whether the target is a class.
func (b *builder) decideTarget() error {
	t := b.out
	if t.TargetName == "" || !b.rule.classes {
		return nil
	}
	if b.over && !b.rule.numbers {
		return b.tooManyClasses()
	}
	list := b.classes.names
	values := make([]float64, len(list))
	numeric, whole := true, true // all are numbers; those that are have no fraction
	for k, s := range list {
		x, fault := b.rule.value([]byte(s))
		if fault != numberFine {
			numeric = false
		}
		whole = whole && x == math.Trunc(x) && math.Abs(x) <= 1<<53 // beyond, numbers are measurements
		values[k] = x
	}
	if b.over || b.rule.numbers && numeric && (!whole || len(list) > autoClasses) {
		// Regression: then there must be no words among the numbers.
		for i, y := range t.Target {
			if y != y {
				return &Error{Name: t.Name, Line: t.LineOf(i), Row: i + 1, Column: t.TargetName, Err: ErrValue,
					Msg: fmt.Sprintf("the target is not a number here, and there are too many values (over %d) for them "+
						"to be classes", b.rule.most)}
			}
		}
		return nil
	}
	if !b.rule.numbers && numeric && !whole {
		for i, k := range b.classOf {
			if x := values[k]; x != math.Trunc(x) {
				return &Error{Name: t.Name, Line: t.LineOf(i), Row: i + 1, Column: t.TargetName, Err: ErrValue,
					Msg:   fmt.Sprintf("%s is not a label: labels are words or integers", quote(list[k])),
					Fixes: []Fix{asNumbers}}
			}
		}
	}
	if !numeric && b.rule.numbers && (len(list) > autoClasses || !whole) {
		// Mostly numbers, of many values or with fractions, and a few words is a column with
		// mistakes in it.
		numbers := 0
		for _, y := range t.Target {
			if y == y {
				numbers++
			}
		}
		if 2*numbers > t.Rows {
			i := slices.IndexFunc(t.Target, func(y float64) bool { return y != y })
			return &Error{Name: t.Name, Line: t.LineOf(i), Row: i + 1, Column: t.TargetName, Err: ErrValue,
				Msg: fmt.Sprintf("%s is not a number, but most values of the target are; correct it",
					quote(list[b.classOf[i]])), Fixes: []Fix{
					{Option: "Task", Value: "classification", Effect: "if these are names of classes"}}}
		}
	}
	var rank []int32
	if numeric {
		t.Classes, rank = sortedNumbers(list, values)
		if n := len(t.Classes); b.rule.numbers && n > 2 && !b.rule.labels {
			t.warnFix([]Fix{asNumbers, {Option: "Task", Value: "classification",
				Effect: "if they are classes, and this need not be said"}},
				"the target %s has %d different integers, from %s to %s, which are taken for classes",
				quote(t.TargetName), n, t.Classes[0], t.Classes[n-1])
		}
	} else {
		t.Classes, rank = sorted(list)
	}
	t.Target = t.Target[:0]
	for _, k := range b.classOf {
		t.Target = append(t.Target, float64(rank[k]))
	}
	return nil
}
