package table_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

func read(t testing.TB, text, name string, o *table.Options) *table.Table {
	t.Helper()
	got, err := table.Read(strings.NewReader(text), name, o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return got
}

// cells shows features as text, for comparison by eye.
func cells(t *table.Table) [][]string {
	out := make([][]string, t.Rows)
	for i := range out {
		for _, c := range t.Columns {
			v := c.Values[i]
			switch {
			case v != v:
				out[i] = append(out[i], "-")
			case c.Kind == table.Categorical:
				out[i] = append(out[i], c.Levels[int(v)])
			default:
				out[i] = append(out[i], strconv.FormatFloat(float64(v), 'g', -1, 32))
			}
		}
	}
	return out
}

const people = "age, job ,\"income, yearly\",from,w,y\r\n" +
	"39,\"clerk \"\"A\"\"\",1e3,north,1,yes\r\n" +
	"\r\n" +
	"?,\"two\nlines\", -2.5 ,south,0.5,no\r\n" +
	"50,NA,,north,2,yes"

func TestReadCSV(t *testing.T) {
	got := read(t, people, "p.csv", &table.Options{Target: "y", Source: "from", Weight: "w"})
	want := [][]string{{"39", `clerk "A"`, "1000"}, {"-", "two\nlines", "-2.5"}, {"50", "-", "-"}}
	if d := cmp.Diff(want, cells(got)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"no", "yes"}, got.Classes); d != "" {
		t.Error(d)
	}
	if !slices.Equal(got.Target, []float64{1, 0, 1}) || !slices.Equal(got.Source, []int32{0, 1, 0}) ||
		!slices.Equal(got.Weight, []float64{1, .5, 2}) {
		t.Error(got.Target, got.Source, got.Weight)
	}
	if a := []int{got.LineOf(0), got.LineOf(1), got.LineOf(2)}; !slices.Equal(a, []int{2, 4, 6}) {
		t.Error(a)
	}
	if got.Columns[2].Name != "income, yearly" || got.At(2) != "p.csv:6 (row 3)" {
		t.Error(got.Columns[2].Name, got.At(2))
	}
	s := got.Subset([]int{2, 0, 2})
	if d := cmp.Diff([][]string{want[2], want[0], want[2]}, cells(s)); d != "" {
		t.Error(d)
	}
	if s.LineOf(0) != 6 || s.Rows != 3 || !slices.Equal(s.Target, []float64{1, 1, 1}) {
		t.Error(s.Line, s.Target)
	}
	if n := got.Missing(); n != 3 {
		t.Error(n)
	}
}

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		text    string
		task    table.Task
		classes []string
		target  []float64
	}{
		{"y\n1\n-1\n+1\n1.0\n", table.AutoTask, []string{"-1", "1"}, []float64{1, 0, 1, 1}},
		{"y\n10\n9\n10\n", table.AutoTask, []string{"9", "10"}, []float64{1, 0, 1}},
		{"y\n1\n2\n", table.Regression, nil, []float64{1, 2}},
		{"y\n1.5\n2\n", table.AutoTask, nil, []float64{1.5, 2}},
		{"y\nb\na\n3\n", table.AutoTask, []string{"3", "a", "b"}, []float64{2, 1, 0}},
		{"y\n" + seq(40), table.Classification, strings.Fields(seq(40)), nil},
		{"y\n" + seq(40), table.AutoTask, nil, nil},
		{"y\n" + seq(5000), table.AutoTask, nil, nil},
	} {
		got := read(t, c.text, "x.csv", &table.Options{Target: "y", Task: c.task})
		if d := cmp.Diff(c.classes, got.Classes); d != "" {
			t.Errorf("%.20q: %s", c.text, d)
		}
		if c.target != nil && !slices.Equal(c.target, got.Target) {
			t.Errorf("%.20q: %v", c.text, got.Target)
		}
		if len(got.Target) != got.Rows {
			t.Errorf("%.20q: %d targets for %d rows", c.text, len(got.Target), got.Rows)
		}
	}
}

