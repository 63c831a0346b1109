package learner

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// None is the value that turns an option off where its zero value stands for a default that is not
// zero.
const None = -1

// Amount returns v, or 0 for None and other negative numbers.
func Amount(v float64) float64 { return math.Max(v, 0) }

// Option is one field of an options struct. Its tags are
//
//	flag     name; fields without it are no options
//	help     what it does, as a phrase
//	default  what zero stands for; without it zero is zero
//	zero     the word that stands for the empty text, the default then
//	min, max range, ends included; above excludes the lower end
//	values   the strings allowed, with commas between them, or bars where they have commas; a
//	         list has each once at most
//	topic    heading that it is listed under in full help; "" is listed in short help too
//
// Fields are of type bool, int, int64, uint64, float64, string, or []float64, []int or
// []string, whose elements obey the range.
type Option struct {
	Name, Help, Topic string
	Default           string   // as a user would write it
	Values            []string // to choose from; nil is any
	Type              string   // for help: bool, int, number, text, numbers, integers, names

	min, max, above *float64
	none            bool   // 0 is written None
	zero            string // what users write for ""
	value           reflect.Value
}

// Options returns the options of a struct that o points to, in the order of its fields. Those
// of an embedded struct come at its place. It panics when tags or types are not as declared
// above, which is a mistake of the learner.
func Options(o any) []*Option {
	v := reflect.ValueOf(o)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("learner: options are a pointer to a struct, not %T", o))
	}
	return optionsOf(v.Elem())
}

func optionsOf(v reflect.Value) []*Option {
	var out []*Option
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			out = append(out, optionsOf(v.Field(i))...)
			continue
		}
		name, ok := f.Tag.Lookup("flag")
		if !ok {
			continue
		}
		p := &Option{Name: name, Help: f.Tag.Get("help"), Topic: f.Tag.Get("topic"), zero: f.Tag.Get("zero"),
			value: v.Field(i)}
		p.Default = cmp.Or(p.zero, f.Tag.Get("default"))
		if list := f.Tag.Get("values"); strings.Contains(list, "|") {
			p.Values = strings.Split(list, "|")
		} else if list != "" {
			p.Values = strings.Split(list, ",")
		}
		p.Type = typeOf(f)
		for _, b := range []struct {
			tag string
			to  **float64
		}{{"min", &p.min}, {"max", &p.max}, {"above", &p.above}} {
			if text, ok := f.Tag.Lookup(b.tag); ok {
				bound, err := strconv.ParseFloat(text, 64)
				if err != nil {
					panic(fmt.Sprintf("learner: option %s: tag %s: %v", name, b.tag, err))
				}
				*b.to = &bound
			}
		}
		number := p.Type == "int" || p.Type == "number"
		p.none = number && f.Type.Kind() != reflect.Uint64 && p.Default != "" && p.min != nil && *p.min <= 0
		if p.Default != "" {
			scratch := *p
			scratch.value = reflect.New(f.Type).Elem()
			if err := scratch.Set(p.Default); err != nil {
				panic(fmt.Sprintf("learner: the default of %v", err))
			}
		}
		out = append(out, p)
	}
	return out
}

func typeOf(f reflect.StructField) string {
	switch f.Type.Kind() {
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "int"
	case reflect.Float64:
		return "number"
	case reflect.String:
		return "text"
	case reflect.Slice:
		switch f.Type.Elem().Kind() {
		case reflect.Float64:
			return "numbers"
		case reflect.Int:
			return "integers"
		case reflect.String:
			return "names"
		}
	}
	panic(fmt.Sprintf("learner: option %s is of type %v, which no option is", f.Name, f.Type))
}

// Set stores what a user wrote; hyphens within words to choose from may be left out. The error
// names the option, and what it takes.
func (p *Option) Set(text string) error {
	fail := func(what string) error { return fmt.Errorf("%s: %q is %s", p.Name, text, what) }
	v := p.value
	switch v.Kind() {
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fail("neither true nor false")
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		if err != nil {
			return fail("no whole number")
		}
		if err := p.within(float64(n), text); err != nil {
			return err
		}
		if n == 0 && p.none {
			n = None
		}
		v.SetInt(n)
	case reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fail("no whole number from 0 on")
		}
		v.SetUint(n)
	case reflect.Float64:
		x, err := p.number(text)
		if err != nil {
			return err
		}
		if x == 0 && p.none {
			x = None
		}
		v.SetFloat(x)
	case reflect.String:
		if p.Values != nil {
			i := slices.IndexFunc(p.Values,
				func(w string) bool { return w == text || strings.ReplaceAll(w, "-", "") == text })
			if i < 0 {
				return fail("none of " + strings.Join(p.Values, ", "))
			}
			text = p.Values[i]
		}
		if text == p.zero {
			text = ""
		}
		v.SetString(text)
	default:
		return p.setList(text)
	}
	return nil
}

func (p *Option) number(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) {
		return 0, fmt.Errorf("%s: %q is no number", p.Name, text)
	}
	return x, p.within(x, text)
}

