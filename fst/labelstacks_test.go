package fst_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
)

func TestLabelStacks(t *testing.T) {
	const text = "10\t11\t1\n12\t13\t2\n"
	pairs, stacks, err := fst.ReadLabelStacks(strings.NewReader("# open close stack\n\n 10 11 1\r\n12\t13\t2"), nil)
	if err != nil || len(pairs) != 2 || pairs[1] != (fst.LabelPair{From: 12, To: 13}) || stacks[0] != 1 || stacks[1] != 2 {
		t.Fatalf("read %v %v %v", pairs, stacks, err)
	}
	var b bytes.Buffer
	if err := fst.WriteLabelStacks(&b, pairs, stacks); err != nil || b.String() != text {
		t.Errorf("written as %q, %v", b.String(), err)
	}
	for _, bad := range []string{"1 2", "1 2 3 4", "a 2 1", "1 b 1", "1 2 c", "1 -2 1", "1 2 -1", "99999999999 2 1"} {
		if _, _, err := fst.ReadLabelStacks(strings.NewReader(bad), &fst.LabelPairOptions{Name: "f"}); err == nil || !strings.Contains(err.Error(), "f, line 1") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// What is read as pairs with stacks is written, and read back, as the same.
func FuzzReadLabelStacks(f *testing.F) {
	f.Add([]byte("1 2 1\n3\t4\t2\n"), false)
	f.Add([]byte("# open close stack\n\n-1 2147483647 1\r\n 5  6 2147483647 \n"), true)
	f.Add([]byte("1 2\n"), false)
	f.Add([]byte("1 2 -1\n"), true)
	f.Add([]byte("99999999999 1 1"), true)
	f.Fuzz(func(t *testing.T, in []byte, negative bool) {
		o := &fst.LabelPairOptions{Negative: negative}
		pairs, stacks, err := fst.ReadLabelStacks(bytes.NewReader(in), o)
		if err != nil {
			return
		}
		if len(pairs) != len(stacks) {
			t.Fatalf("%d pairs, %d stacks", len(pairs), len(stacks))
		}
		var b bytes.Buffer
		if err := fst.WriteLabelStacks(&b, pairs, stacks); err != nil {
			t.Fatal(err)
		}
		again, stacks2, err := fst.ReadLabelStacks(bytes.NewReader(b.Bytes()), o)
		if err != nil || !slices.Equal(again, pairs) || !slices.Equal(stacks2, stacks) {
			t.Fatalf("%q reads back as %v %v, not %v %v: %v", b.Bytes(), again, stacks2, pairs, stacks, err)
		}
	})
}
