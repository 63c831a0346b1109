package table_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// columnOf is a table of one written column, a plain one, and a target of two classes.
func columnOf(values ...string) string {
	var b strings.Builder
	b.WriteString("x,b,y\n")
	for i := range 24 {
		fmt.Fprintf(&b, "\"%s\",%d,%c\n", values[i%len(values)], i*i%7, "nm"[i%2])
	}
	return b.String()
}

// Texts that are numbers or dates once marks are taken away are no categories in silence: the
// error says which option reads them, and with that option they are the right numbers.
func TestDisguisedNumbers(t *testing.T) {
	days := func(y, m, d int) float64 {
		return float64(time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC).Unix() / 86400)
	}
	for _, c := range []struct {
		name  string
		texts []string
		want  []string // of the error
		o     table.Options
		first []float64
	}{
		{"decimal comma", []string{"1,5", "2,25", "-3,125"},
			[]string{`x.csv:2 (row 1): column "x": "1,5" is read as a word, but 24 of the first 24 values are numbers`,
				`Options.Decimal "," ("1,5" is then 1.5)`}, table.Options{Decimal: ","}, []float64{1.5, 2.25, -3.125}},
		{"thousands", []string{"1,234", "12", "1,234,567.5"},
			[]string{`Options.Thousands "," ("1,234" is then 1234)`}, table.Options{Thousands: ","},
			[]float64{1234, 12, 1234567.5}},
		{"either", []string{"1,234", "5,678"}, []string{`Options.Thousands "," ("1,234" is then 1234)`,
			`or Options.Decimal "," ("1,234" is then 1.234)`}, table.Options{Thousands: ","}, []float64{1234, 5678}},
		{"european", []string{"1.234,5", "17"}, []string{`Options.Decimal "," with Options.Thousands "."`},
			table.Options{Decimal: ",", Thousands: "."}, []float64{1234.5, 17}},
		{"swiss", []string{"1'234", "17"}, []string{`Options.Thousands "'"`}, table.Options{Thousands: "'"},
			[]float64{1234, 17}},
		{"blanks", []string{"1 234", "17", "1\u202f234\u00a0567"}, []string{`Options.Thousands " "`},
			table.Options{Thousands: " "}, []float64{1234, 17, 1234567}},
		{"dollars", []string{"$12", "$1.5", "-$3"}, []string{`Options.Symbols "$" ("$12" is then 12)`},
			table.Options{Symbols: []string{"$"}}, []float64{12, 1.5, -3}},
		{"dollars and thousands", []string{"$1,234.50", "$2"},
			[]string{`Options.Thousands "," with Options.Symbols "$"`},
			table.Options{Thousands: ",", Symbols: []string{"$"}}, []float64{1234.5, 2}},
		{"euros", []string{"12 €", "1,5 €"}, []string{`Options.Decimal "," with Options.Symbols "€"`},
			table.Options{Decimal: ",", Symbols: []string{"€"}}, []float64{12, 1.5}},
		{"india", []string{"12,34,567", "1,234", "5"},
			[]string{`Options.Thousands "," ("12,34,567" is then 1234567)`}, table.Options{Thousands: ","},
			[]float64{1234567, 1234, 5}},
		{"kilograms", []string{"12.3 kg", "-4 kg", "5"}, []string{`Options.Symbols "kg" ("12.3 kg" is then 12.3)`},
			table.Options{Symbols: []string{"kg"}}, []float64{12.3, -4, 5}},
		{"minus of print", []string{"\u22121,5", "2,5"}, []string{`Options.Decimal ","`},
			table.Options{Decimal: ","}, []float64{-1.5, 2.5}},
		{"per cent", []string{"45%", "7.5 %"}, []string{`Options.Symbols "%"`},
			table.Options{Symbols: []string{"%"}}, []float64{45, 7.5}},
		{"a few words", []string{"1,5", "2,5", "3,5", "unknown"},
			[]string{"18 of the first 24 values are numbers", `Options.Decimal ","`},
			table.Options{Decimal: ",", Missing: []string{"unknown"}}, []float64{1.5, 2.5, 3.5, math.NaN()}},
		{"dates", []string{"2024-03-31", "1969-12-31"},
			[]string{`dates or times`, `Options.Dates "ymd" (days since 1970-01-01)`}, table.Options{Dates: "ymd"},
			[]float64{days(2024, 3, 31), -1}},
		{"german dates", []string{"31.03.2024", "1.2.2000"}, []string{`Options.Dates "dmy"`},
			table.Options{Dates: "dmy"}, []float64{days(2024, 3, 31), days(2000, 2, 1)}},
		{"american dates", []string{"3/31/24", "2/1/2000"}, []string{`Options.Dates "mdy"`},
			table.Options{Dates: "mdy"}, []float64{days(2024, 3, 31), days(2000, 2, 1)}},
		{"ambiguous dates", []string{"1/2/2024", "3/4/2024"},
			[]string{`Options.Dates "dmy" (the day first: days since 1970-01-01), or Options.Dates "mdy" (the month first`}, table.Options{Dates: "mdy"}, []float64{days(2024, 1, 2), days(2024, 3, 4)}},
		{"named months", []string{"31 Mar 2024", "Feb 1, 2000", "01-Jan-1970"}, []string{`Options.Dates "ymd"`},
			table.Options{Dates: "ymd"}, []float64{days(2024, 3, 31), days(2000, 2, 1), 0}},
		{"date and time", []string{"2024-03-31T18:00:00Z", "2024-03-31 06:00", "2024-03-31T18:00:00+06:00"},
			[]string{`Options.Dates "ymd"`}, table.Options{Dates: "ymd"},
			[]float64{days(2024, 3, 31) + .75, days(2024, 3, 31) + .25, days(2024, 3, 31) + .5}},
		{"times", []string{"12:00", "6:00 PM", "00:15:00"}, []string{`Options.Dates "ymd"`},
			table.Options{Dates: "ymd"}, []float64{.5, .75, .25 / 24}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := columnOf(c.texts...)
			_, err := table.Read(strings.NewReader(text), "x.csv", &table.Options{Target: "y"})
			if err == nil {
				t.Fatal("read as categories without a word")
			}
			for _, w := range append(c.want, `Options.Categorical "x" (if these are names)`) {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%v\nlacks %s", err, w)
				}
			}
			o := c.o
			o.Target = "y"
			got, err := table.Read(strings.NewReader(text), "x.csv", &o)
			if err != nil {
				t.Fatal(err)
			}
			if got.Columns[0].Kind != table.Numeric {
				t.Fatal(got.Columns[0].Kind)
			}
			for i, w := range c.first {
				if v := got.Columns[0].Values[i]; v != float32(w) && !(math.IsNaN(w) && v != v) {
					t.Errorf("row %d: %v, want %v", i+1, v, w)
				}
			}
			// A table to come is read in the same way, without options.
			again, err := table.Read(strings.NewReader(text), "x.csv", &table.Options{Like: got.Schema()})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(cells(got), cells(again)); d != "" {
				t.Error(d)
			}
			// And names they are, if that is said.
			o = table.Options{Target: "y", Categorical: []string{"x"}}
			if got, err := table.Read(strings.NewReader(text), "x.csv", &o); err != nil ||
				got.Columns[0].Kind != table.Categorical {
				t.Error(err)
			}
			// The target likewise.
			o = c.o
			o.Target, o.Task = "x", table.Regression
			got, err = table.Read(strings.NewReader(text), "x.csv", &o)
			if o.Missing == nil && (err != nil || math.Abs(got.Target[0]-c.first[0]) > 1e-12*math.Abs(c.first[0])) {
				t.Error(got, err)
			}
			if _, err = table.Read(strings.NewReader(text), "x.csv", &table.Options{Target: "x"}); err == nil ||
				!strings.Contains(err.Error(), `Options.Task "classification"`) {
				t.Errorf("target: %v", err)
			}
		})
	}
}

