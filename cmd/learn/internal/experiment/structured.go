package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/learn/g2p"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/sequence"
	"github.com/tropica-fst/tropica/losses"
)

// StructuredOptions adjusts Tagging and Pronouncing; each zero field is the default
// given.
type StructuredOptions struct {
	L2      float64 // of the sum over examples; 1
	Gamma   float64 // weight of the loss in margins; 2
	Gap     float64 // certified, in units of the objectives; 1e-3
	Inner   int     // L-BFGS steps of a round; 200
	Workers int
	Watch   func(model string, row run.Row)
	// Known models of the same problem and settings are not trained again. Save, if not nil,
	// receives each new one, and Done each one's name, known or new.
	Known []StructuredCell
	Save  func(*StructuredCell) error
	Done  func(model string)
}

func (o *StructuredOptions) withDefaults() (StructuredOptions, error) {
	var p StructuredOptions
	if o != nil {
		p = *o
	}
	for _, f := range []struct {
		v    *float64
		zero float64
	}{{&p.L2, 1}, {&p.Gamma, 2}, {&p.Gap, 1e-3}} {
		if *f.v == 0 {
			*f.v = f.zero
		}
		if !(*f.v > 0) || math.IsInf(*f.v, 1) {
			return p, errors.New("experiment: l2, gamma and gap must be positive")
		}
	}
	if p.Inner == 0 {
		p.Inner = 200
	}
	return p, nil
}

// StructuredReport compares models of one structured problem: one for each objective alone, one for
// their even mixture, and the one that is robust to every mixture of their regrets.
type StructuredReport struct {
	Name       string            `json:"name"`
	Examples   int               `json:"examples"`
	Weights    int               `json:"weights"`
	Objectives []string          `json:"objectives"`
	Measures   []string          `json:"measures"`
	Models     []StructuredModel `json:"models"`
}

// StructuredModel is a model of a StructuredReport.
type StructuredModel struct {
	Name string `json:"trained_on"`
	// each objective with the penalty, by training example, less what it reaches alone
	Regrets []float64 `json:"regrets"`
	Worst   float64   `json:"worst"`
	Lambda  []float64 `json:"lambda"`
	Gap     float64   `json:"gap"` // certified
	Test    []float64 `json:"test"`
}

// Reached reports whether the robust model's largest regret is below those of all other
// models.
func (r *StructuredReport) Reached() bool {
	last := len(r.Models) - 1
	for _, m := range r.Models[:last] {
		if m.Worst <= r.Models[last].Worst {
			return false
		}
	}
	return true
}

// structuredRun is what run trains on: parts apart, or evaluated by joint.
type structuredRun struct {
	parts []saddle.Part
	joint saddle.Joint
	along []float64 // preconditions L-BFGS
	test  func(w []float64) ([]float64, error)
}

