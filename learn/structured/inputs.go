package structured

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/learn/kernel"
)

// spelling numbers the symbols of strings: their runes, in order.
type spelling struct {
	runes []rune
	of    map[rune]int
}

func newSpelling(lists ...[]string) *spelling {
	seen := map[rune]bool{}
	for _, list := range lists {
		for _, s := range list {
			for _, r := range s {
				seen[r] = true
			}
		}
	}
	var runes []rune
	for r := range seen {
		runes = append(runes, r)
	}
	slices.Sort(runes)
	return spell(runes)
}

func spell(runes []rune) *spelling {
	s := &spelling{runes, map[rune]int{}}
	for k, r := range runes {
		s.of[r] = k
	}
	return s
}

// symbols returns the numbers of a string's runes; one that was not seen is past the alphabet,
// and like no other.
func (s *spelling) symbols(text string) []int {
	out := make([]int, 0, len(text))
	for _, r := range text {
		k, ok := s.of[r]
		if !ok {
			k = len(s.runes)
		}
		out = append(out, k)
	}
	return out
}

// foreign names the symbols of a text that the training data do not have.
func (s *spelling) foreign(text string) string {
	var list []string
	for _, r := range text {
		if _, ok := s.of[r]; !ok && !slices.Contains(list, strconv.QuoteRune(r)) && len(list) < 5 {
			list = append(list, strconv.QuoteRune(r))
		}
	}
	if list == nil {
		return ""
	}
	return ", which has " + strings.Join(list, ", ") + " beside them"
}

func (s *spelling) all(texts []string) [][]int {
	out := make([][]int, len(texts))
	for i, t := range texts {
		out[i] = s.symbols(t)
	}
	return out
}

func (s *spelling) text(symbols []int) string {
	var b strings.Builder
	for _, k := range symbols {
		b.WriteRune(s.runes[k])
	}
	return b.String()
}

// parseGrams reads the kernel ngram:LEAST-ORDER, normalised.
func parseGrams(text string) (kernel.NGram, error) {
	k := kernel.NGram{Least: 1, Order: 3, Normal: true}
	name, lengths, found := strings.Cut(text, ":")
	if name != "ngram" {
		return k, fmt.Errorf("structured: kernel %q: strings take ngram or ngram:LEAST-ORDER, such as ngram:1-3",
			text)
	}
	if found {
		if _, err := fmt.Sscanf(lengths, "%d-%d", &k.Least, &k.Order); err != nil || k.Least < 1 ||
			k.Order < k.Least || fmt.Sprintf("%d-%d", k.Least, k.Order) != lengths {
			return k, fmt.Errorf("structured: kernel %q: lengths are LEAST-ORDER, such as ngram:1-3", text)
		}
	}
	return k, nil
}
