package fst

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tropica-fst/tropica/semiring"
)

// TokenType says what one label of a string stands for.
type TokenType uint8

const (
	TokenSymbol TokenType = iota // a field, by a symbol table, or a decimal number
	TokenByte                    // a byte: labels 1 to 255, and 0 for a zero byte, which is ε and so does not come back, as in OpenFst's tools
	TokenUTF8                    // a character: its number in Unicode
)

// ParseTokenType returns the type that OpenFst's tools call symbol, byte or utf8.
func ParseTokenType(name string) (TokenType, error) {
	switch name {
	case "symbol":
		return TokenSymbol, nil
	case "byte":
		return TokenByte, nil
	case "utf8":
		return TokenUTF8, nil
	}
	return 0, fmt.Errorf("unknown token type %q (known are symbol, byte, utf8)", name)
}

// StringOptions adjusts what turns strings into labels and back; nil is the same as
// the zero value, which takes decimal numbers between spaces or tabs.
type StringOptions struct {
	Tokens     TokenType
	Symbols    *SymbolTable // of TokenSymbol; nil: labels are written as numbers
	Unknown    string       // the symbol for those that Symbols lacks; empty is none: they are an error
	Separators string       // of symbols, line ends besides; the last one is written; empty is DefaultSeparators
	Negative   bool         // allow negative labels

	// KeepEpsilon writes label 0 like others. By default it stands for the empty
	// string; of bytes and characters it always does.
	KeepEpsilon bool
}

func (o *StringOptions) withDefaults() StringOptions {
	var d StringOptions
	if o != nil {
		d = *o
	}
	if d.Separators == "" {
		d.Separators = DefaultSeparators
	}
	return d
}

// ErrString reports a machine that is not that of one string.
var ErrString = errors.New("not a machine of one string")

// UnknownSymbolError reports a symbol that a table lacks, in what is to become labels.
type UnknownSymbolError struct {
	Symbol   string
	Position int    // of the symbol in the string, or in the list: 1 is the first
	Table    string // name of the table

	list bool
	why  error
}

func (e *UnknownSymbolError) Error() string {
	of := ""
	if e.list {
		of = " of the list"
	}
	return fmt.Sprintf("fst: symbol %d%s: %q %v", e.Position, of, clip([]byte(e.Symbol)), e.why)
}

// AppendLabels appends the labels of s to dst: of each of its symbols, bytes or characters. A
// symbol that the table lacks is an UnknownSymbolError; numbers beyond 32 bits and bytes that are
// no UTF-8 are errors that say which. O(len(s)) time.
func AppendLabels(dst []Label, s string, opts *StringOptions) ([]Label, error) {
	o := opts.withDefaults()
	switch o.Tokens {
	case TokenByte:
		for i := range len(s) {
			dst = append(dst, Label(s[i]))
		}
		return dst, nil
	case TokenUTF8:
		for i := 0; i < len(s); {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n <= 1 {
				return dst, fmt.Errorf("fst: byte %d, %#02x, does not begin a character in UTF-8", i, s[i])
			}
			dst = append(dst, Label(r))
			i += n
		}
		return dst, nil
	}
	unknown, err := o.unknownLabel()
	if err != nil {
		return dst, err
	}
	separators := "\n" + o.Separators
	for i, n := 0, 0; ; n++ {
		for i < len(s) && strings.IndexByte(separators, s[i]) >= 0 {
			i++
		}
		if i == len(s) {
			return dst, nil
		}
		from := i
		for i < len(s) && strings.IndexByte(separators, s[i]) < 0 {
			i++
		}
		l, err := symbolLabel(s[from:i], &o)
		if err != nil && o.Unknown != "" {
			l, err = unknown, nil
		}
		if err != nil {
			var missing *UnknownSymbolError
			if errors.As(err, &missing) {
				missing.Position = n + 1
				return dst, missing
			}
			return dst, fmt.Errorf("fst: symbol %d: %w", n+1, err)
		}
		dst = append(dst, l)
	}
}

// unknownLabel is the label for symbols that the table lacks, if the options have one.
func (o *StringOptions) unknownLabel() (Label, error) {
	if o.Unknown == "" {
		return NoLabel, nil
	}
	if o.Symbols != nil {
		if l, ok := o.Symbols.Find(o.Unknown); ok {
			return l, nil
		}
	}
	return NoLabel, fmt.Errorf("fst: the symbol for unknown ones, %q, is not in the table", o.Unknown)
}