// run trains all models. test gives the measures of weights on test data.
//
// Regrets make the objectives comparable. A softmax margin is never below the cross-entropy, so in
// one unit the largest margin would be the whole game.
func (o *StructuredOptions) run(ctx context.Context, r *StructuredReport, problem *structuredRun) error {
	parts, test := problem.parts, problem.test
	p := len(parts)
	for _, q := range parts {
		r.Objectives = append(r.Objectives, q.Name)
	}
	beta1 := o.L2 / float64(r.Examples)
	var fits []*minimax.MixtureFit
	fingerprint := ""
	if o.Known != nil || o.Save != nil {
		var err error
		if fingerprint, err = problem.fingerprint(problem.dim()); err != nil {
			return fmt.Errorf("experiment: %s: %w", r.Name, err)
		}
	}
	settings := fmt.Sprintf("objectives=%s examples=%d l2=%v gamma=%v gap=%v inner=%d problem=%s",
		strings.Join(r.Objectives, ","), r.Examples, o.L2, o.Gamma, o.Gap, o.Inner, fingerprint)
	fit := func(name string, fixed, offsets, start []float64) (*minimax.MixtureFit, error) {
		key := StructuredCell{Problem: r.Name, Model: name, Settings: settings}
		if f := o.known(&key, p, problem.dim()); f != nil {
			fits = append(fits, f)
			if o.Done != nil {
				o.Done(name)
			}
			return f, nil
		}
		mo := &minimax.MixtureOptions{Fixed: fixed, Beta1: beta1, Start: start, Gap: o.Gap, Absolute: true,
			Inner: o.Inner, Workers: o.Workers, Control: run.Control{Ctx: ctx}, Joint: problem.joint,
			Along: problem.along, Memory: 10}
		if offsets != nil {
			mo.Normalization, mo.Offsets = minimax.Regret, offsets
		}
		if o.Watch != nil {
			mo.Control.Recorder = run.RecorderFunc(func(row run.Row) error {
				saddle.RowOf(row).Names = r.Objectives
				for k, v := range fixed {
					if v == 0 {
						saddle.RowOf(row).Values[k] = math.NaN() // not evaluated
					}
				}
				o.Watch(name, row)
				return nil
			})
		}
		f, err := minimax.TrainMixture(parts, mo)
		if err != nil {
			return nil, fmt.Errorf("experiment: %s, %s: %w", r.Name, name, err)
		}
		if err := o.keep(key, f); err != nil {
			return nil, err
		}
		if o.Done != nil {
			o.Done(name)
		}
		fits = append(fits, f)
		return f, nil
	}
	offsets := make([]float64, p)
	for k := range p {
		one := make([]float64, p)
		one[k] = 1
		// All are of the same features, so that each starts where the model of another is
		// the best for it.
		var start []float64
		least := math.Inf(1)
		for _, f := range fits {
			if v := f.Raw[k] + penalty(beta1, f.W); v < least {
				start, least = f.W, v
			}
		}
		f, err := fit("only "+parts[k].Name, one, nil, start)
		if err != nil {
			return err
		}
		offsets[k] = f.Values[k] + penalty(beta1, f.W)
	}
	// The mean of the models is nowhere worse than their mean value: the objectives are convex.
	start := make([]float64, len(fits[0].W))
	for _, f := range fits {
		for j, v := range f.W {
			start[j] += v / float64(p)
		}
	}
	even, err := fit(modelUniform, slices.Repeat([]float64{1 / float64(p)}, p), offsets, start)
	if err != nil {
		return err
	}
	if _, err = fit(modelAlmo, nil, offsets, even.W); err != nil {
		return err
	}
	for i, f := range fits {
		m := StructuredModel{Lambda: f.Lambda, Worst: math.Inf(-1), Gap: f.Result.Certificate.Gap()}
		for k, raw := range f.Raw {
			regret := raw + penalty(beta1, f.W) - offsets[k]
			m.Regrets = append(m.Regrets, regret)
			m.Worst = math.Max(m.Worst, regret)
		}
		switch {
		case i < p:
			m.Name = "only " + parts[i].Name
		case i == p:
			m.Name = modelUniform
		default:
			m.Name = modelAlmo
		}
		if m.Test, err = test(f.W); err != nil {
			return fmt.Errorf("experiment: %s, %s: %w", r.Name, m.Name, err)
		}
		r.Models = append(r.Models, m)
	}
	return nil
}

// penalty is what every objective has beside its loss: without it a model that is less
// regularised would have negative regrets.
func penalty(beta1 float64, w []float64) float64 {
	sq := 0.0
	for _, v := range w {
		sq += v * v
	}
	return beta1 / 2 * sq
}

// structuredObjectives are the objectives of Tagging and Pronouncing.
var structuredObjectives = []struct {
	name string
	kind sequence.Kind
	loss losses.Loss
	g2p  g2p.Kind
}{
	{"cross-entropy", sequence.CrossEntropy, nil, g2p.CrossEntropy},
	{"hamming", sequence.SoftmaxMargin, nil, g2p.HammingMargin},
	{"edit", sequence.SoftmaxMargin, sequence.LongEdit{Band: 1, Exact: 4}, g2p.SoftmaxMargin},
	{"bigrams", sequence.SoftmaxMargin, losses.NGram{N: 2, C: 1}, g2p.NGramMargin},
}

// StructuredNames are the names of the objectives of Tagging and Pronouncing.
func StructuredNames() []string {
	var names []string
	for _, q := range structuredObjectives {
		names = append(names, q.name)
	}
	return names
}

// wanted reports which objectives are asked for: those named, or all.
func wanted(name string, names []string) bool { return len(names) == 0 || slices.Contains(names, name) }

// knownNames refuses names that there are not.
func knownNames(names []string) error {
	for _, n := range names {
		if !slices.Contains(StructuredNames(), n) {
			return fmt.Errorf("experiment: there is no objective %q; there are %s", n,
				strings.Join(StructuredNames(), ", "))
		}
	}
	return nil
}

// TaggingObjectives returns the objectives of Tagging, those named or all, as means over the
// sentences of p, with what evaluates them together. gamma is the weight of losses.
func TaggingObjectives(ctx context.Context, p *sequence.Problem, gamma float64,
	names ...string) ([]saddle.Part, *sequence.Joint, error) {
	if err := knownNames(names); err != nil {
		return nil, nil, err
	}
	var parts []saddle.Part
	var objectives []*sequence.TrainOptions
	for _, q := range structuredObjectives {
		if wanted(q.name, names) {
			objectives = append(objectives, &sequence.TrainOptions{Kind: q.kind, Loss: q.loss, Gamma: gamma})
			parts = append(parts, saddle.Part{Name: q.name, Scale: 1 / float64(p.Examples())})
		}
	}
	joint, err := p.Joint(ctx, objectives...)
	return parts, joint, err
}

