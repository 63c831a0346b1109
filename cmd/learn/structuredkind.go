package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/tables"
	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/evaluate"
	"github.com/tropica-fst/tropica/learn/structured"
)

// structuredLearners are the learners of examples with outputs of any kind.
var structuredLearners = contestants[*structured.Data, *structured.Predictions]{structured.Learner{}}

func structuredCommands() []*command {
	var out []*command
	for _, l := range structuredLearners {
		out = append(out, learnerCommands(l, structuredLearners,
			func() kind[*structured.Data, *structured.Predictions] { return &outputsKind{} })...)
	}
	return out
}

// outputsKind is the kind of tables whose outputs are one column or many, of any kind.
type outputsKind struct {
	outputs, target, text, lexicon, categorical, drop, format *string
	noHeader, scale                                           *bool
	reading                                                   func(*table.Options) error
	goroutines                                                func() (int, error)
	what                                                      *string
}

func (*outputsKind) phrases() phrases { return ofTables }

func (*outputsKind) about() string {
	return `
The table is CSV, TSV, LIBSVM or IDX, compressed or not; - is standard input. --target names
the columns of outputs, all others are inputs: a list, in which FIRST..LAST is a range. With
--outputs=ranking each is an item with ratings, empty where it was not rated. --text names a
column of strings as the input, in place of the others.
`
}

func (k *outputsKind) define(fs *flags.Set, training bool) {
	k.target = new(string) // a model says itself what it predicts
	if training {
		k.target = fs.String("target", "", "Columns to predict, separated by commas: names, #1 for the first, #-1 for the last, FIRST..LAST for a range; the last one when not given")
	}
	k.text = fs.String("text", "", "Column of strings to predict from, in place of all others")
	k.categorical = fs.String("categorical", "",
		"Columns, separated by commas, whose numbers are names of levels")
	k.drop = fs.String("drop", "", "Columns, separated by commas, to leave out")
	k.format = fs.Enum("format", "auto", []string{"auto", "csv", "tsv", "libsvm", "idx"}, "Format of the tables")
	k.noHeader = fs.Bool("no_header", false, "The first line is data; columns are then called #1, #2, ...")
	k.scale = fs.Bool("scale_rows", false, "Divide the bins of each histogram by their sum")
	k.reading = tables.Reading(fs)
	k.goroutines = workersFlag(fs)
	k.outputs, k.lexicon = new(string), new(string)
	if training {
		names := []string{"auto"}
		for _, n := range structured.Kinds {
			names = append(names, string(n))
		}
		k.outputs = fs.Enum("outputs", "auto", names, "Kind of outputs; auto is class or number for one column, "+
			"by its values, and vector for many")
		k.lexicon = fs.String("lexicon", "", "File of strings that predictions are chosen from, one a line; "+
			"what stands behind a tab is left out")
	}
}

func (k *outputsKind) defineWriting(fs *flags.Set) {
	k.what = fs.Enum("output", "outputs", []string{"outputs", "proofs", "influences"},
		"What to write: outputs alone, with value, bound and what was proved, or with the training rows of the "+
			"largest weights")
}

func (k *outputsKind) workers() (int, error) { return k.goroutines() }

func (k *outputsKind) options() (*table.Options, error) {
	o := &table.Options{Categorical: list(*k.categorical), Drop: list(*k.drop), NoHeader: *k.noHeader,
		Format: table.Format(tables.Auto(*k.format))}
	if err := k.reading(o); err != nil {
		return nil, err
	}
	var err error
	o.Workers, err = k.goroutines()
	return o, err
}

func (k *outputsKind) read(c *call, name string) (*structured.Data, error) {
	o, err := k.options()
	if err != nil {
		return nil, err
	}
	d := &structured.Data{Kind: structured.Kind(*k.outputs)}
	targets := list(*k.target)
	single := len(targets) <= 1 && !strings.Contains(*k.target, "..")
	if *k.outputs == "auto" {
		d.Kind = structured.VectorY
		if single {
			d.Kind = structured.Number // or a class: see below
		}
	}
	if len(targets) == 0 {
		targets = []string{"#-1"}
	}
	if *k.text != "" {
		if *k.text == targets[0] {
			return nil, fmt.Errorf("flag --text: %q is the column to predict; name another", *k.text)
		}
		o.ID = append(o.ID, *k.text)
	}
	switch d.Kind {
	case structured.StringY:
		if !single {
			return nil, errors.New("flag --target: strings stand in one column")
		}
		o.ID = append(o.ID, targets[0])
	case structured.Class, structured.Number:
		if !single {
			return nil, fmt.Errorf("flag --target: outputs of kind %s stand in one column", d.Kind)
		}
		if o.Target = targets[0]; *k.target == "" && (o.Format == table.LibSVM || o.Format == table.IDX) {
			o.Target = "" // they have their own place for it
		}
		o.Task = table.Regression
		if *k.outputs == "auto" {
			o.Task = table.AutoTask
		} else if d.Kind == structured.Class {
			o.Task = table.Classification
		}
	default:
		o.Storage = table.DenseStorage
	}
	x, err := c.openTable(name, o)
	if err != nil {
		return nil, err
	}
	d.X = x
	switch d.Kind {
	case structured.Class, structured.Number:
		if x.Target == nil {
			return nil, fmt.Errorf("%s: there is no target; --target names one", x.Name)
		}
		if d.Kind = structured.Number; x.Classes != nil {
			d.Kind = structured.Class
		}
		d.Names, d.Classes, d.Y = []string{x.TargetName}, x.Classes, x.Target
	case structured.StringY:
	default:
		if d.Names, err = outputColumns(x, targets); err != nil {
			return nil, err
		}
	}
	if err := k.split(d, targets[0]); err != nil {
		return nil, err
	}
	if *k.lexicon != "" {
		if d.Lexicon, err = readLexicon(c, *k.lexicon); err != nil {
			return nil, err
		}
		if d.Kind != structured.StringY {
			return nil, fmt.Errorf("flag --lexicon: outputs of kind %s are no strings", d.Kind)
		}
	}
	return d, nil
}

