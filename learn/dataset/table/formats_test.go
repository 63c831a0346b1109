package table_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

func TestReadLibSVM(t *testing.T) {
	text := "+1 1:0.5 3:-2 # a comment\n\n-1 2:1e3\r\n1 qid:7 1:nan\n-1\n"
	got := read(t, text, "x", nil)
	want := [][]string{{"0.5", "0", "-2"}, {"0", "1000", "0"}, {"-", "0", "0"}, {"0", "0", "0"}}
	if d := cmp.Diff(want, cells(got)); d != "" {
		t.Error(d)
	}
	if !slices.Equal(got.Classes, []string{"-1", "1"}) && !slices.Equal(got.Classes, []string{"-1", "+1"}) ||
		!slices.Equal(got.Target, []float64{1, 0, 1, 0}) {
		t.Error(got.Classes, got.Target)
	}
	if got.Columns[2].Name != "3" || got.LineOf(1) != 3 || len(got.Warnings) != 1 {
		t.Error(got.Columns[2].Name, got.LineOf(1), got.Warnings)
	}
	like := read(t, "1 1:4\n-1:\n"[:6], "p.svm", &table.Options{Like: got})
	if d := cmp.Diff([][]string{{"4", "0", "0"}}, cells(like)); d != "" {
		t.Error(d)
	}
	w := read(t, "1:2 0:1 qid:a\n0:0.5 1:1 qid:b\n", "p.svm", &table.Options{Source: "qid"})
	if len(w.Warnings) != 1 || !strings.Contains(w.Warnings[0].Msg, "LIBSVM numbers them from 1") ||
		strings.Contains(strings.Join(said(got), ""), "LIBSVM") {
		t.Errorf("warnings %q and %q", w.Warnings, got.Warnings)
	}
	if d := cmp.Diff([][]string{{"1", "0"}, {"0", "1"}}, cells(w)); d != "" ||
		!slices.Equal(w.Weight, []float64{2, .5}) || !slices.Equal(w.Sources, []string{"a", "b"}) {
		t.Error(d, w.Weight, w.Sources)
	}
	for text, want := range map[string]string{
		"1 1:1\n1 2:1 2:3\n":   `x.svm:2 (row 2): column "2": comes after index 2; indices increase along a line`,
		"1 1:1\n2 1\n":         `x.svm:2 (row 2): "1" is not index:value`,
		"1 1:1\n2 -1:1\n":      `x.svm:2 (row 2): "-1:1": an index is a number from 0`,
		"1 1:1\n2 :1\n":        `x.svm:2 (row 2): ":1": an index is a number from 0`,
		"1 1:1\ntwo 1:1\n":     `x.svm:2 (row 2): column "label": the label "two" is not a number`,
		"1 1:1\n1,2 1:1\n":     `x.svm:2 (row 2): column "label": "1,2": several labels for one row are not understood`,
		"1 1:1\n2 1:inf\n":     `x.svm:2 (row 2): column "1": "inf" is infinite; leave the field empty if it is missing`,
		"1 1:1\n2:1 1:2\n":     `x.svm:2 (row 2): column "weight": rows before have weights and this has none, or the other way round`,
		"1 1:1\n2 999999999:2": `x.svm: indices up to 999999999 are more than 1048576 columns`,
		"1 1:1\n2 9999999999:": `x.svm:2 (row 2): "9999999999:": the index is too large`,
		"":                     `x.svm: there are no rows`,
		"1 1:1\n1 2:2\n":       `x.svm: column "label": all rows are of one class, "1"; a classifier needs two`,
		"1 1:1\n2 3:\n":        `x.svm:2 (row 2): column "3": "" is not a number`,
	} {
		if _, err := table.Read(strings.NewReader(text), "x.svm", nil); err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
	if _, err := table.Read(strings.NewReader("1 1:1\n2 999:2\n"), "x.svm",
		&table.Options{MaxCells: 1000}); err == nil || err.Error() != "x.svm: 2 rows of 999 columns are more "+
		"than 1000 cells" {
		t.Error(err)
	}
	if _, err := table.Read(strings.NewReader("1 4:1\n"), "x.svm", &table.Options{Like: got}); err == nil ||
		err.Error() != `x.svm:1 (row 1): column "4": the model was not trained on this column` {
		t.Error(err)
	}
}

// TestLibSVMAbsentMissing: what lines leave out is 0 or missing as the options say, but for tables
// of a model's form, where the model says.
func TestLibSVMAbsentMissing(t *testing.T) {
	const text = "1 1:0.5 3:0\n0 2:1\n"
	value := func(o *table.Options) (float32, *table.Table) {
		x, err := table.Read(strings.NewReader(text), "a.svm", o)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Columns[2].Values[0]; got != 0 {
			t.Errorf("a 0 that is written reads as %v", got)
		}
		return x.Columns[1].Values[0], x
	}
	v, zero := value(nil)
	if v != 0 || zero.AbsentMissing {
		t.Errorf("without the option: %v, %v", v, zero.AbsentMissing)
	}
	v, missing := value(&table.Options{AbsentMissing: true})
	if v == v || !missing.AbsentMissing || missing.Missing() != 3 {
		t.Errorf("with the option: %v, %v, %d missing", v, missing.AbsentMissing, missing.Missing())
	}
	if v, x := value(&table.Options{Like: missing.Schema()}); v == v || !x.AbsentMissing {
		t.Errorf("like a table with it: %v, %v", v, x.AbsentMissing)
	}
	if v, x := value(&table.Options{Like: zero.Schema(), AbsentMissing: true}); v != 0 || x.AbsentMissing {
		t.Errorf("like a table without it: %v, %v", v, x.AbsentMissing)
	}
}

// The same numbers as CSV and as LIBSVM, through blocks.
func TestLibSVMAgainstCSV(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var a, b bytes.Buffer
	a.WriteString("label,1,2,3,4,5,6\n")
	for range 60000 {
		y := strconv.Itoa(rng.IntN(3))
		a.WriteString(y)
		b.WriteString(y)
		for j := range 6 {
			v := "0"
			if rng.IntN(2) == 0 {
				v = strconv.FormatFloat(rng.NormFloat64(), 'g', 6, 64)
				b.WriteString(" " + strconv.Itoa(j+1) + ":" + v)
			}
			a.WriteString("," + v)
		}
		a.WriteByte('\n')
		b.WriteByte('\n')
	}
	want := read(t, a.String(), "d", &table.Options{Target: "label"})
	for _, workers := range []int{1, 4} {
		got := read(t, b.String(), "d", &table.Options{Workers: workers})
		if !slices.Equal(want.Target, got.Target) || !slices.Equal(want.Classes, got.Classes) ||
			len(got.Columns) != len(want.Columns) {
			t.Fatal("targets or columns differ")
		}
		for j, c := range got.Columns {
			if c.Name != want.Columns[j].Name || !slices.Equal(c.Values, want.Columns[j].Values) {
				t.Fatalf("column %q differs", c.Name)
			}
		}
	}
}

func idx(kind byte, elements any, dims ...uint32) []byte {
	b := []byte{0, 0, kind, byte(len(dims))}
	for _, d := range dims {
		b = binary.BigEndian.AppendUint32(b, d)
	}
	b, err := binary.Append(b, binary.BigEndian, elements)
	if err != nil {
		panic(err)
	}
	return b
}

func TestReadIDX(t *testing.T) {
	want := [][]string{{"1", "2"}, {"3", "4"}, {"5", "6"}}
	for _, images := range [][]byte{
		idx(8, []uint8{1, 2, 3, 4, 5, 6}, 3, 2), idx(9, []int8{1, 2, 3, 4, 5, 6}, 3, 1, 2),
		idx(0xb, []int16{1, 2, 3, 4, 5, 6}, 3, 2),
		idx(0xc, []int32{1, 2, 3, 4, 5, 6}, 3, 2), idx(0xd, []float32{1, 2, 3, 4, 5, 6}, 3, 2, 1),
		idx(0xe, []float64{1, 2, 3, 4, 5, 6}, 3, 2),
	} {
		fsys := fstest.MapFS{
			"a/train-images-idx3-ubyte.gz": {Data: zipped(string(images))},
			"a/train-labels-idx1-ubyte.gz": {Data: zipped(string(idx(8, []uint8{7, 1, 7}, 3)))},
		}
		for _, workers := range []int{1, 3} {
			got, err := table.Open(fsys, "a/train-images-idx3-ubyte.gz", &table.Options{Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, cells(got)); d != "" {
				t.Error(d)
			}
			if !slices.Equal(got.Classes, []string{"1", "7"}) || !slices.Equal(got.Target, []float64{1, 0, 1}) ||
				got.At(1) != "a/train-images-idx3-ubyte.gz: row 2" {
				t.Error(got.Classes, got.Target, got.At(1))
			}
		}
	}
	whole := idx(8, []uint8{1, 2, 3, 4, 5, 6}, 3, 2)
	for _, c := range []struct {
		images, labels []byte
		want           string
	}{
		{nil, nil, "i-idx3-ubyte: the input is empty"},
		{whole[:9], nil, "i-idx3-ubyte: the header is cut short"},
		{whole[:15], nil, "i-idx3-ubyte: row 2: the input ends here, but the header promises 3 rows; is the " +
			"file cut short?"},
		{append(slices.Clone(whole), 0), nil, "i-idx3-ubyte: there is more after the 3 rows that the header " +
			"promises"},
		{idx(8, []uint8{}, 1<<31, 1<<31), nil, "i-idx3-ubyte: more than 1073741824 elements"},
		{idx(8, []uint8{}, 1<<20, 1<<10), nil, "i-idx3-ubyte: row 1: the input ends here, but the header " +
			"promises 1048576 rows; is the file cut short?"},
		{idx(8, []uint8{}, 0, 3), nil, "i-idx3-ubyte: a dimension is 0: there are no rows"},
		{[]byte("hello"), nil, "i-idx3-ubyte: does not begin as an IDX file does (68 65 6c 6c)"},
		{whole, idx(8, []uint8{1, 2}, 2), "l: 2 labels for the 3 rows of i-idx3-ubyte"},
		{whole, idx(8, []uint8{1, 2, 3}, 3)[:9], "l: row 2: the input ends here, but the header promises 3 " +
			"labels; is the file cut short?"},
		{whole, idx(8, []uint8{4, 4, 4}, 3),
			`i-idx3-ubyte: column "label": all rows are of one class, "4"; a classifier needs two`},
	} {
		o := &table.Options{}
		if c.labels != nil {
			o.Labels, o.LabelsName = bytes.NewReader(c.labels), "l"
		}
		if _, err := table.Read(bytes.NewReader(c.images), "i-idx3-ubyte", o); err == nil || err.Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

func TestFormats(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"a", "p,q\n1,2\n"}, {"a", "p\tq\n1\t2\n"}, {"a", "p;q\n1;2\n"}, {"a.tsv", "p\tq\n1\t2\n"},
		{"a.TAB", "p\tq\r\n1\t2\r\n"}, {"a.csv", "\ufeffp,q\n1,2\n"},
		{"a", "\"p\",\"q\"\n\"1\",\"2\""},
	} {
		got := read(t, c.text, c.name, nil)
		if d := cmp.Diff([][]string{{"1", "2"}}, cells(got)); d != "" || got.Columns[0].Name != "p" ||
			got.Columns[1].Name != "q" {
			t.Errorf("%q: %s", c.text, d)
		}
	}
}

// fuzzTable reads with bounded memory: base bytes, and what grows with the input.
func fuzzTable(f *testing.F, o table.Options, name string, base int) {
	o.MaxCells, o.MaxRecord = 1<<20, 1<<20
	f.Fuzz(func(t *testing.T, data []byte) {
		o.Workers = 1
		var one *table.Table
		var err1 error
		fsttest.Allocating(t, base+4096*len(data),
			func() { one, err1 = table.Read(bytes.NewReader(data), name, &o) })
		o.Workers = 3
		three, err3 := table.Read(bytes.NewReader(data), name, &o)
		if (err1 == nil) != (err3 == nil) || err1 != nil && err1.Error() != err3.Error() {
			t.Fatalf("one worker says %v, three say %v", err1, err3)
		}
		if err1 != nil {
			return
		}
		if d := cmp.Diff(one, three, cmpopts.EquateNaNs()); d != "" {
			t.Fatal(d)
		}
		for _, c := range one.Columns {
			if len(c.Values) != one.Rows {
				t.Fatalf("column %q has %d values for %d rows", c.Name, len(c.Values), one.Rows)
			}
			for _, v := range c.Values {
				if v-v != 0 && v == v || c.Kind == table.Categorical && v == v && (v < 0 || int(v) >= len(c.Levels)) {
					t.Fatalf("column %q has %v", c.Name, v)
				}
			}
		}
		for i, y := range one.Target {
			if y-y != 0 || one.Classes != nil && (y < 0 || int(y) >= len(one.Classes)) {
				t.Fatalf("%s: target %v", one.At(i), y)
			}
		}
		if all := one.Subset(make([]int, 1)); all.Rows != 1 {
			t.Fatal("subset")
		}
		// A table is like itself, whatever it is.
		o := o
		o.Like = one
		if o.Labels == nil {
			if again, err := table.Read(bytes.NewReader(data), name, &o); err != nil {
				t.Fatalf("not like itself: %v", err)
			} else if d := cmp.Diff(cells(one), cells(again)); d != "" {
				t.Fatal(d)
			}
		}
	})
}

func FuzzReadCSV(f *testing.F) {
	for _, s := range []string{people, "a,b\n1,2\n", "a\n\"x\"\"y\"\n", "\"a\n\",b\n1e400,2\n", "a,b\n1\n"} {
		f.Add([]byte(s))
	}
	fuzzTable(f, table.Options{Target: "#-1", Categorical: []string{"#1"}}, "f.csv", 2<<20)
}

func FuzzReadTSV(f *testing.F) {
	f.Add([]byte("a\tb\n1\t2\n"))
	fuzzTable(f, table.Options{NoHeader: true, Target: "#1"}, "f.tsv", 2<<20)
}

func FuzzReadLibSVM(f *testing.F) {
	for _, s := range []string{"+1 1:2 3:4\n-1 2:1\n", "1:2 qid:1 1:1 # x\n2:1 qid:1", "1\n"} {
		f.Add([]byte(s))
	}
	fuzzTable(f, table.Options{}, "f.svm", 160<<20) // an index alone makes up to a million columns
}

func FuzzReadIDX(f *testing.F) {
	f.Add(idx(8, []uint8{1, 2, 3, 4}, 2, 2))
	f.Add(idx(0xe, []float64{1, 2}, 2))
	fuzzTable(f, table.Options{}, "f-idx1-ubyte", 2<<20)
}

// What is not to be read may be wrong, empty, or absent, in every format.
func TestUnread(t *testing.T) {
	o := func(like *table.Table) *table.Options {
		like = like.Schema()
		names := []string{like.TargetName, like.SourceName}
		like.TargetName, like.SourceName = "", ""
		return &table.Options{Like: like, Unread: names}
	}
	whole := read(t, "a,s,y\n1,u,no\n2,v,yes\n", "x.csv", &table.Options{Target: "y", Source: "s"})
	for _, text := range []string{"a,s,y\n3,,\n4,elsewhere,maybe\n", "y,a\n,3\n,4\n", "a\n3\n4\n"} {
		got := read(t, text, "new.csv", o(whole))
		if d := cmp.Diff([][]string{{"3"}, {"4"}}, cells(got)); d != "" || got.Target != nil || got.Source != nil {
			t.Errorf("%q: %s %v %v", text, d, got.Target, got.Source)
		}
	}
	svm := read(t, "1 1:1\n0 2:2\n", "x.svm", nil)
	if got := read(t, "? 1:3\n7 2:4\n", "new.svm", o(svm)); got.Target != nil || cells(got)[1][1] != "4" {
		t.Error(got.Target, cells(got))
	}
	files := fstest.MapFS{
		"train-images-idx3-ubyte": {Data: idx(8, []uint8{1, 2, 3, 4}, 2, 2, 1)},
		"train-labels-idx1-ubyte": {Data: idx(8, []uint8{7, 1}, 2)},
		"test-images-idx3-ubyte":  {Data: idx(8, []uint8{5, 6}, 1, 2, 1)},
		"test-labels-idx1-ubyte":  {Data: idx(8, []uint8{9}, 1)},
	}
	images, err := table.Open(files, "train-images-idx3-ubyte", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := table.Open(files, "test-images-idx3-ubyte", o(images)); err != nil || got.Target != nil ||
		cells(got)[0][1] != "6" {
		t.Error(err, got)
	}
	if _, err := table.Open(files, "test-images-idx3-ubyte", &table.Options{Like: images}); err == nil {
		t.Error("a label that the training data do not have was read")
	}
}
