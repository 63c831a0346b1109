package fst_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// machineFor draws a machine that a type of file can hold.
func machineFor[W semiring.Codec[W]](rng *rand.Rand, fstType string, weight func(*rand.Rand) W) *fst.Vector[W] {
	o := fsttest.Options{Epsilon: 0.2, Cyclic: rng.IntN(2) == 0, EpsilonCycles: true, Start: true}
	one := func(*rand.Rand) W { return semiring.One[W]() }
	_, kind, _ := strings.Cut(fstType, "_")
	if strings.HasPrefix(fstType, "compact") {
		switch kind {
		case "string", "weighted_string":
			n := rng.IntN(6)
			v := fst.NewVector[W](n)
			if n == 0 {
				return v
			}
			if kind == "string" {
				weight = one
			}
			some := weight
			weight = func(rng *rand.Rand) W {
				for {
					if w := some(rng); !semiring.IsZero(w) {
						return w
					}
				}
			}
			v.AddStates(n)
			v.SetStart(0)
			for q := range fst.StateID(n - 1) {
				l := fst.Label(1 + rng.IntN(5))
				v.AddArc(q, fst.Arc[W]{ILabel: l, OLabel: l, Weight: weight(rng), NextState: q + 1})
			}
			v.SetFinal(fst.StateID(n-1), weight(rng))
			return v
		case "acceptor":
			o.Acceptor = true
		case "unweighted_acceptor":
			o.Acceptor = true
			weight = one
		case "unweighted":
			weight = one
		}
	}
	if fstType == "ngram" {
		return backoffModel(rng, weight)
	}
	return fsttest.Random(rng, rng.IntN(8), weight, o)
}

// backoffModel draws a language model over the words 1 to 3, with states in any order.
func backoffModel[W semiring.Codec[W]](rng *rand.Rand, weight func(*rand.Rand) W) *fst.Vector[W] {
	contexts := map[string]bool{"": true, "0": true} // words from the oldest to the newest; 0 is the begin of the string
	futures := map[string]map[byte]bool{"": {'1': true, '2': true, '3': true}}
	var read func(c string, w byte)
	read = func(c string, w byte) {
		if futures[c] == nil {
			futures[c] = map[byte]bool{}
		}
		futures[c][w] = true
		if c != "" {
			read(c[1:], w) // the shorter context reads what the longer one does
		}
	}
	for range rng.IntN(40) {
		all := slices.Sorted(maps.Keys(contexts))
		c, w := all[rng.IntN(len(all))], byte('1'+rng.IntN(3))
		read(c, w)
		if longer := c + string(w); contexts[longer[1:]] {
			contexts[longer] = true
		}
	}
	all := slices.Sorted(maps.Keys(contexts))
	rng.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	v := fst.NewVector[W](len(all))
	v.AddStates(len(all))
	for i, c := range all {
		q := fst.StateID(i)
		if c == "0" {
			v.SetStart(q)
		}
		if c != "" {
			v.AddArc(q, fst.Arc[W]{Weight: weight(rng), NextState: fst.StateID(slices.Index(all, c[1:]))})
		}
		for _, w := range slices.Sorted(maps.Keys(futures[c])) {
			next := c + string(w)
			for !contexts[next] {
				next = next[1:]
			}
			l := fst.Label(w - '0')
			v.AddArc(q, fst.Arc[W]{ILabel: l, OLabel: l, Weight: weight(rng), NextState: fst.StateID(slices.Index(all, next))})
		}
		if rng.IntN(3) == 0 {
			v.SetFinal(q, weight(rng))
		}
	}
	return v
}

// typesHere are the types that Write makes of any machine of their form.
func typesHere() []string {
	return slices.DeleteFunc(fst.FileTypes(), func(s string) bool { return s == "ilabel_lookahead" || s == "olabel_lookahead" })
}

// Every type reads back what was written, aligned or not, and no file that is cut
// anywhere is read or does harm.
func TestFileTypes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(1, 81))
	for _, fstType := range typesHere() {
		for i := range 8 {
			fileType(t, rng, fstType, i%2 == 0, machineFor(rng, fstType, tropical))
			fileType(t, rng, fstType, i%2 == 0, machineFor(rng, fstType, log64))
			fileType(t, rng, fstType, i%2 == 0, machineFor(rng, fstType, boolean))
		}
	}
}

// specialFor is the special label of a file: of rho and sigma, which have no default.
func specialFor(fstType string) *fst.SpecialLabel {
	if strings.HasSuffix(fstType, "rho") || strings.HasSuffix(fstType, "sigma") {
		return &fst.SpecialLabel{Label: 2}
	}
	return nil
}

