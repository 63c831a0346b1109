package semiring

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestStringLabels(t *testing.T) {
	s := NewStringLeft(5, 0, -7, math.MaxInt32, math.MinInt32)
	want := []int32{5, -7, math.MaxInt32, math.MinInt32} // 0 is ε
	if got := s.AppendLabels([]int32{9}); !slices.Equal(got, append([]int32{9}, want...)) {
		t.Errorf("labels %v, want %v", got, want)
	}
	for i, l := range want {
		if s.At(i) != l {
			t.Errorf("label %d is %d, want %d", i, s.At(i), l)
		}
	}
	if got := string(s.AppendText(nil)); got != "5_-7_2147483647_-2147483648" {
		t.Errorf("text %s", got)
	}
	if back, err := s.ParseText(string(s.AppendText(nil))); err != nil || back != s {
		t.Errorf("read back as %v, %v", back, err)
	}
	zero, one := Zero[StringLeft](), One[StringLeft]()
	if zero.Len() != 0 || one.Len() != 0 || NewStringLeft() != one || NewStringLeft(0) != one || len(zero.AppendLabels(nil)) != 0 {
		t.Errorf("0̄ and ε have labels")
	}
	for _, l := range []int32{-1, -2} {
		if s := NewStringRight(4, l); s.Member() || s.Len() != 0 || string(s.AppendText(nil)) != "BadString" {
			t.Errorf("a string with label %d is a member", l)
		}
	}
	long := NewStringLeft(slices.Repeat([]int32{3}, 1000)...)
	if long.Len() != 1000 || long.Times(NewStringLeft(4)).At(1000) != 4 {
		t.Errorf("a string of 1000 labels has %d", long.Len())
	}
}

func TestStringAtOutOfRange(t *testing.T) {
	for _, s := range []StringLeft{{}, Zero[StringLeft](), NewStringLeft(-2)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s has a label", s.AppendText(nil))
				}
			}()
			t.Log(s.At(0))
		}()
	}
}

func TestStringParseErrors(t *testing.T) {
	for _, text := range []string{"", "_", "1_", "_1", "1__2", "x", "0", "1_0", "-1", "1_-2", "2147483648", "0x1", "epsilon", "1_000_", " 1", "BadString"} {
		if s, err := StringLeft.ParseText(StringLeft{}, text); err == nil {
			t.Errorf("%q is read as %s", text, s.AppendText(nil))
		}
	}
	_, err := StringLeft{}.ParseText(strings.Repeat("x", 1<<20))
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("an error of %d bytes for a text of a megabyte", len(err.Error()))
	}
}

