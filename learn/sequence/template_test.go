package sequence

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTemplates(t *testing.T) {
	columns := [][]string{{"The", "DT", "2"}, {"McÄrthur-3.5", "NNP", "-0.5"}, {"ran", "VB", "4"}}
	for line, want := range map[string]struct {
		at    int
		name  string
		value float64
	}{
		"U00:%x[0,0]":               {0, "U00:The", 1},
		"U01:%x[-1,1]/%x[0,-2]":     {1, "U01:DT/NNP", 1},
		"U02:%x[-1,0]|%x[1,0]":      {0, "U02:_B-1|McÄrthur-3.5", 1},
		"U03:%x[1,0]%x[2,0]":        {2, "U03:_B+1_B+2", 1},
		"U04:%l[0,0]":               {1, "U04:mcärthur-3.5", 1},
		"U05:%p3[0,0]|%s4[0,0]":     {1, "U05:mcä|-3.5", 1},
		"U06:%p9[0,0]|%s9[0,0]":     {2, "U06:ran|ran", 1},
		"U07:%h[0,0]":               {1, "U07:XxXx-9.9", 1},
		"U08:%v[0,2]%v[1,2]%x[0,1]": {0, "U08:DT", -1},
		"U09:%v[1,2]":               {2, "U09:", 0},
		"U10:100%%[%x[0,0]]":        {2, "U10:100%[ran]", 1},
		"B00:%x[0,1]":               {1, "B00:NNP", 1},
		"U":                         {1, "U", 1},
	} {
		p, err := ParseTemplate(line)
		if err != nil {
			t.Fatal(err)
		}
		got, value, err := p.append(nil, columns, want.at)
		if err != nil || string(got) != want.name || value != want.value || p.String() != line || p.Pair() != (line[0] == 'B') {
			t.Errorf("%s: %q with %v, %v; want %+v", line, got, value, err, want)
		}
	}
	for line, at := range map[string]string{
		"": "empty", "X": "none of U, B and *", "U:%x": "character 3", "Uä:%x[0]": "character 4", "U:%x[a,0]": `"a"`,
		"U:%x[0,b]": `"b"`, "U:%x[200,0]": `"200"`, "U:%p[0,0]": "p1 to p99", "U:%p0[0,0]": "character 3", "U:%y[0,0]": "character 3",
		"U:%x3[0,0]": "character 3", "U:%": "character 3", "U:%x]0,0[": "character 3", "U\xff": "UTF-8",
	} {
		if _, err := ParseTemplate(line); err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("%q: %v, want mention of %s", line, err, at)
		}
	}
	list, err := ParseTemplates(strings.NewReader("# words\n\nU0:%x[0,0]\r\nB\n"), "f")
	if err != nil || len(list) != 2 || list[1].String() != "B" {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := ParseTemplates(strings.NewReader("U0\n\nZ\n"), "f"); err == nil || !strings.HasPrefix(err.Error(), "f:3:") {
		t.Errorf("no line in %v", err)
	}
}

