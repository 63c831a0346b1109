package experiment

import (
	"fmt"
	"io/fs"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Table5Names are the data sets of tables 5.1 and 5.2 of the thesis.
var Table5Names = []string{"mnist", "fashion-mnist", "adult"}

// Table5Sets returns the data sets of tables 5.1 and 5.2 in a data folder, those named, or all.
// mnist and fashion-mnist are the ten classes, pixels divided by 255. adult is as in Table41Sets
// but with all rows. Its numeric columns are scaled to mean 0 and standard deviation 1 over the
// training rows; Classes[1] is ">50K".
func Table5Sets(data fs.FS, names ...string) ([]SplitSet, error) {
	d := folder{data}
	var sets []SplitSet
	add := func(name string, files []string, load func() (train, test *table.Table, err error)) {
		sets = append(sets, SplitSet{Name: name, Lacks: d.lacks(files),
			Load: func() (*table.Table, *table.Table, error) {
				if err := d.need(name, files); err != nil {
					return nil, nil, err
				}
				return load()
			}})
	}
	for _, n := range Table5Names[:2] {
		add(n, mnistFiles(n), func() (train, test *table.Table, err error) { return d.tenClasses(n) })
	}
	add("adult", []string{"uci/adult-train.csv.gz", "uci/adult-test.csv.gz"}, d.adultSplit)
	return choose(sets, func(s SplitSet) string { return s.Name }, names)
}

func (d folder) tenClasses(dir string) (train, test *table.Table, err error) {
	f := mnistFiles(dir)
	for i, out := range []**table.Table{&train, &test} {
		pixels, _, _, label, err := d.images(f[2*i], f[2*i+1])
		if err != nil {
			return nil, nil, err
		}
		target := make([]float64, len(label))
		classes := make([]string, 10)
		for c := range classes {
			classes[c] = fmt.Sprint(c)
		}
		for k, l := range label {
			if l > 9 {
				return nil, nil, fmt.Errorf("experiment: %s: label %d is not a digit", f[2*i+1], l)
			}
			target[k] = float64(l)
		}
		t := pixelTable(dir, pixels, target, classes)
		for _, c := range t.Columns {
			for k := range c.Values {
				c.Values[k] /= 255
			}
		}
		*out = t
	}
	if len(train.Columns) != len(test.Columns) {
		return nil, nil, fmt.Errorf("experiment: %s: images of %d pixels to train on, of %d to test on", dir,
			len(train.Columns), len(test.Columns))
	}
	return train, test, nil
}

func (d folder) adultSplit() (train, test *table.Table, err error) {
	t, n, err := d.adultTable()
	if err != nil {
		return nil, nil, err
	}
	var numeric []int
	hot := t.OneHot()
	for _, c := range t.Columns {
		if c.Kind == table.Numeric {
			numeric = append(numeric, hot.Column(c.Name))
		}
	}
	rows := make([]int, t.Rows)
	for i := range rows {
		rows[i] = i
	}
	train, test = hot.Subset(rows[:n]), hot.Subset(rows[n:])
	z := table.NewStandardizer(train, numeric)
	return z.Apply(train), z.Apply(test), nil
}