// AppendSymbols appends the label of each symbol of a list to dst. Other than in a string, symbols
// may have separators in them. Of TokenByte and TokenUTF8, each is one byte or character. The
// errors are those of AppendLabels.
func AppendSymbols(dst []Label, symbols []string, opts *StringOptions) ([]Label, error) {
	o := opts.withDefaults()
	unknown, err := NoLabel, error(nil)
	if o.Tokens == TokenSymbol {
		if unknown, err = o.unknownLabel(); err != nil {
			return dst, err
		}
	}
	for i, s := range symbols {
		var l Label
		var err error
		switch {
		case o.Tokens == TokenSymbol:
			l, err = symbolLabel(s, &o)
			if err != nil && o.Unknown != "" {
				l, err = unknown, nil
			}
		default:
			n := len(dst)
			dst, err = AppendLabels(dst, s, opts)
			if err == nil && len(dst) != n+1 {
				err = fmt.Errorf("%q is not one %s", clip([]byte(s)), map[TokenType]string{TokenByte: "byte", TokenUTF8: "character"}[o.Tokens])
			}
			if err == nil {
				l = dst[n]
			}
			dst = dst[:n]
		}
		if err != nil {
			var missing *UnknownSymbolError
			if errors.As(err, &missing) {
				missing.Position, missing.list = i+1, true
				return dst, missing
			}
			return dst, fmt.Errorf("fst: symbol %d of the list: %w", i+1, err)
		}
		dst = append(dst, l)
	}
	return dst, nil
}

// ListLabels is the list that AppendSymbols takes for these labels. Labels that no symbol, byte or
// character has are errors.
func ListLabels(labels []Label, opts *StringOptions) ([]string, error) {
	o := opts.withDefaults()
	list := make([]string, 0, len(labels))
	for i, l := range labels {
		if l == Epsilon && (o.Tokens != TokenSymbol || !o.KeepEpsilon) {
			continue
		}
		s, err := o.appendLabel(nil, l)
		if err != nil {
			return nil, fmt.Errorf("fst: label %d of the list, %w", i+1, err)
		}
		list = append(list, string(s))
	}
	return list, nil
}

// symbolLabel returns the label of one symbol; who calls it knows the position of an
// UnknownSymbolError.
func symbolLabel(s string, o *StringOptions) (Label, error) {
	if o.Symbols == nil {
		l, err := parseLabel([]byte(s), "label", o.Negative)
		if errors.Is(err, errNotInteger) {
			err = fmt.Errorf("%w, and a symbol needs a table of symbols", err)
		}
		return l, err
	}
	l, ok := o.Symbols.Find(s)
	switch {
	case !ok:
		return 0, &UnknownSymbolError{Symbol: s, Table: o.Symbols.Name(), why: o.Symbols.lacks(s)}
	case l < 0 && !o.Negative:
		return 0, fmt.Errorf("%q has label %d, and negative ones are not allowed", clip([]byte(s)), l)
	}
	return l, nil
}

// FormatLabels is the string that AppendLabels takes for these labels, if no symbol has a separator
// in it (ListLabels keeps those apart). Labels that no symbol, byte or character has are errors.
// O(len(labels)) time.
func FormatLabels(labels []Label, opts *StringOptions) (string, error) {
	o := opts.withDefaults()
	separator := o.Separators[len(o.Separators)-1]
	var b []byte
	first := true
	for i, l := range labels {
		if l == Epsilon && (o.Tokens != TokenSymbol || !o.KeepEpsilon) {
			continue
		}
		if o.Tokens == TokenSymbol && !first {
			b = append(b, separator)
		}
		first = false
		var err error
		if b, err = o.appendLabel(b, l); err != nil {
			return "", fmt.Errorf("fst: label %d of the string, %w", i+1, err)
		}
	}
	return string(b), nil
}

// appendLabel appends what stands for one label.
func (o *StringOptions) appendLabel(b []byte, l Label) ([]byte, error) {
	switch {
	case o.Tokens == TokenByte:
		if l < 0 || l > 255 {
			return b, fmt.Errorf("%d, is not a byte", l)
		}
		return append(b, byte(l)), nil
	case o.Tokens == TokenUTF8:
		if !utf8.ValidRune(rune(l)) {
			return b, fmt.Errorf("%d, is not the number of a character", l)
		}
		return utf8.AppendRune(b, rune(l)), nil
	case o.Symbols == nil:
		return strconv.AppendInt(b, int64(l), 10), nil
	}
	s, ok := o.Symbols.Symbol(l)
	if !ok {
		return b, fmt.Errorf("%d, is not in %s", l, o.Symbols.shown())
	}
	return append(b, s...), nil
}

