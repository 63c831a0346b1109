package main

import (
	"bytes"
	coding "encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/fst/internal/arctypes"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

var _ = offer(&tool{name: "convert", args: "[in.fst [out.fst]]", max: 2,
	summary: "Converts between the types of machines in files.", about: `
const files load fast, also by mapping (--fst_align). compact files omit what is the same on all
arcs. ngram files hold a back-off language model. olabel_lookahead and ilabel_lookahead files add
the labels that each state can reach, and renumber labels for that; --save_relabel_opairs and
--save_relabel_ipairs write the pairs by which other machines must be relabeled. phi, rho and
sigma files give one label a special meaning.

  fst convert --fst_type=const in.fst out.fst
  fst convert --fst_type=phi --phi_fst_phi_label=9 in.fst out.fst

Time O(states + arcs), of look-ahead types also the intervals of labels.`,
	setup: setupConvert})

var _ = offer(&tool{name: "special", args: "[in.fst [out.fst]]", max: 2,
	summary: "Converts to files whose labels have a meaning: phi, rho and sigma.", about: `
This is fst convert under the name of OpenFst's tool for these types. Arcs under the label of a phi
file are followed where nothing else matches, and consume nothing. Those of rho match what no
other arc of the state matches, those of sigma any symbol. Compose reads the label and its meaning
from the file. Types such as input_phi and output_phi name the side. A machine without arcs under
the label composes as usual.

  fst special --fst_type=phi --phi_fst_phi_label=9 model.fst backoff.fst
  fst special --fst_type=rho --rho_fst_rho_label=2 rules.fst | fst compose words.fst -

Time O(states + arcs).`,
	setup: setupConvert})

func setupConvert(fs *flags.Set) func(*call) error {
	to := fs.Enum("fst_type", "vector", fst.FileTypes(), "Type to write")
	labels, modes := map[string]*int64{}, map[string]*string{}
	for _, s := range []string{"phi", "rho", "sigma"} {
		labels[s] = fs.Int(s+"_fst_"+s+"_label", 32, 0, "Label of the arcs to be taken for "+s)
		modes[s] = fs.Enum(s+"_fst_rewrite_mode", "auto", []string{"auto", "always", "never"},
			"Put what a "+s+" arc matches on both sides")
	}
	loop := fs.Bool("phi_fst_phi_loop", true, "A loop of phi consumes a symbol")
	return func(c *call) error {
		// A file gets what the header of the other claims, as it is; the next stage of a pipeline
		// would believe it.
		c.plain = c.pipe == nil && (*to == "vector" || strings.HasPrefix(*to, "const"))
		t, err := c.machine(0)
		if err != nil {
			return err
		}
		for s, l := range labels {
			if *to == s || *to == "input_"+s || *to == "output_"+s {
				if *l == 0 && s != "phi" && t.fstType != *to { // which keeps its own
					return fmt.Errorf("flag --%s_fst_%s_label: ε (0) cannot be %s", s, s, s)
				}
				mode := slices.Index([]string{"auto", "always", "never"}, *modes[s])
				c.special = &fst.SpecialLabel{Label: fst.Label(*l), Loop: s == "phi" && *loop, Rewrite: fst.Rewrite(mode)}
			}
		}
		return c.writeMachine(1, t, t.m, *to)
	}
}

// lookAhead returns m with the labels that its states can reach, if the file type needs these and m
// lacks them. It writes the pairs of labels that flags request.
func (c *call) lookAhead(t *typed, m machine, fstType, out string) (machine, error) {
	side, save := ops.Input, *c.lib.saveIPairs
	switch fstType {
	case "ilabel_lookahead":
	case "olabel_lookahead":
		side, save = ops.Output, *c.lib.saveOPairs
	default:
		return m, nil
	}
	if g, ok := m.(interface{ AddOn() *fst.AddOn }); ok && g.AddOn() != nil && g.AddOn().Type == fstType {
		return m, nil
	}
	if err := c.distinct(save, result(out)); err != nil {
		return nil, err
	}
	lim, cancel := c.lib.limits()
	defer cancel()
	m, pairs, err := t.LabelLookAhead(m, side, lim)
	if err != nil || save == "" {
		return m, err
	}
	return m, c.Output(save, func(w io.Writer) error { return fst.WriteLabelPairs(w, pairs) })
}

var _ = offer(&tool{name: "compress", args: "[in.fst [out.fstz]]  or  --decode [in.fstz [out.fst]]",
	looks: true,
	max:   2, summary: "Makes a machine small for keeping, or gives it back with --decode.", about: `
States are renumbered in breadth-first order, and the order of the arcs of a state changes.
Without --arc_type, the file says what the weights are.

  fst compress in.fst out.fstz
  fst compress --decode out.fstz in.fst

Time O(states + arcs · log arcs).`,
	setup: func(fs *flags.Set) func(*call) error {
		arcType := fs.String("arc_type", "standard", "Type of weights, with --decode")
		fs.Choose("arc_type", arctypes.Names()...)
		decode := fs.Bool("decode", false, "Give back the machine")
		return func(c *call) error {
			if !*decode {
				t, err := c.machine(0)
				if err != nil {
					return err
				}
				return c.Output(c.arg(1), func(w io.Writer) error { return t.Compress(w, t.m) })
			}
			r, shown, err := c.Open(c.arg(0))
			if err != nil {
				return err
			}
			defer r.Close()
			// The mark, the mark of the table, the length of the arc type and that.
			head := make([]byte, 12+64)
			n, err := io.ReadFull(r, head)
			if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
				return err
			}
			head = head[:n]
			if n > 12 && !c.flags.Given("arc_type") {
				if k := coding.LittleEndian.Uint32(head[8:]); k <= uint32(n-12) {
					*arcType = string(head[12 : 12+k])
				}
			}
			s, err := arctypes.Of(*arcType)
			if err != nil {
				return fmt.Errorf("%s: %w", shown, err)
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			m, err := s.Decompress(io.MultiReader(bytes.NewReader(head), r), shown, lim)
			if err != nil {
				return err
			}
			return c.writeMachine(1, &typed{Suite: s, m: m}, m, "")
		}
	}})

// shortFormat is the form of weights that farprintstrings has: six digits.
func (c *call) shortFormat() semiring.TextFormat {
	f := c.format()
	f.Digits = 6
	return f
}