// Words that look like numbers a little are words.
func TestWordsAreWords(t *testing.T) {
	for _, texts := range [][]string{{"A4", "A5"}, {"2nd", "3rd"}, {"4wd", "2wd"}, {"10-20", "20-30"},
		{"1.2.10", "1.3.4"}, {"0x1F", "0x2A"}, {"true", "false"}, {"yes", "no"}, {"12,34,5", "1,2,3"},
		{"192.168.0.1", "10.0.0.1"}, {"5:1", "4:1"}, {"2024-13-01", "2024-02-30"}, {"$", "%"}, {"", "a", "b"}} {
		got, err := table.Read(strings.NewReader(columnOf(texts...)), "x.csv", &table.Options{Target: "y"})
		if err != nil || got.Columns[0].Kind != table.Categorical {
			t.Errorf("%q: %v", texts, err)
		}
	}
	for _, texts := range [][]string{{"1e5", "2E-3"}, {" 7 ", "8"}, {"+1", "-1"}, {"007", "12"},
		{"NA", "?", "1"}, {".5", "5."}} {
		got, err := table.Read(strings.NewReader(columnOf(texts...)), "x.csv", &table.Options{Target: "y"})
		if err != nil || got.Columns[0].Kind != table.Numeric {
			t.Errorf("%q: %v", texts, err)
		}
	}
}

