package table

import "testing"

// Each part that a learner sees changes the fingerprint; nothing else does.
func TestFingerprint(t *testing.T) {
	build := func() *Table {
		return &Table{
			Columns: []Column{{Name: "a", Values: []float32{1, 2}},
				{Name: "bc", Kind: Categorical, Levels: []string{"x", "yz"}, Values: []float32{0, 1}}},
			Rows: 2, Source: []int32{0, 1}, Sources: []string{"s", "t"}, Target: []float64{0, 1}, Name: "one.csv",
		}
	}
	lists := func() [][]float64 { return [][]float64{{1, -1}, {1, 2}} }
	first := build().Fingerprint(lists()...)
	seen := map[uint64]string{first: "nothing"}
	for what, change := range map[string]func(*Table, [][]float64){
		"name":           func(t *Table, _ [][]float64) { t.Columns[0].Name = "b" },
		"names' border":  func(t *Table, _ [][]float64) { t.Columns[0].Name, t.Columns[1].Name = "ab", "c" },
		"kind":           func(t *Table, _ [][]float64) { t.Columns[0].Kind = Categorical },
		"level":          func(t *Table, _ [][]float64) { t.Columns[1].Levels[0] = "w" },
		"levels' border": func(t *Table, _ [][]float64) { t.Columns[1].Levels = []string{"xy", "z"} },
		"value":          func(t *Table, _ [][]float64) { t.Columns[1].Values[1] = 0 },
		"order":          func(t *Table, _ [][]float64) { t.Columns[0], t.Columns[1] = t.Columns[1], t.Columns[0] },
		"source":         func(t *Table, _ [][]float64) { t.Source[1] = 0 },
		"source's name":  func(t *Table, _ [][]float64) { t.Sources[1] = "u" },
		"no sources":     func(t *Table, _ [][]float64) { t.Source, t.Sources = nil, nil },
		"label":          func(_ *Table, l [][]float64) { l[0][1] = 1 },
		"weight":         func(_ *Table, l [][]float64) { l[1][0] = 3 },
		"list":           func(_ *Table, l [][]float64) { l[0], l[1] = nil, append(l[0], l[1]...) },
	} {
		x, l := build(), lists()
		change(x, l)
		f := x.Fingerprint(l...)
		if other, ok := seen[f]; ok {
			t.Errorf("%s and %s have one fingerprint", what, other)
		}
		seen[f] = what
	}
	x := build()
	x.Name, x.Warnings, x.FirstLine, x.Target = "two.csv", []Warning{{Msg: "odd"}}, 7, nil
	if x.Fingerprint(lists()...) != first {
		t.Error("what no learner sees counts")
	}
}
