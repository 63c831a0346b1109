package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/fst"
)

// Machines of the types phi, rho and sigma, whose labels composition takes in a way of their own,
// and linear models. Debian builds no library of them, so that they are compared where
// TROPICA_PLUGINS names a directory that has phi-fst.so, input_phi-fst.so and so on,
// linear_tagger-fst.so and linear_classifier-fst.so, made from OpenFst's sources.

// specialTypes are the types of files of machines with a special label.
var specialTypes = words("phi input_phi output_phi rho input_rho output_rho sigma input_sigma output_sigma")

// specialKind returns phi, rho or sigma where a type of file has that label, else "".
func specialKind(fstType string) string {
	if !slices.Contains(specialTypes, fstType) {
		return ""
	}
	return fstType[strings.IndexByte(fstType, '_')+1:]
}

// specialFlags are those of fstconvert that say what m.special has.
func (m *model) specialFlags() []string {
	kind := specialKind(m.fstType)
	if kind == "" {
		return nil
	}
	flags := []string{fmt.Sprintf("--%s_fst_%s_label=%d", kind, kind, m.special.Label),
		fmt.Sprintf("--%s_fst_rewrite_mode=%s", kind, []string{"auto", "always", "never"}[m.special.Rewrite])}
	if kind == "phi" {
		flags = append(flags, fmt.Sprintf("--phi_fst_phi_loop=%v", m.special.Loop))
	}
	return flags
}

// makeSpecial gives m a type with a special label, and arcs that have it on a side: of phi one a
// state at most, mostly, and mostly to higher states or loops, since OpenFst goes round in circles.
func (m *model) makeSpecial(rng *rand.Rand, side byte) {
	m.fstType = specialTypes[rng.IntN(len(specialTypes))]
	if want := map[byte]string{'i': "input_", 'o': "output_"}[side]; rng.IntN(4) != 0 &&
		strings.Contains(m.fstType, "_") {
		m.fstType = want + specialKind(m.fstType)
	}
	kind := specialKind(m.fstType)
	label := []fst.Label{9, 9, 9, 9, 9, 0, 2, -1}[rng.IntN(8)]
	if label == 0 && kind != "phi" && rng.IntN(4) != 0 { // an error
		label = 9
	}
	m.special = fst.SpecialLabel{Label: label, Loop: rng.IntN(8) != 0, Rewrite: fst.Rewrite(rng.IntN(3))}
	if kind != "phi" {
		m.special.Loop = false
	}
	of := func(a *modelArc) *fst.Label {
		if side == 'i' {
			return &a.in
		}
		return &a.out
	}
	if kind == "phi" { // those that were drawn would be several a state
		m.arcs = slices.DeleteFunc(m.arcs, func(a modelArc) bool { return *of(&a) == label })
	}
	acceptor := m.acceptor()
	for q := range m.finals {
		if rng.IntN(2) == 0 {
			continue
		}
		for range 1 + rng.IntN(2) {
			on := label
			if on == fst.NoLabel { // no label on an arc, and of a file that nothing is special
				on = 9
			}
			a := modelArc{from: q, to: q + rng.IntN(len(m.finals)-q), in: on, out: on,
				weight: []float64{0, 0.5, 2.25}[rng.IntN(3)]}
			if kind == "phi" && a.to == q && !m.special.Loop {
				break
			}
			if rng.IntN(60) == 0 {
				a.to = rng.IntN(len(m.finals))
			}
			if !acceptor && rng.IntN(2) == 0 {
				other := &a.out
				if side == 'o' {
					other = &a.in
				}
				*other = fst.Label(rng.IntN(4))
			}
			m.arcs = append(m.arcs, a)
			if kind == "phi" && rng.IntN(40) != 0 {
				break
			}
		}
	}
	if rng.IntN(20) != 0 {
		m.sort(side)
	}
}

