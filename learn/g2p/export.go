package g2p

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Export is a linear model as transducers. The best path of
//
//	word ∘ Parts[0] ∘ Parts[1] ∘ …
//
// spells the phones that Model.Predict gives for the word, unless labels that letters back off to
// are in them: those are left out, as are labels of irregular letters alone. Its weight is the
// negative score of the labels. This holds for every string of letters in Letters. Scores are added
// in float32: of two outputs whose scores differ by less than a millionth of their size, either may
// be the best.
//
// The score of a word is a sum over its letters, of features with letters to the left, features
// with letters to the right, pairs of two letters, and bigrams of labels. One machine of all would
// have to know six letters and a label at a time. Each part adds one kind of feature, and knows
// what that kind needs:
//
//   - Parts[0] reads letters and writes pairs of a letter and its label. Its states are what training
//     saw around the place between two letters: letters to the right, guessed and then verified, and
//     those to the left that occurred before them. It adds the features that reach to the right of
//     their letter.
//   - Parts[1] adds those that end with their letter. Its states are the letters to the left that
//     training saw together.
//   - With a window of w, each distance d = 2 … w has d parts for the pairs of letters at the distance
//     d. The part of phase k sees the letters k, k+d, k+2d, … alone, so that it remembers only one.
//   - The last part adds label bigrams and letter pairs, and writes phones.
//
// A model with a window of 1 has three parts, and they compose to one machine of moderate size. So
// do those of small alphabets.
type Export struct {
	Parts []*fst.Vector[semiring.Tropical] // sorted by input labels
	// Letters are the input of the first. A blank is <space>; <unk> is a letter that training did
	// not have.
	Letters *fst.SymbolTable
	// Pairs are between the parts: "x}a|b" for the letter x with the phones a and b, "x}_" without
	// any.
	Pairs  *fst.SymbolTable
	Phones *fst.SymbolTable // output of the last
}

// ExportOptions bounds an export; the zero value is right.
type ExportOptions struct {
	Ctx     context.Context // interrupts; nil is none
	MaxArcs int             // of a part; 0 is 10 million
}

// irregularFrom is the code point from which irregular letters are: see Align.
const irregularFrom = 0x100000

// Symbols with a meaning of their own.
const (
	unknownSymbol = "<unk>"
	spaceSymbol   = "<space>"
)

// exporter builds the parts. Strings of letters are Go strings with two bytes a letter.
type exporter struct {
	m       *Model
	ctx     context.Context
	maxArcs int

	letters []int32           // that have a symbol
	first   []int             // pair label of the first label of a letter, by letter
	pairs   []pairOf          // by label - 1
	seen    map[string]bool   // substrings of features, up to window+2 letters
	spans   map[[2]int]uint16 // template by from and to
	ends    map[int]uint16    // template by distance, negative to the left
}

// pairOf is a letter with one of its labels.
type pairOf struct {
	letter int32
	place  int // in the list of the letter
}

