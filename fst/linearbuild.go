package fst

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/semiring"
)

// LinearOptions says how the text of a linear model is read; nil is the same as the zero
// value, which is what OpenFst's fstlinear does without flags.
type LinearOptions struct {
	Classifier bool // a classifier; by default a tagger

	Delimiter byte   // between the features, or the outputs, of a field; zero is |
	Empty     string // what stands for no feature and no output; "" is <empty>
	// Start and End stand for what is before and after a sentence; "" are <s> and </s>. If they
	// are the same, the place decides.
	Start, End string
	Epsilon    string // symbol of label 0; "" is <eps>
	Unknown    string // symbol of the word with label 1; "" is <unk>
	Verbatim   bool   // "" is a symbol like others for Epsilon and Unknown

	// Format is how weights are written.
	Format semiring.TextFormat

	// Warn, if not nil, is told of what is passed over because it cannot fire.
	Warn func(error)
}

// LinearBuilder makes a LinearModel of a vocabulary and files of features. Words, features
// and outputs are numbered as they come.
//
// A model needs one group of features for each call of ReadFeatures, in which contexts must
// fall back to one another in one way only: Model says which do not.
type LinearBuilder[W semiring.FormatCodec[W]] struct {
	o       LinearOptions
	in      *SymbolTable
	feature *SymbolTable
	out     *SymbolTable

	words    map[Label]*linearWord
	maxInput Label
	outputs  map[Label]bool
	files    []string // names of the files of features
	future   int
	groups   map[linearGroupKey]*linearTrie[W]
	firing   map[Label]map[linearGroupKey]bool // the groups that know a feature
	futures  []int                             // of each file
	classes  map[string]bool                   // fields of outputs of a classifier
}

type linearWord struct {
	features, outputs []Label // sorted
}

// linearGroupKey is a file of features and, of a classifier, a class.
type linearGroupKey struct {
	file  int
	class Label
}

// NewLinearBuilder returns a builder of an empty model.
func NewLinearBuilder[W semiring.FormatCodec[W]](opts *LinearOptions) *LinearBuilder[W] {
	const nameless = "<unspecified>" // what OpenFst calls them, and its files say
	b := &LinearBuilder[W]{in: NewSymbolTable(nameless), feature: NewSymbolTable(nameless), out: NewSymbolTable(nameless), maxInput: 1,
		words: map[Label]*linearWord{}, outputs: map[Label]bool{}, groups: map[linearGroupKey]*linearTrie[W]{},
		firing: map[Label]map[linearGroupKey]bool{}, classes: map[string]bool{}}
	if opts != nil {
		b.o = *opts
	}
	b.o.Delimiter = cmp.Or(b.o.Delimiter, '|')
	b.o.Empty = cmp.Or(b.o.Empty, "<empty>")
	b.o.Start, b.o.End = cmp.Or(b.o.Start, "<s>"), cmp.Or(b.o.End, "</s>")
	if !b.o.Verbatim {
		b.o.Epsilon, b.o.Unknown = cmp.Or(b.o.Epsilon, "<eps>"), cmp.Or(b.o.Unknown, "<unk>")
	}
	for _, t := range []*SymbolTable{b.in, b.out, b.feature} {
		t.Add(b.o.Epsilon)
	}
	b.in.Add(b.o.Unknown)
	return b
}

// InputSymbols returns the table of words.
func (b *LinearBuilder[W]) InputSymbols() *SymbolTable { return b.in }

// OutputSymbols returns the table of tags or classes.
func (b *LinearBuilder[W]) OutputSymbols() *SymbolTable { return b.out }

// FeatureSymbols returns the table of features.
func (b *LinearBuilder[W]) FeatureSymbols() *SymbolTable { return b.feature }

func (b *LinearBuilder[W]) warn(format string, args ...any) {
	if b.o.Warn != nil {
		b.o.Warn(fmt.Errorf(format, args...))
	}
}