// toMatch are two machines to compose, one of which, or rarely both, has a special label.
func toMatch(rng *rand.Rand, arcType string) []*model {
	ms := toCompose(rng.IntN(3) == 0)(rng, arcType)
	for _, m := range ms {
		if m.fstType != "const" {
			m.fstType = "vector"
		}
	}
	which := rng.IntN(2)
	ms[which].makeSpecial(rng, "oi"[which])
	if rng.IntN(8) == 0 {
		ms[1-which].makeSpecial(rng, "io"[which])
	}
	return ms
}

// toMeet is toMatch without phi as ε, which OpenFst misreads, and which could not be told in
// another way there where labels are not to be put on both sides.
func toMeet(rng *rand.Rand, arcType string) []*model {
	for {
		ms := toMatch(rng, arcType)
		if !slices.ContainsFunc(
			ms, func(m *model) bool { return specialKind(m.fstType) == "phi" && m.special.Label == fst.Epsilon }) {
			return ms
		}
	}
}

// toMark is a machine to convert, some labels of which are what flags make special.
func toMark(rng *rand.Rand, arcType string) []*model {
	m := drawModel(rng, arcType, traits{})
	if rng.IntN(2) == 0 {
		m.makeSpecial(rng, "io"[rng.IntN(2)])
	}
	return []*model{m}
}

// misread returns what OpenFst is to read instead of input i of a composition, nil if that input:
// the same by definition, where its matchers make something else of it.
//
// A rho machine whose label means nothing on the side that is matched, since it is -1 or special on
// the other side: RhoMatcher::Priority looks for arcs of label -1 then, finds those of ε, and has
// them match what nothing else does, which they do not do where the machine is not asked for its
// priority. It is a machine without rho.
//
// A phi machine whose phi is ε, beside a machine with ε: the filters count failures as ε-moves, and
// hold back for them those of the other machine, with which paths are lost. It is one whose phi has
// a label of its own.
func (c *peerCase) misread(i int) *model {
	if !slices.Contains(words("compose intersect difference pdtcompose mpdtcompose"), c.tool.name) || i > 1 {
		return nil
	}
	m, other := c.inputs[i], c.inputs[1-i]
	elsewhere := strings.HasPrefix(m.fstType, []string{"input_", "output_"}[i])
	matched := func(a *modelArc, i int) *fst.Label {
		if i == 0 {
			return &a.out
		}
		return &a.in
	}
	switch kind := specialKind(m.fstType); {
	case kind == "rho" && (elsewhere || m.special.Label == fst.NoLabel):
		plain := m.clone()
		plain.fstType = "const"
		return plain
	case kind == "phi" && !elsewhere && m.special.Label == fst.Epsilon &&
		slices.ContainsFunc(other.arcs, func(a modelArc) bool { return *matched(&a, 1-i) == 0 }):
		own, side := m.clone(), "oi"[i]
		own.special.Label = 7777
		own.sort(side)
		sorted := slices.Equal(own.arcs, m.arcs)
		own.arcs = slices.Clone(m.arcs)
		both := m.special.Rewrite == fst.RewriteAlways || m.special.Rewrite == fst.RewriteAuto && m.acceptor()
		if !both && c.tool.name == "intersect" { // it would be no acceptor
			return nil
		}
		for k := range own.arcs {
			a := &own.arcs[k]
			if *matched(a, i) != 0 {
				continue
			}
			if *matched(a, i) = 7777; both && *matched(a, 1-i) == 0 {
				*matched(a, 1-i) = 7777
			}
		}
		if sorted {
			own.sort(side)
		}
		return own
	}
	return nil
}

// readable writes the inputs that OpenFst misreads once more, as misread has them. It returns the
// names of the files that OpenFst is to read.
func (p *peers) readable(c *peerCase, files []string) []string {
	files = slices.Clone(files)
	for i := range c.inputs {
		if c.far != nil {
			break
		}
		if m := c.misread(i); m != nil {
			files[i] = filepath.Join(p.dir, fmt.Sprintf("plain%d.fst", i))
			must(os.WriteFile(files[i], m.encode(), 0o666))
			p.files = append(p.files, files[i])
		}
	}
	return files
}

