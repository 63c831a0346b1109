package fst_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// wellFormed fails unless f is what readers promise: next states in range, no
// known property false.
func wellFormed[W semiring.Codec[W]](t *testing.T, f fst.Expanded[W]) {
	t.Helper()
	n := f.NumStates()
	if s := f.Start(); s < fst.NoState || int(s) >= n {
		t.Fatalf("start %d of %d", s, n)
	}
	for q := range fst.StateID(n) {
		for _, e := range f.Arcs(q) {
			if e.NextState < 0 || int(e.NextState) >= n {
				t.Fatalf("state %d of %d", e.NextState, n)
			}
			if !e.Weight.Equal(e.Weight) {
				t.Fatalf("state %d: weight %v", q, e.Weight)
			}
		}
	}
	truth, _ := fst.Compute[W](f, fst.AllProperties)
	if p := f.(fst.Propertied).KnownProperties(); p&^truth&^(fst.Error|fst.Mutable) != 0 {
		t.Fatalf("claims %x, true %x", p, truth)
	}
}

func FuzzReadText(f *testing.F) {
	for _, c := range textCases {
		f.Add(c.in, c.acceptor, c.keep, false)
	}
	f.Add("0 1 -3 4 1,2\n1 1_2,0.5\n", false, false, true)
	f.Add("0 1 1 1 0x1p-3\r\n\r\n0 +1.e+22\r\n", true, true, true)
	f.Add("0 5000000 1 1\n", false, true, false)
	f.Fuzz(func(t *testing.T, in string, acceptor, keep, negative bool) {
		fuzzText[semiring.Tropical](t, in, acceptor, keep, negative)
		fuzzText[semiring.Log64](t, in, acceptor, keep, negative)
		fuzzText[semiring.GallicLeft[semiring.Tropical]](t, in, acceptor, keep, negative)
	})
}

func fuzzText[W semiring.Codec[W]](t *testing.T, in string, acceptor, keep, negative bool) {
	v, err := fst.ReadText[W](strings.NewReader(in), &fst.ReadTextOptions{Acceptor: acceptor, KeepStateNumbering: keep, NegativeLabels: negative, MaxStates: 1 << 20})
	if err != nil || v.NumStates() > 10_000 {
		return
	}
	wellFormed[W](t, v)
	text := textOf(t, v, &fst.WriteTextOptions{Acceptor: acceptor, Format: semiring.TextFormat{Digits: 17}})
	again, err := fst.ReadText[W](strings.NewReader(text), &fst.ReadTextOptions{Acceptor: acceptor, KeepStateNumbering: true, NegativeLabels: negative})
	if err != nil {
		t.Fatalf("%q prints as %q: %v", in, text, err)
	}
	same(t, again, fst.Expanded[W](v))
}

func FuzzReadBinary(f *testing.F) {
	f.Add(fsttest.Must(hex.DecodeString(worked)))
	rng := rand.New(rand.NewPCG(1, 71))
	for range 4 {
		v, w := randomMachine(rng, tropical), randomMachine(rng, log64)
		for _, o := range fileTypes {
			f.Add(bytesOf[semiring.Tropical](f, v, &o))
			f.Add(bytesOf[semiring.Log64](f, w, &o))
		}
	}
	for _, fstType := range typesHere() {
		o := fst.WriteOptions{Type: fstType, Align: rng.IntN(2) == 0, Special: specialFor(fstType)}
		f.Add(bytesOf(f, machineFor(rng, fstType, tropical), &o))
		f.Add(bytesOf(f, machineFor(rng, fstType, log64), &o))
		f.Add(bytesOf(f, machineFor(rng, fstType, boolean), &o))
	}
	s := readText[semiring.StringLeft](f, "0 1 1 1 1_2\n1 Epsilon\n", nil)
	f.Add(bytesOf[semiring.StringLeft](f, s, nil))
	f.Fuzz(func(t *testing.T, in []byte) {
		fuzzBinary[semiring.Tropical](t, in)
		fuzzBinary[semiring.Log64](t, in)
		fuzzBinary[semiring.Boolean](t, in)
		fuzzBinary[semiring.StringLeft](t, in)
	})
}

func fuzzBinary[W semiring.Codec[W]](t *testing.T, in []byte) {
	s := fst.NewStream(bytes.NewReader(in), nil)
	h, err := s.ReadHeader()
	if err != nil || h.ArcType != (*new(W)).ArcType() {
		return
	}
	g, err := fst.ReadBody[W](s, h)
	if err != nil {
		return
	}
	wellFormed(t, g)
	for _, o := range []fst.WriteOptions{{}, {Type: "vector"}, {Type: h.FstType}} {
		if o.Type == "ngram" || o.Type != "" && (*new(W)).ArcType() == "left_standard_string" {
			continue // numbers the states anew, and is of no use for weights of any size
		}
		var c bytes.Buffer
		if err := fst.Write(&c, g, &o); errors.Is(err, fst.ErrCompact) {
			continue // labels of -1
		}
		b := bytesOf(t, g, &o)
		again, err := fst.Read[W](bytes.NewReader(b), nil)
		if err != nil {
			t.Fatal(err)
		}
		same(t, again, g)
	}
}

func FuzzReadSymbols(f *testing.F) {
	f.Add([]byte("e 0\na 1\nb 2\n"), true)
	f.Add([]byte("a 1\r\na 3\n\n b   2  \n99 2000000000\nneg -5\ne 0"), true)
	f.Add([]byte("x 1\ny 1\nz 1\n"), true)
	f.Add(fst.SymbolsOf("ε", "a", "b").AppendBinary(nil), false)
	sparse := fst.NewSymbolTable("sparse")
	for i, s := range []string{"", "q", "\n", "zz"} {
		sparse.AddLabel(s, fst.Label(1000*i*i-7))
	}
	f.Add(sparse.AppendBinary(nil), false)
	f.Fuzz(func(t *testing.T, in []byte, text bool) {
		var s *fst.SymbolTable
		var err error
		if text {
			s, err = fst.ReadSymbols(bytes.NewReader(in), &fst.SymbolTextOptions{Negative: true})
		} else {
			s, err = fst.ReadSymbolsBinary(bytes.NewReader(in), nil)
		}
		if err != nil {
			return
		}
		b := s.AppendBinary(nil)
		again, err := fst.ReadSymbolsBinary(bytes.NewReader(b), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !fst.Compatible(s, again) || !bytes.Equal(again.AppendBinary(nil), b) || again.AvailableKey() != s.AvailableKey() {
			t.Fatalf("%x reads back as %x", b, again.AppendBinary(nil))
		}
		if s.CheckText("") != nil {
			return
		}
		var out bytes.Buffer
		if err := s.WriteText(&out, nil); err != nil {
			t.Fatal(err)
		}
		again, err = fst.ReadSymbols(bytes.NewReader(out.Bytes()), &fst.SymbolTextOptions{Negative: true})
		if err != nil {
			t.Fatalf("%q: %v", out.Bytes(), err)
		}
		if again.Len() != s.Len() || !fst.Compatible(s, again) {
			t.Fatalf("%q reads back as another table", out.Bytes())
		}
	})
}