// A word among numbers is an error that says how to make it a missing value; beyond the sample too.
func TestWordAmongNumbers(t *testing.T) {
	for _, row := range []int{7, 3000} {
		var b strings.Builder
		b.WriteString("x,y\n")
		for i := range 4000 {
			if i == row {
				b.WriteString("-,a\n")
			}
			fmt.Fprintf(&b, "%d.5,%c\n", i, "ab"[i%2])
		}
		_, err := table.Read(strings.NewReader(b.String()), "x.csv", &table.Options{Target: "y"})
		if err == nil || !strings.Contains(err.Error(),
			fmt.Sprintf(`x.csv:%d (row %d): column "x": "-" is not a number`, row+2, row+1)) ||
			!strings.Contains(err.Error(), `Options.Missing "-"`) {
			t.Error(err)
		}
		got, err := table.Read(strings.NewReader(b.String()), "x.csv",
			&table.Options{Target: "y", Missing: []string{"-"}})
		if err != nil || got.Missing() != 1 {
			t.Error(got, err)
		}
	}
	// A mark in a later row is named as well.
	text := columnOf("1.5") + "\"1,5\",2,n\n"
	if _, err := table.Read(strings.NewReader(text), "x.csv", &table.Options{Target: "y"}); err == nil ||
		!strings.Contains(err.Error(), `Options.Decimal ","`) {
		t.Error(err)
	}
}

func TestMarksThatCannotBe(t *testing.T) {
	for _, o := range []table.Options{{Decimal: ";"}, {Thousands: "x"}, {Thousands: "."},
		{Decimal: ",", Thousands: ","}, {Symbols: []string{""}}, {Symbols: []string{"2x"}},
		{Symbols: []string{"-"}}, {Dates: "dym"}} {
		_, err := table.Read(strings.NewReader("a;b\n1;2\n"), "x.csv", &o)
		var e *table.Error
		if err == nil {
			t.Errorf("%+v was taken", o)
		} else if e, _ = err.(*table.Error); e == nil || e.Option == "" {
			t.Errorf("%v names no option", err)
		}
	}
	// A Like's marks can be taken back.
	like := read(t, "a;y\n1,5;2\n2,5;3\n", "x.csv",
		&table.Options{Decimal: ",", Thousands: ".", Dates: "dmy", Target: "y", Task: table.Regression})
	got := read(t, "a;y\n1.5;2\n", "x.csv", &table.Options{Like: like.Schema(), Decimal: ".",
		Thousands: table.None, Dates: table.None})
	if got.Columns[0].Values[0] != 1.5 {
		t.Error(got.Columns[0].Values)
	}
}