func (p *Option) setList(text string) error {
	list := reflect.MakeSlice(p.value.Type(), 0, 0)
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		switch p.Type {
		case "numbers":
			x, err := p.number(word)
			if err != nil {
				return err
			}
			list = reflect.Append(list, reflect.ValueOf(x).Convert(p.value.Type().Elem()))
		case "integers":
			n, err := strconv.Atoi(word)
			if err != nil {
				return fmt.Errorf("%s: %q is no whole number", p.Name, word)
			}
			if err := p.within(float64(n), word); err != nil {
				return err
			}
			list = reflect.Append(list, reflect.ValueOf(n))
		default:
			if p.Values != nil && !slices.Contains(p.Values, word) {
				return fmt.Errorf("%s: %q is none of %s", p.Name, word, strings.Join(p.Values, ", "))
			}
			for i := range list.Len() {
				if p.Values != nil && list.Index(i).String() == word {
					return fmt.Errorf("%s: %q is there twice", p.Name, word)
				}
			}
			list = reflect.Append(list, reflect.ValueOf(word).Convert(p.value.Type().Elem()))
		}
	}
	p.value.Set(list)
	return nil
}

// within refuses numbers out of range. Infinity is in range only if max says so.
func (p *Option) within(x float64, text string) error {
	low := p.min != nil && x < *p.min || p.above != nil && x <= *p.above
	high := p.max != nil && x > *p.max || p.max == nil && math.IsInf(x, 1) || p.min == nil && p.above == nil &&
		math.IsInf(x, -1)
	if !low && !high {
		return nil
	}
	want := p.Range()
	if math.IsInf(x, 1) && p.max == nil {
		want += ", and finite"
	}
	return fmt.Errorf("%s: %s is out of range: it must be %s", p.Name, text, want)
}

// Range says what numbers are allowed: "at least 0", "above 0 and at most 1".
func (p *Option) Range() string {
	var parts []string
	switch {
	case p.above != nil:
		parts = append(parts, "above "+plain(*p.above))
	case p.min != nil:
		parts = append(parts, "at least "+plain(*p.min))
	}
	if p.max != nil && !math.IsInf(*p.max, 1) {
		parts = append(parts, "at most "+plain(*p.max))
	}
	if parts == nil {
		return "finite"
	}
	return strings.Join(parts, " and ")
}

// plain writes a bound without an exponent.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Text returns the option's value as Set would read it, that of the default for zero.
func (p *Option) Text() string {
	v := p.value
	if v.IsZero() {
		return p.Default
	}
	switch v.Kind() {
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int, reflect.Int64:
		if p.none && v.Int() < 0 {
			return "0"
		}
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10)
	case reflect.Float64:
		if p.none && v.Float() < 0 {
			return "0"
		}
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.String:
		return v.String()
	}
	var words []string
	for i := range v.Len() {
		if e := v.Index(i); e.CanFloat() {
			words = append(words, strconv.FormatFloat(e.Float(), 'g', -1, 64))
		} else {
			words = append(words, fmt.Sprint(e))
		}
	}
	return strings.Join(words, ",")
}

// Complete copies the options at from, nil for none, to those at to, and replaces zeros by
// defaults. A value that is out of range is an error that names it. None stays as it is: see
// Amount.
func Complete[O any](to, from *O) error {
	if from != nil {
		*to = *from
	}
	for _, p := range Options(to) {
		v := p.value
		if v.IsZero() {
			if p.Default == "" {
				continue
			}
			if err := p.Set(p.Default); err != nil {
				return err
			}
			continue
		}
		if err := p.check(); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a value that Set would refuse, and spells words as Set does; None is allowed where
// 0 may be written.
func (p *Option) check() error {
	v := p.value
	switch {
	case v.CanFloat():
		if x := v.Float(); math.IsNaN(x) {
			return fmt.Errorf("%s: NaN is no number", p.Name)
		} else if !(p.none && x == None) {
			return p.within(x, strconv.FormatFloat(x, 'g', -1, 64))
		}
	case v.CanInt():
		if n := v.Int(); !(p.none && n == None) {
			return p.within(float64(n), strconv.FormatInt(n, 10))
		}
	case v.Kind() == reflect.String:
		return p.Set(v.String())
	case v.Kind() == reflect.Slice:
		copied := *p
		copied.value = reflect.New(v.Type()).Elem()
		if err := copied.Set(p.Text()); err != nil {
			return err
		}
	}
	return nil
}

// Settings writes all options that are not at their default as "name=value name=value", in the
// order of the fields. The same settings give the same text. Blanks within values are written +.
func Settings(o any) string {
	var words []string
	for _, p := range Options(o) {
		if text := p.Text(); text != p.Default && !(p.value.IsZero() && p.Default == "") {
			words = append(words, p.Name+"="+strings.ReplaceAll(text, " ", "+"))
		}
	}
	return strings.Join(words, " ")
}