// addWord adds a word with its features and, if there are any, the only outputs it may have.
func (b *LinearBuilder[W]) addWord(word Label, features, outputs []Label) error {
	if word < 0 {
		b.warn("a mark of the bounds of sentences is no word: passed over")
		return nil
	}
	if word == Epsilon {
		return errors.New("ε is no word")
	}
	name, _ := b.in.Symbol(word)
	if b.words[word] != nil {
		return fmt.Errorf("word %q is there twice", name)
	}
	w := &linearWord{}
	for _, f := range features {
		if f <= 0 {
			return fmt.Errorf("word %q: %s is no feature of words", name, linearName(f, b.feature))
		}
		w.features = append(w.features, f)
	}
	for _, out := range outputs {
		switch {
		case out == linearStart || out == linearEnd || out == NoLabel:
			b.warn("word %q: a mark of the bounds of sentences is no output: passed over", name)
		case out <= 0:
			return fmt.Errorf("word %q: ε is no output", name)
		default:
			w.outputs = append(w.outputs, out)
			b.outputs[out] = true
		}
	}
	slices.Sort(w.features)
	slices.Sort(w.outputs)
	w.features, w.outputs = slices.Compact(w.features), slices.Compact(w.outputs)
	b.words[word] = w
	b.maxInput = max(b.maxInput, word)
	return nil
}

// linearName shows a label.
func linearName(l Label, t *SymbolTable) string {
	switch l {
	case linearStart:
		return "start of sentence"
	case linearEnd:
		return "end of sentence"
	case NoLabel:
		return "*"
	}
	if s, ok := t.Symbol(l); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(l)
}

func linearNames(ls []Label, t *SymbolTable) string {
	var names []string
	for _, l := range ls {
		names = append(names, linearName(l, t))
	}
	return "[" + strings.Join(names, " ") + "]"
}

// addWeight multiplies w onto the weight of a context of a group. Contexts that cannot occur
// are passed over, with a warning.
func (b *LinearBuilder[W]) addWeight(key linearGroupKey, input, output []Label, w W) error {
	ignore := func(why string) error {
		b.warn("the context %s with outputs %s is passed over: %s", linearNames(input, b.feature), linearNames(output, b.out), why)
		return nil
	}
	for i := 1; i < len(input); i++ {
		if input[i] == linearStart && input[i-1] != linearStart {
			return ignore("the start of the sentence in the middle of the input")
		}
		if input[i-1] == linearEnd && input[i] != linearEnd {
			return ignore("the end of the sentence in the middle of the input")
		}
	}
	for i := 1; i < len(output); i++ {
		if output[i] == linearStart {
			return ignore("the start of the sentence is not the first output")
		}
		if output[i-1] == linearEnd {
			return ignore("the end of the sentence is not the last output")
		}
	}
	for _, f := range input {
		if f != linearStart && f != linearEnd && f <= 0 {
			return errors.New("ε is no feature")
		}
		if b.firing[f] == nil {
			b.firing[f] = map[linearGroupKey]bool{}
		}
		b.firing[f][key] = true
	}
	for _, l := range output {
		if l == linearStart || l == linearEnd {
			continue
		}
		if l <= 0 {
			return errors.New("ε is no output")
		}
		b.outputs[l] = true
	}
	g := b.groups[key]
	if g == nil {
		g = newLinearTrie[W](b.futures[key.file])
		b.groups[key] = g
	}
	if why := g.add(input, output, w); why != "" {
		return ignore(why)
	}
	return nil
}

// linearTrie is a group that is being made.
type linearTrie[W semiring.Weight[W]] struct {
	future int
	linearGroup[W]
}

func newLinearTrie[W semiring.Weight[W]](future int) *linearTrie[W] {
	t := &linearTrie[W]{future: future}
	t.edges = NewTable(hashLinearEdge)
	t.grow()
	t.start = t.child(0, NoLabel, NoLabel)
	return t
}

func (t *linearTrie[W]) grow() {
	one := semiring.One[W]()
	t.nodes = append(t.nodes, linearNode[W]{noNode, one, one})
}

// child returns the node under an edge, which is made if it is new.
func (t *linearTrie[W]) child(node int32, in, out Label) int32 {
	i, isNew := t.edges.ID(linearEdge{node, in, out})
	if isNew {
		t.grow()
	}
	return int32(i) + 1
}