func fileType[W semiring.Codec[W]](t *testing.T, rng *rand.Rand, fstType string, align bool, v *fst.Vector[W]) {
	t.Helper()
	if rng.IntN(2) == 0 {
		v.SetInputSymbols(fst.SymbolsOf("ε", "a", "b"))
	}
	b := bytesOf(t, v, &fst.WriteOptions{Type: fstType, Align: align, Special: specialFor(fstType)})
	f, err := fst.Read[W](bytes.NewReader(b), nil)
	if err != nil {
		t.Fatalf("%s: %v\n%x", fstType, err, b)
	}
	wellFormed(t, f)
	if fstType == "ngram" { // in another order
		v2 := bytesOf(t, f, &fst.WriteOptions{Type: "ngram", Align: align})
		if !bytes.Equal(b, v2) {
			t.Fatalf("ngram: written again\n%x, first\n%x", v2, b)
		}
		if diff := cmp.Diff(fsttest.Relation(v, 3), fsttest.Relation(f, 3), fsttest.Exactly[W]()); diff != "" {
			t.Fatal(diff)
		}
	} else {
		same(t, f, fst.Expanded[W](v))
	}
	if (fst.InputSymbols(f) == nil) != (v.InputSymbols() == nil) {
		t.Fatalf("%s: symbols %v of %v", fstType, fst.InputSymbols(f), v.InputSymbols())
	}
	// Another machine may follow in the same stream.
	s := fst.NewStream(bytes.NewReader(append(bytes.Clone(b), bytesOf(t, v, &fst.WriteOptions{Type: "vector"})...)), nil)
	for range 2 {
		h, err := s.ReadHeader()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fst.ReadBody[W](s, h); err != nil {
			t.Fatal(err)
		}
	}
	var be *fst.BinaryError
	for k := range b {
		if g, err := fst.Read[W](bytes.NewReader(b[:k]), nil); err == nil || !errors.As(err, &be) {
			t.Fatalf("%s: %d of %d bytes: %v, %v", fstType, k, len(b), g, err)
		}
		c := bytes.Clone(b)
		c[k] ^= byte(1 + rng.IntN(255))
		if g, err := fst.Read[W](bytes.NewReader(c), nil); err == nil {
			wellFormed(t, g)
		}
	}
}

func TestFileTypeRefused(t *testing.T) {
	two := readText[semiring.Tropical](t, "0 1 1 2 3\n1 2\n", nil)
	for _, fstType := range []string{"compact_string", "compact8_acceptor", "compact_unweighted", "compact16_weighted_string", "compact64_unweighted_acceptor", "ngram"} {
		if err := fst.Write(&bytes.Buffer{}, two, &fst.WriteOptions{Type: fstType}); !errors.Is(err, fst.ErrCompact) {
			t.Errorf("%s: %v", fstType, err)
		}
	}
	many := fst.NewVector[semiring.Tropical](1)
	many.AddState()
	many.SetStart(0)
	many.SetFinal(0, 0)
	for range 256 {
		many.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1})
	}
	for _, fstType := range []string{"const8", "compact8_acceptor"} {
		if err := fst.Write(&bytes.Buffer{}, many, &fst.WriteOptions{Type: fstType}); err == nil {
			t.Errorf("%s holds 256 arcs", fstType)
		}
	}
	if err := fst.Write(&bytes.Buffer{}, two, &fst.WriteOptions{Type: "olabel_lookahead"}); err == nil || !strings.Contains(err.Error(), "LabelLookAhead") {
		t.Error(err)
	}
	if err := fst.Write(&bytes.Buffer{}, two, &fst.WriteOptions{Type: "linear-tagger"}); err == nil {
		t.Error("an unknown type")
	}
	// Machines in machines in machines.
	head := bytesOf(t, two, &fst.WriteOptions{Type: "edit"})[:64]
	if _, err := fst.Read[semiring.Tropical](bytes.NewReader(bytes.Repeat(head, 1000)), nil); err == nil || !strings.Contains(err.Error(), "deep") {
		t.Error(err)
	}
}

