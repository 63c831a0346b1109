package fst

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// svgBlock is the labels of a drawn arc as columns of lines.
type svgBlock struct {
	columns       [][]svgLabel
	widths        []float64
	width, height float64
}

const (
	svgRows       = 8    // lines before a further column begins
	svgColumns    = 4    // columns before columns grow beyond svgRows
	svgLine       = 1.25 // height of a line, in letters
	svgColumnGap  = 0.8  // between columns, in letters
	svgLongest    = 40   // characters of a symbol before it is cut short
	svgWideScript = 0x2e80
)

// arrange lays the labels of an arc out in columns.
func (d *svgPicture) arrange(a *svgArc) svgBlock {
	labels := a.labels
	if a.more > 0 {
		labels = append(labels[:len(labels):len(labels)], svgLabel{symbols: "… " + strconv.Itoa(a.more) + " more"})
	}
	columns := min((len(labels)+svgRows-1)/svgRows, svgColumns)
	rows := (len(labels) + columns - 1) / columns
	b := svgBlock{height: float64(rows) * svgLine * d.size}
	for i := 0; i < len(labels); i += rows {
		column := labels[i:min(i+rows, len(labels))]
		w := 0.0
		for _, l := range column {
			w = max(w, svgTextWidth(l.symbols+l.weight, d.size))
		}
		if i > 0 {
			b.width += svgColumnGap * d.size
		}
		b.columns, b.widths = append(b.columns, column), append(b.widths, w)
		b.width += w
	}
	return b
}

// svgShorten cuts long text.
func svgShorten(s string) string {
	n := 0
	for i := range s {
		if n++; n == svgLongest {
			if utf8.RuneCountInString(s[i:]) > 1 {
				return s[:i] + "…"
			}
			break
		}
	}
	return s
}

// svgName makes a symbol fit to stand beside other text: kept to itself where it is written from
// right to left, since the order in which text is shown would otherwise exchange it with what
// follows it, an input with its output. Characters that order text by themselves become the
// replacement character: they would reach beyond their symbol.
func svgName(s string) string {
	const firstStrong, pop = "\u2068", "\u2069" // UAX #9: first strong isolate, and its end
	leftwards := false
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return utf8.RuneError
		case r == 0x200f || r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff,
			r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff: // where classes R and AL lie
			leftwards = true
		}
		return r
	}, s)
	if leftwards {
		return firstStrong + s + pop
	}
	return s
}

// svgTextWidth estimates the width of text in a sans-serif font, rather too wide: by
// the widest of the usual ones (Arial, DejaVu Sans, Segoe UI), since it is not known which
// one the viewer has.
func svgTextWidth(s string, size float64) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r) || r == '\u200d' || r >= 0x2066 && r <= 0x2069:
		case strings.ContainsRune("iljI.,:;|!'()[]/ \u2009", r):
			w += 0.38
		case strings.ContainsRune("ftr-", r):
			w += 0.42
		case strings.ContainsRune("mwMW@%—…", r):
			w += 0.98
		case r >= svgWideScript:
			w += 1.05
		case r >= 'A' && r <= 'Z' || r == '<' || r == '>' || r == '=' || r == '+' || r == '_' || r == '#' || r == '∞':
			w += 0.76
		default:
			w += 0.62
		}
	}
	return w * size
}

// appendXML appends text to stand between tags: markup is escaped, and what XML does not
// allow (control characters, bytes that are not UTF-8) becomes the replacement character.
func appendXML(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '&':
			dst = append(dst, "&amp;"...)
		case r == '<':
			dst = append(dst, "&lt;"...)
		case r == '>':
			dst = append(dst, "&gt;"...)
		case r == '"':
			dst = append(dst, "&quot;"...)
		case r == '\t' || r == '\n' || r == '\r':
			dst = append(dst, ' ')
		case r < 0x20 || r == utf8.RuneError || r == 0xfffe || r == 0xffff || r >= 0x7f && r < 0xa0:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}