// add multiplies w onto the weight of a context, or returns why it cannot occur.
//
// Inputs look ahead by the window, so that input and output are the same time only
// when it is taken off; what is missing on the side that is shorter matches anything.
func (t *linearTrie[W]) add(input, output []Label, w W) (why string) {
	future := t.future
	inStart, outStart := leading(input, linearStart), leading(output, linearStart)
	inEnd, outEnd := trailing(input, linearEnd), trailing(output, linearEnd)
	left := len(input) - future - inStart // real inputs before the window, with what ends the sentence
	switch {
	case left < 0:
		return "the start of the sentence is ahead"
	case inStart > 0 && left < len(output)-outStart:
		return "the start of the sentence stands by a real output"
	case outStart > 0 && left > len(output)-outStart:
		return "the start of the sentence stands by a real input"
	case inEnd > future && inEnd-future != 1:
		return "the end of the sentence stands by a real output"
	case outEnd > 0 && (len(input) == future && future != inEnd || len(input) > future && inEnd != future+outEnd):
		return "the end of the sentence stands by a real input"
	case inStart+inEnd >= len(input) && outStart+outEnd >= len(output):
		return "nothing but bounds of the sentence"
	}
	cur := t.start
	if inStart == 0 && outStart <= future {
		cur = 0
	}
	inAt, outAt := inStart, max(0, outStart-future)
	inTo, outTo := max(0, len(input)-outEnd), len(output)-outEnd
	if len(output) == 0 && inEnd > future {
		inTo = len(input) - inEnd + future
	}
	for ; inTo-inAt > outTo-outAt; inAt++ {
		cur = t.child(cur, input[inAt], NoLabel)
	}
	for ; inTo-inAt < outTo-outAt; outAt++ {
		cur = t.child(cur, NoLabel, output[outAt])
	}
	for ; inAt < inTo; inAt, outAt = inAt+1, outAt+1 {
		cur = t.child(cur, input[inAt], output[outAt])
	}
	// What stands by the end of the sentence has no arc of its own.
	n := &t.nodes[cur]
	if outEnd > 0 || len(output) == 0 && inEnd > future {
		n.final = n.final.Times(w)
	} else {
		n.weight = n.weight.Times(w)
	}
	return ""
}

func leading(s []Label, l Label) (n int) {
	for n < len(s) && s[n] == l {
		n++
	}
	return n
}

func trailing(s []Label, l Label) (n int) {
	for n < len(s) && s[len(s)-1-n] == l {
		n++
	}
	return n
}

// hops is find with the number of steps back that it took, or that there were.
func (t *linearTrie[W]) hops(in, out Label, node int32) (child int32, hops int) {
	for ; node != noNode; node = t.nodes[node].back {
		if i := t.edges.Find(linearEdge{node, in, out}); i != NoState {
			return int32(i) + 1, hops
		}
		hops++
	}
	return noNode, hops
}

// finish links contexts to what they fall back to and adds up the weights on the way.
// The error says which context could fall back to two that have nothing in common.
//
// Where only one side has labels this is the failure function of A. Aho and M. Corasick, "Efficient
// string matching", Comm. ACM 18(6):333-340, 1975. With pairs, a context may also fall back to one
// side of itself.
//
// Cost: O(nodes · length of contexts).
func (t *linearTrie[W]) finish(maxFuture int, show func([]linearEdge) string) (linearGroup[W], error) {
	n := len(t.nodes)
	first := make([]int32, n+1) // children of a node, in the order they were made
	for i := range t.edges.Len() {
		first[t.edges.Key(StateID(i)).parent+1]++
	}
	for i := range n {
		first[i+1] += first[i]
	}
	children, at := make([]int32, n-1), slices.Clone(first)
	for i := range t.edges.Len() {
		p := t.edges.Key(StateID(i)).parent
		children[at[p]] = int32(i) + 1
		at[p]++
	}
	path := func(node int32) string {
		var edges []linearEdge
		for node > 0 {
			e := t.edges.Key(StateID(node - 1))
			edges = append(edges, e)
			node = e.parent
		}
		slices.Reverse(edges)
		return show(edges)
	}
	branching := func(child, x, y int32) error {
		return fmt.Errorf("the context %s could fall back to %s and to %s: put features of different shapes into different files", path(child), path(x), path(y))
	}
	queue := make([]int32, 1, n) // breadth first: links of all that is shorter are there
	for i := 0; i < len(queue); i++ {
		parent := queue[i]
		for _, child := range children[first[parent]:first[parent+1]] {
			e := t.edges.Key(StateID(child - 1))
			back := noNode
			if e.in == NoLabel || e.out == NoLabel {
				back, _ = t.hops(e.in, e.out, t.nodes[parent].back)
			} else {
				in, inHops := t.hops(e.in, NoLabel, parent)
				out, outHops := t.hops(NoLabel, e.out, parent)
				full, fullHops := t.hops(e.in, e.out, t.nodes[parent].back)
				switch {
				case in != noNode && out != noNode:
					return t.linearGroup, branching(child, in, out)
				case full == noNode:
					back = max(in, out)
				case fullHops+1 <= inHops && fullHops+1 <= outHops:
					back = full
				default:
					return t.linearGroup, branching(child, full, max(in, out))
				}
			}
			t.nodes[child].back = max(back, 0)
			queue = append(queue, child)
		}
	}
	done := make([]bool, n)
	done[0] = true
	var chain []int32
	for i := range n {
		for q := int32(i); !done[q]; q = t.nodes[q].back {
			done[q] = true
			chain = append(chain, q)
		}
		for len(chain) > 0 {
			x := &t.nodes[chain[len(chain)-1]]
			chain = chain[:len(chain)-1]
			x.weight = x.weight.Times(t.nodes[x.back].weight)
			x.final = x.final.Times(t.nodes[x.back].final)
		}
	}
	t.next = make([]int32, n)
	for i := range t.next {
		q := int32(i)
		for q != 0 && first[q] == first[q+1] && t.nodes[q].final.Equal(t.nodes[t.nodes[q].back].final) {
			q = t.nodes[q].back
		}
		t.next[i] = q
	}
	t.delay = maxFuture - t.future
	return t.linearGroup, nil
}

