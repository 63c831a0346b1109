package semiring

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

// labels is what the string weights hold: a string of labels, or one of two
// marks. Four bytes a label, big-endian with the sign bit flipped, so that bytes
// compare as labels do. A Go string serves: it is immutable, compared and
// hashed as it is, and its prefixes and suffixes are not copied.
type labels string

const (
	noLabels  labels = ""                 // ε, the empty string
	infinite  labels = "\x7f\xff\xff\xff" // 0̄: label -1 alone, as in OpenFst
	badPrefix labels = "\x7f\xff\xff\xfe" // non-members begin with label -2
	labelSize        = 4
)

// newLabels leaves out 0, which is ε, and makes a non-member of what holds -1 or
// -2: those stand for 0̄ and for the non-member in files.
func newLabels(ls []int32) labels {
	var few [8 * labelSize]byte
	b := few[:0]
	for _, l := range ls {
		if l == -1 || l == -2 {
			return badPrefix
		}
		if l != 0 {
			b = binary.BigEndian.AppendUint32(b, uint32(l)^1<<31)
		}
	}
	return labels(b)
}

func (a labels) at(i int) int32 {
	b := a[i*labelSize:][:labelSize]
	return int32((uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])) ^ 1<<31)
}

// len is the number of labels, 0 for 0̄ and for non-members.
func (a labels) len() int {
	if a == infinite || !a.member() {
		return 0
	}
	return len(a) / labelSize
}

func (a labels) member() bool { return len(a) < labelSize || a[:labelSize] != badPrefix }

// appendTo appends the labels of a to dst; none of 0̄ and of non-members.
func (a labels) appendTo(dst []int32) []int32 {
	for i := range a.len() {
		dst = append(dst, a.at(i))
	}
	return dst
}

// conflict makes the non-member that remembers two strings which should have
// been the same.
func conflict(a, b labels) labels {
	n := binary.BigEndian.AppendUint32(nil, uint32(len(a)/labelSize))
	return badPrefix + labels(n) + a + b
}

// conflict takes the two strings out again.
func (a labels) conflict() (x, y labels, ok bool) {
	if a.member() || len(a) < 2*labelSize {
		return "", "", false
	}
	n := int(binary.BigEndian.Uint32([]byte(a[labelSize:2*labelSize]))) * labelSize
	a = a[2*labelSize:]
	return a[:n], a[n:], true
}

func (a labels) times(b labels) labels {
	switch {
	case b == noLabels || !a.member():
		return a
	case a == noLabels || !b.member():
		return b
	case a == infinite || b == infinite:
		return infinite
	}
	return a + b
}

// plus returns a⊕b where one of them is 0̄ or no member, or both are the same;
// done is false otherwise.
func (a labels) plus(b labels) (sum labels, done bool) {
	switch {
	case a == b || b == infinite || !a.member():
		return a, true
	case a == infinite || !b.member():
		return b, true
	}
	return "", false
}

func commonPrefix(a, b labels) labels {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	return a[:i-i%labelSize]
}

func commonSuffix(a, b labels) labels {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	return a[len(a)-(i-i%labelSize):]
}

// divideLeft is c without its prefix a, and a non-member where a is none of it.
func (a labels) divideLeft(c labels) labels {
	switch {
	case !a.member():
		return a
	case !c.member() || c == infinite && a != infinite:
		return c
	case a == infinite || !strings.HasPrefix(string(c), string(a)):
		return badPrefix
	case len(a) == len(c):
		return noLabels // which, unlike an empty suffix of c, does not keep c in memory
	}
	return c[len(a):]
}

// divideRight is c without its suffix a, and a non-member where a is none of it.
func (a labels) divideRight(c labels) labels {
	switch {
	case !a.member():
		return a
	case !c.member() || c == infinite && a != infinite:
		return c
	case a == infinite || !strings.HasSuffix(string(c), string(a)):
		return badPrefix
	case len(a) == len(c):
		return noLabels
	}
	return c[:len(c)-len(a)]
}

// first is the common divisor of a and b that determinization uses: one label
// at most, so that each arc of the result carries one. 0̄ is neutral.
func (a labels) first(b labels) labels {
	switch {
	case !a.member():
		return a
	case !b.member():
		return b
	case a == noLabels || b == noLabels:
		return noLabels
	case a == infinite:
		return b[:labelSize]
	case b == infinite || a[:labelSize] == b[:labelSize]:
		return a[:labelSize]
	}
	return noLabels
}

func (a labels) reverse() labels {
	if len(a) <= labelSize || !a.member() {
		return a
	}
	b := make([]byte, 0, len(a))
	for i := len(a); i > 0; i -= labelSize {
		b = append(b, a[i-labelSize:i]...)
	}
	return labels(b)
}

// less is the military order: the shorter first, then by labels.
func (a labels) less(b labels) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// appendKey appends the labels, and their number before them, so that a key
// does not run into what follows it.
func (a labels) appendKey(dst []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(a)/labelSize)), a...)
}

func (a labels) appendText(dst []byte) []byte {
	switch {
	case a == noLabels:
		return append(dst, "Epsilon"...)
	case a == infinite:
		return append(dst, "Infinity"...)
	case !a.member():
		return append(dst, "BadString"...)
	}
	for i := range a.len() {
		if i > 0 {
			dst = append(dst, '_')
		}
		dst = strconv.AppendInt(dst, int64(a.at(i)), 10)
	}
	return dst
}

func parseLabels(s string) (labels, error) {
	switch s {
	case "Epsilon":
		return noLabels, nil
	case "Infinity":
		return infinite, nil
	case "BadString":
		return "", errWeight(s, "BadString is not a weight")
	}
	b := make([]byte, 0, 2*len(s)+labelSize) // at least one digit and one separator a label
	for field := range strings.SplitSeq(s, "_") {
		l, err := strconv.ParseInt(field, 10, 32)
		switch {
		case err != nil:
			return "", errWeight(s, "want Epsilon, Infinity or 32-bit labels with _ between them")
		case l == 0 || l == -1 || l == -2:
			return "", errWeight(s, "label "+field+" cannot stand in a string weight")
		}
		b = binary.BigEndian.AppendUint32(b, uint32(l)^1<<31)
	}
	return labels(b), nil
}

func (a labels) appendBinary(dst []byte) []byte {
	if !a.member() {
		a = badPrefix
	}
	n := len(a) / labelSize
	dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	for i := range n {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(a.at(i)))
	}
	return dst
}

func decodeLabels(src []byte) (labels, int, error) {
	if len(src) < 4 {
		return "", 0, nil
	}
	count := binary.LittleEndian.Uint32(src)
	if count > math.MaxInt32 {
		return "", 0, errBytes(src[:4], "negative number of labels")
	}
	body, n := src[4:], int(count)
	if len(body)/4 < n {
		return "", 0, nil
	}
	b := make([]byte, 0, n*labelSize)
	for i := range n {
		l := int32(binary.LittleEndian.Uint32(body[4*i:]))
		if l == 0 || (l == -1 || l == -2) && n > 1 {
			return "", 0, errBytes(body[4*i:4*i+4], "label "+strconv.Itoa(int(l))+" cannot stand in a string weight")
		}
		b = binary.BigEndian.AppendUint32(b, uint32(l)^1<<31)
	}
	return labels(b), 4 + 4*n, nil
}