func seq(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

func TestRefused(t *testing.T) {
	long := strings.Repeat("1,2,a\n", 300000)
	for _, c := range []struct {
		text string
		o    table.Options
		want string
		err  error
	}{
		{"", table.Options{}, "x.csv: the input is empty", table.ErrUseless},
		{"\n\n", table.Options{}, "x.csv: the input has no rows, only empty lines", table.ErrUseless},
		{"a,b\n", table.Options{}, "x.csv: there are no rows", table.ErrUseless},
		{"a,b\n1,2\n", table.Options{Target: "income"},
			`x.csv: target: there is no column "income" (the columns are "a", "b")`, table.ErrColumns},
		{"age,incme\n1,2\n", table.Options{Target: "income"},
			`x.csv: target: there is no column "income"; did you mean "incme"? (the columns are "age", "incme")`,
			table.ErrColumns},
		{"a,b\n1,2\n", table.Options{Target: "#3"}, `x.csv: target #3: there are 2 columns, #1 to #2`,
			table.ErrColumns},
		{"a,b\n1,2\n", table.Options{Target: "a", Drop: []string{"a"}},
			`x.csv: column "a": is asked for as drop and as target`, table.ErrColumns},
		{"a,b,a\n1,2,3\n", table.Options{}, `x.csv:1: column "a": fields 1 and 3 have the same name; rename one`,
			table.ErrColumns},
		{"a,b\n1,2\n3\n", table.Options{}, `x.csv:3 (row 2): 1 fields where there should be 2`, table.ErrSyntax},
		{"a,b\n1,2\n3,4,5,6\n", table.Options{}, `x.csv:3 (row 2): 4 fields where there should be 2`,
			table.ErrSyntax},
		{"a,b\n1,2\n3,4\n5,x\n", table.Options{},
			`x.csv:4 (row 3): column "b": "x" is not a number, but 2 of the first 3 values are; correct it; use Options.Missing "x" (if it means that the value is missing), or Options.Categorical "b" (if these are names)`, table.ErrValue},
		{"p,q,y\n" + long + "1,0x2,b\n", table.Options{Target: "y"},
			`x.csv:300002 (row 300001): column "q": "0x2" is not a number; correct it; use Options.Missing "0x2" (if it means that the value is missing), or Options.Categorical "q" (if these are names)`, table.ErrValue},
		{"p,q,y\n" + long + "1,2\n", table.Options{Target: "y"},
			`x.csv:300002 (row 300001): 2 fields where there should be 3`, table.ErrSyntax},
		{"a\n1\ninf\n", table.Options{},
			`x.csv:3 (row 2): column "a": "inf" is infinite; leave the field empty if it is missing`, table.ErrValue},
		{"a\n1\n1e39\n", table.Options{},
			`x.csv:3 (row 2): column "a": "1e39" is beyond the range of float32 (3.4e38); scale the column`,
			table.ErrValue},
		{"a,y\n1,2\n2,inf\n", table.Options{Target: "y", Task: table.Regression},
			`x.csv:3 (row 2): column "y": the target "inf" is infinite; leave the field empty if it is missing`,
			table.ErrValue},
		{"a,y\n1,2\n2,nan\n", table.Options{Target: "y"},
			`x.csv:3 (row 2): column "y": the target is missing ("nan"); leave such rows out`, table.ErrValue},
		{"a,y\n1,2\n2,two\n", table.Options{Target: "y", Task: table.Regression},
			`x.csv:3 (row 2): column "y": the target "two" is not a number`, table.ErrValue},
		{"a,y\n1,2.5\n2,3\n", table.Options{Target: "y", Task: table.Classification},
			`x.csv:2 (row 1): column "y": "2.5" is not a label: labels are words or integers; use Options.Task "regression" (if these are numbers to predict)`, table.ErrValue},
		{"a,y\n1,2\n2,2\n", table.Options{Target: "y"},
			`x.csv: column "y": all rows are of one class, "2"; a classifier needs two`, table.ErrUseless},
		{"y\n" + seq(100) + "x\n" + seq(5000), table.Options{Target: "y"},
			`x.csv:102 (row 101): column "y": the target is not a number here, and there are too many values (over 1024) for them to be classes`, table.ErrValue},
		{"y\n0.5\n1.5\nx\n2.5\n", table.Options{Target: "y"},
			`x.csv:4 (row 3): column "y": "x" is not a number, but most values of the target are; correct it; use Options.Task "classification" (if these are names of classes)`, table.ErrValue},
		{"y\n" + seq(100) + "x\n", table.Options{Target: "y"},
			`x.csv:102 (row 101): column "y": "x" is not a number, but most values of the target are; correct it; use Options.Task "classification" (if these are names of classes)`, table.ErrValue},
		{"y\n" + seq(70000), table.Options{Target: "y", Task: table.Classification},
			`x.csv: column "y": more than 65536 classes: these are not labels; use Options.Task "regression" (if these are numbers to predict)`, table.ErrValue},
		{"a,w\n1,2\n2,-1\n", table.Options{Weight: "w"},
			`x.csv:3 (row 2): column "w": the weight -1 is negative; weights are 0 or more`, table.ErrValue},
		{"a,w\n1,0\n2,0\n", table.Options{Weight: "w"}, `x.csv: column "w": all weights are 0`, table.ErrUseless},
		{"a,w\n1,0\n2,\n", table.Options{Weight: "w"},
			`x.csv:3 (row 2): column "w": the weight is missing`, table.ErrValue},
		{"a,s\n1,u\n2,\n", table.Options{Source: "s"},
			`x.csv:3 (row 2): column "s": the source is missing ("")`, table.ErrValue},
		{"a,s\n1,u\n2,\"v\n3,w\n", table.Options{Source: "s"}, `x.csv:3 (row 2): column "s": a quote is not closed`,
			table.ErrSyntax},
		{"a,s\n1,u\n2,5\"\n3,w\n", table.Options{Source: "s"},
			`x.csv:3 (row 2): column "s": a quote inside a field without quotes; put the field in quotes and double those inside`, table.ErrSyntax},
		{"a,s\n1,u\n2,\"v\" x\n3,w\n", table.Options{Source: "s"},
			`x.csv:3 (row 2): column "s": text after the closing quote of a field`, table.ErrSyntax},
		{"a,b\nu,1\n\xff,2\n", table.Options{},
			`x.csv:3 (row 2): column "a": "\xff" is not UTF-8; convert the input first`, table.ErrSyntax},
		{"a,b\n1,2\n3,4\n", table.Options{MaxRows: 1}, `x.csv: more than 1 rows`, table.ErrTooLarge},
		{"a,b\n1,2\n3,4\n", table.Options{MaxCells: 5},
			`x.csv: more than 5 cells in 2 columns; use Options.Drop "COLUMNS" (to leave columns out), or Options.MaxCells "N" (to allow more)`, table.ErrTooLarge},
		{"a,b\n1,2\n3,4\n", table.Options{MaxBytes: 5}, `x.csv: more than 5 bytes`, table.ErrTooLarge},
		{"a\nu\nv\nw\n", table.Options{MaxLevels: 2},
			`x.csv:4 (row 3): column "a": more than 2 levels, as identifiers have; use Options.ID "a" (to carry it along and learn nothing from it), or Options.Drop "a" (to leave it out), or Options.MaxLevels "N" (to allow more)`, table.ErrTooLarge},
		{"a,b\r1,2\r", table.Options{}, "x.csv:1: column \"#2\": the name \"b\\r1\" is not plain text in UTF-8 " +
			"on one line ended by LF or CRLF", table.ErrSyntax},
		{"\xff\xfea\x00", table.Options{}, "x.csv: is UTF-16; convert it to UTF-8", table.ErrSyntax},
		{"PK\x03\x04zz", table.Options{}, "x.csv: is a zip archive; of the compressed forms only gzip is read",
			table.ErrSyntax},
	} {
		for _, workers := range []int{1, 3} {
			c.o.Workers = workers
			_, err := table.Read(strings.NewReader(c.text), "x.csv", &c.o)
			if err == nil || err.Error() != c.want {
				t.Errorf("%.40q:\n got %v\nwant %s", c.text, err, c.want)
			} else if !errors.Is(err, c.err) {
				t.Errorf("%.40q: %v is not %v", c.text, err, c.err)
			}
		}
	}
}

func zipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.Bytes()
}

