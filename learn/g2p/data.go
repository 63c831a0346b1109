package g2p

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tropica-fst/tropica/learn/dataset"
)

// Pair is a word and its pronunciation. A word with several pronunciations has a pair for
// each: training takes them all, and evaluation counts against the nearest.
type Pair struct {
	Word   string
	Phones []string
	Source string // where it was read, as "words.tsv:12", for messages; may be empty
}

// where says which pair this is, the i-th from 0, for messages.
func (p *Pair) where(i int) string {
	if p.Source != "" {
		return p.Source
	}
	return fmt.Sprintf("pair %d", i+1)
}

// name is where with the word.
func (p *Pair) name(i int) string { return fmt.Sprintf("%s %.60q", p.where(i), p.Word) }

// Lexicon is what ReadLexicon read.
type Lexicon struct {
	Pairs   []Pair
	Blanks  bool // the second form
	Remarks int  // entries with a remark that was left out; of the second form only
}

// ReadLexicon reads words with their phones, an entry a line, in one of two forms. The
// first entry decides which, and a line of the other form is an error.
//
//   - A word, a tab, and phones separated by blanks, as WikiPron and the SIGMORPHON tasks
//     have them. Words may hold blanks.
//   - A word and phones, all separated by blanks, as the CMU dictionary has them. A remark
//     may follow the phones, from a field that begins with #.
//
// In both, a word(2) or word(3) is another pronunciation of the word. Blank lines are skipped, and
// so are comments: lines that begin with ;;; or with #, where the # does not begin a word. A #
// begins a word before a tab, and before a letter in a line with two blanks after its first field,
// as #HASH-MARK in releases of the CMU dictionary up to 0.7b.
//
// name is that of the input in errors, which give the line.
func ReadLexicon(r io.Reader, name string) (*Lexicon, error) {
	l := &Lexicon{}
	first := 0 // line of the first entry
	for line, err := range dataset.Lines(r, name) {
		if err != nil {
			return nil, err
		}
		text := line.Text
		if strings.Trim(text, " \t") == "" && !strings.Contains(text, "\t") || isComment(text) {
			continue
		}
		bad := func(format string, args ...any) error {
			return &dataset.SyntaxError{Name: name, Line: line.Line, Msg: fmt.Sprintf(format, args...)}
		}
		word, rest, tab := strings.Cut(text, "\t")
		if first == 0 {
			first, l.Blanks = line.Line, !tab
		}
		switch {
		case l.Blanks && tab:
			return nil, bad("a tab, but line %d, the first entry, has none: word and phones are separated either by tabs or by blanks", first)
		case !l.Blanks && !tab:
			return nil, bad("no tab between word and phones; line %d, the first entry, has one", first)
		case strings.Contains(rest, "\t"):
			return nil, bad("%d tab-separated fields, expected 2", strings.Count(text, "\t")+1)
		}
		phones := strings.Fields(rest)
		if l.Blanks {
			fields := strings.Fields(text)
			word, phones = fields[0], fields[1:]
			for i, f := range phones {
				if f[0] == '#' {
					phones = phones[:i:i]
					l.Remarks++
					break
				}
			}
		}
		if strings.TrimSpace(word) == "" {
			return nil, bad("no word before the tab")
		}
		if len(phones) == 0 {
			return nil, bad("the word %.60q has no phones", word)
		}
		l.Pairs = append(l.Pairs, Pair{Word: withoutNumber(word), Phones: phones, Source: name + ":" + strconv.Itoa(line.Line)})
	}
	return l, nil
}

// ReadPairs returns the pairs that ReadLexicon reads.
func ReadPairs(r io.Reader, name string) ([]Pair, error) {
	l, err := ReadLexicon(r, name)
	if err != nil {
		return nil, err
	}
	return l.Pairs, nil
}

// isComment reports whether a line of a lexicon is a comment; see ReadLexicon.
func isComment(text string) bool {
	if strings.HasPrefix(text, ";;;") {
		return true
	}
	if !strings.HasPrefix(text, "#") {
		return false
	}
	if strings.Contains(text, "\t") {
		return strings.HasPrefix(text, "# ")
	}
	head, rest, _ := strings.Cut(text, " ")
	letter, _ := utf8.DecodeRuneInString(head[1:])
	return !unicode.IsLetter(letter) || !strings.HasPrefix(rest, " ")
}

// withoutNumber returns a word without what numbers its pronunciations, as (2).
func withoutNumber(word string) string {
	for {
		head, ok := strings.CutSuffix(word, ")")
		if !ok {
			return word
		}
		base := strings.TrimRight(head, "0123456789")
		if len(base) == len(head) || len(base) < 2 || base[len(base)-1] != '(' {
			return word
		}
		word = base[:len(base)-1]
	}
}