// Export returns the model as transducers. Errors: a model with more than linear features of order
// 2, parts beyond MaxArcs, the context's.
//
// The cost is that of the result: the first part has about as many states as training has strings
// of window+1 letters, and the second as those of window letters.
func (m *Model) Export(opts *ExportOptions) (*Export, error) {
	var o ExportOptions
	if opts != nil {
		o = *opts
	}
	if o.Ctx == nil {
		o.Ctx = context.Background()
	}
	if o.MaxArcs <= 0 {
		o.MaxArcs = 10_000_000
	}
	switch {
	case len(m.members) > 0:
		return nil, errors.New("g2p: export: the model has networks, and only linear models can be exported: " +
			"train it with --network none")
	case m.views != nil:
		return nil, errors.New("g2p: export: the model has histories, marks or a constraint, and only labels and " +
			"their bigrams can be exported: train it without --history, --phone_history and --constraint, and with " +
			"--marks none")
	case m.Ngrams != nil:
		return nil, errors.New("g2p: export: the model has n-grams, and only linear models can be exported: " +
			"train it with --ngrams 0")
	}
	x := &exporter{m: m, ctx: o.Ctx, maxArcs: o.MaxArcs}
	out := &Export{}
	if err := x.symbols(out); err != nil {
		return nil, err
	}
	x.index()
	build := []func() (*fst.Vector[semiring.Tropical], error){x.right, x.left}
	for d := 2; d <= m.Features.opts.Window; d++ {
		for phase := range d {
			build = append(build, func() (*fst.Vector[semiring.Tropical], error) { return x.distant(d, phase) })
		}
	}
	build = append(build, x.bigrams)
	tables := slices.Repeat([]*fst.SymbolTable{out.Pairs}, len(build)+1)
	tables[0], tables[len(build)] = out.Letters, out.Phones
	for k, f := range build {
		v, err := f()
		if err != nil {
			return nil, fmt.Errorf("g2p: export: part %d of %d: %w", k+1, len(build), err)
		}
		v.SetInputSymbols(tables[k])
		v.SetOutputSymbols(tables[k+1])
		ops.ArcSort(v, ops.Input)
		out.Parts = append(out.Parts, v)
	}
	return out, nil
}

// Compose returns the parts as one machine, of at most so many arcs at any time. The error wraps
// ops.ErrLimit where it has more.
func (e *Export) Compose(ctx context.Context, maxArcs int) (*fst.Vector[semiring.Tropical], error) {
	v := e.Parts[0]
	for k, part := range e.Parts[1:] {
		var err error
		o := &ops.ComposeOptions{Limits: ops.Limits{Ctx: ctx, Arcs: int64(maxArcs)}}
		v, err = ops.Compose[semiring.Tropical](v, part, o)
		if err != nil {
			return nil, fmt.Errorf("g2p: export: parts 1 to %d of %d: %w", k+2, len(e.Parts), err)
		}
	}
	ops.ArcSort(v, ops.Input)
	return v, nil
}

// symbols numbers letters, pairs and phones.
func (x *exporter) symbols(out *Export) error {
	inv := x.m.Inventory
	out.Letters, out.Pairs = fst.NewSymbolTable("letters"), fst.NewSymbolTable("pairs")
	out.Phones = fst.NewSymbolTable("phones")
	for _, t := range []*fst.SymbolTable{out.Letters, out.Pairs, out.Phones} {
		t.Add("<eps>")
	}
	for _, p := range inv.Phones {
		out.Phones.Add(p)
	}
	if out.Phones.Len() != len(inv.Phones)+1 {
		return errors.New("g2p: export: a phone is called <eps>, which means none")
	}
	x.first = make([]int, len(inv.Letters)+1)
	for id := range int32(len(inv.Letters) + 1) {
		name := unknownSymbol
		if id != noLetter {
			r := inv.Letters[id-1]
			if r >= irregularFrom {
				break
			}
			if name = string(r); r == ' ' {
				name = spaceSymbol
			}
		}
		out.Letters.AddLabel(name, fst.Label(id+1))
		x.letters = append(x.letters, id)
		x.first[id] = len(x.pairs) + 1
		for k, l := range inv.Allowed[id] {
			pair := name + "}" + strings.Join(inv.names(inv.Labels[l]), "|")
			if len(inv.Labels[l]) == 0 {
				pair += "_"
			}
			for n, base := 2, pair; out.Pairs.Add(pair) != fst.Label(len(x.pairs)+1); n++ {
				pair = base + "#" + strconv.Itoa(n) // phones may hold a bar
			}
			x.pairs = append(x.pairs, pairOf{id, k})
		}
	}
	return nil
}

// appendLetter appends a letter to a string of letters.
func appendLetter(s []byte, letter int32) []byte { return append(s, byte(letter>>8), byte(letter)) }

// at returns letter i of a string of letters.
func letterAt(s string, i int) int32 { return int32(s[2*i])<<8 | int32(s[2*i+1]) }

