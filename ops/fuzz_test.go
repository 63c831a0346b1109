package ops_test

import (
	"bytes"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// What is read as an encode table is written, and read back, as the same bytes.
func FuzzReadEncodeTable(f *testing.F) {
	for kind := range ops.EncodeKind(4) {
		m := manyPaths(3, 2)
		syms := fst.SymbolsOf("ε", "a", "b")
		if kind&1 != 0 {
			m.SetInputSymbols(syms)
		}
		if kind&2 != 0 {
			m.SetOutputSymbols(syms)
		}
		t := ops.NewEncodeTable[semiring.Tropical](kind)
		ops.Encode(m, t)
		var b bytes.Buffer
		if err := ops.WriteEncodeTable(&b, t); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
		f.Add(b.Bytes()[:b.Len()*2/3])
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		fuzzEncodeTable[semiring.Tropical](t, in)
		fuzzEncodeTable[semiring.StringLeft](t, in)
	})
}

func fuzzEncodeTable[W semiring.Codec[W]](t *testing.T, in []byte) {
	table, err := ops.ReadEncodeTable[W](bytes.NewReader(in), "")
	if err != nil {
		return
	}
	for l := range table.Len() {
		if _, _, w, ok := table.Triple(fst.Label(l + 1)); !ok || !w.Member() {
			t.Fatalf("triple %d: %v, %v", l+1, w, ok)
		}
	}
	var b bytes.Buffer
	if err := ops.WriteEncodeTable(&b, table); err != nil {
		t.Fatal(err)
	}
	again, err := ops.ReadEncodeTable[W](bytes.NewReader(b.Bytes()), "")
	if err != nil || again.Len() != table.Len() {
		t.Fatalf("%x: reads back wrong: %v", b.Bytes(), err)
	}
	var c bytes.Buffer
	if err := ops.WriteEncodeTable(&c, again); err != nil || !bytes.Equal(b.Bytes(), c.Bytes()) {
		t.Fatalf("%x is written as %x the second time (%v)", b.Bytes(), c.Bytes(), err)
	}
}
