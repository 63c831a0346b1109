package table_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

func TestTransform(t *testing.T) {
	o := &table.Options{Target: "y", Source: "s"}
	a := read(t, "n,c,s,y\n1,u,p,no\n3,w,q,yes\n", "a.csv", o)
	b := read(t, "n,c,s,y\n5,v,o,yes\n,u,p,maybe\n", "b.csv", o)
	all, err := table.Concat(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]string{{"1", "u"}, {"3", "w"}, {"5", "v"}, {"-", "u"}}, cells(all)); d != "" {
		t.Error(d)
	}
	if !slices.Equal(all.Classes, []string{"maybe", "no", "yes"}) ||
		!slices.Equal(all.Target, []float64{1, 2, 2, 0}) || !slices.Equal(all.Source, []int32{1, 2, 0, 1}) {
		t.Error(all.Classes, all.Target, all.Source)
	}
	hot := all.OneHot()
	if d := cmp.Diff([][]string{{"1", "1", "0", "0"}, {"3", "0", "0", "1"}, {"5", "0", "1", "0"},
		{"-", "1", "0", "0"}}, cells(hot)); d != "" || hot.Columns[2].Name != "c=v" {
		t.Error(d)
	}
	z := table.NewStandardizer(hot, []int{0})
	if math.Abs(z.Mean[0]-3) > 1e-12 || math.Abs(z.SD[0]-math.Sqrt(8./3)) > 1e-12 || z.SD[1] != 1 {
		t.Error(z)
	}
	if v := z.Apply(hot).Columns[0].Values; v[1] != 0 || v[3] == v[3] || hot.Columns[0].Values[1] != 3 {
		t.Error(v)
	}
	if err := a.SetPositive("no"); err != nil || !slices.Equal(a.Classes, []string{"yes", "no"}) ||
		!slices.Equal(a.Target, []float64{1, 0}) {
		t.Error(err, a.Classes, a.Target)
	}
	if err := a.SetPositive("nay"); err == nil {
		t.Error("a class that there is not")
	}
	if err := all.SetPositive("no"); err == nil {
		t.Error("one of three classes")
	}
	if _, err := table.Concat(a, read(t, "n,c\n1,u\n", "c.csv", nil)); err == nil {
		t.Error("tables with and without a target")
	}
	dims, data, err := table.ReadIDXBytes(bytes.NewReader(
		zipped(string(idx(8, []uint8{1, 2, 3, 4}, 2, 2)))), "i", 0)
	if err != nil || !slices.Equal(dims, []int{2, 2}) || !slices.Equal(data, []byte{1, 2, 3, 4}) {
		t.Error(dims, data, err)
	}
	if _, _, err := table.ReadIDXBytes(bytes.NewReader(idx(8, []uint8{1, 2, 3}, 2, 2)), "i", 0); err == nil ||
		err.Error() != "i: row 2: the input ends here, but the header promises 2 rows; is the file cut short?" {
		t.Error(err)
	}
}