// index lists templates, and the strings that training saw.
func (x *exporter) index() {
	f := x.m.Features
	x.spans, x.ends, x.seen = map[[2]int]uint16{}, map[int]uint16{}, map[string]bool{}
	for i, p := range f.templates {
		switch {
		case !p.ends:
			x.spans[[2]int{p.from, p.to}] = uint16(i)
		case p.from < 0:
			x.ends[p.from] = uint16(i)
		default:
			x.ends[p.to] = uint16(i)
		}
	}
	for _, id := range x.letters {
		x.see(string(appendLetter(nil, id)))
	}
	x.see(edge)
	most := f.opts.Window + 2
	var b []byte
	for id := range f.grams.Len() {
		k := f.grams.Key(fst.StateID(id))
		p := f.templates[k.template]
		if p.ends {
			continue
		}
		b = b[:0]
		for _, letter := range k.letters[:p.to-p.from+1] {
			b = appendLetter(b, int32(letter))
		}
		for from := 0; from < max(1, len(b)-2*most+2); from += 2 {
			x.see(string(b[from:min(from+2*most, len(b))]))
		}
	}
}

// edge is the boundary mark as a string of letters.
const edge = "\xff\xff"

// see adds a string and its substrings to those seen.
func (x *exporter) see(s string) {
	if s == "" || x.seen[s] {
		return
	}
	x.seen[s] = true
	x.see(s[2:])
	x.see(s[:len(s)-2])
}

// span adds to w the scores of the labels of a letter by the feature of the letters before it, the
// letter, and those behind it.
func (x *exporter) span(w []float64, before string, letter int32, behind string) {
	i, ok := x.spans[[2]int{-len(before) / 2, len(behind) / 2}]
	if !ok {
		return
	}
	k := featureKey{template: i}
	n := 0
	for _, part := range []string{before, string(appendLetter(nil, letter)), behind} {
		for at := range len(part) / 2 {
			k.letters[n] = uint16(letterAt(part, at))
			n++
		}
	}
	x.add(w, k)
}

// add adds the scores of a feature, if the model has it.
func (x *exporter) add(w []float64, k featureKey) {
	f := x.m.Features
	id := f.grams.Find(k)
	if id == fst.NoState {
		return
	}
	v := f.templates[k.template].value
	for b := range w {
		w[b] += v * x.m.Weights[int(f.gramAt[id])+b]
	}
}

// machine is a part while it is built.
type machine struct {
	*fst.Vector[semiring.Tropical]
	x    *exporter
	arcs int
}

func (x *exporter) machine() *machine {
	return &machine{Vector: fst.NewVector[semiring.Tropical](0), x: x}
}

// arc adds an arc with a score.
func (v *machine) arc(from fst.StateID, in, out int, score float64, to fst.StateID) error {
	if v.arcs++; v.arcs > v.x.maxArcs {
		return fmt.Errorf("more than %d arcs; a model with a smaller --window, fewer labels or a larger "+
			"--min_count has fewer",
			v.x.maxArcs)
	}
	if v.arcs&0xfff == 0 && v.x.ctx.Err() != nil {
		return context.Cause(v.x.ctx)
	}
	v.AddArc(from, fst.Arc[semiring.Tropical]{ILabel: fst.Label(in), OLabel: fst.Label(out),
		Weight: semiring.Tropical(-score), NextState: to})
	return nil
}

// longest returns the longest suffix of s, of at most n letters, that training saw before behind.
func (x *exporter) longest(s string, n int, behind string) string {
	s = s[max(0, len(s)-2*n):]
	for s != "" && !x.seen[s+behind] {
		s = s[2:]
	}
	return s
}

