package tables

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Reading defines the flags that say how the texts of a table are written. Every command that
// reads a table has them; a model keeps what it was trained with, and reads tables so unless a
// flag says otherwise. The function it returns sets what was given.
func Reading(fs *flags.Set) func(*table.Options) error {
	separator := fs.String("separator", "", "One character between fields (\\t is a tab); when not given, "+
		"that of the format, or which of ; tab | the first line has")
	missing := fs.String("missing", "", "Texts that stand for a missing value, separated by commas, besides "+
		"blanks, ?, NA, N/A, null and nan; given and empty, only blanks do")
	decimal := fs.Enum("decimal", "", []string{"", ".", ","}, "Decimal mark of numbers; a point when not given")
	thousands := fs.Enum("thousands", "", []string{"", ",", ".", "'", "_", "space", table.None},
		"Mark between groups of three digits of numbers; when not given there is none")
	symbols := fs.String("symbols", "", "Texts before or after numbers that are not read, separated by "+
		"commas, such as $,%; 45% is then 45")
	dates := fs.Enum("dates", "", []string{"", "ymd", "dmy", "mdy", table.None},
		"Order of year, month and day in dates, which are then read as days since 1970-01-01; times are "+
			"fractions of a day")
	id := fs.String("id", "", "Columns, separated by commas, that name rows: they are no features, and "+
		"predictions begin with them")
	return func(o *table.Options) error {
		switch s := strings.NewReplacer(`\t`, "\t").Replace(*separator); {
		case len(s) == 1:
			o.Separator = s[0]
		case s != "":
			return fmt.Errorf("flag --separator: %q is not one character of ASCII", *separator)
		}
		o.Decimal, o.Thousands, o.Dates = *decimal, *thousands, *dates
		if o.Thousands == "space" {
			o.Thousands = " "
		}
		if fs.Given("missing") {
			o.Missing = []string{}
			if *missing != "" {
				o.Missing = slices.Clone(table.DefaultMissing)
				for _, s := range strings.Split(*missing, ",") {
					o.Missing = append(o.Missing, strings.TrimSpace(s))
				}
			}
		}
		if fs.Given("symbols") {
			o.Symbols = []string{}
		}
		for _, l := range []struct {
			name, text string
			to         *[]string
		}{{"symbols", *symbols, &o.Symbols}, {"id", *id, &o.ID}} {
			if l.text == "" {
				continue
			}
			for _, s := range strings.Split(l.text, ",") {
				if s = strings.TrimSpace(s); s == "" {
					return fmt.Errorf("flag --%s: %q has an empty name", l.name, l.text)
				}
				*l.to = append(*l.to, s)
			}
		}
		return nil
	}
}

// ReadingFlags are the names of the flags of Reading.
var ReadingFlags = []string{"separator", "missing", "decimal", "thousands", "symbols", "dates", "id"}

// flagOf is the flag for a field of table.Options.
var flagOf = map[string]string{"Decimal": "decimal", "Thousands": "thousands", "Symbols": "symbols",
	"Dates": "dates", "Missing": "missing", "Separator": "separator", "Categorical": "categorical", "ID": "id",
	"Drop": "drop", "Task": "task", "NoHeader": "no_header", "Bins": "bins"}

// say returns what writes a fix as a flag of the command; "" where the command has no such flag.
func say(fs *flags.Set) func(table.Fix) string {
	var write func(f table.Fix) string
	write = func(f table.Fix) string {
		name := flagOf[f.Option]
		has := func(name string) bool {
			return slices.ContainsFunc(fs.Flags(), func(f *flags.Flag) bool { return f.Name == name })
		}
		s := ""
		switch {
		case f.Option == "NoHeader" && has("header"):
			s = "--header=false"
		case name == "" || !has(name):
			return ""
		case f.Option == "NoHeader":
			s = "--" + name
		case f.Option == "Thousands" && f.Value == " ":
			s = "--thousands=space"
		default:
			s = "--" + name + "=" + word(f.Value)
		}
		for _, g := range f.And {
			s += " " + write(g)
		}
		if f.Effect != "" {
			s += " (" + f.Effect + ")"
		}
		return s
	}
	return write
}

// word writes a value so that a shell reads it as one word.
func word(s string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.ContainsRune(",._%+-/:@", c) || c >= 0x80
	}
	switch {
	case s != "" && !strings.ContainsFunc(s, func(c rune) bool { return !plain(c) }):
		return s
	case !strings.Contains(s, "'"):
		return "'" + s + "'"
	}
	return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "$", `\$`, "`", "\\`").Replace(s) + `"`
}

// advised is an error of a table in the words of a command: with flags for options.
type advised struct {
	err  error
	text string
}

func (a *advised) Error() string { return a.text }
func (a *advised) Unwrap() error { return a.err }

// Advise writes the options that an error of a table names as flags of the command. Those that it
// does not have are left out.
func Advise(fs *flags.Set, err error) error {
	var e *table.Error
	var done *advised
	if !errors.As(err, &e) || errors.As(err, &done) || len(e.Fixes) == 0 && e.Option == "" {
		return err
	}
	if name := flagOf[e.Option]; name != "" {
		return &advised{err, "flag --" + name + ": " + e.Msg}
	}
	return &advised{err, e.Text(say(fs))}
}

// Warning writes a warning of a table with flags of the command.
func Warning(fs *flags.Set, w table.Warning) string { return w.Msg + table.Advice(w.Fixes, say(fs)) }
