package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/cmd/fst/internal/arctypes"
	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/fst"
)

// The tools whose inputs or outputs are not machines alone: archives, texts, models, and files that
// flags name.

// farForm says what archives the inputs of a case are in.
type farForm struct {
	kind     string // --far_type of the archives
	numbered bool   // keys are numbers
	repeated bool   // two machines each have the same key
	mark     string // what keys begin with
	split    int    // how many machines are in the first archive, the others being in a second one; 0 is all
	cut      int    // bytes missing at the end of the last archive
}

// textTools read text, and have no machine for an input.
var textTools = words("compile linear farcompilestrings")

// noMachine stands for the machine that a text is to become.
func noMachine(_ *rand.Rand, arcType string) []*model {
	return []*model{{arcType: arcType, start: -1, fstType: "vector"}}
}

// machines draws up to four machines of one arc type, rarely with one of another.
func machines(rng *rand.Rand, arcType string) (ms []*model) {
	for range 1 + rng.IntN(4) {
		ms = append(ms, drawModel(rng, arcType, traits{}))
	}
	if rng.IntN(20) == 0 {
		ms = append(ms, drawModel(rng, "log64", traits{}))
	}
	return ms
}

// alike are machines, and mostly such as they are again: two archives to compare.
func alike(rng *rand.Rand, arcType string) []*model {
	var ms, again []*model
	for range 1 + rng.IntN(3) {
		m := drawModel(rng, arcType, traits{deterministic: rng.IntN(2) == 0})
		ms, again = append(ms, m), append(again, m.clone())
		if rng.IntN(6) == 0 {
			again[len(again)-1] = m.alter(rng)
		}
	}
	if rng.IntN(10) == 0 {
		again = again[:len(again)-1]
	}
	return append(ms, again...)
}

// strs are machines of one string each, mostly.
func strs(rng *rand.Rand, arcType string) (ms []*model) {
	for range 1 + rng.IntN(4) {
		m := drawString(rng, &model{arcType: arcType, known: rng.IntN(2) == 0}, rng.IntN(6), 1+rng.IntN(30))
		for i := range m.arcs { // characters, or symbols of SYMS
			if a := &m.arcs[i]; rng.IntN(3) == 0 && a.in > 0 {
				a.in += []fst.Label{90, 900, 0x20ac}[rng.IntN(3)]
				a.out = a.in
			}
		}
		if rng.IntN(12) == 0 {
			m = drawModel(rng, arcType, traits{})
		}
		ms = append(ms, m)
	}
	return ms
}

// oneString is a machine of one path, which leaves fstrandgen no choice.
func oneString(rng *rand.Rand, arcType string) []*model {
	return []*model{drawString(rng, &model{arcType: arcType}, rng.IntN(5), 1+rng.IntN(4))}
}

// compressible is a machine without two arcs of the same labels to one state: OpenFst could not
// read the result.
func compressible(rng *rand.Rand, arcType string) []*model {
	m := drawModel(rng, arcType, traits{})
	seen := map[modelArc]bool{}
	m.arcs = slices.DeleteFunc(m.arcs, func(a modelArc) bool {
		a.weight = 0
		defer func() { seen[a] = true }()
		return seen[a]
	})
	return []*model{m}
}

// plain leaves one symbol to each label: of several, --save_isymbols of OpenFst writes one as often
// as there are.
func plain(inputs func(*rand.Rand, string) []*model) func(*rand.Rand, string) []*model {
	return func(rng *rand.Rand, arcType string) []*model {
		ms := inputs(rng, arcType)
		for _, m := range ms {
			m.doubled = false
		}
		return ms
	}
}

// tropical is the same over tropical weights alone, where sums do not go on below --delta.
func tropical(inputs func(*rand.Rand, string) []*model) func(*rand.Rand, string) []*model {
	return func(rng *rand.Rand, _ string) []*model { return inputs(rng, "standard") }
}

// itself is a machine twice, in files of whatever types.
func itself(rng *rand.Rand, arcType string) []*model {
	a := drawModel(rng, arcType, traits{acyclic: true, finite: true})
	b := a.clone()
	b.fstType, b.known = "vector", !a.known
	if strings.HasSuffix(a.fstType, "lookahead") { // which has other labels
		a.fstType = "const"
	}
	return []*model{a, b}
}

// Words of the vocabulary of models have labels from 2 on; 1 is the unknown word.
func sentence(rng *rand.Rand, arcType string) []*model {
	m := drawModel(rng, arcType, traits{acyclic: true, acceptor: rng.IntN(4) != 0, finite: true, sorted: 'o'})
	m.isyms, m.osyms = 0, 0
	if m.beyond(1e6) { // OpenFst rounds to Infinity what is divided by --delta
		for i := range m.arcs {
			m.arcs[i].weight = 0.5
		}
		for q := range m.finals {
			m.finals[q] = min(m.finals[q], 1)
		}
	}
	if strings.HasSuffix(m.fstType, "lookahead") || specialKind(m.fstType) != "" { // compose has these
		m.fstType = "const"
	}
	return []*model{m}
}