// TestDecodeBounded: a number of labels or elements is no reason to allocate.
func TestDecodeBounded(t *testing.T) {
	src := binary.LittleEndian.AppendUint32(nil, math.MaxInt32)
	src = append(src, make([]byte, 64)...)
	src[4] = 1
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if _, n, _ := (StringLeft{}).DecodeBinary(src); n != 0 {
				b.Fatal(n)
			}
			if _, n, _ := (GallicUnion[Tropical]{}).DecodeBinary(src); n != 0 {
				b.Fatal(n)
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 4096 {
		t.Errorf("%d bytes allocated for 68 in the file", allocated)
	}
	for _, src := range [][]byte{
		{0xff, 0xff, 0xff, 0xff},                         // -1 labels
		{1, 0, 0, 0, 0, 0, 0, 0},                         // label 0
		{2, 0, 0, 0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, // label -1 in a string
	} {
		if s, n, err := (StringRestricted{}).DecodeBinary(src); err == nil {
			t.Errorf("% x is read as %s, %d bytes", src, s.AppendText(nil), n)
		}
	}
	if b, n, err := Boolean(false).DecodeBinary([]byte{2}); err == nil {
		t.Errorf("byte 2 is read as %v, %d bytes", b, n)
	}
}

// TestConflict: what a functional transducer must not have is kept in sight.
func TestConflict(t *testing.T) {
	x, y := NewStringRestricted(1, 2), NewStringRestricted(1)
	sum := x.Plus(y)
	for _, w := range []StringRestricted{sum, sum.Times(x), x.Times(sum), sum.Plus(x), x.Plus(sum), Zero[StringRestricted]().Plus(sum), x.DivideLeft(sum), sum.Reverse()} {
		a, b, ok := w.Conflict()
		if w.Member() || !ok || a != x || b != y {
			t.Errorf("the conflict of %v and %v has become one of %v and %v", x, y, a, b)
		}
	}
	if _, _, ok := x.Conflict(); ok {
		t.Errorf("a member has a conflict")
	}
	if _, _, ok := NewStringRestricted(-2).Conflict(); ok {
		t.Errorf("a string with label -2 has a conflict")
	}
	g := GallicRestricted[Tropical]{x, 1}.Plus(GallicRestricted[Tropical]{y, 2})
	if a, b, ok := g.String.Conflict(); g.Member() || !ok || a != x || b != y || g.Weight != 1 {
		t.Errorf("sum %v", g)
	}
}

// TestGallicMinTies: OpenFst keeps the second of two with the same weight.
func TestGallicMinTies(t *testing.T) {
	a, b := GallicMin[Tropical]{NewStringRestricted(1), 3}, GallicMin[Tropical]{NewStringRestricted(2), 3}
	if got := a.Plus(b); got != b {
		t.Errorf("got %v, want the second", got)
	}
	if got := b.Plus(a); got != a {
		t.Errorf("got %v, want the second", got)
	}
	bad := GallicMin[Tropical]{NewStringRestricted(-2), 1}
	for _, got := range []GallicMin[Tropical]{a.Plus(bad), bad.Plus(a), bad.Plus(GallicMin[Tropical]{b.String, 0}), GallicMin[Tropical]{b.String, 0}.Plus(bad)} {
		if got.Member() {
			t.Errorf("a non-member is lost in %v", got)
		}
	}
}

func TestGallicUnionCanonical(t *testing.T) {
	type element = GallicRestricted[Tropical]
	el := func(w Tropical, ls ...int32) element { return element{NewStringRestricted(ls...), w} }
	inf := Zero[Tropical]()
	set := NewGallicUnion(el(1, 2, 1), el(4, 3), el(2, 3), el(5), el(inf, 8), Zero[element](), el(3, -5))
	if got := string(set.AppendText(nil)); got != "Epsilon,5,-5,3,3,2,2_1,1" {
		t.Errorf("set %s", got)
	}
	if got := NewGallicUnion(el(inf, 8)); !IsZero(got) || got.Len() != 0 {
		t.Errorf("what weighs 0̄ is in %v", got)
	}
	for _, bad := range []GallicUnion[Tropical]{NewGallicUnion(el(1, -2)), NewGallicUnion(el(1, 1), el(1, -1)), NewGallicUnion(el(Tropical(math.NaN()), 1), el(1, 2))} {
		for _, w := range []GallicUnion[Tropical]{bad, bad.Plus(set), set.Plus(bad), bad.Times(set), set.Times(bad), bad.DivideLeft(set), set.DivideLeft(bad), bad.Reverse(), bad.CommonDivisor(set)} {
			if w.Member() || string(w.AppendText(nil)) != "BadSet" {
				t.Errorf("a non-member has become %s", w.AppendText(nil))
			}
		}
		if back, _, err := bad.DecodeBinary(bad.AppendBinary(nil)); err != nil || back.Member() {
			t.Errorf("a non-member is read back as %v, %v", back, err)
		}
	}
	if q := set.DivideLeft(set); q.Member() {
		t.Errorf("a quotient by several strings: %s", q.AppendText(nil))
	}
	unsorted := binary.LittleEndian.AppendUint32(nil, 2)
	unsorted = el(1, 1).AppendBinary(el(1, 2).AppendBinary(unsorted))
	if s, _, err := set.DecodeBinary(unsorted); err == nil {
		t.Errorf("a set out of order is read as %s", s.AppendText(nil))
	}
}

// TestAllocations: the weights that arcs mostly carry live without the heap, and
// string weights use it for concatenation only.
func TestAllocations(t *testing.T) {
	key := make([]byte, 0, 256)
	p := Power[Log64, [8]Log64]{}
	a, b := NewStringLeft(1, 2, 3), NewStringLeft(1, 2, 4)
	var sumP Power[Log64, [8]Log64]
	var sumS StringLeft
	var sumU GallicUnion[Tropical]
	var sumL Lexicographic[Tropical, Tropical]
	for name, f := range map[string]func(){
		"power":         func() { sumP = sumP.Plus(p).Times(p.One()); key = sumP.AppendKey(key[:0]) },
		"lexicographic": func() { sumL = sumL.Plus(sumL.Zero()).Times(sumL.One()); key = sumL.AppendKey(key[:0]) },
		"string":        func() { sumS = a.Plus(b).CommonDivisor(a).DivideLeft(a); key = sumS.AppendKey(key[:0]) },
		"union":         func() { sumU = sumU.One().Times(sumU.Plus(sumU.One())); key = sumU.AppendKey(key[:0]) },
	} {
		if n := testing.AllocsPerRun(100, f); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Product[Tropical, Log]{}.ArcType(), "tropical_X_log"},
		{Product[Product[Log, Log64], MinMax]{}.ArcType(), "log_X_log64_X_minmax"},
		{Lexicographic[Tropical, Tropical]{}.ArcType(), "tropical_LT_tropical"},
		{Power[Tropical, [3]Tropical]{}.ArcType(), "standard_^3"},
		{Power[Tropical, [3]Tropical]{}.WeightType(), "tropical_^3"},
		{Product[Power[Tropical, [2]Tropical], Log]{}.ArcType(), "tropical_^2_X_log"},
		{Expectation{}.ArcType(), "expectation_real64_real64"},
		{ExpectationOf[Tropical]{}.ArcType(), "expectation_standard_tropical"},
		{GallicUnion[Log]{}.ArcType(), "gallic_log"},
		{CanonicalArcType("probability"), "real64"},
		{CanonicalArcType("expectation"), "expectation_real64_real64"},
		{CanonicalArcType("standard"), "standard"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}
