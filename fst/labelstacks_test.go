package fst_test

import (
	"bytes"
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
