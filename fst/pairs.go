package fst

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/tropica-fst/tropica/semiring"
)

// pairSeparators split the fields of label pairs and potentials, whatever splits
// those of machines.
const pairSeparators = "\t "

// LabelPairOptions adjusts ReadLabelPairs; nil is the same as the zero value.
type LabelPairOptions struct {
	Name     string // of the source, for errors
	Negative bool   // allow negative labels
}

// ReadLabelPairs reads label pairs from text: an old and a new label on each line,
// blank lines and lines that start with # skipped. Errors are TextErrors.
func ReadLabelPairs(r io.Reader, opts *LabelPairOptions) ([]LabelPair, error) {
	var o LabelPairOptions
	if opts != nil {
		o = *opts
	}
	var pairs []LabelPair
	err := eachPair(r, o.Name, '#', func(cols [2][]byte) (field int, err error) {
		from, err := parsePaired(cols[0], o.Negative)
		if err != nil {
			return 1, err
		}
		to, err := parsePaired(cols[1], o.Negative)
		if err != nil {
			return 2, err
		}
		pairs = append(pairs, LabelPair{from, to})
		return 0, nil
	})
	return pairs, err
}

// parsePaired reads a label of a file that has no symbols.
func parsePaired(s []byte, negative bool) (Label, error) {
	l, err := parseLabel(s, "label", negative)
	if errors.Is(err, errNotInteger) {
		err = fmt.Errorf("%w: this file has the numbers of labels, not symbols", err)
	}
	return l, err
}

// WriteLabelPairs writes what ReadLabelPairs reads.
func WriteLabelPairs(w io.Writer, pairs []LabelPair) error {
	out := bufio.NewWriter(w)
	var b []byte
	for _, p := range pairs {
		b = append(appendInt(b[:0], int32(p.From)), '\t')
		b = append(appendInt(b, int32(p.To)), '\n')
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	return out.Flush()
}

// PotentialOptions adjusts ReadPotentials and WritePotentials; nil is the same as
// the zero value.
type PotentialOptions struct {
	Name       string              // of the source, for errors
	States     int                 // states of the machine that the weights are for: others are an error; zero is any
	Beyond     func(q StateID)     // takes the states that are none of States, in place of the error, and their weights are dropped
	Separators string              // the first is written; empty is DefaultSeparators
	Format     semiring.TextFormat // of composite weights
}

// ReadPotentials reads a weight for each state: a state and a weight on each line,
// in any order. States that are not mentioned have 0̄, and so has what the result
// is too short for. Errors are TextErrors. Memory grows with the largest state,
// which is bounded by opts.States, or by the number of lines where that is zero.
func ReadPotentials[W semiring.FormatCodec[W]](r io.Reader, opts *PotentialOptions) ([]W, error) {
	var o PotentialOptions
	if opts != nil {
		o = *opts
	}
	zero := semiring.Zero[W]()
	type line struct {
		q Label
		w W
	}
	var lines []line
	top := Label(-1)
	err := eachPair(r, o.Name, 0, func(cols [2][]byte) (field int, err error) {
		q, err := parseLabel(cols[0], "state", false)
		if err != nil {
			return 1, err
		}
		beyond := o.States > 0 && int(q) >= o.States
		if beyond && o.Beyond == nil {
			return 1, fmt.Errorf("there is no state %d: the machine has %d", q, o.States)
		}
		w, err := zero.ParseTextFormat(string(cols[1]), o.Format)
		if err == nil && !w.Member() {
			err = fmt.Errorf("%s is not a weight of arc type %s", clip(cols[1]), w.ArcType())
		}
		if err != nil {
			return 2, err
		}
		if beyond {
			o.Beyond(StateID(q))
			return 0, nil
		}
		lines = append(lines, line{q, w})
		top = max(top, q)
		return 0, nil
	})
	if err != nil {
		return nil, err
	}
	if o.States <= 0 && int(top) >= len(lines)+1<<20 {
		return nil, &TextError{o.Name, 1, 0, fmt.Errorf("%d lines name states up to %d", len(lines), top)}
	}
	v := make([]W, int(top)+1)
	for i := range v {
		v[i] = zero
	}
	for _, l := range lines {
		v[l.q] = l.w
	}
	return v, nil
}

// WritePotentials writes what ReadPotentials reads.
func WritePotentials[W semiring.FormatCodec[W]](w io.Writer, v []W, opts *PotentialOptions) error {
	var o PotentialOptions
	if opts != nil {
		o = *opts
	}
	_, sep := newSeparators(o.Separators)
	out := bufio.NewWriterSize(w, 64<<10)
	var b []byte
	for q, x := range v {
		b = append(appendInt(b[:0], int32(q)), sep)
		b = append(x.AppendTextFormat(b, o.Format), '\n')
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	return out.Flush()
}

// eachPair hands on the two fields of each line. Blank lines, and those that start
// with comment unless that is 0, are skipped.
func eachPair(r io.Reader, name string, comment byte, do func(cols [2][]byte) (field int, err error)) error {
	seps, _ := newSeparators(pairSeparators)
	in := newLineReader(r)
	var cols [2][]byte
	for {
		line, ok := in.next()
		if !ok {
			break
		}
		n := seps.split(line, cols[:])
		if n == 0 || comment != 0 && cols[0][0] == comment {
			continue
		}
		if n != 2 {
			return &TextError{name, in.line, 0, fmt.Errorf("%d fields where two belong", n)}
		}
		if field, err := do(cols); err != nil {
			return &TextError{name, in.line, field, err}
		}
	}
	if in.err != nil {
		return &TextError{name, in.line + 1, 0, in.err}
	}
	return nil
}
