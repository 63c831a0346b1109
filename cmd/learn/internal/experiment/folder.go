package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Set is one data set of a table of the thesis. It is read when asked for.
type Set struct {
	Name string
	Note string // how the data differ from the thesis', "" if they do not
	// Lacks has the files that the folder does not have; Load would fail.
	Lacks []string
	// Load reads the data, with the trials of the folder. Where it has no file of trials, they are
	// made by the rule of the recorded comparisons, which gives the same for the same rows.
	Load func() (*table.Table, []table.Trial, error)
	// Fresh makes other trials by the same rule.
	Fresh func(t *table.Table, seed string) []table.Trial
}

// SplitSet is a data set with fixed training and test parts.
type SplitSet struct {
	Name  string
	Note  string
	Lacks []string
	Load  func() (train, test *table.Table, err error)
}

// folder is a data folder: the files may be compressed, with .gz after their names
// or without.
type folder struct{ fs.FS }

// find returns the name under which the folder has a file, "" if it has not.
func (d folder) find(name string) string {
	plain := strings.TrimSuffix(name, ".gz")
	for _, n := range []string{name, plain, plain + ".gz"} {
		if info, err := fs.Stat(d.FS, n); err == nil && info.Mode().IsRegular() {
			return n
		}
	}
	return ""
}

func (d folder) lacks(files []string) []string {
	var out []string
	for _, f := range files {
		if d.find(f) == "" {
			out = append(out, f)
		}
	}
	return out
}

// need is an error that names what is not there.
func (d folder) need(set string, files []string) error {
	if l := d.lacks(files); len(l) > 0 {
		return fmt.Errorf("experiment: %s: the data folder has no %s: %w", set,
			strings.Join(l, ", "), fs.ErrNotExist)
	}
	return nil
}

func (d folder) open(name string) (fs.File, string, error) {
	found := d.find(name)
	if found == "" {
		return nil, name, fmt.Errorf("experiment: the data folder has no %s: %w", name, fs.ErrNotExist)
	}
	f, err := d.FS.Open(found)
	return f, found, err
}

func (d folder) table(name string, o *table.Options) (*table.Table, error) {
	f, found, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return table.Read(f, found, o)
}

// bytes reads an IDX file of bytes.
func (d folder) bytes(name string) (dims []int, data []byte, err error) {
	f, found, err := d.open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return table.ReadIDXBytes(f, found, 0)
}

// images reads a file of images and the labels beside it.
func (d folder) images(images, labels string) (pixels [][]byte, height, width int, label []byte, err error) {
	dims, data, err := d.bytes(images)
	if err != nil {
		return nil, 0, 0, nil, err
	}
	if len(dims) < 3 {
		return nil, 0, 0, nil, fmt.Errorf("experiment: %s: %d dimensions; images have three or more",
			images, len(dims))
	}
	ldims, label, err := d.bytes(labels)
	if err != nil {
		return nil, 0, 0, nil, err
	}
	if len(ldims) != 1 || ldims[0] != dims[0] {
		return nil, 0, 0, nil, fmt.Errorf("experiment: %s: %d labels for the %d images of %s", labels,
			ldims[0], dims[0], images)
	}
	each := len(data) / dims[0]
	for i := range dims[0] {
		pixels = append(pixels, data[i*each:(i+1)*each])
	}
	return pixels, dims[1], dims[2], label, nil
}

// trials reads the file of trials for a table, or makes them.
func (d folder) trials(set string, t *table.Table) ([]table.Trial, error) {
	f, found, err := d.open("splits/cv-" + set + ".txt.gz")
	if errors.Is(err, fs.ErrNotExist) {
		return table.MakeTrials(set, t.Labels(), 2), nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return table.ReadTrials(f, found, t.Rows)
}

func (d folder) sources(set string) (*table.SourceSplits, error) {
	f, found, err := d.open("splits/src-" + set + ".tsv.gz")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return table.ReadSourceSplits(f, found)
}

// pixelTable makes a table of images, all of one size, for two classes.
func pixelTable(name string, images [][]byte, target []float64, classes []string) *table.Table {
	t := &table.Table{Name: name, Rows: len(images), Target: target, TargetName: "label", Classes: classes}
	if len(images) == 0 {
		return t
	}
	t.Columns = make([]table.Column, len(images[0]))
	for j := range t.Columns {
		v := make([]float32, len(images))
		for i, b := range images {
			v[i] = float32(b[j])
		}
		t.Columns[j] = table.Column{Name: fmt.Sprintf("p%d", j), Values: v}
	}
	return t
}

// choose keeps the sets of the given names, in that order; all without names.
func choose[S any](sets []S, name func(S) string, names []string) ([]S, error) {
	if len(names) == 0 {
		return sets, nil
	}
	var out []S
	for _, n := range names {
		found := false
		for _, s := range sets {
			if name(s) == n {
				out = append(out, s)
				found = true
			}
		}
		if !found {
			var all []string
			for _, s := range sets {
				all = append(all, name(s))
			}
			return nil, fmt.Errorf("experiment: there is no data set %q; there are %s", n, strings.Join(all, ", "))
		}
	}
	return out, nil
}