// Model returns the model. The builder is of no use afterwards.
func (b *LinearBuilder[W]) Model() (*LinearModel[W], error) {
	m := &LinearModel[W]{future: b.future, maxInput: b.maxInput, isyms: b.in, osyms: b.out}
	per := 1
	if b.o.Classifier {
		if m.classes = len(b.classes); m.classes == 0 {
			return nil, errors.New("fst: a classifier without a class: its files have no features")
		}
		per = m.classes
	}
	n := len(b.files) * per
	if entries := int64(n) * (int64(m.maxInput) + 1); entries > maxLinearTable {
		return nil, fmt.Errorf("fst: a linear model of %d words and %d groups of features: a table of %d entries, where %d are the most", m.maxInput, n, entries, maxLinearTable)
	}
	m.groups = make([]linearGroup[W], n)
	number := func(k linearGroupKey) int {
		if b.o.Classifier {
			return k.file*per + int(k.class) - 1
		}
		return k.file
	}
	show := func(edges []linearEdge) string {
		var s []string
		for _, e := range edges {
			s = append(s, "("+linearName(e.in, b.feature)+", "+linearName(e.out, b.out)+")")
		}
		return "[" + strings.Join(s, " ") + "]"
	}
	for file, name := range b.files {
		for class := range per {
			k := linearGroupKey{file: file}
			if b.o.Classifier {
				k.class = Label(class + 1)
			}
			g := b.groups[k]
			if g == nil {
				g = newLinearTrie[W](b.futures[file])
			}
			var err error
			if m.groups[number(k)], err = g.finish(b.future, show); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	words := int(m.maxInput) + 1
	m.features = slices.Repeat([]Label{NoLabel}, n*words)
	m.words = make([]linearRange, words)
	for l := range words {
		w := b.words[Label(l)]
		if w == nil {
			continue
		}
		for _, f := range w.features {
			for k := range b.firing[f] { // in any order: each writes an entry of its own
				p := &m.features[l*n+number(k)]
				if *p != NoLabel {
					return nil, b.twoFeatures(Label(l), *p, f)
				}
				*p = f
			}
		}
		if len(w.outputs) > 0 {
			m.words[l] = linearRange{int64(len(m.pool)), int64(len(w.outputs))}
			m.pool = append(m.pool, w.outputs...)
		}
	}
	for l := range b.outputs {
		m.outputs = append(m.outputs, l)
	}
	slices.Sort(m.outputs)
	return m, nil
}

// twoFeatures says that a word has two features of one group: of the first file where they meet.
func (b *LinearBuilder[W]) twoFeatures(word, f, g Label) error {
	name, _ := b.in.Symbol(word)
	for i, file := range b.files {
		for k := range b.firing[f] {
			if k.file == i && b.firing[g][k] {
				return fmt.Errorf("%s: word %q has two of its features, %s and %s, where it may have one: divide the file", file, name,
					linearName(f, b.feature), linearName(g, b.feature))
			}
		}
	}
	return fmt.Errorf("word %q has two features in one file, %s and %s", name, linearName(f, b.feature), linearName(g, b.feature))
}