// Columns of identifiers are carried along, in the order of the rows, and are no features.
func TestID(t *testing.T) {
	o := &table.Options{Target: "y", ID: []string{"key", "#1"}}
	got := read(t, "n,key,a,y\n1,x1,5,u\n2,\"x,2\",6,v\n3,,7,u\n", "x.csv", o)
	want := []table.Text{{Name: "key", Values: []string{"x1", "x,2", ""}},
		{Name: "n", Values: []string{"1", "2", "3"}}}
	if d := cmp.Diff(want, got.ID); d != "" || len(got.Columns) != 1 {
		t.Error(d, len(got.Columns))
	}
	if s := got.Subset([]int{2, 0}); !slices.Equal(s.ID[1].Values, []string{"3", "1"}) {
		t.Error(s.ID)
	}
	// Prediction knows them, and does without.
	p := read(t, "key,a\nz,1\n", "p.csv", &table.Options{Like: got.Schema()})
	if d := cmp.Diff([]table.Text{{Name: "key", Values: []string{"z"}}}, p.ID); d != "" {
		t.Error(d)
	}
	if _, err := table.Read(strings.NewReader("a,y\n1,u\n"), "x.csv", o); err == nil {
		t.Error("a column that is not there was carried along")
	}
	for name, text := range map[string]string{"x.svm": "1 1:2\n",
		"x.idx": "\x00\x00\x08\x02\x00\x00\x00\x01\x00\x00\x00\x01\x07"} {
		for _, o := range []table.Options{{ID: []string{"key"}}, {Decimal: ","}, {Dates: "ymd"},
			{Missing: []string{"-"}}} {
			if _, err := table.Read(strings.NewReader(text), name, &o); err == nil ||
				!strings.Contains(err.Error(), "has numbers in one form only") {
				t.Errorf("%s: %+v: %v", name, o, err)
			}
		}
	}
}

// A first line that looks like data is warned of, with the option; years and pixels are names.
func TestHeadersLikeData(t *testing.T) {
	rows := "4.9,3.0,1.4,0.2,setosa\n6.4,3.2,4.5,1.5,versicolor\n6.3,3.3,6.0,2.5,virginica\n"
	for header, want := range map[string]string{
		"5.1,3.5,1.4,0.2,setosa": "the names of 4 of 5 columns are numbers; use Options.NoHeader",
		"6,5,4,3,setosa":         "the names of 4 of 5 columns are numbers; use Options.NoHeader",
		"1,2,3,4,5":              "the names of all columns are numbers; use Options.NoHeader",
		"0,1,2,3,label":          "",
		"2001,2002,2003,2005,y":  "",
		"a,b,c,4.5,y":            "",
	} {
		got := strings.Join(said(read(t, header+"\n"+rows, "x.csv", &table.Options{})), "\n")
		if want == "" && strings.Contains(got, "are numbers") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
}

// What is odd about columns of numbers is said once, with the option that reads them otherwise.
func TestOddColumns(t *testing.T) {
	var b strings.Builder
	b.WriteString("zip,row,user_id,name,x,y\n")
	for i := range 30 {
		fmt.Fprintf(&b, "%05d,%d,%d,n%d,%d,%d\n", 1000+i%7, i+1, 7*i%211, i, i*i%5, i%3)
	}
	got := said(read(t, b.String(), "x.csv", &table.Options{Target: "y"}))
	for i, want := range []string{
		`column "zip": "01000" begins with a zero and is read as the number 1000; use Options.Categorical "zip"`,
		`the target "y" has 3 different integers, from 0 to 2, which are taken for classes; use Options.Task "regression"`,
		`column "row" counts the rows: a model learns their order in the file from it; use Options.ID "row"`,
		`column "user_id" has another number in every row, and the name of an identifier; use Options.ID "user_id"`,
		`column "name": every row has another level, as identifiers and free text have; use Options.ID "name"`} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("no warning %s in %q", want, got)
		}
	}
	if len(got) != 5 {
		t.Errorf("%q", got)
	}
	got = said(read(t, b.String(), "x.csv", &table.Options{Target: "y", Task: table.Classification,
		Categorical: []string{"zip"}, ID: []string{"row", "user_id", "name"}}))
	if len(got) != 0 {
		t.Errorf("%q", got)
	}
	big := read(t, "a,y\n1,1e30\n2,2e30\n3,3e30\n", "x.csv", &table.Options{Target: "y"})
	if big.Classes != nil {
		t.Error("1e30 is a class")
	}
}