// fileTools are drawn beside those of peerTools.
var fileTools = []peerTool{
	{"compile", noMachine, choose(words("--acceptor"), words("--isymbols=TEXT1 --isymbols=SYMS "+
		"--isymbols=nosuchfile"), words("--osymbols=TEXT1 --osymbols=SYMS"), words("--ssymbols=TEXT2"),
		words("--keep_isymbols"), words("--keep_osymbols"), words("--keep_state_numbering"),
		words("--allow_negative_labels"), words("--fst_type=const --fst_type=compact_acceptor "+
			"--fst_type=compact_string --fst_type=edit --fst_type=foo")), 'f'},
	{"linear", noMachine, always("--vocab=TEXT0 --out=OUT/model",
		choose(words("--save_isymbols=OUT/isyms"), words("--save_osymbols=OUT/osyms"),
			words("--save_fsymbols=OUT/fsyms"), words("--classifier"), words("--delimiter=| --delimiter=;"),
			words("--empty_symbol=<empty> --empty_symbol=-"), words("--start_symbol=<s> --start_symbol=^"),
			words("--end_symbol=</s> --end_symbol=<s>"), words("--epsilon_symbol=ε --epsilon_symbol=w1 "+
				"--epsilon_symbol=X"), words("--unknown_symbol=? --unknown_symbol=w0 --unknown_symbol="),
			words("--arc_type=log --arc_type=foo"))), 'x'},
	{"compile", noMachine, always("--allow_negative_labels --isymbols=TEXT1 --osymbols=TEXT2",
		choose(words("--acceptor"), words("--keep_isymbols"), words("--keep_osymbols"))), 'f'},
	{"compress", compressible, always("--decode", choose()), 'f'},
	{"encode", one(), always("--decode", choose(words("--encode_labels"), words("--encode_weights"))), 'f'},
	{"encode", one(), always("--encode_reuse", choose(words("--encode_labels"), words("--encode_weights"))),
		'f'},
	{"print", plain(strange(one())), choose(words("--save_isymbols=OUT/isyms"),
		words("--save_osymbols=OUT/osyms"), words("--isymbols=SYMS"), words("--missing_symbol=?")), 't'},
	{"print", strange(one()), always("--allow_negative_labels --isymbols=DOUBLED",
		choose(words("--osymbols=DOUBLED"), words("--ssymbols=SYMS"), words("--missing_symbol=?"),
			words("--acceptor"))), 't'},
	{"draw", strange(one()), always("--allow_negative_labels --isymbols=DOUBLED",
		choose(words("--osymbols=DOUBLED"), words("--ssymbols=SYMS"))), 't'},
	{"symbols", plain(named), choose(words("--save_isymbols=OUT/isyms"), words("--save_osymbols=OUT/osyms"),
		words("--clear_isymbols"), words("--isymbols=SYMS"), words("--relabel_ipairs=PAIRS")), 'f'},
	{"symbols", strange(named), always("--allow_negative_labels",
		choose(words("--isymbols=DOUBLED"), words("--osymbols=DOUBLED"), words("--relabel_opairs=PAIRS"),
			words("--verify"))), 'f'},
	{"relabel", strange(named), always("--allow_negative_labels",
		choose(words("--isymbols=DOUBLED"), words("--osymbols=DOUBLED"), words("--relabel_isymbols=DOUBLED"),
			words("--relabel_osymbols=OTHER"), words("--unknown_isymbol=x"))), 'f'},
	{"determinize", tropical(one(traits{acyclic: true, acceptor: true}, traits{acyclic: true})),
		choose(words("--delta=0.01 --delta=0.25")), 'f'},
	{"prune", tropical(one()), always("--delta=0.01", choose(thresholds)), 'f'},
	{"push", tropical(one()), always("--push_weights --delta=0.01",
		choose(words("--to_final"), words("--remove_total_weight"))), 'f'},
	{"shortestdistance", tropical(one()), always("--delta=0.01", choose(words("--reverse"), queues)), 'd'},
	{"shortestpath", tropical(one()), always("--delta=0.01", choose(words("--nshortest=3"), words("--unique"))),
		'f'},
	{"mpdtcompose", toPush(2), always("--mpdt_parentheses=TRIPLES --left_mpdt=false",
		choose(pushFilters, words("--connect=false --connect"))), 'f'},
	{"pdtreplace", toReplace, always("--start_paren_labels=200",
		choose(words("--left_paren_prefix=[ --left_paren_prefix="), words("--right_paren_prefix=]"))), 'f'},
	{"loglinearapply", sentence, choose(words("--normalize=false --normalize")), 'f'},
	{"compress", compressible, choose(words("--arc_type=standard --arc_type=log")), 'x'},
	{"randgen", oneString, choose(words("--npath=3 --npath=1"),
		words("--select=uniform --select=log_prob --select=fast_log_prob"), words("--weighted"), words("--seed=3"),
		words("--remove_total_weight"), words("--max_length=100")), 'f'},
	{"randgen", one(traits{acyclic: true}), choose(words("--npath=3 --npath=0"), words("--weighted"),
		words("--remove_total_weight"), words("--max_length=0 --max_length=1")), 'x'},
	{"equivalent", itself, always("--random", choose(words("--npath=5"), words("--seed=3"),
		words("--max_length=4"), words("--select=uniform --select=log_prob --select=fast_log_prob --select=foo"),
		words("--delta=0.1"))), 'x'},

	{"farcreate", machines, choose(farField, farTypes, words("--generate_keys=3 --generate_keys=1"),
		words("--key_prefix=p- --key_prefix=ü% --key_prefix=a/b"), words("--key_suffix=.x --key_suffix=')"),
		words("--file_list_input")), 'a'},
	{"farextract", machines, always("--filename_prefix=OUT/x-",
		choose(farField, words("--filename_suffix=.fst"), words("--generate_filenames=3"),
			words("--keys=KEY0 --keys=KEY1 --keys=KEY0,KEY2 --keys=zz"))), 'a'},
	{"farextract", machines, always("--filename_prefix=OUT/x- --key_separator=; --range_delimiter=/",
		choose(farField, words("--filename_suffix=.fst"), words("--keys=KEY0;KEY2 --keys=KEY0/KEY1 "+
			"--keys=KEY1/KEY2;KEY0"))), 'a'},
	{"farinfo", machines, choose(farField, words("--list_fsts --list_fsts=false"),
		words("--begin_key=KEY0 --begin_key=KEY1"),
		words("--end_key=KEY0 --end_key=KEY2 --end_key=a --end_key=zz")), 'a'},
	{"farequal", alike, choose(farField, words("--begin_key=KEY0 --begin_key=KEY1"),
		words("--end_key=KEY0 --end_key=KEY1 --end_key=zz"), words("--delta=0.1 --delta=0.00001")), 'a'},
	{"farisomorphic", alike, choose(farField, words("--begin_key=KEY0 --begin_key=KEY1"),
		words("--end_key=KEY0 --end_key=KEY1 --end_key=zz"), words("--delta=0.1 --delta=0.00001")), 'a'},
	{"farprintstrings", strs, always("--filename_prefix=OUT/x-",
		choose(farField, words("--begin_key=KEY0 --begin_key=KEY1"),
			words("--end_key=KEY0 --end_key=KEY2 --end_key=zz"), words("--entry_type=line --entry_type=file "+
				"--entry_type=foo"), words("--filename_suffix=.txt"), words("--generate_filenames=2"),
			words("--initial_symbols=false"), words("--print_key"), words("--print_weight"), words("--symbols=SYMS"),
			words("--token_type=symbol --token_type=byte --token_type=utf8"))), 'a'},
	{"farcompilestrings", noMachine, choose(farField, farTypes, words("--entry_type=line --entry_type=file"),
		words("--token_type=symbol --token_type=byte --token_type=utf8"), words("--symbols=TEXT0"),
		words("--arc_type=log --arc_type=log64 --arc_type=foo"), words("--fst_type=compact --fst_type=vector "+
			"--fst_type=const"), words("--generate_keys=3"), words("--key_prefix=p- --key_prefix=ü%"),
		words("--key_suffix=.x"), words("--keep_symbols"), words("--initial_symbols=false"),
		words("--unknown_symbol=b --unknown_symbol=zzz"), words("--allow_negative_labels"),
		words("--file_list_input")), 'a'},
}

