package table

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// A column whose texts are numbers or dates once marks such as 1,234 and $12 are taken away is
// most likely meant to have numbers. Read as categories it would train a model without a word,
// on levels that no later table has. So it is an error, which names the option that reads it.

// manners are the ways of writing that are tried, the simplest first.
func manners(units []string) []Reading {
	var out []Reading
	for _, m := range [][2]string{{"", ""}, {"", ","}, {",", ""}, {",", "."}, {"", " "}, {"", "'"}, {"", "_"},
		{",", " "}, {",", "'"}} {
		out = append(out, Reading{Decimal: m[0], Thousands: m[1]})
		if len(units) > 0 {
			out = append(out, Reading{Decimal: m[0], Thousands: m[1], Symbols: units})
		}
	}
	for _, d := range []string{ymd, dmy, mdy} {
		out = append(out, Reading{Dates: d})
	}
	return out
}

// marks counts what a manner takes away: of two that read the same texts the one with fewer
// marks is meant.
func (r *Reading) marks() int {
	n := len(r.Symbols)
	for _, s := range []string{r.Decimal, r.Thousands} {
		if s != "" {
			n++
		}
	}
	return n
}

// disguise is how texts that are no numbers may be read as some.
type disguise struct {
	ways []Reading // equally good ones
	read int       // how many texts they read
	at   int       // index of the first text that is no number now
}

// unmask looks for ways of writing in which most of the texts, numericShare or more, are numbers
// or dates. There are none where the Reading in force reads every text, or where no other way
// reads more.
func (r *Reading) unmask(texts [][]byte) (d disguise, ok bool) {
	d.at = -1
	now := 0
	var units []string
	for i, s := range texts {
		if _, fault := r.number(s, 64); fault != numberBad {
			now++
			continue
		}
		if _, fault := r.value(s, 64, true); r.Dates != "" && fault == numberFine {
			now++
			continue
		}
		if d.at < 0 {
			d.at = i
		}
		units = unitsOf(units, s)
	}
	isWord := func(u string) bool { return unicode.IsLetter([]rune(u)[0]) }
	if first := slices.IndexFunc(units, isWord); first >= 0 && slices.ContainsFunc(units[first+1:], isWord) {
		units = slices.DeleteFunc(units, isWord)
	}
	if d.at < 0 {
		return d, false
	}
	for _, u := range r.Symbols {
		if !slices.Contains(units, u) && len(units) > 0 {
			units = append(units, u)
		}
	}
	var days []float64 // of the last order of dates
	for _, m := range manners(units) {
		n := 0
		var values []float64
		for _, s := range texts {
			x, fault := m.value(s, 64, m.Dates != "")
			if fault != numberBad {
				n++
			}
			if m.Dates != "" {
				values = append(values, x)
			}
		}
		if values != nil && slices.Equal(values, days) {
			continue // the year is first in all of them, or months have names: one order will do
		}
		days = values
		if n <= now || float64(n) < numericShare*float64(len(texts)) {
			continue
		}
		switch {
		case n > d.read || n == d.read && m.marks() < d.ways[0].marks():
			d.ways, d.read = []Reading{m}, n
		case n == d.read && m.marks() == d.ways[0].marks():
			d.ways = append(d.ways, m)
		}
	}
	return d, len(d.ways) > 0
}

// fixes are the options for the ways, with what becomes of the text then.
func (d *disguise) fixes(text string) []Fix {
	var out []Fix
	for i := range d.ways {
		w := &d.ways[i]
		x, fault := w.value([]byte(text), 64, w.Dates != "")
		effect := ""
		if fault == numberFine {
			effect = fmt.Sprintf("%s is then %s", quote(text), plain(x))
		}
		if w.Dates != "" {
			effect = "days since 1970-01-01"
			if len(d.ways) > 1 {
				effect = map[string]string{ymd: "the year first", dmy: "the day first", mdy: "the month first"}[w.Dates] +
					": " + effect
			}
			out = append(out, Fix{Option: "Dates", Value: w.Dates, Effect: effect})
			continue
		}
		parts := []Fix{}
		for _, f := range []Fix{{Option: "Decimal", Value: w.Decimal}, {Option: "Thousands", Value: w.Thousands},
			{Option: "Symbols", Value: strings.Join(w.Symbols, ",")}} {
			if f.Value != "" {
				parts = append(parts, f)
			}
		}
		if len(parts) == 0 {
			parts = []Fix{{Option: "Decimal", Value: "."}}
		}
		f := parts[0]
		f.And = parts[1:]
		f.Effect = effect
		out = append(out, f)
	}
	return out
}

// what names what the ways take the texts for.
func (d *disguise) what() string {
	for i := range d.ways {
		if d.ways[i].Dates == "" {
			return "numbers"
		}
	}
	return "dates or times"
}
