package fst_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

func TestStrings(t *testing.T) {
	syms := fst.SymbolsOf("<eps>", "a", "bc", "<unk>")
	syms.AddLabel("minus", -3)
	for _, c := range []struct {
		in     string
		opts   *fst.StringOptions
		labels []fst.Label
		out    string // empty: the input
		err    string
	}{
		{"", nil, nil, "", ""},
		{" 3 \t17\n0 5", &fst.StringOptions{KeepEpsilon: true}, []fst.Label{3, 17, 0, 5}, "3 17 0 5", ""},
		{"3 17 0 5", nil, []fst.Label{3, 17, 0, 5}, "3 17 5", ""},
		{"3 x", nil, nil, "", `symbol 2`},
		{"99999999999", nil, nil, "", "symbol 1"},
		{"-1", nil, nil, "", "symbol 1"},
		{"-1", &fst.StringOptions{Negative: true}, []fst.Label{-1}, "", ""},
		{"a bc a", &fst.StringOptions{Symbols: syms}, []fst.Label{1, 2, 1}, "", ""},
		{"a|bc|a", &fst.StringOptions{Symbols: syms, Separators: "|"}, []fst.Label{1, 2, 1}, "", ""},
		{"a zzz", &fst.StringOptions{Symbols: syms}, nil, "", `symbol 2: "zzz"`},
		{"a zzz", &fst.StringOptions{Symbols: syms, Unknown: "<unk>"}, []fst.Label{1, 3}, "a <unk>", ""},
		{"a", &fst.StringOptions{Symbols: syms, Unknown: "nix"}, nil, "", `"nix"`},
		{"a", &fst.StringOptions{Unknown: "nix"}, nil, "", `"nix"`},
		{"a minus", &fst.StringOptions{Symbols: syms}, nil, "", "-3"},
		{"a minus", &fst.StringOptions{Symbols: syms, Negative: true}, []fst.Label{1, -3}, "", ""},
		{"aé\xff", &fst.StringOptions{Tokens: fst.TokenByte}, []fst.Label{97, 0xc3, 0xa9, 0xff}, "", ""},
		{"aé😀", &fst.StringOptions{Tokens: fst.TokenUTF8}, []fst.Label{97, 0xe9, 0x1f600}, "", ""},
		{"a\ufffdb", &fst.StringOptions{Tokens: fst.TokenUTF8}, []fst.Label{97, 0xfffd, 98}, "", ""},
		{"aé\xff", &fst.StringOptions{Tokens: fst.TokenUTF8}, nil, "", "byte 3, 0xff"},
		{"a\xc3", &fst.StringOptions{Tokens: fst.TokenUTF8}, nil, "", "byte 1, 0xc3"},
		{"a\x00b", &fst.StringOptions{Tokens: fst.TokenByte}, []fst.Label{97, 0, 98}, "ab", ""},
	} {
		labels, err := fst.AppendLabels(nil, c.in, c.opts)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v, want an error with %s", c.in, err, c.err)
			}
			continue
		}
		if err != nil || !slices.Equal(labels, c.labels) {
			t.Errorf("%q: %v, %v; want %v", c.in, labels, err, c.labels)
		}
		f, err := fst.FromString[semiring.Log](c.in, c.opts)
		if err != nil {
			t.Fatal(err)
		}
		wellFormed(t, fst.Expanded[semiring.Log](f))
		if c.out == "" {
			c.out = c.in
		}
		if s, err := fst.ToString(fst.Fst[semiring.Log](f), c.opts); err != nil || s != c.out {
			t.Errorf("%q comes back as %q, %v; want %q", c.in, s, err, c.out)
		}
	}
	for _, c := range []struct {
		labels []fst.Label
		opts   fst.StringOptions
	}{
		{[]fst.Label{1, 300}, fst.StringOptions{Tokens: fst.TokenByte}},
		{[]fst.Label{1, -1}, fst.StringOptions{Tokens: fst.TokenByte}},
		{[]fst.Label{0xd800}, fst.StringOptions{Tokens: fst.TokenUTF8}},
		{[]fst.Label{-2}, fst.StringOptions{Tokens: fst.TokenUTF8}},
		{[]fst.Label{9}, fst.StringOptions{Symbols: syms}},
	} {
		if s, err := fst.FormatLabels(c.labels, &c.opts); err == nil {
			t.Errorf("%v as %q", c.labels, s)
		}
	}
}

