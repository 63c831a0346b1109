package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/sequence"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
)

// lossFlags choose a loss of sequences.
type lossFlags struct {
	loss                 *string
	match, sub, ins, del *float64
	band, exact          *int64
	n                    *int64
	plus                 *float64
	transducer           *string
	columns              *int64
	missing, spurious    *float64
	kind                 *float64
}

var lossNames = []string{"hamming", "edit", "smith-waterman", "local", "ngram", "span", "transducer"}

func (l *lossFlags) define(fs *flags.Set, use string) {
	l.loss = fs.Enum("loss", "hamming", lossNames, use)
	l.constants(fs)
}

// constants defines what losses look at, without the choice of one.
func (l *lossFlags) constants(fs *flags.Set) {
	l.match = fs.Float("match", 0, "Cost of two equal labels in edit (0) and smith-waterman (-2), gain in "+
		"local (1)")
	l.sub = fs.Float("sub", 1, "Cost of two different labels (1), gain in local (-1)")
	l.ins = fs.Float("ins", 1, "Cost of a label of the truth that the prediction lacks (1), gain in local (-1)")
	l.del = fs.Float("del", 1, "Cost of a label of the prediction that the truth lacks (1), gain in local (-1)")
	l.band = fs.Int("band", 32, 2, "Alignments of edit, smith-waterman and local losses stay within this many "+
		"positions of the diagonal, where a sequence is longer than --exact (local: or fewer, where that would "+
		"exceed its budget); 0 is exact for all, which grows exponentially with the length")
	l.exact = fs.Int("exact", 32, 8, "Sequences up to this length have the exact loss")
	l.n = fs.Int("ngram", 32, 2, "Labels of an n-gram")
	l.plus = fs.Float("ngram_plus", 1, "The n-gram loss is -log(common n-grams + this); 0 excludes what "+
		"shares none. So with sums over a transducer's paths")
	l.transducer = fs.String("transducer", "", "Machine of the loss transducer: input side the prediction, "+
		"output side the truth, labels by its symbol tables; over tropical weights the least cost, over real64 "+
		"or log weights -log of the sum")
	l.missing = fs.Float("span_missing", 1, "Cost of a span of the truth that the prediction lacks, in span")
	l.spurious = fs.Float("span_spurious", 1, "Cost of a span of the prediction that the truth lacks, in span")
	l.kind = fs.Float("span_type", 2, "Cost of a span with the right ends and another type, in span; by "+
		"default "+
		"that of one missing and one spurious")
	l.columns = fs.Int("columns", 64, 0, "Most columns of the loss machine of a sequence (states, for a "+
		"transducer's); 0 is as many as 2 GB hold (32 MB for local). Beyond, the error names a band that fits")
}

// lossUses lists the flags that a loss reads.
var lossUses = map[string][]string{
	"edit":           {"match", "sub", "ins", "del", "band", "exact", "columns"},
	"smith-waterman": {"match", "sub", "ins", "del", "band", "exact", "columns"},
	"local":          {"match", "sub", "ins", "del", "band", "exact", "columns"},
	"ngram":          {"ngram", "ngram_plus"},
	"span":           {"span_missing", "span_spurious", "span_type"},
	"transducer":     {"transducer", "ngram_plus", "columns"},
}

// allLossFlags are those of all losses.
var allLossFlags = []string{"match", "sub", "ins", "del", "band", "exact", "ngram", "ngram_plus",
	"span_missing", "span_spurious", "span_type", "transducer", "columns"}

