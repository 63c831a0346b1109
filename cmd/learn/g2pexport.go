package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/learn/g2p"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

var g2pExport = &command{
	name: "g2p export", args: "", min: 0, max: 0,
	summary: "Writes a pronunciation model as transducers, for fst and OpenFst.",
	about: `
The best path of a word through the transducers is the model's prediction, for every string of
letters of --isymbols: seen and unseen words alike. Weights are negative scores of the labels, in
the tropical semiring. A letter of one symbol each; a blank is <space>, and <unk> stands for letters
that training did not have. The files are OpenFst's.

A model that sees letters to either side knows more of a word than one machine can hold: with
the default window of 3, six letters and a label. So it is written as parts, OUT.1.fst, OUT.2.fst
and so on for --fst OUT.fst. Each is small, and a word is composed with one after the other:

  fst compose word.fst OUT.1.fst | fst compose - OUT.2.fst | ... | fst shortestpath

Part 1 adds the features that reach to the right, part 2 those to the left, the last one bigrams
of labels, and each part between them pairs of letters at a distance. --parts one composes them to a
single machine, and is an error where that has more than --max_arcs arcs. --parts auto does so
where it can be done, as with models of --window 1.

Linear models alone can be exported. Words in the lexicon of a model (--keep_words) and labels of
back-off are left out.

Example:

  learn g2p export --model ice.model --fst ice.fst --isymbols letters.syms --osymbols phones.syms`,
	setup: func(fs *flags.Set) func(*call) error {
		model := fs.String("model", "", "File of the model; needed")
		out := fs.String("fst", "", "File for the transducer, which names those of the parts; needed")
		isymbols := fs.String("isymbols", "", "File for the table of letters")
		osymbols := fs.String("osymbols", "", "File for the table of phones")
		psymbols := fs.String("pair_symbols", "", "File for the table of the symbols between the parts")
		parts := fs.Enum("parts", "auto", []string{"auto", "many", "one"}, "One machine, or many to be composed")
		maxArcs := fs.Int("max_arcs", 64, 5_000_000, "Most arcs of a machine")
		return func(c *call) error {
			if *out == "" {
				return errors.New("flag --fst is needed: the file for the transducer")
			}
			if *maxArcs < 1 {
				return errors.New("flag --max_arcs must be at least 1")
			}
			outputs := []place{{"the transducer", *out}, {"the letters", *isymbols}, {"the phones", *osymbols},
				{"the symbols between the parts", *psymbols}}
			if err := apart(places("the model", *model), outputs); err != nil {
				return err
			}
			m, err := c.g2pModel(*model)
			if err != nil {
				return err
			}
			e, err := m.Export(&g2p.ExportOptions{Ctx: c.ctx, MaxArcs: int(*maxArcs)})
			if err != nil {
				return err
			}
			machines := e.Parts
			if *parts != "many" {
				one, err := e.Compose(c.ctx, int(*maxArcs))
				switch {
				case err == nil:
					machines = []*fst.Vector[semiring.Tropical]{one}
				case *parts == "one" || !errors.Is(err, ops.ErrLimit):
					return fmt.Errorf("flag --parts: %w; --parts many writes %d machines instead, and a model of a "+
						"smaller --window fits into one", err, len(e.Parts))
				}
			}
			names, err := partNames(*out, len(machines))
			if err != nil {
				return err
			}
			for k, v := range machines {
				err := c.Output(names[k], func(w io.Writer) error { return fst.Write[semiring.Tropical](w, v, nil) })
				if err != nil {
					return err
				}
			}
			for _, t := range []struct {
				name  string
				table *fst.SymbolTable
			}{{*isymbols, e.Letters}, {*osymbols, e.Phones}, {*psymbols, e.Pairs}} {
				if t.name == "" {
					continue
				}
				if err := c.Output(t.name, func(w io.Writer) error { return t.table.WriteText(w, nil) }); err != nil {
					return err
				}
			}
			for k, v := range machines {
				fmt.Fprintf(c.Err, "%s: %d states, %d arcs\n", names[k], v.NumStates(), v.NumArcs())
			}
			if len(names) > 1 {
				fmt.Fprintf(c.Err, "to pronounce a word: fst compose word.fst %s | fst compose - %s | fst shortestpath\n",
					names[0], strings.Join(names[1:], " | fst compose - "))
			}
			return nil
		}
	},
}

// partNames returns the files of so many parts.
func partNames(out string, parts int) ([]string, error) {
	if parts == 1 {
		return []string{out}, nil
	}
	if out == "-" {
		return nil, fmt.Errorf("flag --fst: standard output cannot hold %d machines; name a file, or give "+
			"--parts one", parts)
	}
	ext := filepath.Ext(out)
	var names []string
	for k := range parts {
		names = append(names, strings.TrimSuffix(out, ext)+"."+strconv.Itoa(k+1)+ext)
	}
	return names, nil
}
