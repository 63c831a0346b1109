package tables

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Help says how columns are named; for the help of commands that have Flags.
const Help = `Tables are CSV, TSV, LIBSVM or IDX files, compressed with gzip or not; "-" is
standard input. A column is named as in the header, or by its place: #1 is the
first, #-1 the last. Empty fields, "?" and "NA" are missing values. A column of
numbers or dates that are written in another way (1,5 $12 45% 31.12.2024) is an
error that says which flag reads it: --decimal, --thousands, --symbols, --dates. The
model keeps these flags, and later tables are read as the first was.`

// Auto is the value of a flag whose word auto stands for the library's empty one.
func Auto(word string) string { return strings.TrimPrefix(word, "auto") }

// Flags defines the flags that say what the columns of a table are. The function it returns makes
// options of them when they are parsed.
func Flags(fs *flags.Set) func() (*table.Options, error) {
	task := fs.Enum("task", "auto", []string{"auto", "classification", "regression"},
		"What the target is; auto: classification for words and for at most 32 different integers")
	categorical := fs.String("categorical", "", "Columns to read as categories though they look like "+
		"numbers, separated by commas")
	keep := fs.Bool("keep_source", false, "The source column is a feature as well")
	target := fs.String("target", "", "Column to predict")
	source := fs.String("source", "", "Column that says which source (domain) a row is from")
	weight := fs.String("weight", "", "Column with the weights of the rows")
	drop := fs.String("drop", "", "Columns to leave out, separated by commas")
	header := fs.Bool("header", true, "The first line names the columns; without it they are #1, #2, ...")
	format := fs.Enum("format", "auto", []string{"auto", "csv", "tsv", "libsvm", "idx"},
		"Form of the table; auto: by name and content")
	reading := Reading(fs)
	return func() (*table.Options, error) {
		o := &table.Options{Target: *target, Source: *source, Weight: *weight, NoHeader: !*header,
			KeepSource: *keep, Task: table.Task(Auto(*task)), Format: table.Format(Auto(*format))}
		for _, l := range []struct {
			name string
			text *string
			to   *[]string
		}{{"categorical", categorical, &o.Categorical}, {"drop", drop, &o.Drop}} {
			if !fs.Given(l.name) {
				continue
			}
			for _, s := range strings.Split(*l.text, ",") {
				s = strings.TrimSpace(s)
				if s == "" {
					return nil, fmt.Errorf("flag --%s: %q has an empty name", l.name, *l.text)
				}
				*l.to = append(*l.to, s)
			}
		}
		if o.KeepSource && o.Source == "" {
			return nil, errors.New("flag --keep_source: no --source is given")
		}
		return o, reading(o)
	}
}