var farField = words("--far_field_separator=:")

var farTypes = words("--far_type=default --far_type=sttable --far_type=stlist --far_type=fst --far_type=foo")

func init() { peerTools = append(peerTools, fileTools...) }

// drawTexts draws what a case has beside machines: texts, and the form of archives.
func drawTexts(rng *rand.Rand, c *peerCase) {
	switch c.tool.name {
	case "compile":
		c.flags = append(c.flags, "--arc_type="+c.inputs[0].arcType)
		c.texts = []string{drawMachineText(rng, c.flags), drawTable(rng), drawTable(rng)}
	case "linear":
		c.texts = drawLinearTexts(rng)
	case "loglinearapply":
		if c.stdin = false; len(c.inputs) == 1 {
			c.texts = drawLinearTexts(rng)
		}
	case "farcompilestrings":
		c.texts = []string{drawTable(rng)}
		if slices.Contains(c.flags, "--keep_symbols") { // OpenFst could not read two symbols for one label again
			seen := map[string]bool{}
			c.texts[0] = ""
			for line := range strings.Lines(drawTable(rng)) {
				f := strings.Fields(line)
				if label := slices.Concat([]string{""}, f)[len(f)]; !seen[label] {
					seen[label] = true
					c.texts[0] += line
				}
			}
		}
		for range 1 + rng.IntN(3) {
			c.texts = append(c.texts, drawStrings(rng))
		}
	case "compress":
		if slices.Contains(c.flags, "--decode") {
			c.flags = append(c.flags, "--arc_type="+c.inputs[0].arcType)
			c.stdin = false // OpenFst has a message for what is not compressed, and status 0
		}
	case "farextract", "farinfo", "farprintstrings", "farequal", "farisomorphic":
		c.far = &farForm{kind: []string{"sttable", "stlist", "fst"}[rng.IntN(3)], numbered: rng.IntN(2) == 0,
			mark: []string{"", "p-", "ü %"}[rng.IntN(3)]}
		if rng.IntN(3) == 0 {
			c.far.split = rng.IntN(len(c.inputs))
		}
		if c.far.kind == "stlist" && rng.IntN(8) != 0 &&
			slices.ContainsFunc(c.flags, func(f string) bool { return strings.Contains(f, "=KEY") }) {
			c.far.kind = "sttable" // OpenFst finds no key in lists
		}
		// Of a third machine under one key, OpenFst may have the address of the second.
		c.far.repeated = !c.far.numbered && rng.IntN(4) == 0 &&
			!slices.ContainsFunc(c.flags, func(f string) bool { return strings.Contains(f, "KEY1/KEY2;KEY0") })
		if c.far.mark == "p-" && c.tool.name == "farextract" && rng.IntN(8) != 0 { // the delimiter of ranges
			c.far.mark = "p"
		}
		if c.tool.name == "farextract" && c.far.kind == "fst" { // its key is the path of the archive
			c.far.kind = "sttable"
		}
		if c.compares() {
			c.far.split = (len(c.inputs) + 1) / 2
		}
		if slices.Contains(c.flags, "--token_type=byte") { // OpenFst prints the lowest byte of other labels
			for _, m := range c.inputs {
				for i := range m.arcs {
					m.arcs[i].in &= 0xff
					m.arcs[i].out &= 0xff
				}
			}
		}
		if rng.IntN(15) == 0 {
			c.far.cut = 1 + rng.IntN(200)
		}
		// OpenFst reads lists alone from standard input, and those over tropical weights alone.
		c.stdin = c.stdin && c.far.split == 0 && c.far.kind == "stlist" && c.inputs[0].arcType == "standard"
	case "farcreate":
		c.stdin = false
	}
	// keys out of order, and again
	if (c.tool.name == "farcreate" || c.tool.name == "farcompilestrings") && rng.IntN(4) == 0 {
		for range 1 + rng.IntN(4) {
			c.order = append(c.order, rng.IntN(4))
		}
	}
	if slices.Contains(textTools, c.tool.name) && c.tool.name != "compile" {
		c.stdin = false
	}
	// which OpenFst does not write there
	if slices.Contains(c.flags, "--far_type=sttable") && rng.IntN(20) != 0 {
		c.stdout = false
	}
	if slices.Contains(c.flags, "--file_list_input") { // alone, OpenFst takes a list for an input
		c.stdout = false
	}
}