func TestSpecialLabel(t *testing.T) {
	v := workedMachine()
	for _, fstType := range []string{"rho", "input_sigma"} {
		if err := fst.Write(&bytes.Buffer{}, v, &fst.WriteOptions{Type: fstType}); err == nil || !strings.Contains(err.Error(), "cannot be ε") {
			t.Errorf("%s of ε: error %v", fstType, err)
		}
	}
	for _, fstType := range fst.AddOnTypes() {
		if strings.HasSuffix(fstType, "lookahead") {
			continue
		}
		want := fst.SpecialLabel{Label: 3, Rewrite: fst.RewriteNever}
		b := bytesOf[semiring.Tropical](t, v, &fst.WriteOptions{Type: fstType, Special: &want})
		f := fsttest.Must(fst.Read[semiring.Tropical](bytes.NewReader(b), nil)).(*fst.Const[semiring.Tropical])
		a := f.AddOn()
		if a == nil || a.Type != fstType || *a.Input.Special != want || *a.Output.Special != want {
			t.Fatalf("%s: %+v", fstType, a)
		}
		if again := bytesOf[semiring.Tropical](t, f, &fst.WriteOptions{Type: fstType}); !bytes.Equal(b, again) {
			t.Fatalf("%s: written again\n%x, first\n%x", fstType, again, b)
		}
		if c := bytesOf[semiring.Tropical](t, f, &fst.WriteOptions{Type: "const"}); bytes.Contains(c, []byte(fstType)) {
			t.Fatalf("%x", c)
		}
	}
}

// OpenFst's tools read what is written here and the other way round, to the byte but for
// padding and, of some types, the bits of properties.
func TestFileTypesAsOpenFst(t *testing.T) {
	o := fsttest.OpenFst(t)
	types := typesHere()
	if !o.PlugIns() {
		t.Log("OpenFst's libraries of further types are not installed")
		types = slices.DeleteFunc(types, func(s string) bool {
			return strings.HasSuffix(s, "8") || strings.HasSuffix(s, "6") || strings.HasSuffix(s, "4") || strings.Contains(s, "8_") ||
				strings.Contains(s, "6_") || strings.Contains(s, "4_") || s == "ngram" || s == "arc_lookahead"
		})
	}
	rng := rand.New(rand.NewPCG(1, 82))
	for _, fstType := range types {
		if slices.Contains([]string{"phi", "rho", "sigma"}, fstType[strings.IndexByte(fstType, '_')+1:]) && !o.Has(fstType) {
			continue // a library that Debian does not build
		}
		align := rng.IntN(2) == 0
		typeAsOpenFst(t, o, fstType, align, machineFor(rng, fstType, tropical))
		typeAsOpenFst(t, o, fstType, !align, machineFor(rng, fstType, tropical))
		if fstType != "ngram" { // over one weight alone
			typeAsOpenFst(t, o, fstType, align, machineFor(rng, fstType, log64))
		}
	}
}

func typeAsOpenFst[W semiring.Codec[W]](t *testing.T, o *fsttest.Tools, fstType string, align bool, v *fst.Vector[W]) {
	t.Helper()
	if v.NumStates()%2 == 0 && fstType != "edit" { // OpenFst loses the tables of edit files as it reads them
		v.SetOutputSymbols(fst.SymbolsOf("ε", "a", "b"))
	}
	in, theirs, back := fsttest.WriteFile(o, fst.Expanded[W](v), nil), o.File(), o.File()
	if special := specialFor(fstType); special != nil && special.Label != 0 {
		return // OpenFst's fstconvert has the flag where the library is linked with it
	}
	o.Do("fstconvert", "--fst_type="+fstType, fmt.Sprintf("--fst_align=%v", align), in, theirs)
	f := fsttest.ReadFile[W](o, theirs)
	if fstType != "ngram" {
		same(t, f, fst.Expanded[W](v))
	}
	ours := o.Text(string(bytesOf(t, v, &fst.WriteOptions{Type: fstType, Align: align})))
	if r := o.Run("fstequal", ours, theirs); r.Exit != 0 {
		t.Fatalf("%s: fstequal: %+v", fstType, r)
	}
	o.Do("fstconvert", ours, back)
	same(t, fsttest.ReadFile[W](o, back), f)
	if (*new(W)).ArcType() == "log64" {
		return // padding
	}
	a, b := fsttest.Must(os.ReadFile(ours)), fsttest.Must(os.ReadFile(theirs))
	at := bytes.Index(a, []byte((*new(W)).ArcType())) + len((*new(W)).ArcType()) + 8
	copy(a[at:], b[at:at+8])
	if inner := bytes.LastIndex(a, a[:4]); inner > 0 {
		at := inner + bytes.Index(a[inner:], []byte((*new(W)).ArcType())) + len((*new(W)).ArcType()) + 8
		copy(a[at:], b[at:at+8])
	}
	if !bytes.Equal(a, b) && fstType != "const64" {
		t.Fatalf("%s, align %v: wrote\n%s, OpenFst\n%s", fstType, align, hex.Dump(a), hex.Dump(b))
	}
}
