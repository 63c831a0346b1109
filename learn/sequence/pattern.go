package sequence

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pattern is a pattern of %t and %m: atoms one after the other. It is read by find only, and safe
// for use by several goroutines.
type pattern struct {
	atoms        []atom
	begin, end   bool // anchored
	literalFirst rune // what a match begins with; -1 where that may differ
}

// atom matches a character.
type atom struct {
	char  rune            // where class is nil and any is not set
	class func(rune) bool // a class
	not   bool            // all others than the class
	any   bool            // .
	often byte            // 0 once, ? or *
}

// classes are the classes of patterns, by their small letters.
var classes = map[byte]func(rune) bool{
	'a': isAlpha,
	'd': unicode.IsDigit,
	'w': func(r rune) bool { return isAlpha(r) || unicode.IsDigit(r) },
	'l': unicode.IsLower,
	'u': unicode.IsUpper,
	'p': func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) },
	's': unicode.IsSpace,
}

// isAlpha counts accents that are characters of their own with their letters.
func isAlpha(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }

// parsePattern reads a pattern, without the quotes.
func parsePattern(s string) (*pattern, error) {
	p := &pattern{literalFirst: -1}
	s, p.begin = strings.CutPrefix(s, "^")
	for s != "" {
		if s == "$" {
			p.end = true
			break
		}
		r, n := utf8.DecodeRuneInString(s)
		a := atom{char: r}
		switch r {
		case '*', '?':
			return nil, fmt.Errorf(`nothing stands before %c that it could repeat; the character itself is \%c`, r, r)
		case '.':
			a.any = true
		case '\\':
			s = s[n:]
			if s == "" {
				return nil, errors.New(`\ at the end; the character itself is \\`)
			}
			a.char, n = utf8.DecodeRuneInString(s)
			if a.char < utf8.RuneSelf && unicode.IsLetter(a.char) {
				letter := byte(unicode.ToLower(a.char))
				a.class = classes[letter]
				a.not = a.class != nil && rune(letter) != a.char
			}
		}
		if s = s[n:]; s != "" && (s[0] == '*' || s[0] == '?') {
			a.often, s = s[0], s[1:]
		}
		p.atoms = append(p.atoms, a)
	}
	if len(p.atoms) > 0 {
		if a := p.atoms[0]; a.often == 0 && !a.any && a.class == nil {
			p.literalFirst = a.char
		}
	}
	return p, nil
}

// matches reports whether the atom matches the first character of s, and how long that is.
func (a *atom) matches(s string) (int, bool) {
	if s == "" {
		return 0, false
	}
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case a.any:
		return n, true
	case a.class != nil:
		return n, a.class(r) != a.not
	}
	return n, r == a.char
}

// find returns where the leftmost match begins and ends, -1 if there is none.
func (p *pattern) find(s string) (from, to int) {
	if p.begin {
		if end := p.match(s, 0, 0, &failures{}); end >= 0 {
			return 0, end
		}
		return -1, -1
	}
	f := &failures{}
	for from = 0; ; {
		if p.literalFirst >= 0 {
			skip := strings.IndexRune(s[from:], p.literalFirst)
			if skip < 0 {
				return -1, -1
			}
			from += skip
		}
		if end := p.match(s, from, 0, f); end >= 0 {
			return from, end
		}
		if from == len(s) {
			return -1, -1
		}
		_, n := utf8.DecodeRuneInString(s[from:])
		from += n
	}
}

// failures are the places from which the atoms from one on are known not to match. What follows
// does not depend on how a place was reached, so that each is tried once.
type failures struct{ known []uint64 }

// at returns the bit of a place.
func (f *failures) at(p *pattern, s string, from, k int) (word int, bit uint64) {
	if f.known == nil {
		f.known = make([]uint64, ((len(s)+1)*(len(p.atoms)+1)+63)/64)
	}
	i := from*(len(p.atoms)+1) + k
	return i / 64, 1 << (i % 64)
}

// match returns the end of the first match of the atoms from k on that begins at from; -1 without.
// The order of choices is that of Wapiti: of x? with x first, of x* without.
func (p *pattern) match(s string, from, k int, f *failures) int {
	for ; k < len(p.atoms); k++ {
		a := &p.atoms[k]
		n, ok := a.matches(s[from:])
		if a.often == 0 {
			if !ok {
				return -1
			}
			from += n
			continue
		}
		word, bit := f.at(p, s, from, k)
		if f.known[word]&bit != 0 {
			return -1
		}
		end := -1
		switch {
		case a.often == '?':
			if ok {
				end = p.match(s, from+n, k+1, f)
			}
			if end < 0 {
				end = p.match(s, from, k+1, f)
			}
		default:
			if end = p.match(s, from, k+1, f); end < 0 && ok {
				end = p.match(s, from+n, k, f)
			}
		}
		if end < 0 {
			f.known[word] |= bit
		}
		return end
	}
	if p.end && from != len(s) {
		return -1
	}
	return from
}
