package g2p

import (
	"fmt"
	"io"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset"
)

// Pair is a word and its pronunciation.
type Pair struct {
	Word   string
	Phones []string
}

// ReadPairs reads lines of a word, a tab and phones separated by blanks, as
// WikiPron and the SIGMORPHON tasks have them. name is that of the input in
// errors, which give the line.
func ReadPairs(r io.Reader, name string) ([]Pair, error) {
	rows, err := dataset.ReadPairs(r, name, nil)
	if err != nil {
		return nil, err
	}
	pairs := make([]Pair, len(rows))
	for i, row := range rows {
		pairs[i] = Pair{Word: row.Input, Phones: strings.Fields(row.Output)}
		if len(pairs[i].Phones) == 0 {
			return nil, fmt.Errorf("%s:%d: the word %q has no phones", name, row.Line, row.Input)
		}
	}
	return pairs, nil
}