func TestToLabels(t *testing.T) {
	f := readText[semiring.Tropical](t, "0 2 1 2 .5\n2 1 0 3 1\n1 2\n", nil)
	in, out, w, err := fst.ToLabels(fst.Fst[semiring.Tropical](f))
	if err != nil || !slices.Equal(in, []fst.Label{1, 0}) || !slices.Equal(out, []fst.Label{2, 3}) || w != 3.5 {
		t.Fatal(in, out, w, err)
	}
	for _, text := range []string{"", "0 1 1 1\n0 1 2 2\n1\n", "0 1 1 1\n", "0 1 1 1\n1 2 1 1\n1\n2\n", "0 0 1 1\n", "0 1 1 1\n1 2 1 1\n2 3 1 1\n3 1 1 1\n"} {
		f := readText[semiring.Tropical](t, text, nil)
		if in, _, w, err := fst.ToLabels(fst.Fst[semiring.Tropical](f)); !errors.Is(err, fst.ErrString) || in != nil || w == 0 {
			t.Errorf("%q: %v, %v, %v", text, in, w, err)
		}
	}
}

func TestSymbolLists(t *testing.T) {
	syms := fst.SymbolsOf("<eps>", "New York", "a", "", "<unk>")
	for _, c := range []struct {
		in     []string
		opts   *fst.StringOptions
		labels []fst.Label
		out    []string // nil: the input
		err    string
	}{
		{nil, &fst.StringOptions{Symbols: syms}, nil, []string{}, ""},
		{[]string{"New York", "a", "", "a"}, &fst.StringOptions{Symbols: syms}, []fst.Label{1, 2, 3, 2}, nil, ""},
		{[]string{"a", "New\nYork"}, &fst.StringOptions{Symbols: syms, Unknown: "<unk>"}, []fst.Label{2, 4}, []string{"a", "<unk>"}, ""},
		{[]string{"a", "b"}, &fst.StringOptions{Symbols: syms}, nil, nil, `symbol 2 of the list: "b"`},
		{[]string{"a"}, &fst.StringOptions{Symbols: syms, Unknown: "nix"}, nil, nil, `"nix"`},
		{[]string{"3", "17"}, nil, []fst.Label{3, 17}, nil, ""},
		{[]string{"3 4"}, nil, nil, nil, "symbol 1 of the list"},
		{[]string{"<eps>", "a"}, &fst.StringOptions{Symbols: syms}, []fst.Label{0, 2}, []string{"a"}, ""},
		{[]string{"<eps>", "a"}, &fst.StringOptions{Symbols: syms, KeepEpsilon: true}, []fst.Label{0, 2}, nil, ""},
		{[]string{"é", " "}, &fst.StringOptions{Tokens: fst.TokenUTF8}, []fst.Label{0xe9, ' '}, nil, ""},
		{[]string{"é", "ab"}, &fst.StringOptions{Tokens: fst.TokenUTF8}, nil, nil, "symbol 2 of the list"},
		{[]string{"é", ""}, &fst.StringOptions{Tokens: fst.TokenUTF8}, nil, nil, "character"},
		{[]string{"\xff", "a"}, &fst.StringOptions{Tokens: fst.TokenByte}, []fst.Label{0xff, 'a'}, nil, ""},
		{[]string{"é"}, &fst.StringOptions{Tokens: fst.TokenByte}, nil, nil, "byte"},
	} {
		f, err := fst.FromSymbols[semiring.Tropical](c.in, c.opts)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: error %v, want %q", c.in, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		labels, _, _, err := fst.ToLabels[semiring.Tropical](f)
		if err != nil || !slices.Equal(labels, c.labels) {
			t.Errorf("%q: labels %v, %v, want %v", c.in, labels, err, c.labels)
		}
		want := c.out
		if want == nil {
			want = c.in
		}
		if got, err := fst.ToSymbols[semiring.Tropical](f, c.opts); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: back %q, %v", c.in, got, err)
		}
	}
	f := fst.FromLabels[semiring.Tropical]([]fst.Label{2, 300})
	for _, o := range []*fst.StringOptions{{Symbols: syms}, {Tokens: fst.TokenByte}} {
		if s, err := fst.ToSymbols[semiring.Tropical](f, o); err == nil || !strings.Contains(err.Error(), "label 2 of the list, 300, is not") {
			t.Errorf("%q, %v for a label that nothing stands for", s, err)
		}
	}
}