// linearModel is a linear model, with the machine that it stands for.
func linearModel(rng *rand.Rand, arcType string) *model {
	if arcType == "log64" { // OpenFst has none
		arcType = "log"
	}
	m := &model{arcType: arcType, start: -1, fstType: "vector"}
	dir := must1(os.MkdirTemp("", "linear"))
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "model")
	call := []string{"fstlinear", "--arc_type=" + arcType, "--out=" + out}
	if rng.IntN(3) == 0 {
		call = append(call, "--classifier")
	}
	for i, text := range drawLinearTexts(rng) {
		name := filepath.Join(dir, fmt.Sprint(i))
		must(os.WriteFile(name, []byte(text), 0o666))
		if i == 0 {
			name = "--vocab=" + name
		}
		call = append(call, name)
	}
	quiet := cli.Streams{Out: io.Discard, Err: io.Discard}
	if run(call, quiet) != 0 {
		return m
	}
	var plain bytes.Buffer
	if run([]string{"fstconvert", out}, cli.Streams{Out: &plain, Err: io.Discard}) != 0 {
		return m
	}
	m = modelOf(plain.Bytes())
	m.arcType, m.fstType, m.linear = arcType, "linear", must1(os.ReadFile(out))
	return m
}

// oneLinear is a linear model.
func oneLinear(rng *rand.Rand, arcType string) []*model { return []*model{linearModel(rng, arcType)} }

// toTag are a sentence of words that a linear model has, and the model. OpenFst composes models as
// second machines alone, and looks other words up behind its tables.
func toTag(rng *rand.Rand, arcType string) []*model {
	m := linearModel(rng, arcType)
	words := fst.Label(1)
	for _, a := range m.arcs {
		words = max(words, a.in)
	}
	of := sentence(rng, m.arcType)[0]
	for i := range of.arcs {
		if a := &of.arcs[i]; a.out != 0 {
			a.out = 1 + (max(a.out, 1)-1)%words
		}
	}
	of.sort('o')
	return []*model{of, m}
}

// specialTools are drawn beside the others where OpenFst knows the special types.
var specialTools = []peerTool{
	{"compose", toMatch, choose(filters, words("--connect=false --connect")), 'f'},
	{"compose", toMatch, choose(words("--connect=false --connect")), 'f'},
	{"intersect", toMeet, choose(filters, words("--connect=false --connect")), 'f'},
	{"convert", strange(toMark), choose(func() (flags []string) {
		for _, t := range specialTypes {
			flags = append(flags, "--fst_type="+t)
		}
		return flags
	}(), words("--phi_fst_phi_label=9 --phi_fst_phi_label=0 --phi_fst_phi_label=-1 --phi_fst_phi_label=x"),
		words("--rho_fst_rho_label=9 --rho_fst_rho_label=2147483647"),
		words("--sigma_fst_sigma_label=9 --sigma_fst_sigma_label="),
		words("--phi_fst_phi_loop=false --phi_fst_phi_loop"), words("--phi_fst_rewrite_mode=always "+
			"--phi_fst_rewrite_mode=never --phi_fst_rewrite_mode=auto --phi_fst_rewrite_mode=always "+
			"--phi_fst_rewrite_mode=never --phi_fst_rewrite_mode=foo"),
		words("--rho_fst_rewrite_mode=never --rho_fst_rewrite_mode=auto"), words("--sigma_fst_rewrite_mode=always"),
		words("--fst_align")), 'f'},
}

// linearTools are drawn beside the others where OpenFst knows linear models.
var linearTools = []peerTool{
	{"convert", oneLinear, choose(words("--fst_type=const --fst_type=vector --fst_type=compact_acceptor"),
		words("--fst_align")), 'f'},
	{"print", oneLinear, choose(words("--acceptor"), words("--isymbols=SYMS")), 't'},
	{"info", oneLinear, choose(words("--info_type=short --info_type=long"), words("--arc_filter=epsilon")), 't'},
	{"compose", toTag, choose(words("--compose_filter=auto --compose_filter=sequence "+
		"--compose_filter=alt_sequence --compose_filter=match --compose_filter=null"), words("--connect=false")),
		'f'},
	{"loglinearapply", tropical(toTag), choose(words("--normalize=false --normalize")), 'f'},
}
