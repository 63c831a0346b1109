package g2p

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/tropica-fst/tropica/learn/model"
)

// Lookup holds the pronunciations of known words. It is read-only once made, and safe for
// concurrent use.
type Lookup struct {
	words    []string // in order of appearance
	phones   map[string][][]string
	capitals bool // a word has some
}

// NewLookup returns the pronunciations of pairs. Those of a word are in the order in which they
// are given, each once.
func NewLookup(pairs []Pair) *Lookup {
	l := &Lookup{phones: make(map[string][][]string, len(pairs))}
	for i := range pairs {
		l.add(pairs[i].Word, pairs[i].Phones)
	}
	return l
}

func (l *Lookup) add(word string, phones []string) {
	known, ok := l.phones[word]
	if !ok {
		l.words = append(l.words, word)
		l.capitals = l.capitals || strings.ContainsFunc(word, unicode.IsUpper)
	}
	if !slices.ContainsFunc(known, func(k []string) bool { return slices.Equal(k, phones) }) {
		l.phones[word] = append(known, phones)
	}
}

// Words returns the number of words.
func (l *Lookup) Words() int { return len(l.words) }

// Find returns the pronunciations of a word, nil for an unknown one; a nil Lookup knows none. Where
// no known word has a capital, it looks for the word in small letters as well.
func (l *Lookup) Find(word string) [][]string {
	if l == nil {
		return nil
	}
	known, ok := l.phones[word]
	if !ok && !l.capitals {
		known = l.phones[strings.ToLower(word)]
	}
	return known
}

// Arrays of a file: a word and its phones, joined by blanks, for each pronunciation.
const (
	lookupWords  = "lookup_words"
	lookupPhones = "lookup_phones"
)

// put adds the words to a file; a nil Lookup adds nothing.
func (l *Lookup) put(c *model.Container) error {
	if l == nil {
		return nil
	}
	var words, phones []string
	for _, w := range l.words {
		for _, p := range l.phones[w] {
			words, phones = append(words, w), append(phones, strings.Join(p, " "))
		}
	}
	if err := c.PutStrings(lookupWords, words); err != nil {
		return err
	}
	return c.PutStrings(lookupPhones, phones)
}

// getLookup reads the words of a file; nil where it has none.
func getLookup(c *model.Container) (*Lookup, error) {
	if _, ok := c.Shape(lookupWords); !ok {
		return nil, nil
	}
	words, err := c.Strings(lookupWords)
	if err != nil {
		return nil, err
	}
	phones, err := c.Strings(lookupPhones)
	if err != nil {
		return nil, err
	}
	if len(words) != len(phones) {
		return nil, fmt.Errorf("g2p: %w: %d known words with %d pronunciations", model.ErrFormat,
			len(words), len(phones))
	}
	l := &Lookup{phones: make(map[string][][]string, len(words))}
	for i, w := range words {
		p := strings.Fields(phones[i])
		if strings.TrimSpace(w) == "" || len(p) == 0 {
			return nil, fmt.Errorf("g2p: %w: known word %d is %.60q with %d phones", model.ErrFormat, i, w, len(p))
		}
		l.add(w, p)
	}
	return l, nil
}