func TestGzip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	text := synthetic(rng, 3000, 5)
	want := read(t, text, "s.csv", &table.Options{Target: "y"})
	z := zipped(text)
	got, err := table.Read(bytes.NewReader(z), "s.csv", &table.Options{Target: "y"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateNaNs()); d != "" {
		t.Error(d)
	}
	for _, n := range []int{3, 12, len(z) / 2, len(z) - 1} {
		if _, err := table.Read(bytes.NewReader(z[:n]), "s.csv", &table.Options{Target: "y"}); err == nil {
			t.Errorf("a file cut after %d of %d bytes was read", n, len(z))
		} else if n > 100 && !strings.Contains(err.Error(), "cut short") {
			t.Error(err)
		}
	}
	z[len(z)/2] ^= 1
	if _, err := table.Read(bytes.NewReader(z), "s.csv", &table.Options{Target: "y"}); err == nil {
		t.Error("an altered file was read")
	}
}

// synthetic is a table of numbers of all sorts, words with quotes, and gaps.
func synthetic(rng *rand.Rand, rows, cols int) string {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	row := make([]string, cols+2)
	for j := range cols {
		row[j] = fmt.Sprintf("x%d", j)
	}
	row[cols], row[cols+1] = "word", "y"
	w.Write(row)
	for i := range rows {
		for j := range cols {
			switch rng.IntN(8) {
			case 0:
				row[j] = ""
			case 1:
				row[j] = strconv.Itoa(rng.IntN(100) - 50)
			case 2:
				row[j] = strconv.FormatFloat(rng.NormFloat64(), 'e', rng.IntN(18), 64)
			default:
				row[j] = strconv.FormatFloat(rng.NormFloat64(), 'f', rng.IntN(12), 64)
			}
		}
		row[cols] = []string{"a", "b,c", "d \"e\"", "f\ng", "NA"}[rng.IntN(5)]
		row[cols+1] = []string{"no", "yes"}[i%2]
		w.Write(row)
	}
	w.Flush()
	return b.String()
}