func ExampleFromSymbols() {
	// Symbols with blanks in them.
	towns := fst.SymbolsOf("<eps>", "New York", "Rio de Janeiro")
	f, err := fst.FromSymbols[semiring.Tropical]([]string{"Rio de Janeiro", "New York"}, &fst.StringOptions{Symbols: towns})
	if err != nil {
		panic(err)
	}
	list, _ := fst.ToSymbols[semiring.Tropical](f, nil) // by the machine's own table
	fmt.Printf("%q\n", list)
	// Output: ["Rio de Janeiro" "New York"]
}

func ExampleFromString() {
	// Numbers, or the symbols of a table, between spaces.
	words := fst.SymbolsOf("<eps>", "to", "be", "or", "not")
	f, err := fst.FromString[semiring.Tropical]("to be or not to be", &fst.StringOptions{Symbols: words})
	if err != nil {
		panic(err)
	}
	s, _ := fst.ToString[semiring.Tropical](f, nil) // by the machine's own table
	fmt.Println(f.NumStates(), "states:", s)

	// The characters of a string.
	g, _ := fst.FromString[semiring.Tropical]("größer", &fst.StringOptions{Tokens: fst.TokenUTF8})
	in, _, _, _ := fst.ToLabels[semiring.Tropical](g)
	fmt.Println(in)
	// Output:
	// 7 states: to be or not to be
	// [103 114 246 223 101 114]
}

func ExampleToString() {
	// The output of the one path of a transducer.
	f := fst.FromLabels[semiring.Tropical]([]fst.Label{'c', 'a', 't'})
	f.MutableArcs(0)[0].OLabel = 'h'
	s, err := fst.ToString[semiring.Tropical](f, &fst.StringOptions{Tokens: fst.TokenByte})
	fmt.Println(s, err)
	// Output: hat <nil>
}

// A symbol that the table lacks is told as a value: which, where in what was given, and of which table, whatever dst had before.
func TestUnknownSymbols(t *testing.T) {
	syms := fst.NewSymbolTable("words")
	for _, s := range []string{"ε", "to", "be"} {
		syms.Add(s)
	}
	opts := &fst.StringOptions{Symbols: syms}
	for name, try := range map[string]func() error{
		"FromString":  func() error { _, err := fst.FromString[semiring.Log]("to  be\tor not", opts); return err },
		"FromSymbols": func() error { _, err := fst.FromSymbols[semiring.Log]([]string{"to", "be", "or"}, opts); return err },
		"AppendLabels": func() error {
			got, err := fst.AppendLabels([]fst.Label{7}, "to be or", opts)
			if !slices.Equal(got, []fst.Label{7, 1, 2}) {
				t.Errorf("%v before the error", got)
			}
			return err
		},
		"AppendSymbols": func() error {
			_, err := fst.AppendSymbols([]fst.Label{7}, []string{"be", "to", "or"}, opts)
			return err
		},
	} {
		var unknown *fst.UnknownSymbolError
		err := try()
		if !errors.As(err, &unknown) || unknown.Symbol != "or" || unknown.Position != 3 || unknown.Table != "words" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		of := ""
		if strings.HasSuffix(name, "Symbols") {
			of = " of the list"
		}
		if want := "fst: symbol 3" + of + `: "or" is not in the symbol table "words"`; err.Error() != want {
			t.Errorf("%s: %q, want %q", name, err, want)
		}
	}
	if _, err := fst.FromString[semiring.Log]("to or", &fst.StringOptions{Symbols: syms, Unknown: "be"}); err != nil {
		t.Error(err)
	}
}