func TestShape(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "abc": "x", "McDonald": "XxXx", "A-1.5b": "X-9.9x", "--": "--", "ééé": "x", "Éa": "Xx",
		"e\u0301a": "x", "٣٤": "9", "日本": "x", "a€": "xo", "aBaBaBaBaB": "xXxXxXxX", "12ab!": "9xo",
	} {
		if got := string(appendShape(nil, in, false)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestMinimumCount(t *testing.T) {
	example := func(words ...string) Example {
		var e Example
		for _, w := range words {
			e.Columns = append(e.Columns, []string{w})
			e.Labels = append(e.Labels, "y")
		}
		return e
	}
	o := TrainOptions{Templates: templates(t, "U:%x[0,0]"), MinCount: 2}
	m, c, _, _ := build(t, []Example{example("a", "b", "c"), example("c", "b", "d")}, o, 1)
	if !slices.Equal(m.single.names, []string{"U:b", "U:c"}) {
		t.Errorf("attributes %q", m.single.names)
	}
	if !slices.Equal(c.single.ids, []int32{0, 1, 1, 0}) || !slices.Equal(c.single.ptr, []int{0, 0, 1, 2, 3, 4, 4}) {
		t.Errorf("rows %v %v", c.single.ids, c.single.ptr)
	}
}

var macro = regexp.MustCompile(`%%|%([xlhv]|[ps][^\[]+)\[([^,\]]*),([^\]]*)\]`)

// expand is what a template that is accepted becomes, by another way than append, where it reads
// columns that there are.
func expand(line string, columns [][]string, at int) string {
	crf := !strings.ContainsAny(strings.Join(macro.FindAllString(line, -1), ""), "lpshv")
	return macro.ReplaceAllStringFunc(line, func(s string) string {
		if s == "%%" {
			return "%"
		}
		m := macro.FindStringSubmatch(s)
		row, _ := strconv.Atoi(m[2])
		column, _ := strconv.Atoi(m[3])
		n, _ := strconv.Atoi(m[1][1:])
		switch row += at; {
		case m[1] == "v":
			return ""
		case row < 0 && crf:
			return fmt.Sprintf("_B-%d", -row)
		case row < 0:
			return "<s>"
		case row >= len(columns) && crf:
			return fmt.Sprintf("_B+%d", row-len(columns)+1)
		case row >= len(columns):
			return "</s>"
		}
		if column < 0 {
			column += len(columns[row])
		}
		field := columns[row][column]
		lower := []rune(strings.ToLower(field))
		switch m[1][0] {
		case 'l':
			return string(lower)
		case 'p':
			return string(lower[:min(n, len(lower))])
		case 's':
			return string(lower[max(0, len(lower)-n):])
		case 'h':
			for _, class := range [][2]string{{`(\p{L})\p{M}+`, "$1"}, {`[^\p{L}\p{Nd}.-]`, "€"}, {`[\p{Lu}\p{Lt}]+`, "£"}, {`\p{L}+`, "x"},
				{"£+", "X"}, {`\p{Nd}+`, "9"}, {"€", "o"}} {
				field = regexp.MustCompile(class[0]).ReplaceAllString(field, class[1])
			}
			return field[:min(8, len(field))]
		}
		return field
	})
}

// A template that is accepted can be applied to anything, and says the same when
// parsed from its own text.
func FuzzParseTemplate(f *testing.F) {
	for _, s := range []string{"U00:%x[-1,0]/%x[0,0]", "B", "B1:%p3[0,-1]%%%s2[1,0]", "U:%h[0,0]%v[0,1]%l[2,0]"} {
		f.Add(s, "word", "1.5")
	}
	f.Add("U:%v[0,0]%v[0,1]", "1e300", "1e300")
	f.Fuzz(func(t *testing.T, line, a, b string) {
		p, err := ParseTemplate(line)
		if err != nil {
			return
		}
		q, err := ParseTemplate(p.String())
		if err != nil || q.String() != p.String() || q.Pair() != p.Pair() {
			t.Fatalf("%q, %q: %v", p, q, err)
		}
		if !utf8.ValidString(a) || !utf8.ValidString(b) {
			return
		}
		columns := [][]string{{a, b}, {b, a}}
		for at := range columns {
			x, v, err := p.append(nil, columns, at)
			y, u, err2 := q.append([]byte("kept"), columns, at)
			if err == nil && "kept"+string(x) != string(y) || math.Float64bits(v) != math.Float64bits(u) || (err == nil) != (err2 == nil) {
				t.Fatalf("%q and %q", x, y)
			}
			if err == nil && (!utf8.Valid(x) || math.IsNaN(v) || math.IsInf(v, 0)) {
				t.Fatalf("%q of value %v", x, v)
			}
			if want := expand(line, columns, at); p.marks != wapitiMarks && err == nil && want != string(x) {
				t.Fatalf("%q at %d of %q is %q, want %q", line, at, columns, x, want)
			}
			// A column that is not read makes no difference.
			for c := range 2 {
				if other := [][]string{slices.Clone(columns[0]), slices.Clone(columns[1])}; !p.Reads(c, 2) {
					other[0][c], other[1][c] = "other", "0"
					if z, _, err3 := p.append(nil, other, at); (err == nil) != (err3 == nil) || err == nil && string(z) != string(x) {
						t.Fatalf("%q does not read column %d, and is %q or %q", line, c, x, z)
					}
				}
			}
		}
	})
}
