package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/tables"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// tableFlags are the flags of every command that reads a table.
type tableFlags struct {
	target, source, weight, categorical, drop, format, task *string
	noHeader                                                *bool
	keepSource, absent                                      *bool // nil where the command has no such flag
	dense                                                   bool  // the learner needs every cell
	reading                                                 func(*table.Options) error
	workers                                                 func() (int, error)
}

func (t *tableFlags) define(fs *flags.Set) {
	t.target = fs.String("target", "", "Column to predict: its name, or #1 for the first and #-1 for the "+
		"last; the last one when not given (LIBSVM: the first field)")
	t.source = fs.String("source", "", "Column that names the domain a row comes from; it is then no "+
		"feature, folds divide each source by itself, and reports have errors by source")
	t.weight = fs.String("weight", "", "Column with the weights of rows")
	t.categorical = fs.String("categorical", "",
		"Columns, separated by commas, whose numbers are names of levels")
	t.drop = fs.String("drop", "", "Columns, separated by commas, to leave out")
	t.format = fs.Enum("format", "auto", []string{"auto", "csv", "tsv", "libsvm", "idx"}, "Format of the tables")
	t.task = fs.Enum("task", "auto", []string{"auto", "classification", "regression"},
		"What the target is: words, or few integers, are classes")
	t.noHeader = fs.Bool("no_header", false, "The first line is data; columns are then called #1, #2, ...")
	t.reading = tables.Reading(fs)
	t.workers = workersFlag(fs)
}

// defineAbsent defines the flag of commands that train: a model keeps it for tables to come.
func (t *tableFlags) defineAbsent(fs *flags.Set) {
	t.absent = fs.Bool("absent_missing", false, "What lines of a LIBSVM file leave out is missing, as "+
		"XGBoost has it, not 0; the model reads its tables so too")
}

func (t *tableFlags) options() (*table.Options, error) {
	o := &table.Options{
		Target: *t.target, Source: *t.source, Weight: *t.weight, Categorical: list(*t.categorical),
		Drop: list(*t.drop), NoHeader: *t.noHeader,
		Format: table.Format(tables.Auto(*t.format)), Task: table.Task(tables.Auto(*t.task)),
	}
	if t.keepSource != nil {
		o.KeepSource = *t.keepSource
	}
	if t.dense {
		o.Storage = table.DenseStorage
	}
	if t.absent != nil {
		o.AbsentMissing = *t.absent
	}
	if err := t.reading(o); err != nil {
		return nil, err
	}
	var err error
	o.Workers, err = t.workers()
	return o, err
}

// idColumns are the columns that name rows, as predictions have them: their headings, and their
// texts in a row.
func idColumns(x *table.Table) (header []string, of func(i int) []string) {
	for k := range x.ID {
		header = append(header, x.ID[k].Name)
	}
	return header, func(i int) []string {
		var row []string
		for k := range x.ID {
			row = append(row, x.ID[k].Values[i])
		}
		return row
	}
}