// FromLabels returns the acceptor of one string of labels, with weight 1̄: states
// 0 … n in a chain, as all machines of strings have them here. O(n) time.
func FromLabels[W semiring.Weight[W], L ~int32](labels []L) *Vector[W] {
	n := len(labels)
	v := NewVector[W](n + 1)
	one := semiring.One[W]()
	v.AddStates(n + 1)
	v.SetStart(0)
	for i, l := range labels {
		v.AddArc(StateID(i), Arc[W]{ILabel: Label(l), OLabel: Label(l), Weight: one, NextState: StateID(i) + 1})
	}
	v.SetFinal(StateID(n), one)
	v.LearnProperties(compactString.needs())
	return v
}

// FromString returns the acceptor of a string, FromLabels of AppendLabels, with the
// options' symbol table on both sides. A symbol that the table lacks is an UnknownSymbolError.
func FromString[W semiring.Weight[W]](s string, opts *StringOptions) (*Vector[W], error) {
	labels, err := AppendLabels(nil, s, opts)
	return withSymbols(FromLabels[W](labels), opts, err)
}

// FromSymbols returns the acceptor of a list of symbols, FromLabels of AppendSymbols, with the
// options' symbol table on both sides. A symbol that the table lacks is an UnknownSymbolError.
func FromSymbols[W semiring.Weight[W]](symbols []string, opts *StringOptions) (*Vector[W], error) {
	labels, err := AppendSymbols(nil, symbols, opts)
	return withSymbols(FromLabels[W](labels), opts, err)
}

func withSymbols[W semiring.Weight[W]](v *Vector[W], opts *StringOptions, err error) (*Vector[W], error) {
	if err != nil {
		return nil, err
	}
	if opts != nil && opts.Tokens == TokenSymbol && opts.Symbols != nil {
		v.SetInputSymbols(opts.Symbols)
		v.SetOutputSymbols(opts.Symbols)
	}
	return v, nil
}

// ToLabels returns the input and output labels on the only path of f, with ε, and the weight of the
// path. A machine with another path, or none, is an error that wraps ErrString and tells the state.
// States that the path does not come to do not matter. O(n) time for a path of n arcs.
func ToLabels[W semiring.Weight[W]](f Fst[W]) (input, output []Label, w W, err error) {
	w = semiring.One[W]()
	q := f.Start()
	fail := func(format string, args ...any) ([]Label, []Label, W, error) {
		return nil, nil, semiring.Zero[W](), fmt.Errorf("fst: "+format+": %w", append(args, ErrString)...)
	}
	if q == NoState {
		if err := Err(f); err != nil {
			return nil, nil, semiring.Zero[W](), err
		}
		return fail("there is no start state")
	}
	// A cycle is found after at most three times the states on the way to it and
	// round it (R. Brent, "An improved Monte Carlo factorization algorithm", BIT
	// 20(2):176-184, 1980).
	mark, steps, limit := q, 0, 1
	for {
		arcs := f.Arcs(q)
		if IsFinal(f, q) {
			if len(arcs) > 0 {
				return fail("state %d is final and has %d arcs", q, len(arcs))
			}
			return input, output, w.Times(f.Final(q)), Err(f)
		}
		if len(arcs) != 1 {
			if err := Err(f); err != nil {
				return nil, nil, semiring.Zero[W](), err
			}
			return fail("state %d has %d arcs and is not final", q, len(arcs))
		}
		e := &arcs[0]
		input, output = append(input, e.ILabel), append(output, e.OLabel)
		w = w.Times(e.Weight)
		if q = e.NextState; q == mark {
			return fail("state %d lies on a cycle", q)
		}
		if steps++; steps == limit {
			mark, steps, limit = q, 0, 2*limit
		}
	}
}

// ToString returns the output string of the only path of f: FormatLabels of ToLabels.
// Without a symbol table in the options that of f is used, if there is one.
func ToString[W semiring.Weight[W]](f Fst[W], opts *StringOptions) (string, error) {
	o := opts.withDefaults()
	if o.Symbols == nil {
		o.Symbols = OutputSymbols(f)
	}
	_, output, _, err := ToLabels(f)
	if err != nil {
		return "", err
	}
	return FormatLabels(output, &o)
}

// ToSymbols returns the output symbols of the only path of f: ListLabels of ToLabels. Without a
// symbol table in the options that of f is used, if there is one.
func ToSymbols[W semiring.Weight[W]](f Fst[W], opts *StringOptions) ([]string, error) {
	o := opts.withDefaults()
	if o.Symbols == nil {
		o.Symbols = OutputSymbols(f)
	}
	_, output, _, err := ToLabels(f)
	if err != nil {
		return nil, err
	}
	return ListLabels(output, &o)
}
