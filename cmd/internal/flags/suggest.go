package flags

import (
	"slices"
	"strings"
)

// Synonyms are words of other programs, each with the names that may be meant by it, the likeliest
// first.
type Synonyms map[string][]string

// Synonyms sets the words that the error of an unknown flag knows.
func (s *Set) Synonyms(words Synonyms) { s.synonyms = words }

// Suggest returns the one of names that may be meant by a name that is none of them: that of a
// synonym, else the nearest. It returns "" where nothing is near.
func (words Synonyms) Suggest(name string, names []string) string {
	for _, meant := range words[name] {
		if slices.Contains(names, meant) {
			return meant
		}
	}
	return Nearest(name, names)
}

// Nearest returns the one of names that name may be a misspelling or the beginning of, "" if
// none is near. At most a third of the letters may be wrong: a poor guess (--plot, did you mean
// --low?) is worse than none.
func Nearest(name string, names []string) string {
	best, bestDist := "", 1+len(name)/3
	for _, n := range slices.Sorted(slices.Values(names)) {
		if d := distance(name, n); d < bestDist {
			best, bestDist = n, d
		} else if len(name) > 1 && strings.HasPrefix(n, name) && best == "" {
			best = n
		}
	}
	return best
}

// distance is the edit distance with unit costs, in which two neighbours exchanged are one
// mistake.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			sub := last[j]
			if a[i] != b[j] {
				sub++
			}
			row[j+1] = min(sub, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
