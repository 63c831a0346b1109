package g2p

import (
	"fmt"
	"slices"
	"sort"
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
}

// letters returns the letter ids of a word.
func (inv *Inventory) letters(word string) ([]int32, error) {
	if !utf8.ValidString(word) {
		return nil, fmt.Errorf("g2p: the word %q is not valid UTF-8", word)
	}
	ids := make([]int32, 0, len(word))
	for _, r := range word {
		id := int32(noLetter)
		if i, ok := slices.BinarySearch(inv.Letters, r); ok {
			id = int32(i + 1)
		}
		ids = append(ids, id)
	}
	return ids, nil
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

// collect lists the letters and phones of pairs.
func collect(pairs []Pair) (letters []rune, phones []string, err error) {
	seenLetters, seenPhones := map[rune]bool{}, map[string]bool{}
	for i, p := range pairs {
		if !utf8.ValidString(p.Word) {
			return nil, nil, fmt.Errorf("g2p: pair %d: the word %q is not valid UTF-8", i+1, p.Word)
		}
		for _, r := range p.Word {
			if !seenLetters[r] {
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
