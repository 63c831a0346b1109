package sequence

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/losses"
)

// Settings are the options of training under the contract of package learner: what words can say
// of TrainOptions, so that they reach a worker elsewhere. Names, ranges and defaults are those of
// the flags of `learn sequence train`.
type Settings struct {
	Form      string `flag:"format" default:"auto" values:"auto,columns,tabs,conllu,crfsuite" help:"Form of the data; auto is conllu for names with .conllu, crfsuite for names with .crfsuite, else columns"`
	Label     string `flag:"label" help:"Column with the labels, from 0, or from the end when negative; for conllu also upos, xpos or deprel"`
	Templates string `flag:"templates" default:"auto" help:"Features: a file of templates (of CRF++ or Wapiti), tagging, chunking, or auto: chunking for three or more columns, else tagging"`
	Order     int    `flag:"order" default:"2" min:"1" max:"3" help:"Labels of a window"`
	MinCount  int    `flag:"min_count" default:"1" min:"1" help:"Features seen less often in training are left out"`
	Observed  bool   `flag:"observed" help:"Weights only for labels that a feature was seen with: a tenth of the size, often as good"`
	Partial   bool   `flag:"partial" help:"Labels that are ?, _ or empty are not known: learn from the others"`

	Objective string  `flag:"objective" default:"cross-entropy" values:"cross-entropy,softmax-margin,max-margin" help:"What training minimises"`
	Loss      string  `flag:"loss" default:"hamming" values:"hamming,edit,smith-waterman,local,ngram,span" help:"Loss of margins; span counts wrong spans of labels such as B-NP, I-NP and O"`
	Band      int     `flag:"band" default:"2" min:"0" help:"Alignments of edit, smith-waterman and local losses stay within so many positions of the diagonal, where a sequence is longer than --exact; 0 is exact for all"`
	Exact     int     `flag:"exact" default:"8" min:"1" help:"Sequences up to this length have the exact loss"`
	NGram     int     `flag:"ngram" default:"2" min:"1" max:"16" help:"Labels of an n-gram"`
	Plus      float64 `flag:"ngram_plus" default:"1" min:"0" help:"The n-gram loss is -log(common n-grams + this)"`
	Gamma     float64 `flag:"gamma" default:"1" help:"Weight of the loss"`
	Beta      float64 `flag:"beta" min:"0" help:"Sharpness of the smoothed maximum in max-margin; 0 is 3"`
	L2        float64 `flag:"l2" default:"1" min:"0" help:"Weight of the squares"`
	L1        float64 `flag:"l1" min:"0" help:"Weight of the absolute values"`

	Solver       string `flag:"solver" default:"lbfgs" values:"lbfgs,proximal" help:"Optimiser: lbfgs, or accelerated proximal steps along the gradient"`
	Memory       int    `flag:"memory" default:"10" min:"1" help:"Pairs that L-BFGS keeps"`
	MachineBytes int64  `flag:"machine_bytes" default:"1073741824" min:"1" help:"Memory for loss machines that are kept between passes"`
}

// Read reads the examples of a file. like is the format of what was read before; the zero value
// is that of nothing. The error names file and line.
func (s *Settings) Read(r io.Reader, name string, like Format) ([]Example, Format, error) {
	form := s.Form
	if form == "" || form == "auto" {
		form = Columns
		switch {
		case strings.Contains(name, ".conllu"):
			form = CoNLLU
		case strings.Contains(name, ".crfsuite"):
			form = CRFsuite
		}
	}
	if form == CRFsuite {
		examples, _, err := ReadAttributes(r, name, s.Partial)
		switch {
		case err == nil && len(examples) == 0:
			err = fmt.Errorf("%s: no sentences: the input is empty", name)
		case err == nil && like.Known() && like != AttributesFormat:
			err = fmt.Errorf("%s: the format is %v, and that of the data before %v", name, AttributesFormat, like)
		}
		return examples, AttributesFormat, err
	}
	list, err := ReadSentences(r, name, form, 0, s.Partial)
	if err != nil {
		return nil, like, err
	}
	if len(list) == 0 {
		return nil, like, fmt.Errorf("%s: no sentences: the input is empty", name)
	}
	f := Format{Form: form, Columns: len(list[0].Tokens[0])}
	if f.Label, err = LabelColumn(s.Label, form, f.Columns); err != nil {
		return nil, like, fmt.Errorf("%s: flag --label: %w", name, err)
	}
	if like.Known() && f != like {
		return nil, like, &dataset.SyntaxError{Name: name, Line: list[0].Line, Msg: fmt.Sprintf("the format is %v, and that of the data before %v", f, like)}
	}
	examples, err := ExamplesOf(list, name, f, s.Partial)
	return examples, f, err
}

// TrainOptions returns the options that the settings stand for, for data of a format. text is
// what a file that Templates names holds; it is not looked at where Templates is a preset.
func (s *Settings) TrainOptions(f Format, text string) (*TrainOptions, error) {
	var t Settings
	err := learner.Complete(&t, s)
	if err != nil {
		return nil, fmt.Errorf("sequence: %w", err)
	}
	o := &TrainOptions{Format: f, Order: t.Order, MinCount: t.MinCount, Observed: t.Observed, Partial: t.Partial, Memory: t.Memory,
		MachineBytes: t.MachineBytes, Gamma: t.Gamma, Beta: t.Beta, L2: cmp.Or(learner.Amount(t.L2), -1), L1: t.L1}
	if o.Kind, err = ParseKind(t.Objective); err != nil {
		return nil, err
	}
	if o.Solver, err = ParseSolver(t.Solver); err != nil {
		return nil, err
	}
	if IsPreset(t.Templates) {
		o.Templates, err = Preset(t.Templates, f)
	} else if f.Form == CRFsuite {
		_, err = Preset(t.Templates, f) // which says why there are none
	} else {
		o.Templates, err = ParseTemplates(strings.NewReader(text), t.Templates)
	}
	if err != nil {
		return nil, err
	}
	if o.Kind == CrossEntropy {
		if t.Loss != "hamming" {
			return nil, fmt.Errorf("sequence: loss: cross-entropy has none; choose another objective")
		}
		return o, nil
	}
	edit := losses.Unit
	switch t.Loss {
	case "hamming":
		return o, nil
	case "ngram":
		o.Loss = losses.NGram{N: t.NGram, C: learner.Amount(t.Plus)}
		return o, nil
	case "span":
		o.Loss = Spans{}
		return o, nil
	case "local":
		local := losses.Local{Match: 1, Sub: -1, Ins: -1, Del: -1, Budget: losses.Budget{Bytes: 1 << 25}}
		o.Loss = LongLocal{Local: local, Exact: t.Exact, Band: t.Band}
		if t.Band <= 0 {
			o.Loss = local
		}
		return o, nil
	case "smith-waterman":
		edit = losses.SmithWaterman
	}
	o.Loss = LongEdit{Edit: edit, Exact: t.Exact, Band: t.Band}
	if t.Band <= 0 {
		o.Loss = edit
	}
	return o, nil
}

// ReadsLabel returns the first of the templates that reads the label's column, which the inputs
// have blanked; nil if none does.
func ReadsLabel(templates []*Template, f Format) *Template {
	i := slices.IndexFunc(templates, func(t *Template) bool { return t.Reads(f.Label, f.Columns) })
	if i < 0 {
		return nil
	}
	return templates[i]
}