// unused returns an error for a flag that none of the losses of these names looks at.
func (l *lossFlags) unused(c *call, names ...string) error {
	for _, f := range allLossFlags {
		if !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(lossUses[n], f) }) {
			why := "there is no loss"
			if len(names) == 1 {
				why = "the loss is " + names[0]
			} else if len(names) > 1 {
				why = "no loss looks at it"
			}
			if err := c.idle(why, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// cost returns a flag's value if it was given, and otherwise what the loss has.
func (l *lossFlags) cost(c *call, name string, v *float64, otherwise float64) float64 {
	if c.flags.Given(name) {
		return *v
	}
	return otherwise
}

func (l *lossFlags) check() error {
	if *l.band < 0 || *l.exact < 0 || *l.columns < 0 || *l.n < 1 || *l.n > 16 || !(*l.plus >= 0) {
		return errors.New("flags --band, --exact, --columns and --ngram_plus must not be negative, and --ngram " +
			"is between 1 and 16")
	}
	for name, v := range map[string]float64{"match": *l.match, "sub": *l.sub, "ins": *l.ins, "del": *l.del} {
		if v-v != 0 {
			return fmt.Errorf("flag --%s must be finite", name)
		}
	}
	return nil
}

func (l *lossFlags) edit(c *call, of losses.Edit) losses.Edit {
	return losses.Edit{Match: l.cost(c, "match", l.match, of.Match), Sub: l.cost(c, "sub", l.sub, of.Sub),
		Ins: l.cost(c, "ins", l.ins, of.Ins), Del: l.cost(c, "del", l.del, of.Del),
		Budget: losses.Budget{Ctx: c.ctx, Columns: int(*l.columns)}}
}

func (l *lossFlags) local(c *call) losses.Local {
	budget := losses.Budget{Ctx: c.ctx, Columns: int(*l.columns)}
	if *l.columns == 0 { // one of many machines, mostly made anew in each iteration
		budget.Bytes = localBytes
	}
	return losses.Local{Match: l.cost(c, "match", l.match, 1), Sub: l.cost(c, "sub", l.sub, -1),
		Ins: l.cost(c, "ins", l.ins, -1), Del: l.cost(c, "del", l.del, -1), Budget: budget}
}

// localBytes bounds the machine of a sentence for the local loss: some 200000 columns,
// two or three tenths of a second.
const localBytes = 1 << 25

// value returns the loss of a name, over the labels of the examples; nil is Hamming's.
func (l *lossFlags) value(c *call, name string, examples []sequence.Example) (losses.Loss, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	edit := losses.Unit
	switch name {
	case "transducer":
		var names []string
		for _, e := range examples {
			names = append(names, e.Labels...)
			if len(names) > 1<<20 {
				names = distinct(names)
			}
		}
		loss, err := l.user(c, distinct(names), "of the examples")
		if err != nil {
			return nil, err
		}
		loss.Name = *l.transducer
		loss.Limits.States = int(*l.columns)
		return loss, nil
	case "hamming":
		return nil, nil
	case "span":
		costs, err := l.spans(c)
		return sequence.Spans(costs), err
	case "ngram":
		return losses.NGram{N: int(*l.n), C: *l.plus}, nil
	case "local":
		if *l.band == 0 {
			return l.local(c), nil
		}
		return sequence.LongLocal{Local: l.local(c), Exact: max(1, int(*l.exact)), Band: int(*l.band)}, nil
	case "smith-waterman":
		edit = losses.SmithWaterman
	}
	edit = l.edit(c, edit)
	if *l.band == 0 {
		return edit, nil
	}
	return sequence.LongEdit{Edit: edit, Exact: max(1, int(*l.exact)), Band: int(*l.band)}, nil
}

// spans returns the costs of wrong spans.
func (l *lossFlags) spans(c *call) (losses.SpanCosts, error) {
	s := losses.SpanCosts{Missing: *l.missing, Spurious: *l.spurious}
	if s.Missing == 0 && s.Spurious == 0 {
		return s, errors.New("flags --span_missing and --span_spurious: both 0 leave no loss")
	}
	if c.flags.Given("span_type") {
		if s.Type = amount(*l.kind); *l.kind < 0 {
			return s, fmt.Errorf("flag --span_type: %v is negative", *l.kind)
		}
	}
	return s, nil
}

// user returns the loss of the transducer in a file between labels; errors name the origin of the
// labels.
func (l *lossFlags) user(c *call, labels []string, origin string) (*losses.Transducer, error) {
	if *l.transducer == "" {
		return nil, errors.New("flag --transducer is needed: the machine of the loss")
	}
	loss, err := transducerLoss(c, *l.transducer, *l.plus, labels, origin)
	if err != nil {
		return nil, err
	}
	loss.Limits = ops.Limits{Ctx: c.ctx}
	return loss, nil
}

// between returns the loss of one labelling when another is right, for decoding: exact
// at any length, since no sum over all labellings is taken. Labels are places among the model's.
// nil is Hamming's. That of a transducer is user's.
func (l *lossFlags) between(c *call, labels []string) (func(u, truth []int) float64, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	var value interface{ Value(y, ref []int) float64 }
	switch *l.loss {
	case "hamming":
		return nil, nil
	case "edit":
		value = l.edit(c, losses.Unit)
	case "smith-waterman":
		value = l.edit(c, losses.SmithWaterman)
	case "local":
		value = l.local(c)
	case "span":
		costs, err := l.spans(c)
		if err != nil {
			return nil, err
		}
		if value, err = losses.NewSpan(labels, costs); err != nil {
			return nil, fmt.Errorf("flag --loss: %w", err)
		}
	case "ngram":
		if *l.plus == 0 {
			return nil, errors.New("flag --ngram_plus: expected losses need it above 0, as labellings that share " +
				"no n-gram would be infinitely far apart")
		}
		value = losses.NGram{N: int(*l.n), C: *l.plus}
	default:
		return nil, fmt.Errorf("flag --loss: %s is not a loss of two labellings", *l.loss)
	}
	return value.Value, nil
}
