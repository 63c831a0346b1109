package fst_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

func TestWriteD2(t *testing.T) {
	f := fsttest.Must(fst.ReadText[semiring.Tropical](strings.NewReader("1 0 1 2 0.5\n1 1 2 2\n0 3.5\n"), &fst.ReadTextOptions{KeepStateNumbering: true}))
	syms := fst.NewSymbolTable("s")
	for _, s := range []string{"<eps>", "it's", `b\${x}"`} {
		syms.Add(s)
	}
	for _, c := range []struct {
		o    *fst.DOTOptions
		want string
	}{
		{nil, `direction: right
*: {
  shape: circle
}
1: {
  label: "1"
  style.bold: true
}
1 -> 0: "1:2/0.5"
1 -> 1: "2:2"
0: {
  label: "0/3.5"
  style.double-border: true
}
`},
		{&fst.DOTOptions{Vertical: true, Title: "\"one's\"\nown", InputSymbols: syms, OutputSymbols: syms, ShowWeightOne: true, FontSize: 200}, `direction: up
*: {
  shape: circle
  style.font-size: 100
}
(* -> *)[*].style.font-size: 100
title: "\"one's\" own" {shape: text; near: top-center}
1: {
  label: "1"
  style.bold: true
}
1 -> 0: "it's:b\\\${x}\"/0.5"
1 -> 1: "b\\\${x}\":b\\\${x}\"/0"
0: {
  label: "0/3.5"
  style.double-border: true
}
`},
	} {
		var b strings.Builder
		if err := fst.WriteD2(&b, f, c.o); err != nil || b.String() != c.want {
			t.Errorf("%v\n%swant\n%s", err, b.String(), c.want)
		}
	}
	var missing *fst.MissingSymbolError
	few := fst.NewSymbolTable("few")
	few.Add("<eps>")
	if err := fst.WriteD2(io.Discard, f, &fst.DOTOptions{InputSymbols: few}); !errors.As(err, &missing) || missing.State != 1 {
		t.Error(err)
	}
	var b strings.Builder
	if err := fst.WriteD2(&b, fst.NewVector[semiring.Tropical](0), nil); err != nil || b.Len() != 0 {
		t.Error(err, b.String())
	}
}
