package sequence

import (
	"fmt"
	"io"
	"slices"

	"github.com/tropica-fst/tropica/learn/dataset"
)

// Forms of sentences, as Format.Form has them.
const (
	Columns = "columns" // separated by blanks or tabs
	Tabs    = "tabs"    // separated by single tabs
	CoNLLU  = "conllu"
	// CRFsuite's format has attributes ready-made instead of columns; see dataset.ReadAttributes.
	CRFsuite = "crfsuite"
)

// AttributesFormat is the format of data of the form CRFsuite.
var AttributesFormat = Format{Form: CRFsuite, Columns: 1}

// ReadAttributes reads examples in CRFsuite's format, and returns the line in which each begins.
// With partial, labels ?, _ and "" are not known. Errors give the line.
func ReadAttributes(r io.Reader, name string, partial bool) (examples []Example, lines []int, err error) {
	list, err := dataset.ReadAttributes(r, name)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range list {
		e := Example{Input: Input{Attributes: s.Attributes, Source: fmt.Sprintf("%s:%d", name, s.Line)},
			Labels: s.Labels}
		for t, y := range e.Labels {
			if partial && slices.Contains(UnknownLabels, y) {
				e.Labels[t] = ""
			}
		}
		examples, lines = append(examples, e), append(lines, s.Line)
	}
	return examples, lines, nil
}

// ReadSentences reads sentences of a form, with so many columns; 0 is as many as the first token
// has. With empty, columns of the form Tabs may be empty. name is that of the input in errors,
// which give the line.
func ReadSentences(r io.Reader, name, form string, width int, empty bool) ([]dataset.Sentence, error) {
	if form == CoNLLU {
		return dataset.ReadCoNLLU(r, name, nil)
	}
	return dataset.ReadColumns(r, name, &dataset.ColumnsOptions{Tabs: form == Tabs, Columns: width, Empty: empty})
}

// LabelColumn returns the column of the labels, out of n, that text names: a number from 0, or
// from the end when negative; for CoNLLU also upos, xpos and deprel. "" is upos there, else the
// last one.
func LabelColumn(text, form string, n int) (int, error) {
	if text == "" {
		text = "-1"
		if form == CoNLLU {
			text = "upos"
		}
	}
	if form == CoNLLU {
		if k, ok := map[string]int{"upos": dataset.UPOS, "xpos": dataset.XPOS, "deprel": dataset.DepRel}[text]; ok {
			return k, nil
		}
	}
	k := 0
	if _, err := fmt.Sscanf(text+"\n", "%d\n", &k); err != nil {
		return 0, fmt.Errorf("%q is no column", text)
	}
	if k < 0 {
		k += n
	}
	if k < 0 || k >= n {
		return 0, fmt.Errorf("there is no column %s: tokens have %d columns, which the flag counts from 0, or from the end by negative numbers", text, n)
	}
	return k, nil
}

// UnknownLabels are labels that say that there is none, where some are not known.
var UnknownLabels = []string{"?", "_", ""}

// ExamplesOf makes examples of sentences of a format; with partial, labels ?, _ and "" are not
// known. The label's column is blanked in the inputs: a template that reads it would learn the
// answer, and find nothing when the model is used. The rows of list are those of the examples.
func ExamplesOf(list []dataset.Sentence, name string, f Format, partial bool) ([]Example, error) {
	examples := make([]Example, 0, len(list))
	for k := range list {
		e := Example{Labels: list[k].Column(f.Label)}
		e.Source = fmt.Sprintf("%s:%d", name, list[k].Line)
		for t, row := range list[k].Tokens {
			if partial {
				if slices.Contains(UnknownLabels, e.Labels[t]) {
					e.Labels[t] = ""
				}
				for c, word := range row {
					if word == "" && c != f.Label {
						return nil, &dataset.SyntaxError{Name: name, Line: list[k].Line + t, Msg: fmt.Sprintf("column %d is empty, and only that of the label, %d, may be", c+1, f.Label+1)}
					}
				}
			} else if f.Form == CoNLLU && e.Labels[t] == "_" {
				return nil, fmt.Errorf("%s:%d: word %d of the sentence that begins here has no label (_) in column %d", name, list[k].Line, t+1, f.Label+1)
			}
			row[f.Label] = "_"
		}
		e.Columns = list[k].Tokens
		examples = append(examples, e)
	}
	return examples, nil
}
