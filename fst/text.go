package fst

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unsafe"

	"github.com/tropica-fst/tropica/semiring"
)

// ReadTextOptions adjusts ReadText; nil is the same as the zero value.
type ReadTextOptions struct {
	Name     string // of the source, for errors
	Acceptor bool   // lines have one label

	// Tables translate symbols; a nil one means that numbers stand in the file.
	// The machine does not get them: SetInputSymbols attaches one.
	InputSymbols, OutputSymbols, StateSymbols *SymbolTable

	// KeepStateNumbering gives states the numbers of the file. By default they
	// are numbered in the order of their appearance, sources before
	// destinations.
	KeepStateNumbering bool

	// MaxStates and MaxBytes are how many states there may be, or bytes for them, where numbers
	// that are kept leave gaps: a line may ask for 2³¹-1. Zero is no limit; where both are
	// zero, a gigabyte of states with fewer than one in a thousand in the file is an error.
	MaxStates, MaxBytes int64

	NegativeLabels bool   // allow labels below zero
	Separators     string // any of these bytes splits; empty is DefaultSeparators

	Format semiring.TextFormat // of composite weights

	// NonMember, if not nil, takes the weights that are read though they are none of the
	// semiring, -Infinity, with their lines. Sums over paths refuse them.
	NonMember func(line int, weight string)
}

// ReadText reads a machine in the text format of AT&T and OpenFst: a line of
// source, destination, input label, output label (unless an acceptor is read)
// and weight for an arc, a line of state and weight for a final state, weights
// being 1̄ where they are missing. The source of the first line is the start
// state. Lines may have any length and end in LF or CRLF; blank ones are
// skipped, and so is a byte-order mark before the first; there are no comments.
//
// Unlike OpenFst's compiler, it refuses labels and states outside int32, and weights that are not
// numbers. Errors are TextErrors, or those of r. Time and memory are linear in the input, unless
// the numbers of states are kept: then they go by the largest number, too.
func ReadText[W semiring.Codec[W]](r io.Reader, opts *ReadTextOptions) (*Vector[W], error) {
	t := &textReader[W]{in: newLineReader(r), v: &Vector[W]{}, unweighted: true, kind: numberKind[W](), lenient: readsNonMembers[W]()}
	if opts != nil {
		t.ReadTextOptions = *opts
	}
	t.seps, _ = newSeparators(t.Separators)
	t.one, t.zero = semiring.One[W](), semiring.Zero[W]()
	if t.Format != (semiring.TextFormat{}) {
		t.format, _ = any(t.one).(semiring.FormatCodec[W])
	}
	for {
		line, ok := t.in.next()
		if !ok {
			break
		}
		if err := t.line(line); err != nil {
			return nil, err
		}
	}
	if t.in.err != nil {
		return nil, &TextError{t.Name, t.in.line + 1, 0, t.in.err}
	}
	return t.finish()
}

var (
	errFieldsTransducer = errors.New("a line has 1 or 2 fields (a final state) or 4 or 5 (an arc); 3 make an arc of an acceptor only")
	errFieldsAcceptor   = errors.New("a line of an acceptor has 1 or 2 fields (a final state) or 3 or 4 (an arc)")
)

type textReader[W semiring.Codec[W]] struct {
	ReadTextOptions
	in        *lineReader
	seps      *separators
	v         *Vector[W]
	kind      numbers32or64
	lenient   bool                    // weights may be no members: OpenFst reads them
	format    semiring.FormatCodec[W] // nil unless a TextFormat is asked for
	one, zero W
	cols      [6][]byte

	// Renumbering: the state of a number in the file, plus one. Numbers not far
	// above those seen are looked up in a slice.
	low   []int32
	other map[Label]int32
	ids   []Label // the number of each state

	// What is known at the end: the bits that OpenFst's compiler, which adds
	// one thing after the other, would know.
	saw                  Properties // the negative sides that were seen
	weighted, unweighted bool
	arcs                 bool
}

func (t *textReader[W]) fail(field int, err error) error {
	return &TextError{t.Name, t.in.line, field, err}
}

