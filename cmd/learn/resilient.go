package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/g2p"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/sequence"
)

// resilientFlags defines the flags of resilient training. It returns a function that returns the
// requested relaxation, nil for none, and the number of folds by which examples are ranked.
func resilientFlags(fs *flags.Set) func() (h resilient.Relaxation, folds int, err error) {
	options := learnerFlags(fs, func() any { return &resilient.Options{} })
	return func() (resilient.Relaxation, int, error) {
		var o resilient.Options
		err := learner.Complete(&o, options().(*resilient.Options))
		if err == nil {
			var h resilient.Relaxation
			if h, err = o.Relaxation(); err == nil {
				return h, o.Folds, nil
			}
		}
		return nil, 0, errors.New("flag --" + err.Error())
	}
}

// explaining is the verb that says what a model has learnt, of learners that are not on the
// contract.
func explaining[M any](group, what string, read func(c *call, name string) (M, error),
	explain func(M) []learner.Section) *command {
	return &command{
		name: group + " explain", args: "", min: 0, max: 0,
		summary: "Says what " + what + " has learnt.",
		about: `
A model that was trained with --resilient also lists the training examples with the largest
multipliers: hard ones, rare ones, and those that are annotated wrongly.

Example:

  learn ` + group + ` explain --model my.model --top 20`,
		setup: func(fs *flags.Set) func(*call) error {
			name := fs.String("model", "", "File of the model; needed")
			top := fs.Int("top", 32, 20, "Rows of each list; 0 is all")
			asJSON := fs.Bool("json", false, "Report as JSON, whole")
			return func(c *call) error {
				if *top < 0 {
					return errors.New("flag --top must not be negative")
				}
				m, err := read(c, *name)
				if err != nil {
					return err
				}
				return c.sections(explain(m), int(*top), *asJSON)
			}
		},
	}
}

var sequenceExplain = explaining("sequence", "a labeller", (*call).sequenceModel, explainSequence)

// explainSequence lists the weights of largest size: of all, of transitions from label to label, of
// labels, and of the attributes of each label.

func explainSequence(m *sequence.Model) []learner.Section {
	all, nonzero := m.Size()
	facts := factsOf([][]any{
		{"training", cmp.Or(m.Training(), "unknown")},
		{"labels", len(m.Labels())},
		{"order", m.Order()},
		{"weights", all},
		{"weights that are not zero", nonzero},
	})
	if s, parameters, ok := m.Network(); ok {
		facts.Rows = append(facts.Rows, []any{"network", fmt.Sprintf("%s, %d layers of %d", s.Kind, s.Layers,
			s.Hidden)},
			[]any{"parameters of the network", parameters})
	}
	list := slices.Collect(m.Weights)
	slices.SortStableFunc(list, func(a, b sequence.Weight) int {
		return cmp.Compare(math.Abs(b.Value), math.Abs(a.Value))
	})
	const most = 1000
	weights := learner.Section{Title: "largest weights", Columns: []string{"attribute", "labels", "weight"}}
	transitions := learner.Section{Title: "transitions", Columns: []string{"from", "to", "weight"}}
	labels := learner.Section{Title: "labels", Columns: []string{"label", "weight"}}
	byLabel := map[string]*learner.Section{}
	for _, y := range m.Labels() {
		title := "attributes of " + y
		byLabel[y] = &learner.Section{Title: title, Columns: []string{title, "weight"}}
	}
	for i, w := range list {
		if i < most {
			row := []any{cmp.Or(w.Attribute, "-"), strings.Join(w.Labels, " "), w.Value}
			weights.Rows = append(weights.Rows, row)
		}
		switch {
		case w.Attribute == "" && len(w.Labels) == 2:
			transitions.Rows = append(transitions.Rows, []any{w.Labels[0], w.Labels[1], w.Value})
		case w.Attribute == "" && len(w.Labels) == 1:
			labels.Rows = append(labels.Rows, []any{w.Labels[0], w.Value})
		case len(w.Labels) == 1:
			if s := byLabel[w.Labels[0]]; len(s.Rows) < most {
				s.Rows = append(s.Rows, []any{w.Attribute, w.Value})
			}
		}
	}
	sections := []learner.Section{facts, weights, transitions, labels}
	for _, y := range m.Labels() {
		sections = append(sections, *byLabel[y])
	}
	return append(sections, m.Difficulty().Section()...)
}

func factsOf(rows [][]any) learner.Section {
	return learner.Section{Title: "model", Columns: []string{"what", "value"}, Rows: rows}
}

var g2pExplain = explaining("g2p", "a pronunciation model", (*call).g2pModel, explainG2P)

func explainG2P(m *g2p.Model) []learner.Section {
	inv := m.Inventory
	facts := factsOf([][]any{
		{"objective", m.Objective.String()},
		{"letters", len(inv.Letters)},
		{"phones", len(inv.Phones)},
		{"labels", len(inv.Labels)},
		{"weights", len(m.Weights)},
		{"networks", cmp.Or(m.NetworkNames(), "none")},
		{"parameters of networks", m.NetworkDim()},
	})
	letters := learner.Section{Title: "letters", Columns: []string{"letter", "phones", "probability"},
		Note: "of the alignment, the most probable first; letters of words that were set apart are left out"}
	for x, r := range inv.Letters {
		if unicode.Is(unicode.Co, r) { // stands for a letter where it emits what it hardly ever does
			continue
		}
		list, prob := inv.Allowed[x+1], inv.Prob[x+1]
		order := make([]int, len(list))
		for k := range order {
			order[k] = k
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(prob[b], prob[a]) })
		for _, k := range order {
			var phones []string
			for _, p := range inv.Labels[list[k]] {
				phones = append(phones, inv.Phones[p])
			}
			row := []any{string(r), cmp.Or(strings.Join(phones, " "), "-"), prob[k]}
			letters.Rows = append(letters.Rows, row)
		}
	}
	return append([]learner.Section{facts, letters}, m.Difficulty().Section()...)
}