// left is the part of features that end with their letter. Its states are the longest seen suffixes
// of the letters so far; the word begins with a mark.
func (x *exporter) left() (*fst.Vector[semiring.Tropical], error) {
	v := x.machine()
	window := x.m.Features.opts.Window
	states := map[string]fst.StateID{}
	var todo []string
	state := func(s string) fst.StateID {
		q, ok := states[s]
		if !ok {
			q = v.AddState()
			v.SetFinal(q, 0)
			states[s] = q
			todo = append(todo, s)
		}
		return q
	}
	v.SetStart(state(edge))
	for len(todo) > 0 {
		s := todo[0]
		todo = todo[1:]
		for _, letter := range x.letters {
			w := make([]float64, len(x.m.Inventory.Allowed[letter]))
			for a := 0; a <= len(s); a += 2 {
				x.span(w, s[len(s)-a:], letter, "")
			}
			to := state(x.longest(s+string(appendLetter(nil, letter)), window, ""))
			for b, score := range w {
				pair := x.first[letter] + b
				if err := v.arc(states[s], pair, pair, score, to); err != nil {
					return nil, err
				}
			}
		}
	}
	return v.Vector, nil
}

// right is the part that reads letters, and adds the features that reach behind their letter.
//
// A state between two letters is (before, behind). behind is the longest string, of at most the
// window, that training saw and that the rest of the word begins with. The state guesses it, and
// its arcs lead to states whose behind confirms the guess: the longest seen string that the letter
// and the next behind begin with must be the behind of the state. before is the longest suffix of
// the letters so far that training saw before the first two letters of behind. No feature of more
// letters can reach across.
func (x *exporter) right() (*fst.Vector[semiring.Tropical], error) {
	v := x.machine()
	window := x.m.Features.opts.Window
	size := 2 * max(2, window)
	follow := x.follow(size)
	type place struct{ before, behind string }
	states := map[place]fst.StateID{}
	var todo []place
	state := func(p place) fst.StateID {
		q, ok := states[p]
		if !ok {
			q = v.AddState()
			states[p] = q
			todo = append(todo, p)
			if p.behind == edge {
				v.SetFinal(q, 0)
			}
		}
		return q
	}
	start := v.AddState()
	v.SetStart(start)
	// next is what is kept of the letters before two that follow.
	next := func(letters, behind string) string {
		if len(behind) < 4 {
			return ""
		}
		return x.longest(letters, window, behind[:4])
	}
	for _, behind := range follow[""] {
		if err := v.arc(start, 0, 0, 0, state(place{next(edge, behind), behind})); err != nil {
			return nil, err
		}
	}
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		if p.behind == edge {
			continue
		}
		letter := letterAt(p.behind, 0)
		for _, behind := range follow[p.behind] {
			w := make([]float64, len(x.m.Inventory.Allowed[letter]))
			for a := 0; a <= len(p.before); a += 2 {
				for c := 2; c <= min(len(behind), 2*window); c += 2 {
					x.span(w, p.before[len(p.before)-a:], letter, behind[:c])
				}
			}
			to := state(place{next(p.before+p.behind[:2], behind), behind})
			for b, score := range w {
				if err := v.arc(states[p], int(letter)+1, x.first[letter]+b, score, to); err != nil {
					return nil, err
				}
			}
		}
	}
	ops.Connect(v.Vector) // guesses that nothing can confirm
	return v.Vector, nil
}

