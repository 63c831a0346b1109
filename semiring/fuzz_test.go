package semiring_test

import (
	"bytes"
	"testing"

	"github.com/tropica-fst/tropica/semiring"
)

// codecs has one checker for each weight type, so that one fuzz target tries
// the same input on all.
var codecs = []struct {
	name   string
	text   func(t *testing.T, s string, f semiring.TextFormat)
	binary func(t *testing.T, src []byte)
}{
	codec[semiring.Tropical](), codec[semiring.Tropical64](), codec[semiring.Log](), codec[semiring.Log64](),
	codec[semiring.Probability](), codec[semiring.Boolean](), codec[semiring.MinMax](),
	codec[semiring.StringLeft](), codec[semiring.StringRight](), codec[semiring.StringRestricted](),
	codec[semiring.Product[tropical, log64]](), codec[semiring.Lexicographic[tropical, tropical]](),
	codec[semiring.Power[log64, [1]log64]](), codec[semiring.Power[tropical, [3]tropical]](),
	codec[semiring.Product[semiring.Product[tropical, tropical], semiring.Power[log64, [2]log64]]](),
	codec[semiring.Expectation](), codec[semiring.ExpectationOf[log64]](),
	codec[semiring.GallicLeft[tropical]](), codec[semiring.GallicRight[log]](), codec[semiring.GallicRestricted[log64]](),
	codec[semiring.GallicMin[tropical]](), codec[semiring.GallicUnion[tropical]](), codec[semiring.GallicUnion[semiring.Boolean]](),
}

func codec[W semiring.FormatCodec[W]]() struct {
	name   string
	text   func(t *testing.T, s string, f semiring.TextFormat)
	binary func(t *testing.T, src []byte)
} {
	zero := semiring.Zero[W]()
	name := zero.ArcType()
	return struct {
		name   string
		text   func(t *testing.T, s string, f semiring.TextFormat)
		binary func(t *testing.T, src []byte)
	}{name,
		// What is accepted prints, and reads back equal. Only members may have
		// text: -∞, which is read as C reads it, is the one exception there.
		func(t *testing.T, s string, f semiring.TextFormat) {
			w, err := zero.ParseTextFormat(s, f)
			if err != nil {
				return
			}
			if !w.Equal(w) {
				t.Errorf("%s: NaN read from %q", name, s)
			}
			text := w.AppendTextFormat(nil, f)
			again, err := zero.ParseTextFormat(string(text), f)
			if err != nil {
				if !w.Member() { // a set with -∞ in it prints as BadSet
					return
				}
				t.Fatalf("%s: %q prints as %q, which is refused: %v", name, s, text, err)
			}
			if w.Member() && !again.Equal(w) {
				t.Errorf("%s: %q prints as %q, which is read as %q", name, s, text, again.AppendTextFormat(nil, f))
			}
		},
		// What is accepted is written as it was, or canonically, and is never
		// longer than what there was.
		func(t *testing.T, src []byte) {
			w, n, err := zero.DecodeBinary(src)
			if n < 0 || n > len(src) || err != nil && n != 0 {
				t.Fatalf("%s: %d bytes of %d read, %v", name, n, len(src), err)
			}
			if err != nil || n == 0 || !w.Member() {
				return
			}
			data := w.AppendBinary(nil)
			again, m, err := zero.DecodeBinary(data)
			if err != nil || m != len(data) || !again.Equal(w) {
				t.Errorf("%s: % x is written as % x, and read as %s, %v", name, src[:n], data, again.AppendText(nil), err)
			}
			if len(data) == n && !bytes.Equal(data, src[:n]) {
				t.Errorf("%s: % x is written as % x", name, src[:n], data)
			}
		}}
}

func FuzzParseText(f *testing.F) {
	for _, s := range []string{
		"", "0", "-0", "1e50", "0x1.8p3", "Infinity", "-inf", "nan", "BadNumber", "1_2_3", "Epsilon", "1_2,0.5", "(1_2,0.5)",
		"((1,2),(3,4))", "1,2,3,4", "EmptySet", "((Epsilon,1),(3_4,2))", "Epsilon,1,3_4,2", "(((", "1,,2", "_", "2147483648", "-3_-4,1",
	} {
		f.Add(s, byte(0), byte(0), byte(0))
		f.Add(s, byte(','), byte('('), byte(')'))
	}
	f.Fuzz(func(t *testing.T, s string, sep, open, close byte) {
		format := semiring.TextFormat{Digits: 17}
		if bytes.IndexByte([]byte(",;:| \t"), sep) >= 0 {
			format.Separator = sep
		}
		if bytes.IndexByte([]byte("([{<"), open) >= 0 && bytes.IndexByte([]byte(")]}>"), close) >= 0 {
			format.Open, format.Close = open, close
		}
		for _, c := range codecs {
			c.text(t, s, format)
		}
	})
}

func FuzzDecodeBinary(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0xc0, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{2, 0, 0, 0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0x80})
	f.Add([]byte{0xff, 0xff, 0xff, 0x7f, 1, 0, 0, 0})
	f.Add(semiring.NewGallicUnion(
		semiring.GallicRestricted[tropical]{String: semiring.NewStringRestricted(1), Weight: 2},
		semiring.GallicRestricted[tropical]{String: semiring.NewStringRestricted(2, 1), Weight: 1}).AppendBinary(nil))
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, c := range codecs {
			c.binary(t, src)
		}
	})
}
