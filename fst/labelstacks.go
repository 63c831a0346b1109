package fst

import (
	"bufio"
	"fmt"
	"io"
)

// ReadLabelStacks reads the pairs of parentheses of a multi-pushdown transducer from
// text: the label that opens, the one that closes, and the number of their stack on
// each line; blank lines and lines that start with # skipped. Errors are TextErrors.
func ReadLabelStacks(r io.Reader, opts *LabelPairOptions) (pairs []LabelPair, stacks []int32, err error) {
	var o LabelPairOptions
	if opts != nil {
		o = *opts
	}
	seps, _ := newSeparators(pairSeparators)
	in := newLineReader(r)
	var cols [3][]byte
	for {
		line, ok := in.next()
		if !ok {
			break
		}
		n := seps.split(line, cols[:])
		if n == 0 || cols[0][0] == '#' {
			continue
		}
		if n != len(cols) {
			return nil, nil, &TextError{o.Name, in.line, 0, fmt.Errorf("%d fields where three belong: two labels and the number of a stack", n)}
		}
		var v [3]Label
		for i := range v {
			if i < 2 {
				v[i], err = parsePaired(cols[i], o.Negative)
			} else {
				v[i], err = parseLabel(cols[i], "stack", false)
			}
			if err != nil {
				return nil, nil, &TextError{o.Name, in.line, i + 1, err}
			}
		}
		pairs, stacks = append(pairs, LabelPair{v[0], v[1]}), append(stacks, int32(v[2]))
	}
	if in.err != nil {
		return nil, nil, &TextError{o.Name, in.line + 1, 0, in.err}
	}
	return pairs, stacks, nil
}

// WriteLabelStacks writes what ReadLabelStacks reads. The slices are of one length.
func WriteLabelStacks(w io.Writer, pairs []LabelPair, stacks []int32) error {
	out := bufio.NewWriter(w)
	var b []byte
	for i, p := range pairs {
		b = append(appendInt(b[:0], int32(p.From)), '\t')
		b = append(appendInt(b, int32(p.To)), '\t')
		b = append(appendInt(b, stacks[i]), '\n')
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	return out.Flush()
}
