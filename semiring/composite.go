package semiring

import "strings"

// The text of composite weights: parts between separators, with or without
// parentheses around each composite.

func (f TextFormat) separator() byte {
	if f.Separator == 0 {
		return ','
	}
	return f.Separator
}

func (f TextFormat) open(dst []byte) []byte {
	if f.Open != 0 {
		dst = append(dst, f.Open)
	}
	return dst
}

func (f TextFormat) close(dst []byte) []byte {
	if f.Open != 0 {
		dst = append(dst, f.Close)
	}
	return dst
}

// inner takes the parentheses off a composite, if the format has them.
func (f TextFormat) inner(s string) (string, error) {
	if f.Open == 0 {
		return s, nil
	}
	if len(s) < 2 || s[0] != f.Open || s[len(s)-1] != f.Close {
		return "", errWeight(s, "want "+string(rune(f.Open))+"..."+string(rune(f.Close))+" around a composite weight")
	}
	return s[1 : len(s)-1], nil
}

// cut takes the first part off the inside of a composite: what stands before
// the first separator outside parentheses or, without parentheses, width fields.
// OpenFst's reader counts one field to every part but the last, and so cannot
// read back some of what it writes; counting the fields reads that, too.
func (f TextFormat) cut(s string, width int) (part, rest string, more bool) {
	sep, depth := f.separator(), 0
	for i := range len(s) {
		switch c := s[i]; {
		case f.Open != 0 && c == f.Open && f.Open != f.Close:
			depth++
		case f.Open != 0 && c == f.Close && f.Open != f.Close:
			depth--
		case c == sep && depth == 0:
			if f.Open == 0 {
				if width--; width > 0 {
					continue
				}
			}
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// width is the number of fields in the text of a W without parentheses. It is
// the same for all W, since sets of varying size are no Components.
func width[W FormatCodec[W]](f TextFormat) int {
	if f.Open != 0 {
		return 1 // of no use: parentheses tell
	}
	return 1 + strings.Count(string(One[W]().AppendTextFormat(nil, f)), string(rune(f.separator())))
}

// appendPair and the two after it are the text and bytes of weights of two parts.
func appendPair[A FormatCodec[A], B FormatCodec[B]](dst []byte, a A, b B, f TextFormat) []byte {
	dst = a.AppendTextFormat(f.open(dst), f)
	dst = append(dst, f.separator())
	return f.close(b.AppendTextFormat(dst, f))
}

func parsePair[A FormatCodec[A], B FormatCodec[B]](s string, f TextFormat) (a A, b B, err error) {
	in, err := f.inner(s)
	if err != nil {
		return a, b, err
	}
	first, second, more := f.cut(in, width[A](f))
	if !more {
		return a, b, errWeight(s, "want two parts with "+string(rune(f.separator()))+" between them")
	}
	if a, err = a.ParseTextFormat(first, f); err != nil {
		return a, b, err
	}
	b, err = b.ParseTextFormat(second, f)
	return a, b, err
}

func decodePair[A Codec[A], B Codec[B]](src []byte) (a A, b B, n int, err error) {
	a, na, err := a.DecodeBinary(src)
	if err != nil || na == 0 {
		return a, b, 0, err
	}
	b, nb, err := b.DecodeBinary(src[na:])
	if err != nil || nb == 0 {
		return a, b, 0, err
	}
	return a, b, na + nb, nil
}
