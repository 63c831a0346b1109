package fst

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// SymbolTextOptions adjusts the reading and writing of text symbol tables; nil
// is the same as the zero value.
type SymbolTextOptions struct {
	Name       string // of the source, for errors, and of the table that is read
	Separators string // any of these bytes splits; the first is written; empty is DefaultSeparators
	Negative   bool   // allow negative keys (never -1)

	// Duplicate, if not nil, is told of each line that was ignored because its
	// symbol already has another key.
	Duplicate func(line int, symbol string, kept, ignored int64)

	// Shared, if not nil, is told of each line whose key another symbol has already.
	Shared func(line int, symbol string, key int64, other string)
}

// ReadSymbols reads a text symbol table: a symbol and a key of 64 bits on each line,
// blank lines skipped. A symbol that comes again keeps its first key. Errors
// are TextErrors, or those of r.
func ReadSymbols(r io.Reader, opts *SymbolTextOptions) (*SymbolTable, error) {
	var o SymbolTextOptions
	if opts != nil {
		o = *opts
	}
	t := NewSymbolTable(o.Name)
	seps, _ := newSeparators(o.Separators)
	in := newLineReader(r)
	var cols [2][]byte
	for {
		line, ok := in.next()
		if !ok {
			break
		}
		n := seps.split(line, cols[:])
		if n == 0 {
			continue
		}
		if n != 2 {
			return nil, &TextError{o.Name, in.line, 0, fmt.Errorf("%d fields where a symbol and a label belong", n)}
		}
		key, err := parseKey(cols[1], o.Negative)
		if err == nil && key == int64(NoLabel) {
			err = errors.New("bad label -1: it means no label")
		}
		if err != nil {
			return nil, &TextError{o.Name, in.line, 2, err}
		}
		if len(cols[0]) > maxSymbol {
			return nil, &TextError{o.Name, in.line, 1, fmt.Errorf("a symbol of %d bytes, where 2³¹-1 is the most", len(cols[0]))}
		}
		n, other := t.Len(), int32(-1)
		if o.Shared != nil {
			other = t.keyPosition(key)
		}
		if kept, same := t.AddKey(viewString(cols[0]), key); !same && o.Duplicate != nil {
			o.Duplicate(in.line, string(cols[0]), kept, key)
		}
		if other >= 0 && t.Len() > n {
			o.Shared(in.line, string(cols[0]), key, t.symbols.text(other))
		}
	}
	if in.err != nil {
		return nil, &TextError{o.Name, in.line + 1, 0, in.err}
	}
	return t, nil
}

// WriteText writes the table as text, in order of insertion, as OpenFst does:
// symbols as they are. CheckText tells whether they can be read back.
func (t *SymbolTable) WriteText(w io.Writer, opts *SymbolTextOptions) error {
	var o SymbolTextOptions
	if opts != nil {
		o = *opts
	}
	_, sep := newSeparators(o.Separators)
	out := bufio.NewWriterSize(w, 64<<10)
	var num []byte
	for s, key := range t.Keys() {
		out.WriteString(s)
		out.WriteByte(sep)
		if num = num[:0]; isLabel(key) {
			num = appendInt(num, int32(key))
		} else {
			num = strconv.AppendInt(num, key, 10)
		}
		num = append(num, '\n')
		if _, err := out.Write(num); err != nil {
			return err
		}
	}
	return out.Flush()
}

// CheckText returns an error for the first symbol that would not be read back
// from text with the given separators (empty: DefaultSeparators): one that is
// empty, or holds a separator or the end of a line.
func (t *SymbolTable) CheckText(separators string) error {
	seps, _ := newSeparators(separators)
	for s, key := range t.Keys() {
		if s == "" {
			return fmt.Errorf("fst: symbol table %q: the symbol of label %d is empty", t.name, key)
		}
		for k := range len(s) {
			if c := s[k]; seps[c] || c == '\n' {
				return fmt.Errorf("fst: symbol table %q: the symbol %q of label %d holds a separator", t.name, clip([]byte(s)), key)
			}
		}
	}
	return nil
}
