package g2p

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// noLetter is the id of letters that the training words do not have; ids of
// known letters count from 1. The marks before and behind a word are boundary.
const (
	noLetter = 0
	boundary = 0xffff
)

// Inventory lists what training words are made of, and what each letter may
// emit.
type Inventory struct {
	Letters []rune   // sorted; letter i has the id i+1
	Phones  []string // sorted
	Labels  [][]int  // phone strings, as indices of Phones, sorted; the empty one is first

	// Allowed[x] are the labels that letter id x may emit, ascending, and
	// Prob[x] their probabilities p(u|x) under the alignment model. Id 0 is every letter never
	// seen, which may emit the empty label only.
	Allowed [][]int32
	Prob    [][]float64

	// Backoff[x] are the labels that letter id x may emit although training did not, or hardly
	// ever, see them there. Models of older files have none.
	Backoff []Backoff

	// In training, the letters behind the regular ones are irregular: see Align. The k-th of
	// them stands for the letter id of[k]. They have code points of private use.
	regular int
	of      []int32
}

// base returns the letter that an id stands for, and whether it is irregular.
func (inv *Inventory) base(x int32) (letter int32, irregular bool) {
	if k := int(x) - inv.regular - 1; len(inv.of) > 0 && k >= 0 {
		return inv.of[k], true
	}
	return x, false
}

// letters returns the letter ids of a word. A letter unknown to training is looked up in the other
// case when training had no letter of its case at all. A model of small letters therefore reads
// capitals as small letters.
func (inv *Inventory) letters(word string) ([]int32, error) {
	if !utf8.ValidString(word) {
		return nil, fmt.Errorf("the word %.60q is not valid UTF-8", word)
	}
	ids := make([]int32, 0, len(word))
	for at, r := range word {
		id := inv.letter(r)
		if id == noLetter {
			id = inv.letter(inv.otherCase(word, at, r))
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (inv *Inventory) letter(r rune) int32 {
	if i, ok := slices.BinarySearch(inv.Letters, r); ok {
		return int32(i + 1)
	}
	return noLetter
}

// otherCase returns the letter r, at a byte of a word, in the other case when no letter of the
// training words has the case of r; else r.
func (inv *Inventory) otherCase(word string, at int, r rune) rune {
	capital := func(r rune) bool { return unicode.IsUpper(r) || unicode.IsTitle(r) }
	switch {
	case capital(r) && !slices.ContainsFunc(inv.Letters, capital):
		// A sigma that ends a word has a form of its own.
		if before, _ := utf8.DecodeLastRuneInString(word[:at]); r == 'Σ' && unicode.IsLetter(before) {
			if after, _ := utf8.DecodeRuneInString(word[at+len("Σ"):]); !unicode.IsLetter(after) {
				return 'ς'
			}
		}
		return unicode.ToLower(r)
	case unicode.IsLower(r) && !slices.ContainsFunc(inv.Letters, unicode.IsLower):
		return unicode.ToUpper(r)
	}
	return r
}

// InOtherCase reports whether training has the letter r in the other case only. Where it has
// letters of the case of r too, otherCase does not fold it.
func (inv *Inventory) InOtherCase(r rune) bool {
	other := unicode.ToLower(r)
	if other == r {
		other = unicode.ToUpper(r)
	}
	return other != r && inv.letter(r) == noLetter && inv.letter(other) != noLetter
}

// RareCase finds words with letters of a rare case, one that fewer than one word in ten of those
// with letters has. It returns the first such pair and the number of words; 0 where both cases are
// common or one is absent. Such words, often a slip, keep the letters of all others from being
// folded when the model predicts.
func RareCase(pairs []Pair) (first *Pair, words int) {
	var count [2]int
	var seen [2]*Pair
	total := 0
	for i := range pairs {
		for k, is := range []func(rune) bool{unicode.IsUpper, unicode.IsLower} {
			if strings.ContainsFunc(pairs[i].Word, is) {
				if count[k]++; seen[k] == nil {
					seen[k] = &pairs[i]
				}
			}
		}
		if strings.ContainsFunc(pairs[i].Word, unicode.IsLetter) {
			total++
		}
	}
	for k, n := range count {
		if n > 0 && count[1-k] > 0 && 10*n < total {
			return seen[k], n
		}
	}
	return nil, 0
}

// Unseen returns the letters of a word that training did not have, in either case where
// letters takes both for one. They emit nothing. Each is named once.
func (inv *Inventory) Unseen(word string) []rune {
	var out []rune
	ids, err := inv.letters(word)
	if err != nil {
		return nil
	}
	t := 0
	for _, r := range word {
		if ids[t] == noLetter && !slices.Contains(out, r) {
			out = append(out, r)
		}
		t++
	}
	return out
}

// phones returns the indices of phones; unknown ones get -1.
func (inv *Inventory) phones(s []string) []int {
	ids := make([]int, len(s))
	for i, p := range s {
		ids[i] = sort.SearchStrings(inv.Phones, p)
		if ids[i] == len(inv.Phones) || inv.Phones[ids[i]] != p {
			ids[i] = -1
		}
	}
	return ids
}

// names returns the phones of a string of indices.
func (inv *Inventory) names(ids []int) []string {
	out := make([]string, len(ids))
	for i, p := range ids {
		out[i] = inv.Phones[p]
	}
	return out
}

// alignable reports whether phones can be shared out among the letters of a word, at most
// maxPhones to each.
func alignable(p *Pair, maxPhones int) bool {
	return len(p.Phones) <= maxPhones*utf8.RuneCountInString(p.Word)
}

// collect lists the phones of the pairs that can be aligned, and the letters of those with at most
// regular phones a letter. A letter of other pairs alone has no label to learn: it counts as
// unseen.
func collect(pairs []Pair, regular int) (letters []rune, phones []string, err error) {
	seenLetters, seenPhones := map[rune]bool{}, map[string]bool{}
	for i := range pairs {
		p := &pairs[i]
		if !utf8.ValidString(p.Word) {
			return nil, nil, fmt.Errorf("g2p: %s: the word %.60q is not valid UTF-8", p.where(i), p.Word)
		}
		n := utf8.RuneCountInString(p.Word)
		if len(p.Phones) > maxPhones*n { // not even an irregular letter emits so many
			continue
		}
		for _, r := range p.Word {
			if len(p.Phones) <= regular*n && !seenLetters[r] {
				seenLetters[r] = true
				letters = append(letters, r)
			}
		}
		for _, s := range p.Phones {
			if !seenPhones[s] {
				seenPhones[s] = true
				phones = append(phones, s)
			}
		}
	}
	slices.Sort(letters)
	slices.Sort(phones)
	if len(letters) >= boundary {
		return nil, nil, fmt.Errorf("g2p: %d different letters, more than %d", len(letters), boundary-1)
	}
	return letters, phones, nil
}