// drawMachineText draws the text of a machine, mostly one that is well formed, with separators,
// blank lines and fields as they come.
func drawMachineText(rng *rand.Rand, flags []string) string {
	pick := func(xs ...string) string { return xs[rng.IntN(len(xs))] }
	given := func(name string) bool {
		return slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, name) })
	}
	field := func(name string, plain ...string) string {
		if rng.IntN(60) == 0 {
			return pick("-1", "-5", "x", "07", "+3", "2147483647", "0x1", "1.5", "a,b", "<eps>")
		}
		if given(name) {
			return pick("<eps>", "a", "b", "c", "minus", "a", "b")
		}
		return pick(plain...)
	}
	numbers := []string{"0", "1", "2", "3", "17"}
	if given("--allow_negative_labels") {
		numbers = append(numbers, "-1", "-2", "-7")
	}
	state := func() string { return field("--ssymbols", "0", "1", "2", "5", "3") }
	var b strings.Builder
	for range rng.IntN(9) {
		var f []string
		switch rng.IntN(4) {
		case 0:
			f = []string{state()}
		default:
			f = []string{state(), state(), field("--isymbols", numbers...)}
			if !given("--acceptor") {
				f = append(f, field("--osymbols", numbers...))
			}
		}
		if rng.IntN(2) == 0 {
			f = append(f, pick("0", "0.5", "1e3", "Infinity", "-2", ".25", "1e-50", "1e50", "0x1p3", "inf", "2.", "+1",
				pick("1", "abc", "BadNumber", "1,5", "-Infinity")))
		}
		if rng.IntN(40) == 0 {
			f = append(f, "9")
		}
		b.WriteString(pick("", "", "", " ", "\t"))
		for i, w := range f {
			if i > 0 {
				b.WriteString(pick("\t", "\t", " ", "  ", " \t "))
			}
			b.WriteString(w)
		}
		b.WriteString(pick("", "", "", " ", "\t") + "\n" + pick("", "", "", "", "\n", " \n"))
	}
	if rng.IntN(5) == 0 {
		return strings.TrimSuffix(b.String(), "\n")
	}
	return b.String()
}