// PronouncingObjectives returns the objectives of Pronouncing, those named or all, as means
// over the words of p.
func PronouncingObjectives(ctx context.Context, p *g2p.Problem, gamma float64,
	names ...string) ([]saddle.Part, error) {
	if err := knownNames(names); err != nil {
		return nil, err
	}
	var parts []saddle.Part
	for _, q := range structuredObjectives {
		if !wanted(q.name, names) {
			continue
		}
		f, err := p.Objective(ctx, g2p.Objective{Kind: q.g2p, Gamma: gamma})
		if err != nil {
			return nil, err
		}
		parts = append(parts, saddle.Part{Name: q.name, Objective: f, Scale: 1 / float64(p.Words())})
	}
	return parts, nil
}

// Tagging trains labellers of sequences on cross-entropy and on softmax margins, and on all
// mixtures of these. The margins are of the Hamming distance, of the edit distance within a band of
// 1, and of bigrams. Measures are errors by token, edits by token, and sentences with an error, in
// per cent.
func Tagging(ctx context.Context, name string, train, test []sequence.Example,
	features *sequence.TrainOptions, opts *StructuredOptions) (*StructuredReport, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	var fo sequence.TrainOptions
	if features != nil {
		fo = *features
	}
	if fo.Workers == 0 {
		fo.Workers = o.Workers
	}
	p, err := sequence.Prepare(train, &fo)
	if err != nil {
		return nil, err
	}
	r := &StructuredReport{Name: name, Examples: p.Examples(), Weights: p.Dim(),
		Measures: []string{"token errors %", "edits %", "sentence errors %"}}
	parts, joint, err := TaggingObjectives(ctx, p, o.Gamma)
	if err != nil {
		return nil, err
	}
	err = o.run(ctx, r, &structuredRun{parts: parts, joint: joint, along: joint.Scale(o.L2),
		test: func(w []float64) ([]float64, error) {
			m, err := p.Model(w, "")
			if err != nil {
				return nil, err
			}
			t := m.Tagger()
			var symbols, edits, whole metrics.Rate
			for i := range test {
				u, err := t.Viterbi(&test[i].Input)
				if err != nil {
					return nil, err
				}
				symbols = symbols.Add(metrics.Symbols(u, test[i].Labels))
				edits = edits.Add(metrics.Edits(u, test[i].Labels))
				wrong := metrics.Rate{Base: 1}
				if !slices.Equal(u, test[i].Labels) {
					wrong.Errors = 1
				}
				whole = whole.Add(wrong)
			}
			return []float64{100 * symbols.Value(), 100 * edits.Value(), 100 * whole.Value()}, nil
		}})
	return r, err
}

// Pronouncing trains models of pronunciation on cross-entropy and on softmax margins, and on all
// mixtures of these. The margins are of wrong labels, of the edit distance to the right phones and
// of the bigrams of phones. Measures are phone and word error rates, in per cent.
func Pronouncing(ctx context.Context, name string, train, test []g2p.Pair,
	opts *StructuredOptions) (*StructuredReport, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	p, err := g2p.Prepare(ctx, train, &g2p.Options{Workers: o.Workers})
	if err != nil {
		return nil, err
	}
	r := &StructuredReport{Name: name, Examples: p.Words(),
		Measures: []string{"phone errors %", "word errors %"}}
	parts, err := PronouncingObjectives(ctx, p, o.Gamma)
	if err != nil {
		return nil, err
	}
	r.Weights = parts[0].Objective.Dim()
	last := g2p.Objective{Kind: g2p.NGramMargin, Gamma: o.Gamma} // what decoding does not look at
	err = o.run(ctx, r, &structuredRun{parts: parts, test: func(w []float64) ([]float64, error) {
		report, err := g2p.Evaluate(name, []*g2p.Model{p.Model(last, w)}, test, nil, o.Workers)
		if err != nil {
			return nil, err
		}
		s := report.Pooled.Models[0]
		return []float64{s.PER, s.WER}, nil
	}})
	return r, err
}

// WriteTable writes the report for people.
func (r *StructuredReport) WriteTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d examples, %d weights; regrets by example\n", r.Name, r.Examples, r.Weights)
	t := tabwriter.NewWriter(&b, 2, 0, 2, ' ', 0)
	fmt.Fprintf(t, "  trained on\t%s\tworst\tλ\tgap\t%s\n", strings.Join(r.Objectives, "\t"),
		strings.Join(r.Measures, "\t"))
	for _, m := range r.Models {
		fmt.Fprintf(t, "  %s", m.Name)
		for _, v := range m.Regrets {
			fmt.Fprintf(t, "\t%.4f", v)
		}
		fmt.Fprintf(t, "\t%.4f\t", m.Worst)
		for k, v := range m.Lambda {
			if k > 0 {
				fmt.Fprint(t, " ")
			}
			fmt.Fprintf(t, "%.2f", v)
		}
		fmt.Fprintf(t, "\t%.1e", m.Gap)
		for _, v := range m.Test {
			fmt.Fprintf(t, "\t%.2f", v)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.Reached() {
		b.WriteString("  The largest regret of almo is below those of all other models.\n")
	} else {
		b.WriteString("  The largest regret of almo is NOT below those of all other models.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
