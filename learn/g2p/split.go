package g2p

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
)

// Place returns a number from 0 up to 1 for a word, uniform over words and the same on every
// machine. It comes from the SHA-256 of seed and word, as "1 word". A word thus falls into the same
// part of a split, with all its pronunciations, whatever other words there are.
func Place(word string, seed uint64) float64 {
	h := sha256.Sum256([]byte(strconv.FormatUint(seed, 10) + " " + word))
	return float64(binary.BigEndian.Uint64(h[:])>>11) / (1 << 53)
}

// WithoutStress returns pairs without the stress that the CMU dictionary marks by a digit behind
// vowels: AH0 becomes AH. Phones without letters keep their digits. Pronunciations of a word that
// become equal are one.
func WithoutStress(pairs []Pair) []Pair {
	out := make([]Pair, 0, len(pairs))
	at := map[string][]int{} // of words with several
	for _, p := range pairs {
		q := p
		q.Phones = make([]string, len(p.Phones))
		for i, s := range p.Phones {
			q.Phones[i] = s
			if bare := strings.TrimRight(s, "0123456789"); bare != "" {
				q.Phones[i] = bare
			}
		}
		same := func(i int) bool { return slices.Equal(out[i].Phones, q.Phones) }
		if before := at[p.Word]; !slices.ContainsFunc(before, same) {
			at[p.Word] = append(before, len(out))
			out = append(out, q)
		}
	}
	return out
}
