package experiment

import (
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Table41Names are the data sets of table 4.1 of the thesis. "adult-noedu" (without
// the two columns that tell the sources apart) and "fashion-sub" (6000 rows of each
// source) are more.
var Table41Names = []string{"sentiment", "digits49", "digits17", "fashion", "adult"}

// Table41Sets returns the data sets of table 4.1 in a data folder, those named, or
// all of Table41Names. Each row has its source; Classes[1] is the label +1. A trial
// tests on one part of every source.
//
//   - adult: uci/adult-train.csv, then uci/adult-test.csv, without rows that have "?".
//     Sources by education: Bachelors, Masters, Doctorate; HS-grad; the rest. Six
//     numeric columns, and one column of 0 and 1 for each level of the others ("?" is
//     a level).
//   - fashion: the four IDX files in fashion-mnist/. Sources by class: {0, 1, 2}, {3,
//     4, 5}, {6, 7, 8, 9}. Trouser, sandal, sneaker and ankle boot are -1.
//   - digits49, digits17: MNIST with two rows and columns of zeros around; USPS
//     (usps/usps-11000.csv), each pixel doubled; and MNIST-M in grey (mnist-m/). Its test file is
//     made grey by 0.299 R + 0.587 G + 0.114 B, rounded half to even.
//   - sentiment: sentiment/books.tsv, dvd.tsv, electronics.tsv; 1 for each word or
//     pair of words in the title and text, of those found in ten reviews or more.
//
// Trials are in splits/src-NAME.tsv.
func Table41Sets(data fs.FS, names ...string) ([]Set, error) {
	d := folder{data}
	mnist, fashion := mnistFiles("mnist"), mnistFiles("fashion-mnist")
	digits := append(slices.Clone(mnist), "usps/usps-11000.csv.gz",
		"mnist-m/mnist-m-train-1479-grey-images-idx3-ubyte.gz", "mnist-m/mnist-m-train-1479-labels-idx1-ubyte.gz",
		"mnist-m/mnist-m-test-images-idx4-ubyte.gz", "mnist-m/mnist-m-test-labels-idx1-ubyte.gz")
	adult := []string{"uci/adult-train.csv.gz", "uci/adult-test.csv.gz"}
	reviews := []string{"sentiment/books.tsv.gz", "sentiment/dvd.tsv.gz", "sentiment/electronics.tsv.gz"}
	const usps = "source 2 is USPS where the thesis has SVHN"
	sets := []Set{
		d.sourceSet("sentiment", "sentiment", "", "", reviews, d.sentiment),
		d.sourceSet("digits49", "digits49", "fold", usps, digits,
			func() (*mixture, error) { return d.digitSources(4, 9) }),
		d.sourceSet("digits17", "digits17", "fold", usps, digits,
			func() (*mixture, error) { return d.digitSources(1, 7) }),
		d.sourceSet("fashion", "fashion", "fold", "", fashion, d.fashion),
		d.sourceSet("adult", "adult", "fold", "", adult, func() (*mixture, error) { return d.adultSources(true) }),
		d.sourceSet("adult-noedu", "adult", "fold", "without education and education_num", adult,
			func() (*mixture, error) { return d.adultSources(false) }),
		d.sourceSet("fashion-sub", "fashion", "fold_sub", "6000 rows of each source", fashion, d.fashion),
	}
	if len(names) == 0 {
		return sets[:len(Table41Names)], nil
	}
	return choose(sets, func(s Set) string { return s.Name }, names)
}

// mixture is a data set before the rows that are not used are left out: source 0.
type mixture struct {
	table  *table.Table
	source []int
	label  []int // +1 or -1
	file   []string
	row    []int
	names  []string // of the sources, from 1
}

// sourceSet completes a Set. splits is the name of the file of splits, column the
// one that has the folds; "" when it has trials.
func (d folder) sourceSet(name, splits, column, note string, files []string,
	load func() (*mixture, error)) Set {
	// seeds are what the recorded comparisons were made with.
	seeds := name
	if name == "adult-noedu" {
		seeds = "adult"
	}
	return Set{
		Name: name, Note: note, Lacks: d.lacks(files),
		Load: func() (*table.Table, []table.Trial, error) {
			if err := d.need(name, files); err != nil {
				return nil, nil, err
			}
			m, err := load()
			if err != nil {
				return nil, nil, err
			}
			s, err := d.sources(splits)
			if err != nil {
				return nil, nil, err
			}
			if s != nil {
				if err := m.agrees(s, splits); err != nil {
					return nil, nil, err
				}
			}
			source := m.source
			var trials []table.Trial
			switch {
			case column == "" && s != nil:
				trials = s.Trials
			case column == "":
				trials = table.MakeSourceTrials(seeds, source, m.label, 10)
			default:
				var fold []int
				if s != nil {
					if fold = s.Fold[column]; fold == nil {
						return nil, nil, fmt.Errorf("experiment: %s: the file of splits has no column %q", name, column)
					}
				} else {
					if column == "fold_sub" {
						if source, err = table.MakeSourceSample("fashion", source, 6000); err != nil {
							return nil, nil, fmt.Errorf("experiment: %s: %w", name, err)
						}
					}
					fold = table.MakeSourceFolds(seeds, source, m.label, 10)
				}
				source = slices.Clone(source)
				for i, f := range fold {
					if f < 0 {
						source[i] = 0
					}
				}
				trials = table.ByFold(fold)
			}
			t, at := m.used(name, source)
			for k := range trials {
				trials[k] = renumber(trials[k], at, len(source))
			}
			return t, trials, nil
		},
		Fresh: func(t *table.Table, seed string) []table.Trial {
			// The folds of a row depend on its place among the rows of its source only.
			source, label := make([]int, t.Rows), make([]int, t.Rows)
			for i := range source {
				source[i], label[i] = int(t.Source[i])+1, 2*int(t.Target[i])-1
			}
			if column == "" {
				return table.MakeSourceTrials(seeds+"/"+seed, source, label, 10)
			}
			return table.ByFold(table.MakeSourceFolds(seeds+"/"+seed, source, label, 10))
		},
	}
}

// agrees checks that a file of splits speaks of the rows that were read.
func (m *mixture) agrees(s *table.SourceSplits, name string) error {
	if len(s.Source) != len(m.source) {
		return fmt.Errorf("experiment: %s: the file of splits has %d rows, the data have %d", name,
			len(s.Source), len(m.source))
	}
	for i := range s.Source {
		if s.Source[i] != m.source[i] || s.Label[i] != m.label[i] || s.File[i] != m.file[i] ||
			s.Row[i] != m.row[i] {
			return fmt.Errorf("experiment: %s: row %d of the file of splits is row %d of %s, source %d, label %+d; "+
				"in the data it is row %d of %s, source %d, label %+d", name, i+1, s.Row[i], s.File[i], s.Source[i],
				s.Label[i], m.row[i], m.file[i], m.source[i], m.label[i])
		}
	}
	return nil
}

// used leaves out the rows of source 0, and says which are left.
func (m *mixture) used(name string, source []int) (*table.Table, []int) {
	var at []int
	for i, s := range source {
		if s > 0 {
			at = append(at, i)
		}
	}
	t := m.table
	if len(at) < t.Rows {
		t = t.Subset(at)
	}
	t.Name = name
	t.Sources, t.SourceName = m.names, "source"
	t.Source = make([]int32, len(at))
	t.Classes, t.TargetName = []string{"-1", "+1"}, "label"
	t.Target = make([]float64, len(at))
	for k, i := range at {
		t.Source[k] = int32(source[i] - 1)
		if m.label[i] > 0 {
			t.Target[k] = 1
		}
	}
	return t, at
}

// renumber turns rows of the whole into rows of what is left.
func renumber(t table.Trial, used []int, rows int) table.Trial {
	to := make([]int, rows)
	for k, i := range used {
		to[i] = k
	}
	for _, list := range [][]int{t.Train, t.Test} {
		for k, i := range list {
			list[k] = to[i]
		}
	}
	return t
}

func (m *mixture) add(source, label int, file string, row int) {
	m.source, m.label, m.file, m.row = append(m.source, source), append(m.label, label), append(m.file, file),
		append(m.row, row)
}

// adultTable reads both files of Adult with "?" as a level, and says how many rows
// are of the first.
func (d folder) adultTable() (t *table.Table, train int, err error) {
	o := &table.Options{Target: "income", Task: table.Classification, Missing: []string{}}
	a, err := d.table("uci/adult-train.csv.gz", o)
	if err != nil {
		return nil, 0, err
	}
	b, err := d.table("uci/adult-test.csv.gz", o)
	if err != nil {
		return nil, 0, err
	}
	if t, err = table.Concat(a, b); err != nil {
		return nil, 0, err
	}
	return t, a.Rows, t.SetPositive(">50K")
}

func (d folder) adultSources(education bool) (*mixture, error) {
	t, train, err := d.adultTable()
	if err != nil {
		return nil, err
	}
	j := t.Column("education")
	if j < 0 || t.Columns[j].Kind != table.Categorical {
		return nil, fmt.Errorf("experiment: %s: there is no column education with words in it", t.Name)
	}
	m := &mixture{names: []string{"BSc, MSc, PhD", "high school", "the rest"}}
	for i := range t.Rows {
		source := 3
		switch t.Columns[j].Levels[int(t.Columns[j].Values[i])] {
		case "Bachelors", "Masters", "Doctorate":
			source = 1
		case "HS-grad":
			source = 2
		}
		for _, c := range t.Columns {
			if c.Kind == table.Categorical && c.Levels[int(c.Values[i])] == "?" {
				source = 0
			}
		}
		file, row := "train", i
		if i >= train {
			file, row = "test", i-train
		}
		m.add(source, 2*int(t.Target[i])-1, file, row)
	}
	if !education {
		t.Columns = slices.DeleteFunc(slices.Clone(t.Columns),
			func(c table.Column) bool { return c.Name == "education" || c.Name == "education_num" })
	}
	m.table = t.OneHot()
	return m, nil
}

func (d folder) fashion() (*mixture, error) {
	pixels, _, _, label, train, err := d.digits("fashion-mnist")
	if err != nil {
		return nil, err
	}
	m := &mixture{names: []string{"t-shirt, trouser, pullover", "dress, coat, sandal",
		"shirt, sneaker, bag, boot"}}
	for i, c := range label {
		if c > 9 {
			return nil, fmt.Errorf("experiment: fashion: label %d of image %d", c, i)
		}
		l := 1
		if c == 1 || c == 5 || c == 7 || c == 9 {
			l = -1
		}
		file, row := "train", i
		if i >= train {
			file, row = "t10k", i-train
		}
		m.add([]int{1, 1, 1, 2, 2, 2, 3, 3, 3, 3}[c], l, file, row)
	}
	m.table = pixelTable("fashion", pixels, nil, nil)
	return m, nil
}

func (d folder) digitSources(positive, other byte) (*mixture, error) {
	m := &mixture{names: []string{"MNIST", "USPS", "MNIST-M"}}
	var images [][]byte
	take := func(source int, file string, row int, label byte, image func() []byte) {
		if label != positive && label != other {
			return
		}
		l := 1
		if label == other {
			l = -1
		}
		m.add(source, l, file, row)
		images = append(images, image())
	}
	pixels, h, w, label, train, err := d.digits("mnist")
	if err != nil {
		return nil, err
	}
	if h != 28 || w != 28 {
		return nil, fmt.Errorf("experiment: mnist: images of %d by %d, not 28 by 28", h, w)
	}
	for i, l := range label {
		file, row := "mnist/train", i
		if i >= train {
			file, row = "mnist/t10k", i-train
		}
		take(1, file, row, l, func() []byte {
			out := make([]byte, 32*32)
			for y := range 28 {
				copy(out[(y+2)*32+2:][:28], pixels[i][y*28:])
			}
			return out
		})
	}
	u, err := d.table("usps/usps-11000.csv.gz", &table.Options{Target: "class", Task: table.Classification})
	if err != nil {
		return nil, err
	}
	if len(u.Columns) != 256 {
		return nil, fmt.Errorf("experiment: %s: %d pixels, not 256", u.Name, len(u.Columns))
	}
	for i := range u.Rows {
		class := u.Classes[int(u.Target[i])]
		if len(class) != 1 {
			return nil, fmt.Errorf("experiment: %s: class %q is not a digit", u.At(i), class)
		}
		take(2, "usps/usps-11000", i, class[0]-'0', func() []byte {
			out := make([]byte, 32*32)
			for p := range out {
				out[p] = byte(u.Columns[p/32/2*16+p%32/2].Values[i])
			}
			return out
		})
	}
	grey, h, w, label, err := d.images("mnist-m/mnist-m-train-1479-grey-images-idx3-ubyte.gz",
		"mnist-m/mnist-m-train-1479-labels-idx1-ubyte.gz")
	if err != nil {
		return nil, err
	}
	for i, l := range label {
		take(3, "mnist-m/train-1479", i, l, func() []byte { return grey[i] })
	}
	colour, h2, w2, label, err := d.images("mnist-m/mnist-m-test-images-idx4-ubyte.gz",
		"mnist-m/mnist-m-test-labels-idx1-ubyte.gz")
	if err != nil {
		return nil, err
	}
	if h != 32 || w != 32 || h2 != 32 || w2 != 32 || len(grey[0]) != 1024 || len(colour[0]) != 3*1024 {
		return nil, fmt.Errorf("experiment: mnist-m: images of %d by %d and %d by %d, not 32 by 32 in grey and "+
			"in three colours", h, w, h2, w2)
	}
	for i, l := range label {
		take(3, "mnist-m/test", i, l, func() []byte {
			out := make([]byte, 32*32)
			for p := range out {
				c := colour[i][3*p:]
				out[p] = byte(math.RoundToEven(0.299*float64(c[0]) + 0.587*float64(c[1]) + 0.114*float64(c[2])))
			}
			return out
		})
	}
	m.table = pixelTable("digits", images, nil, nil)
	return m, nil
}