// drawTable draws a table of symbols in which a symbol may have two labels, a label two symbols,
// and labels may be below 0.
func drawTable(rng *rand.Rand) string {
	pick := func(xs ...string) string { return xs[rng.IntN(len(xs))] }
	var b strings.Builder
	for i, s := range []string{"<eps>", "a", "b", "c"} {
		if rng.IntN(12) > 0 {
			fmt.Fprintf(&b, "%s%s%d\n", s, pick("\t", " ", "  ", "\t "), i)
		}
	}
	if rng.IntN(4) == 0 {
		fmt.Fprintf(&b, "%s\t%s\n", pick("a", "b", "d", "minus"), pick("1", "2", "7", "0"))
	}
	if rng.IntN(6) == 0 {
		fmt.Fprintf(&b, "minus\t%s\n", pick("-5", "-1", "-2"))
	}
	if rng.IntN(20) == 0 {
		b.WriteString(pick("\n", "one\n", "x y 3\n", "z q\n", "big 2147483647\n", "é 9"))
	}
	return b.String()
}

// drawStrings draws lines of symbols.
func drawStrings(rng *rand.Rand) string {
	pick := func(xs ...string) string { return xs[rng.IntN(len(xs))] }
	var b strings.Builder
	for range rng.IntN(5) {
		for range rng.IntN(5) {
			b.WriteString(pick("a", "b", "c", "a b", " ", "\t", "1", "17", "0", pick("zzz", "a", "é", "minus", "-3")))
			b.WriteString(pick(" ", " ", "\t", ""))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// drawLinearTexts draws the vocabulary and the features of a log-linear model.
func drawLinearTexts(rng *rand.Rand) []string {
	pick := func(xs ...string) string { return xs[rng.IntN(len(xs))] }
	files := 1 + rng.IntN(2)
	var vocabulary strings.Builder
	for i := range 1 + rng.IntN(4) {
		var features []string
		for f := range files {
			if rng.IntN(4) > 0 {
				features = append(features, fmt.Sprintf("f%d.%d", f, rng.IntN(3)))
			}
		}
		if len(features) == 0 {
			features = []string{"<empty>"}
		}
		fmt.Fprintf(&vocabulary, "w%d%s%s %s\n", i, pick(" ", "\t"), strings.Join(features, "|"),
			pick("<empty>", "<empty>", "X", "X|Y"))
	}
	texts := []string{vocabulary.String()}
	for f := range files {
		future := rng.IntN(2)
		text := fmt.Sprintf("%d\n", future)
		for range 1 + rng.IntN(5) {
			in := []string{fmt.Sprintf("f%d.%d", f, rng.IntN(3))}
			for range future {
				in = append(in, pick(fmt.Sprintf("f%d.%d", f, rng.IntN(3)), "</s>"))
			}
			text += fmt.Sprintf("%s\t%s %v\n", strings.Join(in, "|"), pick("X", "Y", "X|Y", "<s>|X"),
				float64(rng.IntN(16))/4)
		}
		if rng.IntN(15) == 0 {
			text += pick("f0.0 X\n", "f0.0 X one\n", "\n", "<eps> X 1\n")
		}
		texts = append(texts, text)
	}
	return texts
}

// writeInputs writes the files of a case and returns those that are arguments.
func (p *peers) writeInputs(c *peerCase) (args []string) {
	p.files = nil
	file := func(name string, content []byte) string {
		name = filepath.Join(p.dir, name)
		must(os.WriteFile(name, content, 0o666))
		p.files = append(p.files, name)
		return name
	}
	var texts []string
	for i, text := range c.texts {
		texts = append(texts, file(fmt.Sprintf("text%d", i), []byte(text)))
	}
	switch c.tool.name {
	case "compile":
		return texts[:1]
	case "linear":
		return texts
	case "farcompilestrings":
		return texts[1:]
	}
	var machines []string
	for i, m := range c.inputs {
		if c.far == nil {
			machines = append(machines, file(fmt.Sprintf("in%d.fst", i), m.encode()))
		}
	}
	p.mapper = nil
	switch {
	case c.tool.name == "encode" && slices.ContainsFunc(
		c.flags, func(f string) bool { return f == "--decode" || f == "--encode_reuse" }):
		mapper, encoded := filepath.Join(p.dir, "mapper"), filepath.Join(p.dir, "encoded")
		made := run(words(fmt.Sprintf("fstencode --encode_labels=%v --encode_weights=%v %s %s %s",
			c.spell>>50&1 == 0, c.spell>>51&1 == 0, machines[0], mapper, encoded)),
			cli.Streams{Out: io.Discard, Err: io.Discard})
		if made != 0 {
			must(os.WriteFile(mapper, nil, 0o666))
		} else if slices.Contains(c.flags, "--decode") {
			must(os.Rename(encoded, machines[0]))
		}
		p.mapper = must1(os.ReadFile(mapper))
		p.files = append(p.files, mapper)
		return machines
	case c.tool.name == "compress" && slices.Contains(c.flags, "--decode"):
		compressed := filepath.Join(p.dir, "compressed")
		if run([]string{"fstcompress", machines[0], compressed},
			cli.Streams{Out: io.Discard, Err: io.Discard}) == 0 {
			must(os.Rename(compressed, machines[0]))
		}
		return machines
	case c.tool.name == "loglinearapply" && len(c.inputs) == 1:
		// The type of files of models is in a library that is not packaged. As a machine OpenFst
		// takes the model.
		model := filepath.Join(p.dir, "model")
		must(os.WriteFile(model, nil, 0o666)) // as it stays where the text is no model
		run(slices.Concat(words("fstlinear --vocab="+texts[0]+" --out="+model), texts[1:]),
			cli.Streams{Out: io.Discard, Err: io.Discard})
		run([]string{"fstconvert", model, filepath.Join(p.dir, "model.fst")},
			cli.Streams{Out: io.Discard, Err: io.Discard})
		b, _ := os.ReadFile(filepath.Join(p.dir, "model.fst"))
		must(os.RemoveAll(filepath.Join(p.dir, "model.fst")))
		return append(machines, file("expanded.fst", b))
	case c.far == nil:
		return machines
	}
	parts := [][]*model{c.inputs}
	if c.far.split > 0 {
		parts = [][]*model{c.inputs[:c.far.split], c.inputs[c.far.split:]}
	}
	for i, part := range parts {
		mark := c.far.mark
		if i > 0 && !c.compares() { // of several machines under one key OpenFst writes addresses into names
			mark += "second-"
		}
		flags := []string{"farcreate", "--far_type=" + c.far.kind, "--key_prefix=" + mark}
		if c.far.numbered {
			flags = append(flags, "--generate_keys=2")
		}
		dir := filepath.Join(p.dir, fmt.Sprintf("part%d", i))
		must(os.MkdirAll(dir, 0o777))
		for k, m := range part {
			name := filepath.Join(dir, c.far.file(k))
			must(os.MkdirAll(filepath.Dir(name), 0o777))
			must(os.WriteFile(name, m.encode(), 0o666))
			flags = append(flags, name)
		}
		name := filepath.Join(p.dir, fmt.Sprintf("in%d.far", i))
		if run(append(flags, name), cli.Streams{Out: io.Discard, Err: io.Discard}) != 0 { // of several arc types
			must(os.WriteFile(name, nil, 0o666))
		}
		if i == len(parts)-1 && c.far.cut > 0 {
			b := must1(os.ReadFile(name))
			must(os.WriteFile(name, b[:max(0, len(b)-c.far.cut)], 0o666))
		}
		args = append(args, name)
	}
	p.files = args
	return args
}

// file is the name of the file of machine k of an archive, which ends in its key.
func (f *farForm) file(k int) string {
	if f.repeated {
		return filepath.Join(fmt.Sprint("again", k%2), fmt.Sprintf("in%d.fst", k/2))
	}
	return fmt.Sprintf("in%d.fst", k)
}

// compares tells whether the tool compares two archives.
func (c *peerCase) compares() bool {
	return c.tool.name == "farequal" || c.tool.name == "farisomorphic"
}

// keys returns the keys of the first archive.
func (c *peerCase) keys() (keys []string) {
	if c.far == nil {
		return nil
	}
	for i := range c.inputs {
		key := filepath.Base(c.far.file(i))
		if c.far.numbered {
			key = fmt.Sprintf("%02d", i+1)
		}
		keys = append(keys, c.far.mark+key)
	}
	if c.far.split > 0 {
		keys = keys[:c.far.split]
	}
	return keys
}

// place puts the names of files where flags have their marks. What a tool is to write to OUT goes
// to a directory for either side, which is empty.
func (p *peers) place(c *peerCase, side int) []string {
	out := filepath.Join(p.dir, fmt.Sprintf("out%d", side))
	must(os.RemoveAll(out))
	must(os.Mkdir(out, 0o777))
	pairs := []string{"OUT/", out + string(filepath.Separator)}
	for mark, name := range map[string]string{"PARENS": "parens.txt", "TRIPLES": "triples.txt",
		"SYMS": "syms.txt", "OTHER": "other.txt", "PAIRS": "pairs.txt", "DOUBLED": "doubled.txt", "TEXT0": "text0",
		"TEXT1": "text1", "TEXT2": "text2"} {
		pairs = append(pairs, mark, filepath.Join(p.dir, name))
	}
	if keys := c.keys(); len(keys) > 0 {
		for i := range 3 {
			pairs = append(pairs, fmt.Sprintf("KEY%d", i), keys[min(i, len(keys)-1)])
		}
	}
	marks := strings.NewReplacer(pairs...)
	flags := slices.Clone(c.flags)
	for i := range flags {
		flags[i] = marks.Replace(flags[i])
	}
	return flags
}

// addresses are what OpenFst puts into the name of the file of the second machine of a key.
var addresses = regexp.MustCompile(`\.0x[0-9a-f]+`)

// compareSaved compares the files that the tools have written where flags said.
func (p *peers) compareSaved() string {
	read := func(side int) map[string][]byte {
		files, dir := map[string][]byte{}, filepath.Join(p.dir, fmt.Sprintf("out%d", side))
		must(filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				name := addresses.ReplaceAllString(must1(filepath.Rel(dir, path)), ".1")
				files[name], err = os.ReadFile(path)
			}
			return err
		}))
		return files
	}
	theirs, ours := read(0), read(1)
	for name := range ours {
		if name == "made.far" && len(ours[name]) == 0 {
			continue // an archive of type fst without a machine, which OpenFst does not make
		}
		if _, ok := theirs[name]; !ok {
			return fmt.Sprintf("wrote %s, OpenFst has not", name)
		}
	}
	for name, want := range theirs {
		got, ok := ours[name]
		switch {
		case !ok:
			return fmt.Sprintf("has not written %s, which OpenFst has", name)
		case bytes.Equal(got, want):
		case strings.HasPrefix(name, "pairs"): // in order of labels here, of a hash table there
			a, b := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
			slices.Sort(a)
			slices.Sort(b)
			if !slices.Equal(a, b) {
				return fmt.Sprintf("%s is %q, OpenFst's %q", name, got, want)
			}
		case bytes.HasPrefix(got, []byte("\xd6\xfd\xb2\x7e")):
			// machines of one type and one set of tables, but for the bits of properties
			if d := compareFiles(got, want, 0, 0); d != "" {
				return name + ": " + d
			}
		case bytes.HasPrefix(got, []byte("\x5c\xf3\xb2\x7e")), bytes.HasPrefix(got, []byte("\x5c\x51\x56\x00")):
			if d := compareArchives(got, want); d != "" {
				return name + ": " + d
			}
		default:
			return fmt.Sprintf("%s is %q, OpenFst's %q", name, got, want)
		}
	}
	return ""
}