func (t *textReader[W]) line(line []byte) error {
	n := t.seps.split(line, t.cols[:])
	if n == 0 {
		return nil
	}
	cols := &t.cols
	if n > 5 || n > 4 && t.Acceptor || n == 3 && !t.Acceptor {
		if t.Acceptor {
			return t.fail(0, fmt.Errorf("%d fields: %w", n, errFieldsAcceptor))
		}
		return t.fail(0, fmt.Errorf("%d fields: %w", n, errFieldsTransducer))
	}
	source, s, err := t.state(cols[0])
	if err != nil {
		return t.fail(1, err)
	}
	if t.v.start == 0 {
		t.v.start = s + 1
	}
	if n <= 2 {
		w := t.one
		if n == 2 {
			if w, err = t.weight(cols[1]); err != nil {
				return t.fail(2, err)
			}
		}
		if old := t.v.finals[s]; t.weighted && !old.Equal(t.zero) && !old.Equal(t.one) {
			t.weighted = false // as far as is known
		}
		t.weigh(w)
		t.v.finals[s] = w
		return nil
	}
	dest, d, err := t.state(cols[1])
	if err != nil {
		return t.fail(2, err)
	}
	e := Arc[W]{NextState: d, Weight: t.one}
	if e.ILabel, err = t.label(cols[2], t.InputSymbols, "input label"); err != nil {
		return t.fail(3, err)
	}
	k := 3
	if e.OLabel = e.ILabel; !t.Acceptor {
		k = 4
		if e.OLabel, err = t.label(cols[3], t.OutputSymbols, "output label"); err != nil {
			return t.fail(4, err)
		}
	}
	if n > k {
		if e.Weight, err = t.weight(cols[k]); err != nil {
			return t.fail(k+1, err)
		}
		t.weigh(e.Weight)
	}
	if t.KeepStateNumbering && dest <= source || !t.KeepStateNumbering && d <= s {
		t.saw |= NotTopSorted
	}
	t.add(s, e)
	return nil
}

// add appends the arc and notes what it is.
func (t *textReader[W]) add(s StateID, e Arc[W]) {
	t.arcs = true
	if e.ILabel != e.OLabel {
		t.saw |= NotAcceptor
	}
	if e.ILabel == Epsilon {
		t.saw |= IEpsilons
		if e.OLabel == Epsilon {
			t.saw |= Epsilons
		}
	}
	if e.OLabel == Epsilon {
		t.saw |= OEpsilons
	}
	if a := t.v.Arcs(s); len(a) > 0 {
		if prev := &a[len(a)-1]; prev.ILabel > e.ILabel {
			t.saw |= NotILabelSorted
		}
		if prev := &a[len(a)-1]; prev.OLabel > e.OLabel {
			t.saw |= NotOLabelSorted
		}
	}
	t.v.appendArcs(s, 1)[0] = e
}

func (t *textReader[W]) weigh(w W) {
	if !t.weighted && !w.Equal(t.one) && !w.Equal(t.zero) {
		t.weighted, t.unweighted = true, false
	}
}

// state returns the number in the file and the state it stands for.
func (t *textReader[W]) state(s []byte) (Label, StateID, error) {
	x, err := t.stateNumber(s)
	if err != nil {
		return 0, 0, err
	}
	if int(x) < len(t.low) && t.low[x] != 0 {
		return x, StateID(t.low[x] - 1), nil
	}
	q, err := t.newState(x)
	return x, q, err
}

func (t *textReader[W]) stateNumber(s []byte) (Label, error) {
	if t.StateSymbols == nil {
		x, err := parseLabel(s, "state", true)
		if err == nil && x < 0 {
			err = fmt.Errorf("bad state %d: states are numbered from 0", x)
		}
		return x, err
	}
	x, ok := t.StateSymbols.FindBytes(s)
	if !ok {
		return 0, fmt.Errorf("state %q %w", clip(s), t.StateSymbols.lacks(string(s)))
	}
	if x < 0 {
		return 0, fmt.Errorf("state %q has the negative number %d in %s", clip(s), x, t.StateSymbols.shown())
	}
	return x, nil
}

func (t *textReader[W]) newState(x Label) (StateID, error) {
	if q, ok := t.other[x]; ok {
		return StateID(q - 1), nil
	}
	n := len(t.ids)
	if n > maxState {
		return 0, fmt.Errorf("more than %d states", maxState)
	}
	t.ids = append(t.ids, x)
	t.v.finals = append(t.v.finals, t.zero)
	t.v.spans = append(t.v.spans, span{})
	if int64(x) < 4*int64(n)+1024 {
		if old := len(t.low); int(x) >= old {
			t.low = slices.Grow(t.low, int(x)+1-old)[:x+1]
			clear(t.low[old:])
		}
		t.low[x] = int32(n + 1)
	} else {
		if t.other == nil {
			t.other = make(map[Label]int32)
		}
		t.other[x] = int32(n + 1)
	}
	return StateID(n), nil
}

func (t *textReader[W]) label(s []byte, table *SymbolTable, what string) (Label, error) {
	if table == nil {
		l, err := parseLabel(s, what, t.NegativeLabels)
		if errors.Is(err, errNotInteger) {
			err = fmt.Errorf("%w, and a symbol needs a table of %s symbols", err, strings.TrimSuffix(what, " label"))
		}
		return l, err
	}
	l, ok := table.FindBytes(s)
	if !ok {
		return 0, fmt.Errorf("%s: the symbol %q %w", what, clip(s), table.lacks(string(s)))
	}
	if l < 0 && !t.NegativeLabels {
		return 0, fmt.Errorf("%s: the symbol %q has the negative label %d in %s", what, clip(s), l, table.shown())
	}
	return l, nil
}

// readsNonMembers reports whether W is of an arc type of OpenFst's tools, which read -Infinity
// though it is no weight of theirs, and do with it what they do. Nothing needs to
// be read so that they do not have.
func readsNonMembers[W semiring.Codec[W]]() bool {
	var w W
	switch w.ArcType() {
	case "standard", "log", "log64":
		return true
	}
	return false
}

