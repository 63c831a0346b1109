package plot

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// document collects the XML.
type document struct{ b []byte }

func (d *document) bytes() []byte { return d.b }

func (d *document) printf(format string, args ...any) {
	d.b = fmt.Appendf(d.b, format, args...)
}

// coordinate writes a pixel with at most two digits after the point.
func (d *document) coordinate(x float64) {
	x = math.Round(x*100)/100 + 0 // +0: no negative zero
	d.b = strconv.AppendFloat(d.b, x, 'f', -1, 64)
}

func px(x float64) string {
	var d document
	d.coordinate(x)
	return string(d.b)
}

// escape makes text fit for XML. It escapes markup, and replaces what XML does not allow (control
// characters, bytes that are not UTF-8) by the replacement character.
func escape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&quot;")
		case r == '\t' || r == '\n' || r == '\r':
			b.WriteByte(' ')
		case r < 0x20 || r == utf8.RuneError || r == 0xfffe || r == 0xffff || r >= 0x7f && r < 0xa0:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// textWidth estimates the width of text in a sans-serif font.
func textWidth(s string, size float64) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case strings.ContainsRune("iljtfI.,:;|!'()[] \u2009", r):
			w += 0.32
		case strings.ContainsRune("mwMW@%", r):
			w += 0.88
		case r >= 'A' && r <= 'Z':
			w += 0.68
		case r >= 0x2e80: // wide scripts
			w += 1
		default:
			w += 0.58
		}
	}
	return w * size
}

// fit shortens text to a width.
func fit(s string, size, width float64) string {
	if textWidth(s, size) <= width {
		return s
	}
	r := []rune(s)
	if len(r) > 400 {
		r = r[:400]
	}
	for len(r) > 1 && textWidth(string(r)+"…", size) > width {
		r = r[:len(r)-1]
	}
	return string(r) + "…"
}

// text writes a label; anchor is start, middle or end.
func (d *document) text(class, anchor string, x, y float64, s string) {
	if s == "" {
		return
	}
	d.printf(`<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`+"\n", class, anchor, px(x),
		px(y), escape(s))
}

func (d *document) line(class string, x1, y1, x2, y2 float64) {
	d.printf(`<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n", class, px(x1), px(y1), px(x2), px(y2))
}

// The colours of series, on light and on dark ground.
var (
	lightColours = []string{"#0072b2", "#d55e00", "#008f68", "#b4568f", "#b87e00", "#2f8fd0",
		"#6b6b6b", "#8a5a2b"}
	darkColours = []string{"#56b4e9", "#f5894a", "#2fc79b", "#e59ac6", "#f0b83c", "#8fd0ff",
		"#b8b8b8", "#d0a374"}
)

// style is the sheet: ordinary rules for light pages, and for dark ones where the
// viewer knows of them. Programs that know no @media show the light one. All rules
// are of this picture only, also where it is part of a page.
func style() string {
	var b strings.Builder
	rule := func(selector, body string) { fmt.Fprintf(&b, ".chart %s{%s}", selector, body) }
	colours := func(list []string) {
		for i, c := range list {
			rule(fmt.Sprintf(".s%d", i), "stroke:"+c)
			rule(fmt.Sprintf(".f%d", i), "fill:"+c)
		}
		b.WriteByte('\n')
	}
	for _, r := range [][2]string{
		{"text", "font:12px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#444"},
		{".title", "font-size:16px;font-weight:600;fill:#111"}, {".name", "font-weight:500"},
		{".ground", "fill:#fff"}, {".grid", "stroke:#e4e4e4"}, {".axis", "stroke:#888"},
		{".rule", "stroke:#555;stroke-dasharray:4 3"},
		{".halo", "paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round"},
		{".l", "fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round"},
		{".band", "opacity:.18"}, {".bar", "opacity:.85"}, {".over", "opacity:.5"}, {".p", "opacity:.75"},
		{".w", "stroke-width:1.3"}, {".h", "fill:none;stroke-width:1.6"}, {".hatch", "stroke:#fff;fill:none"},
	} {
		rule(r[0], r[1])
	}
	b.WriteByte('\n')
	colours(lightColours)
	b.WriteString("@media (prefers-color-scheme:dark){")
	for _, r := range [][2]string{
		{"text", "fill:#c4c4c4"}, {".title", "fill:#f2f2f2"}, {".ground", "fill:#17181b"},
		{".grid", "stroke:#303237"}, {".axis", "stroke:#83868c"},
		{".rule", "stroke:#a5a8ae"}, {".halo", "stroke:#17181b"}, {".hatch", "stroke:#17181b"},
	} {
		rule(r[0], r[1])
	}
	b.WriteByte('\n')
	colours(darkColours)
	b.WriteString("}\n")
	return b.String()
}
