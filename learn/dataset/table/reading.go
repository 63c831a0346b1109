package table

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reading says how the texts of a table are written. A table has the Reading that it was read with,
// and a model keeps it, so that later data are read in the same way: see Options.Like.
type Reading struct {
	Decimal   string   `json:"decimal,omitempty"`   // the decimal mark, "." or ","; "" is "."
	Thousands string   `json:"thousands,omitempty"` // the mark between groups of three digits; "" is none
	Symbols   []string `json:"symbols,omitempty"`   // texts around numbers that are not read, such as $ and %
	Dates     string   `json:"dates,omitempty"`     // the order of dates: "ymd", "dmy" or "mdy"; "" is none
	DateOf    []string `json:"date_of,omitempty"`   // the columns that hold dates, found in training
	// texts for a missing value, beside blanks; nil is DefaultMissing
	Missing   []string `json:"missing"`
	Separator string   `json:"separator,omitempty"` // between fields, if requested
	NoHeader  bool     `json:"no_header,omitempty"`
	ID        []string `json:"id,omitempty"` // columns that are carried along and are no features
}

// IsZero reports whether the Reading says nothing.
func (r *Reading) IsZero() bool {
	return r.plain() && r.Dates == "" && r.Missing == nil && r.Separator == "" && !r.NoHeader &&
		len(r.ID) == 0 && len(r.DateOf) == 0
}

// None stands, as Options.Thousands and Options.Dates, for what the zero value means without
// Options.Like: no mark, and no dates.
const None = "none"

// reading is the Reading that the options ask for; what they leave open is that of Like.
func (o *Options) reading() Reading {
	r := Reading{Decimal: o.Decimal, Thousands: o.Thousands, Symbols: o.Symbols, Dates: o.Dates,
		Missing: o.Missing, NoHeader: o.NoHeader, ID: o.ID}
	if o.Separator != 0 {
		r.Separator = string(rune(o.Separator))
	}
	if o.Like != nil {
		was := &o.Like.Reading
		for _, f := range []struct{ to, from *string }{{&r.Decimal, &was.Decimal}, {&r.Thousands, &was.Thousands},
			{&r.Dates, &was.Dates}} {
			if *f.to == "" {
				*f.to = *f.from
			}
		}
		if r.Symbols == nil {
			r.Symbols = was.Symbols
		}
		if r.Missing == nil {
			r.Missing = was.Missing
		}
		r.DateOf = was.DateOf
		r.Separator = cmp.Or(r.Separator, was.Separator)
		r.NoHeader = r.NoHeader || was.NoHeader
		for _, name := range was.ID {
			if !slices.Contains(r.ID, name) {
				r.ID = append(slices.Clip(r.ID), name)
			}
		}
	}
	for _, s := range []*string{&r.Thousands, &r.Dates} {
		if *s == None {
			*s = ""
		}
	}
	if r.Decimal == "." {
		r.Decimal = ""
	}
	return r
}

// plainForm refuses options that a format with numbers in one form has no use for.
func (o *Options) plainForm(name, format string) error {
	if len(o.ID) > 0 || o.Decimal != "" || o.Thousands != "" || o.Symbols != nil || o.Dates != "" ||
		o.Missing != nil || o.Separator != 0 {
		return &Error{Name: name, Msg: format + " has numbers in one form only: no separators, marks, symbols, " +
			"dates, texts for missing values or columns to carry along", Err: ErrColumns}
	}
	return nil
}

// thousandsMarks are the marks that may stand between groups of digits. A blank stands for no-break
// spaces as well.
var thousandsMarks = []string{",", ".", "'", "_", " "}

// check refuses marks that cannot be what they are said to be.
func (r *Reading) check(name string) error {
	fail := func(option, format string, args ...any) error {
		return &Error{Name: name, Msg: fmt.Sprintf(format, args...), Option: option, Err: ErrSyntax}
	}
	if r.Decimal != "" && r.Decimal != "," {
		return fail("Decimal", "%s is no decimal mark: a point or a comma is", quote(r.Decimal))
	}
	if r.Thousands != "" && !slices.Contains(thousandsMarks, r.Thousands) {
		return fail("Thousands", "%s cannot stand between groups of digits: one of , . ' _ and a blank can",
			quote(r.Thousands))
	}
	if d := r.Decimal; r.Thousands != "" && (r.Thousands == d || d == "" && r.Thousands == ".") {
		return fail("Thousands", "%s is the decimal mark and cannot stand between groups of digits as well",
			quote(r.Thousands))
	}
	for _, u := range r.Symbols {
		if u == "" || strings.ContainsFunc(u, func(c rune) bool { return unicode.IsDigit(c) }) ||
			strings.Trim(u, " \t") != u || strings.ContainsAny(u[:1], "+-.,") {
			return fail("Symbols", "%s cannot be a unit: it is blank, or could be part of a number", quote(u))
		}
	}
	if !slices.Contains([]string{"", ymd, dmy, mdy}, r.Dates) {
		return fail("Dates", "%s is no order of dates: ymd, dmy and mdy are", quote(r.Dates))
	}
	return nil
}

// plain reports whether numbers are written as in programs: the parsers then have a short way.
func (r *Reading) plain() bool { return r.Decimal == "" && r.Thousands == "" && len(r.Symbols) == 0 }

