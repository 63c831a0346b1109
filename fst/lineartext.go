package fst

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// ReadVocabulary reads the words of the model: lines of three fields, split by white space, of a
// word, its features, and the only outputs that it may have (none: any). Features and outputs are
// lists with delimiters. A word that is not listed has no features and any output. Errors are
// TextErrors.
func (b *LinearBuilder[W]) ReadVocabulary(r io.Reader, name string) error {
	in := newLineReader(r)
	for {
		line, ok := in.next()
		if !ok {
			return b.ended(in, name)
		}
		cols := bytes.Fields(line)
		if len(cols) != 3 {
			return &TextError{name, in.line, 0, fmt.Errorf("%d fields where three belong: a word, its features, its possible outputs (%s for none)", len(cols), b.o.Empty)}
		}
		// A mark that may be either is neither word nor output.
		word := b.label(cols[0], b.in)
		features, outputs := b.list(cols[1], b.feature), b.list(cols[2], b.out)
		if b.o.Classifier && len(outputs) > 0 {
			return &TextError{name, in.line, 3, fmt.Errorf("possible outputs, which the words of a classifier do not have: %s belongs here", b.o.Empty)}
		}
		if err := b.addWord(word, features, outputs); err != nil {
			return &TextError{name, in.line, 0, err}
		}
	}
}

func (b *LinearBuilder[W]) ended(in *lineReader, name string) error {
	if in.err != nil {
		return &TextError{name, in.line + 1, 0, in.err}
	}
	return nil
}

// ReadFeatures reads a group of features: a line with the number of words that its window looks
// ahead, 0 for a classifier, then lines of three fields, split by white space: a context of
// features of words, the newest last; a context of outputs, the last that of the word before
// the window; and a weight. Errors are TextErrors.
func (b *LinearBuilder[W]) ReadFeatures(r io.Reader, name string) error {
	in := newLineReader(r)
	line, ok := in.next()
	if !ok {
		if err := b.ended(in, name); err != nil {
			return err
		}
		return &TextError{name, 1, 0, fmt.Errorf("an empty file, where the number of words to look ahead belongs")}
	}
	future := 0
	cols := bytes.Fields(line)
	if len(cols) > 0 {
		var err error
		if future, err = strconv.Atoi(string(cols[0])); err != nil {
			cols = nil
		}
	}
	switch {
	case len(cols) == 0:
		return &TextError{name, 1, 1, fmt.Errorf("%q where the number of words to look ahead belongs", clip(line))}
	case future < 0 || future > maxLinearFuture:
		return &TextError{name, 1, 1, fmt.Errorf("a window of %d words; 0 to %d is what can be", future, maxLinearFuture)}
	case b.o.Classifier && future != 0:
		return &TextError{name, 1, 1, fmt.Errorf("a window of %d words, where a classifier has none: 0 belongs here", future)}
	}
	file := len(b.files)
	b.files, b.futures, b.future = append(b.files, name), append(b.futures, future), max(b.future, future)
	for {
		line, ok := in.next()
		if !ok {
			return b.ended(in, name)
		}
		if field, err := b.addFeature(file, bytes.Fields(line)); err != nil {
			return &TextError{name, in.line, field, err}
		}
	}
}

// addFeature adds what a line says; an error comes with the field.
func (b *LinearBuilder[W]) addFeature(file int, cols [][]byte) (field int, err error) {
	if len(cols) != 3 {
		return 0, fmt.Errorf("%d fields where three belong: features, outputs, a weight", len(cols))
	}
	input, output := b.list(cols[0], b.feature), b.list(cols[1], b.out)
	var w W
	if w, err = w.ParseTextFormat(string(cols[2]), b.o.Format); err != nil {
		return 3, err
	}
	if badWeight(w) {
		return 3, fmt.Errorf("the weight is %s", w.AppendText(nil))
	}
	b.guess(input)
	b.guess(output)
	key := linearGroupKey{file: file}
	contexts := [][]Label{output}
	if b.o.Classifier {
		b.classes[string(cols[1])] = true
		if len(output) != 1 {
			return 2, fmt.Errorf("%q, where one class belongs", clip(cols[1]))
		}
		if key.class = output[0]; key.class <= 0 {
			return 2, fmt.Errorf("%q is no class", clip(cols[1]))
		}
		contexts[0] = nil
	} else {
		if len(output) == 0 {
			return 2, fmt.Errorf("no output")
		}
		contexts = either(output)
	}
	for _, in := range either(input) {
		for _, out := range contexts {
			if err := b.addWeight(key, in, out, w); err != nil {
				return 0, err
			}
		}
	}
	return 0, nil
}

// either returns the two readings of labels with marks that may be start or end; labels
// themselves where there are none.
func either(labels []Label) [][]Label {
	start, end := append([]Label(nil), labels...), append([]Label(nil), labels...)
	open := false
	for i, l := range labels {
		if l == NoLabel {
			start[i], end[i], open = linearStart, linearEnd, true
		}
	}
	if open {
		return [][]Label{start, end}
	}
	return [][]Label{start}
}

// label returns the label of a symbol: NoLabel for a mark that may be start or end.
func (b *LinearBuilder[W]) label(s []byte, t *SymbolTable) Label {
	switch string(s) {
	case b.o.Start:
		if b.o.Start == b.o.End {
			return NoLabel
		}
		return linearStart
	case b.o.End:
		return linearEnd
	}
	return t.Add(string(s))
}

// list returns the labels of a field. A delimiter at the end ends the last, as in OpenFst.
func (b *LinearBuilder[W]) list(s []byte, t *SymbolTable) []Label {
	if string(s) == b.o.Empty {
		return nil
	}
	var labels []Label
	for len(s) > 0 {
		word, rest, _ := bytes.Cut(s, []byte{b.o.Delimiter})
		labels = append(labels, b.label(word, t))
		s = rest
	}
	return labels
}

// guess decides about marks that may be start or end by whether labels that are none stand
// before or after; among nothing else they stay open. One with labels on both sides
// is a start, which is then passed over.
func (b *LinearBuilder[W]) guess(labels []Label) {
	first, last := len(labels), -1
	for i, l := range labels {
		if l != NoLabel {
			first, last = min(first, i), i
		}
	}
	for i, l := range labels {
		switch before, after := first < i, last > i; {
		case l != NoLabel || !before && !after:
		case before && !after:
			labels[i] = linearEnd
		default:
			labels[i] = linearStart
		}
	}
}
