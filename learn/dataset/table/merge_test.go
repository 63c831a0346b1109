package table

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMergeForms(t *testing.T) {
	read := func(name, text string) *Table {
		t.Helper()
		x, err := Read(strings.NewReader(text), name, &Options{Target: "y"})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	a := read("a.csv", "p,c,y\n1,x,1\n2,z,2\n")
	b := read("b.csv", "p,c,y\n1,y,10\n2,x,2\n")
	f, err := MergeForms(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"x", "y", "z"}, f.Columns[1].Levels) + cmp.Diff([]string{"1", "2", "10"}, f.Classes); d != "" {
		t.Error(d)
	}
	for _, x := range []struct{ text, want string }{
		{"p,c,y\n1,3,1\n2,4,2\n", `c.csv: column "c": the column is numeric here`},
		{"p,d,y\n1,x,1\n2,z,2\n", `c.csv: column "d": "a.csv" has no such column`},
		{"p,y\n1,1\n2,2\n", `c.csv: 1 columns of features, and "a.csv" has 2`},
		{"p,c,y\n1,x,1.5\n2,z,2.5\n", `the target is a class in one of "a.csv" and "c.csv"`},
	} {
		if _, err := MergeForms(a, read("c.csv", x.text)); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q: got %v, want %q", x.text, err, x.want)
		}
	}
	if _, err := MergeForms(); err == nil {
		t.Error("no forms at all")
	}
}
