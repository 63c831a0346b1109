package fst

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/semiring"
)

func TestLabelPairs(t *testing.T) {
	long := "# old new" + strings.Repeat(" ", 20000) + "\n1 2\r\n\n  3\t4  \n-5 6"
	got, err := ReadLabelPairs(strings.NewReader(long), &LabelPairOptions{Name: "p", Negative: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []LabelPair{{1, 2}, {3, 4}, {-5, 6}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var b bytes.Buffer
	if err := WriteLabelPairs(&b, got); err != nil || b.String() != "1\t2\n3\t4\n-5\t6\n" {
		t.Errorf("%v, %q", err, b.String())
	}
	for text, at := range map[string][2]int{"1 2\n3": {2, 0}, "1 2\n3 4 5": {2, 0}, "x 1": {1, 1}, "1 99999999999": {1, 2}, "1 -2": {1, 2}} {
		_, err := ReadLabelPairs(strings.NewReader(text), nil)
		var e *TextError
		if !errors.As(err, &e) || e.Line != at[0] || e.Field != at[1] {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestPotentials(t *testing.T) {
	zero := semiring.Zero[semiring.Tropical]()
	got, err := ReadPotentials[semiring.Tropical](strings.NewReader("3 1.5\n0\t2\n"), &PotentialOptions{States: 4})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]semiring.Tropical{2, zero, zero, 1.5}, got); diff != "" {
		t.Error(diff)
	}
	var b bytes.Buffer
	if err := WritePotentials(&b, got, nil); err != nil || b.String() != "0\t2\n1\tInfinity\n2\tInfinity\n3\t1.5\n" {
		t.Errorf("%v, %q", err, b.String())
	}
	for _, text := range []string{"4 1", "0 nan", "0 x", "-1 2", "0"} {
		if _, err := ReadPotentials[semiring.Tropical](strings.NewReader(text), &PotentialOptions{States: 4}); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	if _, err := ReadPotentials[semiring.Tropical](strings.NewReader("2000000000 1"), nil); err == nil {
		t.Error("two thousand million states for one line")
	}
}