// read reads a table with a target.
func (t *tableFlags) read(c *call, name string) (*table.Table, error) {
	o, err := t.options()
	if err != nil {
		return nil, err
	}
	if o.Target == "" && o.Format != table.LibSVM && o.Format != table.IDX {
		o.Target = "#-1"
	}
	x, err := c.openTable(name, o)
	if err != nil && *t.target == "" && o.Target != "" && o.Format == table.Auto {
		// LIBSVM and IDX, when found by content, have their own place for the
		// target and refuse one by name.
		var e *table.Error
		if errors.As(err, &e) && errors.Is(err, table.ErrColumns) && !cli.IsStandard(name) {
			ours := e.Column == o.Target // which is a mistake of ours: the user named none
			o.Target = ""
			y, again := c.openTable(name, o)
			switch {
			case again == nil && y.Target != nil:
				return y, usable(y, o)
			case again != nil && ours:
				return nil, again
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return x, usable(x, o)
}

// usable refuses a table that was read against the flags, or that nothing can be learnt from.
func usable(x *table.Table, o *table.Options) error {
	if o.AbsentMissing && !x.AbsentMissing {
		return fmt.Errorf("flag --absent_missing: %s is no LIBSVM file; other formats say what is missing", x.Name)
	}
	return informative(x)
}

// openTable reads a table and passes its warnings on.
func (c *call) openTable(name string, o *table.Options) (*table.Table, error) {
	o.Ctx = c.ctx
	x, err := tables.Open(name, c.In, o)
	if c.ctx.Err() != nil {
		return nil, &stopped{"nothing was written"}
	}
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			return nil, fmt.Errorf("table: %w", err)
		}
		return nil, tables.Advise(c.flags, err)
	}
	for _, w := range x.Warnings {
		c.Warn(c.prog, "%s: %s", x.Name, tables.Warning(c.flags, w))
	}
	return x, nil
}

// unread leaves the target of a table unread, and with all its source and weights as well, unless a
// flag names them. They are not used, and may be wrong or empty. A source that is a feature as well
// is then a feature only.
func (t *tableFlags) unread(o *table.Options, all bool) {
	like := *o.Like
	for i, f := range []struct{ given, name *string }{{t.target, &like.TargetName}, {t.source, &like.SourceName},
		{t.weight, &like.WeightName}} {
		if *f.given != "" || *f.name == "" || i > 0 && !all {
			continue
		}
		if like.Column(*f.name) < 0 {
			o.Unread = append(o.Unread, *f.name)
		}
		*f.name = ""
	}
	o.Like = &like
}

// labelled reads a table to learn from: its target, where it is of classes, must have rows
// enough of them. A column of identifiers would be trained on for long and say nothing.
func (t *tableFlags) labelled(c *call, name string) (*table.Table, error) {
	x, err := t.read(c, name)
	if err != nil {
		return nil, err
	}
	n, least, other := len(x.Classes), rowsPerSource, "name another column with --target, group its values, "+
		"or say --task=classification if they are classes all the same"
	if *t.task == "classification" { // who says so may know more, but not of values that come once
		least, other = 2, "name another column with --target, or group its values"
	}
	if n > manySources && x.Rows < least*n {
		return nil, fmt.Errorf("%s: column %q has %d different values (%s, %s, %s, ...) in %d rows: that is an "+
			"identifier or free text, not a label with enough rows to learn from (%d or more on average where "+
			"there are more than %d classes); %s", x.Name, x.TargetName, n, x.Classes[0], x.Classes[1], x.Classes[2],
			x.Rows, least, manySources, other)
	}
	return x, nil
}

// informative refuses a table none of whose features tells two rows apart.
func informative(x *table.Table) error {
	for j := range x.Columns {
		if x.Varies(j) {
			return nil
		}
	}
	if x.Rows < 2 {
		return nil // which has an error of its own where it matters
	}
	return fmt.Errorf("%s: no column tells two of its %d rows apart: all values of each are the same, or "+
		"missing; there is nothing to learn from", x.Name, x.Rows)
}

// likeForm reads a table of the form of another, which has no rows.
func (t *tableFlags) likeForm(c *call, name string, form *table.Table, labelled bool) (*table.Table, error) {
	o, err := t.options()
	if err != nil {
		return nil, err
	}
	o.Like = form // the target may then be absent
	if !labelled {
		t.unread(o, true)
	}
	x, err := c.openTable(name, o)
	if err != nil {
		return nil, err
	}
	switch {
	case !labelled || x.Target != nil:
		return x, nil
	case form.TargetName == "":
		return nil, fmt.Errorf("%s: the model does not say which column predictions are compared with; --target "+
			"names it", x.Name)
	}
	return nil, fmt.Errorf("%s: there is no column %q to compare predictions with; --target names another",
		x.Name, form.TargetName)
}
