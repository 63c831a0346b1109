package semiring

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"strings"
	"testing"
)

// What OpenFst computed, printed and wrote; testdata/openfst-weights.cc says how.
//
//go:embed testdata/openfst-weights.tsv
var openfstWeights string

// column numbers of that file
const (
	colA = iota + 3
	colB
	colSum
	colProduct
	colLeft
	colRight
	colQuantized
	colReversed
	colDivisor
	columns
)

// TestOpenFst holds every weight that OpenFst has against it: arc type, text,
// bytes, and the results of all operations.
func TestOpenFst(t *testing.T) {
	rows := make(map[string][][]string)
	for line := range strings.Lines(openfstWeights) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(row) != columns {
			t.Fatalf("%d columns in %q", len(row), line)
		}
		rows[row[0]] = append(rows[row[0]], row)
	}
	againstOpenFst[Tropical, Tropical](t, rows, 0)
	againstOpenFst[Tropical64, Tropical64](t, rows, 0)
	againstOpenFst[Log, Log](t, rows, 1e-6) // OpenFst takes the difference in float32; and log1p is another
	againstOpenFst[Log64, Log64](t, rows, 1e-15)
	againstOpenFst[Probability, Probability](t, rows, 0)
	againstOpenFst[MinMax, MinMax](t, rows, 0)
	againstOpenFst[StringLeft, StringRight](t, rows, 0)
	againstOpenFst[StringRight, StringLeft](t, rows, 0)
	againstOpenFst[StringRestricted, StringRestricted](t, rows, 0)
	againstOpenFst[GallicLeft[Tropical], GallicRight[Tropical]](t, rows, 0)
	againstOpenFst[GallicRight[Tropical], GallicLeft[Tropical]](t, rows, 0)
	againstOpenFst[GallicRestricted[Tropical], GallicRestricted[Tropical]](t, rows, 0)
	againstOpenFst[GallicMin[Tropical], GallicMin[Tropical]](t, rows, 0)
	againstOpenFst[GallicUnion[Tropical], GallicUnion[Tropical]](t, rows, 0)
	againstOpenFst[Product[Tropical, MinMax], Product[Tropical, MinMax]](t, rows, 0)
	againstOpenFst[Lexicographic[Tropical, Tropical64], Lexicographic[Tropical, Tropical64]](t, rows, 0)
	againstOpenFst[Power[Tropical, [3]Tropical], Power[Tropical, [3]Tropical]](t, rows, 0)
	againstOpenFst[ExpectationOf[Tropical], ExpectationOf[Tropical]](t, rows, 0)
	for arcType := range rows {
		t.Errorf("arc type %q is not tested", arcType)
	}
}

func againstOpenFst[W interface {
	FormatCodec[W]
	Approx[W]
	Quantizable[W]
	Reversible[W, R]
}, R FormatCodec[R]](t *testing.T, rows map[string][][]string, delta float64) {
	arcType := Zero[W]().ArcType()
	if len(rows[arcType]) == 0 {
		t.Errorf("OpenFst has no arc type %q", arcType)
	}
	for _, row := range rows[arcType] {
		t.Run(arcType, func(t *testing.T) {
			parens := TextFormat{Open: '(', Close: ')'}
			read := func(col int) (w W) {
				data, err := hex.DecodeString(row[col])
				if err != nil {
					t.Fatal(err)
				}
				w, n, err := w.DecodeBinary(data)
				if err != nil || n != len(data) {
					t.Fatalf("column %d, %s: %d bytes read of %d, %v", col, row[col], n, len(data), err)
				}
				if again := w.AppendBinary(nil); !bytes.Equal(again, data) {
					t.Errorf("column %d: %x is written as %x", col, data, again)
				}
				return w
			}
			check := func(col int, got W) {
				t.Helper()
				if row[col] == "-" {
					return
				}
				if want := read(col); !got.Equal(want) && !(delta > 0 && got.Near(want, delta)) {
					t.Errorf("%s and %s, column %d: got %s, want %s", row[1], row[2], col,
						got.AppendTextFormat(nil, parens), want.AppendTextFormat(nil, parens))
				}
			}
			a, b := read(colA), read(colB)
			for i, w := range []W{a, b} {
				if text := string(w.AppendTextFormat(nil, parens)); text != row[1+i] {
					t.Errorf("printed as %q, want %q", text, row[1+i])
				}
				if parsed, err := w.ParseTextFormat(row[1+i], parens); err != nil || !parsed.Near(w, 1e-8) {
					t.Errorf("%q is read as %s, %v", row[1+i], parsed.AppendText(nil), err)
				}
			}
			check(colSum, a.Plus(b))
			if sum := a.Plus(b); sum.Member() != (row[colSum] != "-") {
				t.Errorf("%s plus %s: member is %v", row[1], row[2], sum.Member())
			}
			check(colProduct, a.Times(b))
			if w, ok := any(a).(Divisible[W]); ok && row[colLeft] != "-" {
				check(colLeft, w.DivideLeft(a.Times(b)))
			}
			if w, ok := any(a).(RightDivisible[W]); ok && row[colRight] != "-" {
				check(colRight, w.DivideRight(b.Times(a)))
			}
			if !strings.Contains(arcType, "_LT_") { // where OpenFst ignores what it is told, and takes 1/1024
				check(colQuantized, a.Quantize(0.25))
			}
			if got := hex.EncodeToString(a.Reverse().AppendBinary(nil)); got != row[colReversed] {
				t.Errorf("%s: the reverse is %s, want %s", row[1], got, row[colReversed])
			}
			if w, ok := any(a).(CommonDivisor[W]); ok {
				check(colDivisor, w.CommonDivisor(b))
			} else if row[colDivisor] != "-" {
				t.Errorf("no common divisor")
			}
		})
	}
	delete(rows, arcType)
}
