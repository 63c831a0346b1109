package dataset

import (
	"bytes"
	"io"
	"math"
	"strconv"
)

// Attribute is a property of a position with a value.
type Attribute struct {
	Name  string
	Value float64
}

// Attributed is a sequence whose positions have a label and attributes.
type Attributed struct {
	Line       int // of the first position in the input, from 1
	Labels     []string
	Attributes [][]Attribute
}

// ReadAttributes reads CRFsuite's format: a position a line, its label, then its attributes, each
// after a tab, and an empty line after each sequence. An attribute is name or name:value, a missing
// value being 1. In labels and names \: stands for a colon and \\ for a backslash; any other
// backslash is itself. Names such as __BOS__ and __EOS__ have no meaning of their own. What follows
// a colon in the first field is not read, as CRFsuite does not. Weights of sequences (@weight) are
// an error, and so is a value that is no finite number. name is that of the input in errors.
func ReadAttributes(r io.Reader, name string) ([]Attributed, error) {
	l := newLines(r, name, 0)
	var out []Attributed
	var cur Attributed
	pool := map[string]string{} // names recur: one copy of each
	var buf []byte
	text := func(field []byte) string {
		buf = appendUnescaped(buf[:0], field)
		s, ok := pool[string(buf)]
		if !ok {
			s = string(buf)
			pool[s] = s
		}
		return s
	}
	room := []Attribute(nil) // rows are cut from it
	for {
		b, err := l.next()
		if err == io.EOF {
			if len(cur.Labels) > 0 {
				out = append(out, cur)
			}
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.Trim(b, " \t")) == 0 {
			if len(cur.Labels) > 0 {
				out = append(out, cur)
				cur = Attributed{}
			}
			continue
		}
		if len(cur.Labels) == 0 {
			cur.Line = l.line
		}
		count := bytes.Count(b, []byte("\t")) + 1
		if cap(room)-len(room) < count {
			room = make([]Attribute, 0, max(4096, count))
		}
		begin, label := len(room), false
		for at := 0; at <= len(b); {
			end := len(b)
			if i := bytes.IndexByte(b[at:], '\t'); i >= 0 {
				end = at + i
			}
			field := b[at:end]
			if len(field) == 0 { // tabs may be many
				at = end + 1
				continue
			}
			colon := unescapedColon(field)
			if !label {
				label = true
				if field[0] == '@' {
					return nil, l.failAt(b, at, "the declaration %q: weights of sequences are not supported; "+
						"repeat a sequence to have it count more", field)
				}
				if colon >= 0 {
					field = field[:colon]
				}
				if len(bytes.Trim(field, " ")) == 0 {
					return nil, l.failAt(b, at, `the label is empty; a colon in a label is written \:`)
				}
				cur.Labels = append(cur.Labels, text(field))
				at = end + 1
				continue
			}
			a := Attribute{Value: 1}
			if colon == 0 {
				return nil, l.failAt(b, at, `the attribute has no name before the colon; a colon in a name is written \:`)
			}
			if colon > 0 {
				value := field[colon+1:]
				field = field[:colon]
				if len(value) > 0 {
					a.Value, err = strconv.ParseFloat(string(value), 64)
					if err != nil || math.IsInf(a.Value, 0) || math.IsNaN(a.Value) {
						return nil, l.failAt(b, at+colon+1, "the value %q of attribute %q is no finite number; "+
							`a colon in a name is written \:`, value, field)
					}
				}
			}
			a.Name = text(field)
			room = append(room, a)
			at = end + 1
		}
		cur.Attributes = append(cur.Attributes, room[begin:len(room):len(room)])
	}
}

// unescapedColon returns the place of the first colon that no backslash stands before, -1 without.
func unescapedColon(field []byte) int {
	for i := 0; i < len(field); i++ {
		switch {
		case field[i] == ':':
			return i
		case field[i] == '\\' && i+1 < len(field) && (field[i+1] == ':' || field[i+1] == '\\'):
			i++
		}
	}
	return -1
}

// appendUnescaped appends a field with its escapes replaced.
func appendUnescaped(dst, field []byte) []byte {
	for i := 0; i < len(field); i++ {
		if field[i] == '\\' && i+1 < len(field) && (field[i+1] == ':' || field[i+1] == '\\') {
			i++
		}
		dst = append(dst, field[i])
	}
	return dst
}

// AppendEscaped appends a label or the name of an attribute as ReadAttributes reads it.
func AppendEscaped(dst []byte, s string) []byte {
	for i := range len(s) {
		if s[i] == ':' || s[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return dst
}