// compareArchives compares archives of the same kind by their machines: of some types of files,
// bits of properties and what fills up to multiples of 16 bytes are not the same.
func compareArchives(a, b []byte) string {
	read := func(b []byte) (keys []string, files [][]byte, err error) {
		r, err := fst.NewArchiveReader(bytes.NewReader(b), nil)
		if err != nil {
			return nil, nil, err
		}
		keys = append(keys, string(r.Type))
		for {
			key, h, err := r.Next()
			if err == io.EOF {
				return keys, files, nil
			}
			if err != nil {
				return nil, nil, err
			}
			s := must1(arctypes.Of(h.ArcType))
			m, err := s.Read(r.Stream(), h)
			if err != nil {
				return nil, nil, err
			}
			var out bytes.Buffer
			must(s.Write(&out, m, &fst.WriteOptions{Type: h.FstType}))
			keys, files = append(keys, key), append(files, out.Bytes())
		}
	}
	ours, x, err := read(a)
	if err != nil {
		return fmt.Sprint("our archive: ", err)
	}
	theirs, y, err := read(b)
	if err != nil {
		return fmt.Sprint("OpenFst's archive: ", err)
	}
	if !slices.Equal(ours, theirs) {
		return fmt.Sprintf("keys %q, OpenFst's %q", ours, theirs)
	}
	for i := range x {
		if d := compareFiles(x[i], y[i], 0, 0); d != "" {
			return ours[i+1] + ": " + d
		}
	}
	return ""
}

