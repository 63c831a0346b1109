package semiringtest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tropica-fst/tropica/semiring"
)

// shown prints a weight in its own text, if it has one, when it comes to that:
// most laws hold, and most texts are not needed.
type shown[W any] struct{ w W }

func show[W any](w W) shown[W] { return shown[W]{w} }

func (s shown[W]) String() string {
	if c, ok := any(s.w).(interface{ AppendText([]byte) []byte }); ok {
		return string(c.AppendText(nil))
	}
	return fmt.Sprint(s.w)
}

// operandList prints the weights of a law, if it is violated.
type operandList[W any] []W

func (o operandList[W]) String() string {
	texts := make([]string, len(o))
	for i, w := range o {
		texts[i] = show(w).String()
	}
	return strings.Join(texts, " and ")
}

// rounded reports whether a text of nine digits can have made got of want.
func rounded[W any](got, want W) bool {
	w, ok := any(got).(semiring.Approx[W])
	return ok && w.Near(want, 1e-7) && show(got).String() == show(want).String()
}

// codec checks the text and binary forms: what is written reads back, to the
// bit and the byte, and what is cut short or too long does not.
func (c *checker[W]) codec(a W) {
	w, ok := any(a).(semiring.Codec[W])
	if !ok {
		return
	}
	c.check("arc type", w.ArcType() != "" && w.ArcType() == any(semiring.Zero[W]()).(semiring.Codec[W]).ArcType(),
		"the arc type of %v is %q", show(a), w.ArcType())

	text := w.AppendText([]byte("text"))
	c.check("text", bytes.HasPrefix(text, []byte("text")), "the text of %v is not appended", show(a))
	text = bytes.TrimPrefix(text, []byte("text"))
	got, err := w.ParseText(string(text))
	c.check("text", err == nil && (got.Equal(a) || rounded(got, a)), "%q is read as %v, %v", text, show(got), err)
	for _, bad := range []string{"", string(text) + "x", " " + string(text), string(text) + ",1", "BadNumber", "nan"} {
		got, err := w.ParseText(bad)
		// One field more is a weight of another kind only for sets.
		again := err == nil && strings.HasSuffix(bad, ",1") && string(any(got).(semiring.Codec[W]).AppendText(nil)) == bad
		c.check("text", err != nil || again, "%q is accepted, as %v", bad, show(got))
	}
	if f, ok := any(a).(semiring.FormatCodec[W]); ok {
		c.check("text", f.WeightType() != "", "no weight type")
		c.check("text", bytes.Equal(f.AppendTextFormat(nil, semiring.TextFormat{}), text), "AppendText(%v) is not AppendTextFormat by default", show(a))
		for _, format := range []semiring.TextFormat{{Digits: 17}, {Separator: ';', Digits: 17}, {Open: '(', Close: ')', Digits: 17}, {Open: '[', Close: ']', Separator: ' ', Digits: 17}} {
			for _, v := range []W{a, a.Times(a), a.Plus(c.pick())} {
				if !v.Member() {
					continue
				}
				text := string(any(v).(semiring.FormatCodec[W]).AppendTextFormat(nil, format))
				got, err := f.ParseTextFormat(text, format)
				c.check("text", err == nil && got.Equal(v), "%q is read as %v, %v", text, show(got), err)
			}
		}
	}

	data := w.AppendBinary([]byte("data"))
	c.check("binary", bytes.HasPrefix(data, []byte("data")), "the bytes of %v are not appended", show(a))
	data = bytes.TrimPrefix(data, []byte("data"))
	for _, tail := range [][]byte{nil, {0}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}} {
		got, n, err := w.DecodeBinary(append(bytes.Clone(data), tail...))
		c.check("binary", err == nil && n == len(data) && got.Equal(a), "% x before % x is read as %v of %d bytes, %v", data, tail, show(got), n, err)
		if err == nil && n == len(data) {
			again := any(got).(semiring.Codec[W]).AppendBinary(nil)
			c.check("binary", bytes.Equal(again, data), "% x is written again as % x", data, again)
		}
	}
	for i := range data {
		_, n, err := w.DecodeBinary(data[:i])
		c.check("binary", n == 0 && err == nil, "% x, cut after %d bytes, is read as %d bytes, %v", data, i, n, err)
	}
	for range 8 { // whatever the bytes: no more than there are, and no panic
		noise := make([]byte, c.rng.IntN(40))
		for i := range noise {
			noise[i] = byte(c.rng.UintN(256)) >> c.rng.IntN(8)
		}
		_, n, err := w.DecodeBinary(noise)
		c.check("binary", 0 <= n && n <= len(noise) && (err == nil || n == 0), "% x: %d bytes read, %v", noise, n, err)
	}
}
