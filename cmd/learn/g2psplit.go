package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/g2p"
)

// part is one of the files of a split.
type part struct {
	flag, name string
	from, to   float64
	pairs      []g2p.Pair
	words      map[string]bool
}

var g2pSplit = &command{
	name: "g2p split", args: "lexicon ...", min: 0, max: -1,
	summary: "Divides a lexicon into training, development and test words.",
	about: `
All pronunciations of a word go to the same file. Where a word goes depends on the word and
--seed alone: the SHA-256 of the seed, a blank and the word is a number from 0 up to 1, whose
first --test_share are test words, the next --dev_share development words, and the rest for
training. Words that are added to a lexicon thus move no other word, and everybody gets the
same split. Output is a word, a tab, and phones separated by blanks, in the order of the input.

Example:

  learn g2p split cmudict.dict.gz --stress off --train train.tsv --test test.tsv`,
	setup: func(fs *flags.Set) func(*call) error {
		train := fs.String("train", "", "File for the training words; needed")
		dev := fs.String("dev", "", "File for the development words")
		test := fs.String("test", "", "File for the test words; needed")
		testShare := fs.Float("test_share", 0.1, "Share of the words for --test")
		devShare := fs.Float("dev_share", 0.05, "Share of the words for --dev; without that file there are none")
		seed := fs.Uint("seed", 1, "Seed of the split")
		stress := stressFlag(fs)
		return func(c *call) error {
			if *train == "" || *test == "" {
				return errors.New("flags --train and --test are needed: the files for the words")
			}
			if *dev == "" {
				if err := c.idle("it needs --dev", "dev_share"); err != nil {
					return err
				}
				*devShare = 0
			}
			if !(*testShare > 0) || !(*devShare >= 0) || !(*testShare+*devShare < 1) {
				return errors.New("flags --test_share and --dev_share must be above 0, and together below 1")
			}
			parts := []*part{{flag: "test", name: *test, to: *testShare},
				{flag: "dev", name: *dev, from: *testShare, to: *testShare + *devShare},
				{flag: "train", name: *train, from: *testShare + *devShare, to: 1}}
			if *dev == "" {
				parts = append(parts[:1], parts[2])
			}
			var outputs []place
			for _, p := range parts {
				outputs = append(outputs, place{"the words of --" + p.flag, p.name})
				p.words = map[string]bool{}
			}
			if err := apart(places("the lexicon", c.args...), outputs); err != nil {
				return err
			}
			pairs, err := c.pairs(c.args)
			if err != nil {
				return err
			}
			for _, q := range stress(pairs) {
				at := g2p.Place(q.Word, *seed)
				for _, p := range parts {
					if at >= p.from && at < p.to {
						p.pairs, p.words[q.Word] = append(p.pairs, q), true
					}
				}
			}
			for _, p := range parts {
				if len(p.pairs) == 0 {
					return fmt.Errorf("no word fell to --%s: there are too few for such a share", p.flag)
				}
			}
			for _, p := range parts {
				if err := c.Output(p.name, p.write); err != nil {
					return err
				}
				fmt.Fprintf(c.Out, "%s: %d words, %d pronunciations\n", p.name, len(p.words), len(p.pairs))
			}
			return nil
		}
	},
}

// write writes the words as the readers of lexicons have them.
func (p *part) write(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, q := range p.pairs {
		fmt.Fprintf(b, "%s\t%s\n", q.Word, strings.Join(q.Phones, " "))
	}
	return b.Flush()
}
