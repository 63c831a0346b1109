package fst_test

import (
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
)

// What a table gave out stays as it was however much is added, symbols of any length
// included, and each is found again.
func TestSymbolsStay(t *testing.T) {
	table := fst.NewSymbolTable("long")
	length := func(i int) int {
		switch {
		case i%997 == 5:
			return 100_000 // beyond any block
		case i%100 == 7:
			return 3000
		}
		return i % 23
	}
	want := map[string]fst.Label{}
	var given []string
	for i := range 5000 {
		b := []byte(strings.Repeat(string(rune('a'+i%26)), length(i)))
		if i%3 > 0 {
			b = append(b, byte('0'+i%10), byte('0'+i/10%10), byte('0'+i/100%10), byte('0'+i/1000))
		}
		l, same := table.AddLabel(string(b), fst.Label(2*i))
		if old, was := want[string(b)]; was {
			if same || l != old {
				t.Fatalf("symbol %d: label %d (%v) where %d was", i, l, same, old)
			}
			continue
		}
		want[string(b)] = fst.Label(2 * i)
		s, ok := table.Symbol(fst.Label(2 * i))
		if !ok || s != string(b) {
			t.Fatalf("symbol %d comes back as %.20q, %v", i, s, ok)
		}
		given = append(given, s)
	}
	if table.Len() != len(want) {
		t.Fatalf("%d symbols, want %d", table.Len(), len(want))
	}
	for i, s := range given {
		if at, l := table.At(i); at != s || want[s] != l {
			t.Fatalf("symbol %d is %.20q of label %d; %.20q of %d was given", i, at, l, s, want[s])
		}
		if l, ok := table.FindBytes([]byte(s)); !ok || l != want[s] {
			t.Fatalf("%.20q is found as %d, %v; want %d", s, l, ok, want[s])
		}
	}
	if l, ok := table.Find("absent"); ok || l != fst.NoLabel {
		t.Errorf("what is not there is found as %d", l)
	}
}