// Dates against the time package.
func TestDatesAgainstTime(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	layouts := map[string][]string{"ymd": {"2006-01-02", "2006/1/2", "2006-01-02T15:04:05Z07:00", "2 Jan 2006",
		"January 2, 2006", "2006-01-02 15:04:05.000"}, "dmy": {"02.01.2006", "2/1/2006", "02-01-2006 15:04"},
		"mdy": {"01/02/2006", "1-2-2006", "1/2/2006 3:04:05 PM"}}
	for range 2000 {
		when := time.Date(1+rng.IntN(9998), 1, 1+rng.IntN(366), rng.IntN(24), rng.IntN(60), rng.IntN(60), 0,
			time.FixedZone("", 60*(rng.IntN(1440)-720)))
		for order, list := range layouts {
			layout := list[rng.IntN(len(list))]
			text := when.Format(layout)
			parsed, err := time.Parse(layout, text)
			if err != nil {
				t.Fatal(err)
			}
			want := float64(parsed.Unix()) / 86400
			got, err := table.Read(strings.NewReader("a,y\n1,\""+text+"\"\n2,\""+text+"\"\n"), "x.csv",
				&table.Options{Target: "y", Dates: order, Task: table.Regression})
			if err != nil || math.Abs(got.Target[0]-want) > 1e-9 {
				t.Fatal(text, order, got, err, want)
			}
		}
	}
}

// The separator is seen in the first line, and a byte order mark, CRLF and quotes do no harm.
func TestForms(t *testing.T) {
	for _, text := range []string{"a;b;y\n1;2;u\n3;4;v\n", "a\tb\ty\n1\t2\tu\n3\t4\tv\n",
		"a|b|y\n1|2|u\n3|4|v\n", "\ufeffa,b,y\r\n\"1\",\"2\",u\r\n3,4,\"v\"\r\n"} {
		got, err := table.Read(strings.NewReader(text), "x.csv", &table.Options{Target: "y"})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if d := cmp.Diff([][]string{{"1", "2"}, {"3", "4"}}, cells(got)); d != "" {
			t.Error(d)
		}
	}
	like := read(t, "a!y\n1!u\n2!v\n", "x.csv", &table.Options{Target: "y", Separator: '!', NoHeader: false})
	for _, text := range []string{"a!y\n1!u\n", "a,y\n1,u\n"} {
		if got := read(t, text, "p.csv", &table.Options{Like: like.Schema()}); got.Columns[0].Values[0] != 1 {
			t.Error(got)
		}
	}
}

// TestDigitsAsWords: values that begin with digits and that no option reads are words with a
// warning, unless they are said to be names or are few.
func TestDigitsAsWords(t *testing.T) {
	write := func(form func(i int) string, rows int) string {
		var b strings.Builder
		b.WriteString("a,y\n")
		for i := range rows {
			fmt.Fprintf(&b, "%s,%d\n", form(i), i%2)
		}
		return b.String()
	}
	for name, form := range map[string]func(int) string{
		"27k":    func(i int) string { return fmt.Sprint(i+7, "k") },
		"0x1f":   func(i int) string { return fmt.Sprintf("%#x", i+31) },
		"(12.5)": func(i int) string { return fmt.Sprintf("(%d.5)", i) },
		"8/2":    func(i int) string { return fmt.Sprintf("%d/%d", i%40, 41+i) },
		"１８":     func(i int) string { return string(rune('１'+i%9)) + string(rune('０'+i/9)) },
	} {
		read := func(text string, o table.Options) string {
			o.Target = "y"
			tab, err := table.Read(strings.NewReader(text), name, &o)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var all []string
			for _, w := range tab.Warnings {
				if s := w.String(); strings.Contains(s, "begin with digits") {
					all = append(all, s)
				}
			}
			return strings.Join(all, "\n")
		}
		if got := read(write(form, 60), table.Options{}); !strings.Contains(got, `column "a"`) ||
			!strings.Contains(got, "read as words") {
			t.Errorf("%s: warnings %q", name, got)
		}
		if got := read(write(form, 60), table.Options{Categorical: []string{"a"}}); got != "" {
			t.Errorf("%s as names: %q", name, got)
		}
		if got := read(write(func(i int) string { return form(i % 5) }, 60), table.Options{}); got != "" {
			t.Errorf("%s, few levels: %q", name, got)
		}
	}
}