// runArchives compares calls of the tools that make or read archives: exit status, what is printed,
// and the archives and files written.
func (p *peers) runArchives(c *peerCase, prog string, flags, ourFlags, args []string, stdin []byte) string {
	makes := prog == "farcreate" || prog == "farcompilestrings"
	if c.order != nil {
		var ordered []string
		for _, i := range c.order {
			ordered = append(ordered, args[i%len(args)])
		}
		args = ordered
	}
	if slices.Contains(flags, "--file_list_input") {
		list := filepath.Join(p.dir, "list.txt")
		must(os.WriteFile(list, []byte(strings.Join(args, "\n")+"\n"), 0o666))
		args = []string{list}
	}
	if c.stdin && !makes { // OpenFst takes - for a file there
		args = nil
	}
	side := func(i int) []string {
		if !makes || c.stdout && len(args) == 1 {
			return args
		}
		return append(slices.Clone(args), filepath.Join(p.dir, fmt.Sprintf("out%d", i), "made.far"))
	}
	theirs := slices.Concat([]string{prog}, flags, side(0))
	wantOut, wantErr, want := p.openFst(prog, theirs[1:], stdin)
	var out, errs bytes.Buffer
	ours := append([]string{prog}, respell(rand.New(rand.NewPCG(c.spell, 0)), ourFlags, side(1))...)
	p.words = [2][]string{theirs, ours}
	got := run(append(ours, "--limit_states=50000", "--timeout=20s"),
		cli.Streams{In: bytes.NewReader(stdin), Out: &out, Err: &errs})
	complain := func(format string, a ...any) string {
		return fmt.Sprintf("%s\nour words: %q\nour messages: %s\nOpenFst's: %s", fmt.Sprintf(format, a...), ours,
			errs.String(), wantErr)
	}
	if want < 0 || want > 2 { // killed or crashed
		p.hung[c.tool.name]++
		return ""
	}
	if got != want {
		if why := c.otherStatus(got, want, wantErr); why != "" {
			p.statuses[c.tool.name+": "+why]++
			return ""
		}
		return complain("exit status %d, OpenFst's %d", got, want)
	}
	if want != 0 {
		return ""
	}
	if strings.Contains(wantErr, "STTableWriter: Writing to standard out unsupported") || makes &&
		strings.Contains(wantErr, "Can't determine stream position") {
		p.statuses[c.tool.name+": OpenFst has a message, and status 0"]++
		return ""
	}
	if makes && out.Len() > 0 && wantOut != "" && out.String() != wantOut { // but for bits of properties
		if d := compareArchives(out.Bytes(), []byte(wantOut)); d != "" {
			return complain("%s", d)
		}
	} else if out.String() != wantOut && !(c.inputs[0].arcType != "standard" &&
		slices.Contains(c.flags, "--print_weight") && c.sameLastFields(out.String(), wantOut)) {
		return complain("printed\n%s\nOpenFst printed\n%s", out.String(), wantOut)
	}
	if d := p.compareSaved(); d != "" {
		if _, errs, _ := p.openFst("farinfo", []string{filepath.Join(p.dir, "out0", "made.far")},
			nil); strings.Contains(errs, "SymbolTable::Read: Read failed") {
			p.statuses[c.tool.name+": OpenFst cannot read the symbols that it has written"]++
			return ""
		}
		return complain("%s", d)
	}
	return ""
}

