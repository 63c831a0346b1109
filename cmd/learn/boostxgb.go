package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/output"
	"github.com/tropica-fst/tropica/cmd/internal/tables"
	"github.com/tropica-fst/tropica/learn/boost"
)

// XGBoost's models come in and go out as those of gradient boosting.

var boostImport = &command{
	name: "gb import", args: "[model.json]", min: 0, max: 1,
	summary: "Makes a model of one that XGBoost saved as JSON.",
	about: `
The model is one of trees (booster gbtree), as XGBoost's save_model("model.json") writes
it, for two classes, many classes or numbers. learn gb predict, eval and explain accept the
result. Thresholds and leaf values are XGBoost's; scores are added up in 64 bits.

XGBoost's file has the names of columns, if any, but not those of classes and levels. These
are numbers, unless --like names a table, such as the training data, with the columns
in the same order and --target as its target. Level and class number 0 is then the first of
the table's in sorted order, as pandas numbers them. Columns without names are f0, f1, ..., or
with --no_header #1, #2, ..., as in tables without a header.

Values that a line of a LIBSVM file leaves out are missing to the model, as XGBoost reads them.
Models trained here without --absent_missing read them as 0.

Example:

  learn gb import xgb.json --like train.csv --target class --model my.model`,
	setup: func(fs *flags.Set) func(*call) error {
		var t tableFlags
		t.define(fs)
		name := fs.String("model", "", "File for the model; needed")
		like := fs.String("like", "", "Table with the model's columns, levels and classes")
		return func(c *call) error {
			if *name == "" {
				return errors.New("flag --model is needed: the file for the model")
			}
			if err := apart(places("XGBoost's model", c.arg(0), *like), places("the model", *name)); err != nil {
				return err
			}
			var schema *boost.Schema
			if *like != "" {
				x, err := t.read(c, *like)
				if err != nil {
					return fmt.Errorf("flag --like: %w", err)
				}
				s := boost.SchemaOf(x)
				schema = &s
			} else if err := c.idle("it is about the table of --like",
				append([]string{"target", "source", "weight", "categorical", "drop", "format", "task"},
					tables.ReadingFlags...)...); err != nil {
				return err
			}
			f, shown, err := c.Open(c.arg(0))
			if err != nil {
				return err
			}
			defer f.Close()
			e, err := boost.ReadXGBoost(f, schema)
			if err != nil {
				return fmt.Errorf("%s: %w", shown, err)
			}
			nameless := nameless(e)
			if *t.noHeader && *like == "" {
				if !nameless {
					return fmt.Errorf("flag --no_header: %s has names of columns (%q is the first), by which tables are "+
						"read; leave the flag out", shown, e.Schema.Columns[0].Name)
				}
				for j := range e.Schema.Columns {
					e.Schema.Columns[j].Name = fmt.Sprintf("#%d", j+1)
				}
			}
			out, err := output.Create(*name, c.Out)
			if err != nil {
				return err
			}
			defer out.Abort()
			if err := e.Write(out); err != nil {
				return err
			}
			if err := out.Commit(); err != nil {
				return err
			}
			w := c.Out
			if cli.IsStandard(*name) {
				w = c.Err
			}
			fmt.Fprintf(w, "%s: %s loss, %d columns; %d rounds, %d trees\n", shown, e.Loss.Name(),
				len(e.Schema.Columns), e.Rounds(), len(e.Terms))
			if rounds, ok := boost.XGBoostBest(e); ok {
				fmt.Fprintf(w, "note: XGBoost stopped early and found %d of the %d rounds best; all are kept, and "+
					"--rounds=%d predicts as its scikit-learn wrapper does\n", rounds, e.Rounds(), rounds)
			}
			if nameless && *like == "" && !*t.noHeader {
				fmt.Fprintln(w, "note: the columns have no names in the file and are called f0, f1, ...; give "+
					"--no_header to call them #1, #2, ..., as in tables without a header, or name a table with --like, "+
					"such as a LIBSVM file")
			}
			fmt.Fprintf(w, "model: %s\n", out.Name())
			return nil
		}
	},
}

// nameless reports whether the columns have the names that the import gives those without.
func nameless(e *boost.Ensemble) bool {
	for j, c := range e.Schema.Columns {
		if c.Name != fmt.Sprintf("f%d", j) {
			return false
		}
	}
	return true
}

var boostExport = &command{
	name: "gb export", args: "", min: 0, max: 0,
	summary: "Writes a model of trees as JSON that XGBoost loads.",
	about: `
Writes a model of gb, or of rgb, with the loss logistic, squared or softmax, in the format of
XGBoost 1.7's save_model("model.json"). XGBoost adds scores up in 32 bits, so that they agree to
about 1e-7 a tree. The names of classes and levels are not part of the format: level and class
number 0 is the first in sorted order.

XGBoost reads values that a LIBSVM file leaves out as missing. Training here read them as 0,
except with --absent_missing: give XGBoost such rows as a dense matrix. It counts the columns of
such files from 0. Where they begin with 1, read them as "FILE?indexing_mode=1", with the
model's feature_names.

Example:

  learn gb export --model my.model --to xgb.json`,
	setup: func(fs *flags.Set) func(*call) error {
		name := fs.String("model", "", "File with the model; needed")
		to := fs.String("to", "", "File for XGBoost's model; standard output when not given")
		return func(c *call) error {
			if err := apart(places("the model", *name), places("XGBoost's model", *to)); err != nil {
				return err
			}
			m, _, err := load(c, *name, "gb train", boost.Read)
			if err != nil {
				return err
			}
			return c.Output(*to, func(w io.Writer) error { return m.WriteXGBoost(w) })
		}
	},
}