func (t *textReader[W]) weight(s []byte) (w W, err error) {
	switch t.kind {
	case number32:
		if x, ok := parseDecimal(s); ok {
			*(*float32)(unsafe.Pointer(&w)) = float32(x)
			return w, t.member(s, w)
		}
	case number64:
		if x, ok := parseDecimal(s); ok {
			*(*float64)(unsafe.Pointer(&w)) = x
			return w, t.member(s, w)
		}
	}
	s = bytes.TrimSpace(s) // some is left when only commas, say, separate fields
	if t.format != nil {
		w, err = t.format.ParseTextFormat(string(s), t.Format)
	} else {
		w, err = w.ParseText(string(s))
	}
	if err == nil && badWeight(w) {
		err = fmt.Errorf("the weight is %s", w.AppendText(nil))
	}
	if err == nil {
		err = t.member(s, w)
	}
	return w, err
}

// member refuses what is no weight of the semiring, but for what OpenFst reads.
func (t *textReader[W]) member(s []byte, w W) error {
	if w.Member() {
		return nil
	}
	if t.lenient {
		if t.NonMember != nil {
			t.NonMember(t.in.line, clip(s))
		}
		return nil
	}
	return fmt.Errorf("%s is not a weight of arc type %s", clip(s), w.ArcType())
}

// finish puts states where they belong and says what is known.
func (t *textReader[W]) finish() (*Vector[W], error) {
	v := t.v
	if t.KeepStateNumbering {
		var err error
		if v, err = t.renumbered(); err != nil {
			return nil, err
		}
	}
	if len(v.finals) == 0 {
		return v, nil
	}
	p := t.saw
	for _, no := range []Properties{NotAcceptor, NotILabelSorted, NotOLabelSorted} {
		if p&no == 0 {
			p |= no >> 1
		}
	}
	for _, yes := range []Properties{Epsilons, IEpsilons, OEpsilons} {
		if p&yes == 0 {
			p |= yes << 1
		}
	}
	if t.weighted {
		p |= Weighted
	} else if t.unweighted {
		p |= Unweighted
	}
	if p&NotTopSorted == 0 {
		p |= TopSorted | Acyclic | InitialAcyclic
	}
	if !t.arcs {
		p |= IDeterministic | ODeterministic | UnweightedCycles
	}
	v.setProps(p)
	return v, nil
}

// renumbered returns the machine with the file's own numbers of states.
func (t *textReader[W]) renumbered() (*Vector[W], error) {
	inOrder := true
	order := make([]StateID, len(t.ids)) // of t.v, by numbers
	for q, x := range t.ids {
		inOrder = inOrder && int(x) == q
		order[q] = StateID(q)
	}
	if inOrder {
		return t.v, nil
	}
	slices.SortFunc(order, func(p, q StateID) int { return cmp.Compare(t.ids[p], t.ids[q]) })
	top := t.ids[order[len(order)-1]]
	if err := t.mayHave(top); err != nil {
		return nil, t.fail(0, err)
	}
	v := &Vector[W]{finals: slices.Repeat([]W{t.zero}, int(top)+1), spans: make([]span, int(top)+1)}
	for _, q := range order {
		arcs := t.v.Arcs(q)
		for i := range arcs {
			arcs[i].NextState = StateID(t.ids[arcs[i].NextState])
		}
		x := StateID(t.ids[q])
		v.finals[x] = t.v.finals[q]
		if len(arcs) > 0 {
			copy(v.appendArcs(x, len(arcs)), arcs)
		}
	}
	v.start = StateID(t.ids[t.v.start-1]) + 1
	return v, nil
}

// mostGaps is what states may take, nearly all of which are gaps, where no limit is given: a number
// that was mistyped, or is no state's, is then an error, and does not take the machine's memory.
const mostGaps = 1 << 30

// mayHave is an error where a machine may not have as many states as make top the last.
func (t *textReader[W]) mayHave(top Label) error {
	n := int64(top) + 1
	size := n * int64(unsafe.Sizeof(span{})+unsafe.Sizeof(t.zero))
	limit := ""
	switch {
	case n > maxState+1:
		limit = fmt.Sprintf("a machine can have %d", maxState+1)
	case t.MaxStates > 0 && n > t.MaxStates:
		limit = fmt.Sprintf("the limit is %d", t.MaxStates)
	case t.MaxBytes > 0 && size > t.MaxBytes:
		limit = fmt.Sprintf("they take %d bytes, where the limit is %d", size, t.MaxBytes)
	case t.MaxStates == 0 && t.MaxBytes == 0 && size > mostGaps && n > 1000*int64(len(t.ids)):
		limit = fmt.Sprintf("they take %d bytes; if that is meant, allow it by a limit on states, such as --limit_states=%d", size, n)
	default:
		return nil
	}
	return fmt.Errorf("to keep the state number %d, %d states would have to exist, of which the file has %d: %s", top, n, len(t.ids), limit)
}