// The standard library divides the records, strconv reads the numbers.
func TestAgainstEncodingCSV(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, size := range [][2]int{{2, 1}, {50, 3}, {20000, 9}, {300, 700}} {
		text := synthetic(rng, size[0], size[1])
		records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var first *table.Table
		for _, workers := range []int{1, 2, 7} {
			got := read(t, text, "", &table.Options{Target: "y", Workers: workers, Like: first,
				Categorical: when(first == nil, "word")})
			if first == nil && size[0] > 10 {
				first = got.Schema()
			}
			for i, r := range records[1:] {
				for j := range size[1] {
					x, err := strconv.ParseFloat(r[j], 32)
					if err != nil {
						x = math.NaN()
					}
					if v := got.Columns[j].Values[i]; math.Float32bits(v) != math.Float32bits(float32(x)) &&
						!(v != v && x != x) {
						t.Fatalf("row %d column %d: %v for %q", i, j, v, r[j])
					}
				}
				word := "NA"
				if v := got.Columns[size[1]].Values[i]; v == v {
					word = got.Columns[size[1]].Levels[int(v)]
				}
				if word != r[size[1]] || got.Classes[int(got.Target[i])] != r[size[1]+1] {
					t.Fatalf("row %d: %q %v for %q", i, word, got.Target[i], r[size[1]:])
				}
			}
			if got.Rows != len(records)-1 {
				t.Fatal(got.Rows)
			}
		}
	}
}

func when(b bool, s string) []string {
	if b {
		return []string{s}
	}
	return nil
}

// said is a table's warnings as text.
func said(t *table.Table) []string {
	var out []string
	for _, w := range t.Warnings {
		out = append(out, w.String())
	}
	return out
}