// outputColumns returns the names of the columns that a list with ranges means.
func outputColumns(x *table.Table, list []string) ([]string, error) {
	place := func(name string) (int, error) {
		if j := x.Column(name); j >= 0 {
			return j, nil
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "#")); err == nil &&
			strings.HasPrefix(name, "#") && n != 0 {
			if n < 0 {
				n += len(x.Columns) + 1
			}
			if n >= 1 && n <= len(x.Columns) {
				return n - 1, nil
			}
		}
		return 0, fmt.Errorf("flag --target: %s has no column %q", x.Name, name)
	}
	var out []string
	for _, word := range list {
		from, to, ranged := strings.Cut(word, "..")
		a, err := place(from)
		if err != nil {
			return nil, err
		}
		b := a
		if ranged {
			if b, err = place(to); err != nil {
				return nil, err
			}
			if b < a {
				return nil, fmt.Errorf("flag --target: in %s the column %q stands behind %q", x.Name, from, to)
			}
		}
		for j := a; j <= b; j++ {
			if slices.Contains(out, x.Columns[j].Name) {
				return nil, fmt.Errorf("flag --target: column %q is named twice", x.Columns[j].Name)
			}
			out = append(out, x.Columns[j].Name)
		}
	}
	return out, nil
}

// split takes outputs and strings out of the table that has them.
func (k *outputsKind) split(d *structured.Data, target string) error {
	x := *d.X
	if d.Kind == structured.StringY && d.Names == nil {
		d.Names = []string{x.ID[len(x.ID)-1].Name}
		if *k.text != "" && len(x.ID) < 2 {
			return errors.New("flag --text: the input is the column to predict")
		}
	}
	if d.Kind == structured.StringY {
		for _, id := range x.ID {
			if id.Name == d.Names[0] {
				d.YText = id.Values
			}
		}
	} else if d.Y == nil && x.Column(d.Names[0]) >= 0 {
		d.Y = make([]float64, x.Rows*len(d.Names))
		for j, name := range d.Names {
			at := x.Column(name)
			if at < 0 {
				return fmt.Errorf("%s: there is no column %q to compare predictions with", x.Name, name)
			}
			if x.Columns[at].Kind != table.Numeric {
				return fmt.Errorf("%s: column %q has words; outputs of kind %s are numbers", x.Name, name, d.Kind)
			}
			for i, v := range x.Columns[at].Values {
				d.Y[i*len(d.Names)+j] = float64(v)
			}
		}
	}
	if d.Kind == structured.HistogramY && d.Y != nil {
		k.histograms(d)
	}
	if *k.text != "" {
		d.Text = x.ID[0].Values
		x.Columns, x.Sparse = nil, nil
	}
	if d.Kind != structured.Class && d.Kind != structured.Number {
		x.Columns = slices.DeleteFunc(slices.Clone(x.Columns),
			func(c table.Column) bool { return slices.Contains(d.Names, c.Name) })
	}
	x.Reading.ID, x.ID = nil, nil
	d.X = &x
	return nil
}

// histograms scales rows to sum 1. It accepts any sum where that was requested, else only the
// rounding error of the table's 24-bit numbers.
func (k *outputsKind) histograms(d *structured.Data) {
	for i := range d.Rows() {
		row, sum := d.Row(i), 0.0
		for _, v := range row {
			sum += v
		}
		if sum > 0 && (*k.scale || sum > 1-1e-5 && sum < 1+1e-5) {
			for j := range row {
				row[j] /= sum
			}
		}
	}
}