// number reads a number as parseNumber does, with the marks of the Reading.
func (r *Reading) number(text []byte, bits int) (float64, numberFault) {
	if r.plain() {
		x, fault := parseNumber(text, bits)
		if fault == numberBad { // blanks within quotes
			if s := asciiMinus(trimBlanks(text)); len(s) < len(text) {
				return parseNumber(s, bits)
			}
		}
		return x, fault
	}
	var room [64]byte
	s, ok := r.bare(room[:0], text)
	if !ok {
		return 0, numberBad
	}
	return parseNumber(s, bits)
}

// value reads a number, or in a column of dates a date.
func (r *Reading) value(text []byte, bits int, date bool) (float64, numberFault) {
	if !date {
		return r.number(text, bits)
	}
	days, ok := parseDate(string(text), r.Dates)
	if !ok {
		return 0, numberBad
	}
	return days, numberFine
}

// bare appends the number in text to dst as programs write it. It omits units and marks between
// groups, and writes a point for the decimal mark.
func (r *Reading) bare(dst, text []byte) ([]byte, bool) {
	s := asciiMinus(trimBlanks(text))
	signed := false
	sign := func() {
		s = asciiMinus(s)
		if !signed && len(s) > 0 && (s[0] == '-' || s[0] == '+') {
			dst, s, signed = append(dst, s[0]), trimBlanks(s[1:]), true
		}
	}
	sign()
	before := false
	for _, u := range r.Symbols {
		if bytes.HasPrefix(s, []byte(u)) {
			s, before = trimBlanks(s[len(u):]), true
			break
		}
	}
	if before {
		sign()
	}
	for _, u := range r.Symbols {
		if len(s) > len(u) && bytes.HasSuffix(s, []byte(u)) {
			s = trimBlanks(s[:len(s)-len(u)])
			break
		}
	}
	point := byte('.')
	if r.Decimal == "," {
		point = ','
	}
	// The integer part: digits, perhaps in groups. The first group has one to three digits, the
	// last one three, and those between all three, or all two as in India (12,34,567).
	group, grouped, between := 0, false, 0
	i := 0
	for i < len(s) {
		if c := s[i]; c-'0' <= 9 {
			dst = append(dst, c)
			group++
			i++
			continue
		}
		n := r.mark(s[i:])
		if n == 0 {
			break
		}
		if grouped && between == 0 {
			between = group
		}
		if group == 0 || group > 3 || grouped && (group == 1 || group != between) {
			return nil, false
		}
		group, grouped = 0, true
		i += n
	}
	if grouped && group != 3 {
		return nil, false
	}
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == point:
			dst = append(dst, '.')
		case c == '.' || c == ',':
			return nil, false
		default:
			dst = append(dst, c) // digits and exponents; parseNumber judges the rest
		}
	}
	return dst, true
}

// asciiMinus puts the minus of keyboards in the place of that of print, U+2212, at the start of s.
func asciiMinus(s []byte) []byte {
	if rest, ok := bytes.CutPrefix(s, []byte("\u2212")); ok {
		return append([]byte{'-'}, rest...)
	}
	return s
}

// mark returns the length of the mark between groups that s begins with, 0 if there is none.
func (r *Reading) mark(s []byte) int {
	if r.Thousands == " " {
		for _, m := range blankMarks {
			if bytes.HasPrefix(s, []byte(m)) {
				return len(m)
			}
		}
		return 0
	}
	if r.Thousands == "'" && bytes.HasPrefix(s, []byte("’")) {
		return len("’")
	}
	if r.Thousands != "" && s[0] == r.Thousands[0] {
		return 1
	}
	return 0
}

var blankMarks = []string{" ", "\u00a0", "\u202f", "\u2009"}

// trimBlanks takes blanks off both ends, those that do not break a line too.
func trimBlanks(s []byte) []byte {
	return bytes.TrimFunc(s,
		func(c rune) bool { return c == ' ' || c == '\t' || c == '\u00a0' || c == '\u202f' || c == '\u2009' })
}

// unitsOf appends the symbols that stand before or after what may be a number and that are no
// part of one: currencies, per cent, degrees. A word of letters is a unit behind a blank only
// ("12.3 kg"), since "2nd" and "4wd" are names. Of several such words none is one: 1 kg and
// 1 lb are not the same number.
func unitsOf(units []string, text []byte) []string {
	note := func(c rune) {
		if (unicode.Is(unicode.Sc, c) || c == '%' || c == '‰' || c == '°') &&
			!slices.Contains(units, string(c)) && len(units) < 8 {
			units = append(units, string(c))
		}
	}
	s := bytes.TrimLeft(text, "+- ")
	c, _ := utf8.DecodeRune(s)
	note(c)
	c, _ = utf8.DecodeLastRune(text)
	note(c)
	s = trimBlanks(text)
	if blank := bytes.LastIndexByte(s, ' '); blank > 0 && s[blank-1]-'0' <= 9 {
		word := string(s[blank+1:])
		letter := func(c rune) bool { return unicode.IsLetter(c) || c == '/' || c == '²' || c == '³' }
		if strings.TrimFunc(word, letter) == "" && !slices.Contains(units, word) && len(units) < 8 {
			units = append(units, word)
		}
	}
	return units
}