// sameLastFields reports whether lines differ in nothing but the numbers at their ends, and in
// those by no more than sums over log weights may, or where the first's is the exact sum of a
// machine.
func (c *peerCase) sameLastFields(a, b string) bool {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	return slices.EqualFunc(x, y, func(a, b string) bool {
		i, k := strings.LastIndexAny(a, "\t:")+1, strings.LastIndexAny(b, "\t:")+1
		if a == b || a[:i] != b[:k] {
			return a == b
		}
		v, err := strconv.ParseFloat(a[i:], 64)
		w, err2 := strconv.ParseFloat(b[k:], 64)
		exact := func(m *model) bool {
			return m.start >= 0 && math.Abs(v-m.distances(m.start, true)[m.start]) <= 1e-5*max(math.Abs(v), 1)
		}
		return err == nil && err2 == nil && (math.Abs(v-w) <= 1e-3*max(math.Abs(v), 1e-3) ||
			slices.ContainsFunc(c.inputs, exact))
	})
}

// otherStatus says which of the differences of the package comment another exit status is, "" if it
// is none.
func (c *peerCase) otherStatus(got, want int, wantErr string) string {
	switch {
	case got != 1 && want == 1 && strings.Contains(wantErr, "Find: Operation not supported"):
		return "OpenFst finds no key in a list"
	case got == 1 && want == 0 && strings.Contains(wantErr, "ERROR: "):
		return "OpenFst has a message, and status 0"
	case got == 1 && want == 2 && (c.far.cut > 0 || strings.Contains(wantErr, "open FAR file")):
		return "OpenFst takes an archive that cannot be read for another one"
	case got == 1 && want == 0 && c.far != nil && c.far.cut > 0:
		return "OpenFst takes the place of the cut for the end"
	case got == 0 && want == 1 && strings.Contains(wantErr, "Can't determine stream position"):
		return "OpenFst reads nothing aligned from standard input"
	case got == 0 && want == 1 && c.far != nil && c.far.cut > 0 &&
		slices.ContainsFunc(c.flags, func(f string) bool { return strings.HasPrefix(f, "--end_key=") }):
		return "OpenFst reads a machine behind the last that is asked for"
	case got == 1 && want == 0 && slices.ContainsFunc(
		c.inputs, func(m *model) bool { return m.arcType != c.inputs[0].arcType }):
		return "OpenFst does not come upon the machines over other weights"
	}
	return ""
}

// fewer yields cases with one machine, or one line of a text, less.
func (c *peerCase) fewer(yield func(*peerCase) bool) {
	for i := range c.inputs {
		d := *c
		if c.tool.result != 'a' || len(c.inputs) == 1 {
			break
		}
		d.inputs = slices.Delete(slices.Clone(c.inputs), i, i+1)
		if c.far != nil {
			far := *c.far
			d.far = &far
			if i < far.split {
				far.split--
			}
			if c.far.split > 0 && (far.split == 0 || far.split == len(d.inputs)) {
				continue // an archive of nothing
			}
		}
		if !yield(&d) {
			return
		}
	}
	for i := range c.order {
		d := *c
		if d.order = slices.Delete(slices.Clone(c.order), i, i+1); len(d.order) > 0 && !yield(&d) {
			return
		}
	}
	if c.far != nil && (c.far.cut > 0 || c.far.mark != "") {
		d, far := *c, *c.far
		d.far, far.cut = &far, 0
		if c.far.cut == 0 {
			far.mark = ""
		}
		if !yield(&d) {
			return
		}
	}
	for i, text := range c.texts {
		lines := strings.SplitAfter(text, "\n")
		for k := range lines {
			d := *c
			d.texts = slices.Clone(c.texts)
			d.texts[i] = strings.Join(slices.Delete(slices.Clone(lines), k, k+1), "")
			if lines[k] != "" && !yield(&d) {
				return
			}
		}
	}
}