func TestLike(t *testing.T) {
	train := read(t, "a,b,c,s,y\n1,u,2,n,no\n2,v,3,m,yes\n", "train.csv",
		&table.Options{Target: "y", Source: "s"})
	got := read(t, "c,a,b\n9,8,v\n7,6,w\n5,4,\n", "p.csv", &table.Options{Like: train.Schema()})
	if d := cmp.Diff([][]string{{"8", "v", "9"}, {"6", "-", "7"}, {"4", "-", "5"}}, cells(got)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{
		`column "b": 1 values are levels that the training data do not have (first: "w" on line 3); they count as missing`}, said(got)); d != "" {
		t.Error(d)
	}
	if got.Target != nil || got.Source != nil {
		t.Error(got.Target, got.Source)
	}
	got = read(t, "y,c,a,b,s\nyes,9,8,v,m\n", "p.csv", &table.Options{Like: train})
	if !slices.Equal(got.Target, []float64{1}) || got.Sources[got.Source[0]] != "m" {
		t.Error(got.Target, got.Source)
	}
	for text, want := range map[string]string{
		"c,a,d,e\n9,8,v,1\n":         `p.csv: the columns are not those of train.csv that the model was trained on; missing: "b"; unknown: "d", "e"; use Options.Drop "COLUMNS" (to leave out what is no feature)`,
		"c,a,B\n9,8,v\n":             `p.csv: the columns are not those of train.csv that the model was trained on; missing: "b" (the nearest is "B"); unknown: "B"; use Options.Drop "COLUMNS" (to leave out what is no feature)`,
		"c,a,b,y\n9,8,v,maybe\n":     `p.csv:2 (row 1): column "y": "maybe" is not a class of the training data, which are "no", "yes"`,
		"c,a,b,s\n9,8,v,k\n":         `p.csv:2 (row 1): column "s": "k" is not a source of the training data`,
		"c,a,b\n9,8,v\n1,2,v\nz,2,v": `p.csv:4 (row 3): column "c": "z" is not a number; correct it; use Options.Missing "z" (if it means that the value is missing)`,
	} {
		_, err := table.Read(strings.NewReader(text), "p.csv", &table.Options{Like: train})
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	got := read(t, "a,b,c\n1,?,x\n1,?,x\n", "w.csv", nil)
	want := []string{`columns in which every value is missing: "b"`, `columns with one value only: "a", "c"`}
	if d := cmp.Diff(want, said(got)); d != "" {
		t.Error(d)
	}
	got = read(t, "1,2\n3,4\n", "w.csv", nil)
	if len(got.Warnings) == 0 || !strings.Contains(got.Warnings[0].String(), "NoHeader") {
		t.Error(got.Warnings)
	}
	got = read(t, "1,2\n3,4\n", "w.csv", &table.Options{NoHeader: true, Target: "#-1"})
	if got.Rows != 2 || got.TargetName != "#2" || got.Columns[0].Name != "#1" || got.LineOf(1) != 2 {
		t.Errorf("%+v", got)
	}
}

// Values that differ in the input and not in float32 are warned of, wherever they stand.
func TestMergedValues(t *testing.T) {
	var b strings.Builder
	b.WriteString("stamp,half,big,fine,word,y\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "%d, -16777216.%d,%d,%d,%d,%d\n", 1700000000+i, i%2*5, 2*i+16777216, i, 1700000000+i, i%2)
	}
	got := read(t, b.String(), "m.csv", &table.Options{Target: "y", Categorical: []string{"word"}})
	want := []string{
		`column "stamp": features are float32, in which 1700000000 and 1700000001 (line 3) are one number, and so perhaps are others: subtract a constant or divide the column first, or drop it if it is an identifier`,
		`column "half": features are float32, in which -16777216 and -16777216.5 (line 3) are one number, and so perhaps are others: subtract a constant or divide the column first, or drop it if it is an identifier`,
		`column "fine" counts the rows: a model learns their order in the file from it; use Options.ID "fine" (to carry it along and learn nothing from it), or Options.Drop "fine" (to leave it out)`,
		`column "word": every row has another level, as identifiers and free text have; use Options.ID "word" (to carry it along and learn nothing from it), or Options.Drop "word" (to leave it out)`,
		`columns with one value only: "half"`,
	}
	if d := cmp.Diff(want, said(got)); d != "" {
		t.Error(d)
	}
	// Far apart, in the same chunk or another.
	for _, rows := range []int{3, 100000} {
		b.Reset()
		b.WriteString("a,b,y\n")
		for i := range rows {
			v := 16777217 // rounded to 16777216
			if i%(rows-1) != 0 {
				v = 16777216
			}
			fmt.Fprintf(&b, "%d,%d,%d\n", v, i, i%2)
		}
		if got := read(t, b.String(), "n.csv", &table.Options{Target: "y"}); !slices.ContainsFunc(
			said(got), func(w string) bool {
				return strings.Contains(w, `"a"`) && strings.Contains(w, "16777217 and 16777216 (line 3)")
			}) {
			t.Errorf("%d rows: %q", rows, got.Warnings)
		}
	}
}

func TestKeepSource(t *testing.T) {
	train := read(t, "a,s,y\n1,north,no\n2,south,yes\n", "t.csv",
		&table.Options{Target: "y", Source: "s", KeepSource: true})
	if d := cmp.Diff([][]string{{"1", "north"}, {"2", "south"}}, cells(train)); d != "" ||
		!slices.Equal(train.Source, []int32{0, 1}) {
		t.Error(d, train.Source)
	}
	got := read(t, "s,a\nsouth,5\n", "p.csv", &table.Options{Like: train})
	if d := cmp.Diff([][]string{{"5", "south"}}, cells(got)); d != "" || !slices.Equal(got.Source, []int32{1}) {
		t.Error(d, got.Source)
	}
	// A source of numbers is a number as a feature, unless it is said to be none.
	for kind, o := range map[table.Kind]table.Options{table.Numeric: {},
		table.Categorical: {Categorical: []string{"s"}}} {
		o.Source, o.KeepSource = "s", true
		if got := read(t, "a,s\n1,10\n2,9\n", "n.csv", &o); got.Columns[1].Kind != kind ||
			!slices.Equal(got.Sources, []string{"9", "10"}) {
			t.Error(got.Columns[1], got.Sources)
		}
	}
}

// However the input comes, and however long its rows are, the table is the same.
func TestLongRecords(t *testing.T) {
	var b strings.Builder
	b.WriteString("a,word,y\n")
	for i := range 40 {
		fmt.Fprintf(&b, "%d,\"%s\n\"\"\",%d\n", i, strings.Repeat("word\n", 30000*(i%3)), i%2)
	}
	o := &table.Options{Target: "y", Categorical: []string{"word"}}
	want := read(t, b.String(), "l.csv", o)
	if want.Rows != 40 || len(want.Columns[1].Levels) != 3 || want.LineOf(3) != 2+3*2+30000*3 {
		t.Fatal(want.Rows, len(want.Columns[1].Levels), want.LineOf(3))
	}
	got, err := table.Read(iotest.OneByteReader(strings.NewReader(b.String())), "l.csv", o)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, err := table.Read(strings.NewReader("a,b\n1,\""+strings.Repeat("x\n", 1<<20)), "l.csv",
		&table.Options{MaxRecord: 1 << 20}); err == nil ||
		!strings.Contains(err.Error(), "is a quote not closed?") {
		t.Error(err)
	}
	if _, err := table.Read(iotest.TimeoutReader(iotest.HalfReader(strings.NewReader(b.String()))), "l.csv",
		o); !errors.Is(err, iotest.ErrTimeout) {
		t.Error(err)
	}
}

// Classes that are known beforehand: the codes are theirs, one of them alone will do, and
// another is an error.
func TestKnownClasses(t *testing.T) {
	for name, text := range map[string]string{"x.csv": "a,y\n1,2\n3,2\n", "x.svm": "2 1:1\n2 1:3\n"} {
		o := &table.Options{Classes: []string{"3", "2", "1"}}
		if name == "x.csv" {
			o.Target = "y"
		}
		got, err := table.Read(strings.NewReader(text), name, o)
		if err != nil || !slices.Equal(got.Target, []float64{1, 1}) || !slices.Equal(got.Classes, o.Classes) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		o.Classes = []string{"1", "3"}
		if _, err := table.Read(strings.NewReader(text), name, o); !errors.Is(err, table.ErrValue) ||
			!strings.Contains(err.Error(), `"2" is not a class of the training data, which are "1", "3"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