// follow returns, for every string that can be behind a place in a word, of at most size bytes,
// those that can be behind the place after the next letter; for "" all of them.
func (x *exporter) follow(size int) map[string][]string {
	var all []string
	for s := range x.seen {
		if len(s) <= size && (s == edge || s[:2] != edge) {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	out := map[string][]string{"": all}
	for _, s := range all {
		for _, letter := range x.letters {
			t := string(appendLetter(nil, letter)) + s
			for t = t[:min(size, len(t))]; !x.seen[t]; {
				t = t[:len(t)-2]
			}
			out[t] = append(out[t], s)
		}
	}
	return out
}

// distant is the part of the features of two letters at a distance, for letters at places k with
// k mod distance = phase. Its states are the place mod distance, and the last of these letters with
// its label.
func (x *exporter) distant(distance, phase int) (*fst.Vector[semiring.Tropical], error) {
	v := x.machine()
	n := len(x.pairs) + 1 // 0 is no letter yet
	state := func(count, last int) fst.StateID { return fst.StateID(count*n + last) }
	v.AddStates(distance * n)
	v.SetStart(state(0, 0))
	for count := range distance {
		next := (count + 1) % distance
		for last := range n {
			q := state(count, last)
			if count != phase {
				v.SetFinal(q, 0)
				for pair := 1; pair < n; pair++ {
					if err := v.arc(q, pair, pair, 0, state(next, last)); err != nil {
						return nil, err
					}
				}
				continue
			}
			// The end of the word is the next place.
			final := 0.0
			if last > 0 {
				final = x.behindScore(last, boundary, distance)
			}
			v.SetFinal(q, semiring.Tropical(-final))
			for _, letter := range x.letters {
				w := make([]float64, len(x.m.Inventory.Allowed[letter]))
				left := int32(-1)
				if last > 0 {
					left = x.pairs[last-1].letter
				} else if phase == distance-1 {
					left = boundary // the mark before the word, at place -1
				}
				if left >= 0 {
					x.add(w, pairKeyOf(x.ends[-distance], left, letter))
				}
				more := 0.0
				if last > 0 {
					more = x.behindScore(last, letter, distance)
				}
				for b, score := range w {
					pair := x.first[letter] + b
					if err := v.arc(q, pair, pair, score+more, state(next, pair)); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	ops.Connect(v.Vector)
	return v.Vector, nil
}

// pairKeyOf is the key of a feature of two letters.
func pairKeyOf(template uint16, a, b int32) featureKey {
	return featureKey{template: template, letters: [2*maxWindow + 1]uint16{uint16(a), uint16(b)}}
}

// behindScore is the score of a pair by the letter at a distance behind it.
func (x *exporter) behindScore(pair int, letter int32, distance int) float64 {
	p := x.pairs[pair-1]
	w := make([]float64, len(x.m.Inventory.Allowed[p.letter]))
	x.add(w, pairKeyOf(x.ends[distance], p.letter, letter))
	return w[p.place]
}

// bigrams is the part of label bigrams and letter pairs, whose states are the last pairs. It writes
// the phones.
func (x *exporter) bigrams() (*fst.Vector[semiring.Tropical], error) {
	v := x.machine()
	inv, f := x.m.Inventory, x.m.Features
	v.AddStates(len(x.pairs) + 1)
	v.SetStart(0)
	v.SetFinal(0, 0)
	// enter[pair] is where an arc goes that reads the pair and writes its first phone.
	enter, write := make([]fst.StateID, len(x.pairs)+1), make([]int, len(x.pairs)+1)
	for i, p := range x.pairs {
		pair := i + 1
		v.SetFinal(fst.StateID(pair), 0)
		phones := inv.Labels[inv.Allowed[p.letter][p.place]]
		enter[pair] = fst.StateID(pair)
		for k := len(phones) - 1; k >= 1; k-- {
			q := v.AddState()
			if err := v.arc(q, 0, phones[k]+1, 0, enter[pair]); err != nil {
				return nil, err
			}
			enter[pair] = q
		}
		if len(phones) > 0 {
			write[pair] = phones[0] + 1
		}
	}
	for i := -1; i < len(x.letters); i++ {
		var left []int // pairs of the letter to the left
		word, at := []int32{0}, 0
		if i < 0 {
			left = []int{0}
		} else {
			letter := x.letters[i]
			word, at = []int32{letter, 0}, 1
			for b := range inv.Allowed[letter] {
				left = append(left, x.first[letter]+b)
			}
		}
		for _, letter := range x.letters {
			word[at] = letter
			size := len(inv.Allowed[letter])
			c := compiled{x: word, pair: make([]int32, len(word))}
			c.pair[at] = int32(f.pairs.Find(pairKey(word, at)))
			s := make([]float64, len(left)*size)
			f.binary(x.m.Weights, &c, at, s)
			for a, q := range left {
				for b := range size {
					pair := x.first[letter] + b
					if err := v.arc(fst.StateID(q), pair, write[pair], s[a*size+b], enter[pair]); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return v.Vector, nil
}