// readLexicon reads the first field of every line.
func readLexicon(c *call, name string) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("flag --lexicon: %w", err)
	}
	defer f.Close()
	r, err := table.Uncompressed(f, name)
	if err != nil {
		return nil, fmt.Errorf("flag --lexicon: %w", err)
	}
	var words []string
	for line, err := range dataset.Lines(r, name) {
		if err != nil {
			return nil, fmt.Errorf("flag --lexicon: %w", err)
		}
		if c.ctx.Err() != nil {
			return nil, &stopped{"nothing was written"}
		}
		if word, _, _ := strings.Cut(line.Text, "\t"); word != "" {
			words = append(words, word)
		}
	}
	if words == nil {
		return nil, fmt.Errorf("flag --lexicon: %s has no string", name)
	}
	return words, nil
}

func (k *outputsKind) like(c *call, name string, form *structured.Data,
	labelled bool) (*structured.Data, error) {
	o, err := k.options()
	if err != nil {
		return nil, err
	}
	if *k.text == "" && form.Text != nil {
		return nil, errors.New("flag --text is needed: the column of strings that the model predicts from")
	}
	if *k.text != "" && form.Text == nil {
		return nil, errors.New("flag --text: the model predicts from columns, not from a string")
	}
	d := &structured.Data{Kind: form.Kind, Names: form.Names, Classes: form.Classes}
	like := *form.X
	o.Like = &like
	if form.Text != nil {
		o.ID, o.Extra = []string{*k.text}, true
	}
	switch {
	case !labelled:
		o.Unread = append(o.Unread, form.Names...)
		like.TargetName, like.Classes = "", nil
	case form.Kind == structured.StringY:
		o.ID = append(o.ID, form.Names[0])
	case form.Kind != structured.Class && form.Kind != structured.Number:
		like.Columns = slices.Clone(like.Columns)
		for _, n := range form.Names {
			like.Columns = append(like.Columns, table.Column{Name: n, Kind: table.Numeric})
		}
	}
	x, err := c.openTable(name, o)
	if err != nil {
		return nil, err
	}
	d.X = x
	if x.Target != nil && labelled {
		d.Y = x.Target
	}
	if err := k.split(d, form.Names[0]); err != nil {
		return nil, err
	}
	if !labelled {
		d.Y, d.YText = nil, nil
	}
	if labelled && !d.Labelled() {
		return nil, fmt.Errorf("%s: there is no column %q to compare predictions with", x.Name, form.Names[0])
	}
	return d, nil
}

func (k *outputsKind) write(w io.Writer, form, x *structured.Data, p *structured.Predictions) error {
	b := bufio.NewWriterSize(w, 1<<16)
	out := csv.NewWriter(b)
	g := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	header := slices.Clone(form.Names)
	switch *k.what {
	case "proofs":
		header = append(header, "value", "lower bound", "margin", "proved")
	case "influences":
		header = append(header, "training row", "weight", "loss")
	}
	if err := out.Write(header); err != nil {
		return err
	}
	for i := range x.Rows() {
		var row []string
		switch p.Kind {
		case structured.StringY:
			row = append(row, p.Text[i])
		case structured.Class:
			row = append(row, form.Classes[int(p.Row(i)[0])])
		default:
			for _, v := range p.Row(i) {
				row = append(row, g(v))
			}
		}
		switch *k.what {
		case "proofs":
			proved := string(p.Exact[i])
			if p.Degenerate[i] {
				proved = "nothing: the input is like no training input"
			}
			row = append(row, g(p.F[i]), g(p.Bound[i]), g(p.Margin[i]), proved)
		case "influences":
			for _, f := range p.Influences[i] {
				if err := out.Write(append(slices.Clone(row), strconv.Itoa(f.Training+1), g(f.Alpha),
					g(f.Loss))); err != nil {
					return err
				}
			}
			continue
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return errors.Join(out.Error(), b.Flush())
}

func (*outputsKind) judge(x *structured.Data, p *structured.Predictions) []measured {
	var out []measured
	for _, m := range p.Judge(x) {
		out = append(out, measured(m))
	}
	return out
}

func (*outputsKind) chosenBy(x *structured.Data) []string { return structured.MeasureNames(x.Kind) }

func (*outputsKind) subset(x *structured.Data, rows []int) *structured.Data { return x.Subset(rows) }

// trials divides the rows as those of a table are: classes in proportion.
func (*outputsKind) trials(x *structured.Data, file string, folds, inner, repeats int,
	seed uint64) ([]evaluate.Trial, error) {
	t := *x.X
	if t.Target == nil { // folds need a label: none is like another
		t.Target = make([]float64, x.Rows())
	}
	return (&tableKind{}).trials(&t, file, folds, inner, repeats, seed)
}

func (*outputsKind) weight(*structured.Data, int) float64 { return 1 }

func (*outputsKind) fingerprint(x *structured.Data) string { return x.Fingerprint() }

func (*outputsKind) size(x *structured.Data) string {
	if x.Text != nil {
		return fmt.Sprintf("%d strings", x.Rows())
	}
	return fmt.Sprintf("%d rows, %d columns", x.Rows(), len(x.X.Columns))
}
