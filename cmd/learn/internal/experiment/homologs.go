package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/sequence"
)

// Residues are the twenty amino acids, in groups of similar ones: a conservative
// substitution stays within a group.
var Residues = []string{"AGPST", "DENQ", "HKR", "ILMV", "FWY", "C"}

// HomologTask says how sequences are drawn; see the package comment.
type HomologTask struct {
	Length       int     `flag:"length" default:"50" min:"1" max:"10000" help:"Residues of a sequence"`
	Homologs     int     `flag:"homologs" default:"4" min:"1" max:"10000" help:"Homologs of each native, the first columns of the input"`
	Decoys       int     `flag:"decoys" default:"1" min:"1" max:"10000" help:"Decoys of each native, the columns after them"`
	Substitution float64 `flag:"substitution" default:"0.15" above:"0" max:"1" help:"Probability that a residue of a homolog is substituted"`
	Conservative float64 // probability that this is by one of the same group, where there is one; 0 is 0.7
	Indel        float64 `flag:"indel" default:"0.01" above:"0" max:"1" help:"Probability of an insertion, and of a deletion, at each residue of a homolog"`
}

func (g HomologTask) withDefaults() (HomologTask, error) {
	if err := learner.Complete(&g, &g); err != nil {
		return g, fmt.Errorf("experiment: %w", err)
	}
	if g.Conservative = cmp.Or(g.Conservative, 0.7); !(g.Conservative >= 0 && g.Conservative <= 1) {
		return g, errors.New("experiment: probabilities are between 0 and 1")
	}
	if g.Indel >= 0.5 {
		return g, errors.New("experiment: the probability of an insertion must be less than a half, else a " +
			"homolog may never end")
	}
	return g, nil
}

// Draw returns n examples: the labels are a native sequence, the columns of the
// input its homologs and decoys.
func (g HomologTask) Draw(n int, rng *rand.Rand) ([]sequence.Example, error) {
	g, err := g.withDefaults()
	if err != nil {
		return nil, err
	}
	all := strings.Join(Residues, "")
	out := make([]sequence.Example, n)
	for i := range out {
		native := make([]byte, g.Length)
		for t := range native {
			native[t] = all[rng.IntN(len(all))]
		}
		var columns [][]byte
		for range g.Homologs {
			columns = append(columns, g.homolog(native, all, rng))
		}
		for range g.Decoys {
			decoy := append([]byte(nil), native...)
			rng.Shuffle(len(decoy), func(a, b int) { decoy[a], decoy[b] = decoy[b], decoy[a] })
			columns = append(columns, decoy)
		}
		e := &out[i]
		for t := range native {
			e.Labels = append(e.Labels, string(native[t]))
			row := make([]string, len(columns))
			for c := range row {
				row[c] = string(columns[c][t])
			}
			e.Columns = append(e.Columns, row)
		}
	}
	return out, nil
}

// homolog mutates a native. Its end is cut, or filled with random residues, so
// that it has the same length.
func (g HomologTask) homolog(native []byte, all string, rng *rand.Rand) []byte {
	out := make([]byte, 0, len(native)+8)
	for _, r := range native {
		for rng.Float64() < g.Indel {
			out = append(out, all[rng.IntN(len(all))])
		}
		if rng.Float64() < g.Indel {
			continue
		}
		if rng.Float64() < g.Substitution {
			r = g.substitute(r, all, rng)
		}
		out = append(out, r)
	}
	for len(out) < len(native) {
		out = append(out, all[rng.IntN(len(all))])
	}
	return out[:len(native)]
}

func (g HomologTask) substitute(r byte, all string, rng *rand.Rand) byte {
	from := all
	if rng.Float64() < g.Conservative {
		for _, group := range Residues {
			if len(group) > 1 && strings.IndexByte(group, r) >= 0 {
				from = group
			}
		}
	}
	k := rng.IntN(len(from) - 1)
	if from[k] == r {
		k = len(from) - 1
	}
	return from[k]
}
