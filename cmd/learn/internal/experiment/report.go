package experiment

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/sequence"
	"github.com/tropica-fst/tropica/losses"
)

// HomologOptions adjusts Homologs. Tags are those of package learner.
type HomologOptions struct {
	Task       HomologTask
	Train      int       `flag:"train" default:"150" min:"1" max:"1e6" help:"Examples to train on"`
	Heldout    int       `flag:"heldout" default:"100" min:"1" max:"1e6" help:"Examples that choose l2 and gamma"`
	Test       int       `flag:"test" default:"200" min:"1" max:"1e6" help:"Examples to test on"`
	Seeds      int       `flag:"seeds" default:"10" min:"1" max:"1e6" help:"Draws of all the data"`
	Seed       uint64    `flag:"seed" help:"Seed of the draws"`
	Objectives []string  `flag:"objectives" default:"cross-entropy,hamming,smith-waterman,risk" values:"cross-entropy,hamming,smith-waterman,risk" help:"Objectives; the others are compared with the first"`
	L2         []float64 `flag:"l2" default:"8,32,128,512" above:"0" help:"Values of l2 to choose from"`
	// A mismatch costs 3 more than a match.
	Gamma      []float64 `flag:"gamma" default:"3,10,30" above:"0" help:"Values of gamma for the Smith-Waterman loss; the Hamming margin has three times as much"`
	Band       int       `flag:"band" default:"1" min:"1" max:"1e6" help:"In training, alignments stay within this many positions of the diagonal"`
	Iterations int       `flag:"iterations" default:"150" min:"1" max:"1e6" help:"Most iterations of a fit"`
	Workers    int       // zero is 1. Results do not depend on it
	Fitted     func(trial int, e *Entry, c Constants, heldout float64, fits int)
}

// HomologObjectives are the names of the objectives: the conditional random field; softmax-margin
// with the Hamming distance; softmax-margin with the Smith-Waterman loss; and the expected
// Smith-Waterman loss, started from the first. The Hamming distance separates the effect of the
// margin from that of the alignment.
var HomologObjectives = []string{"cross-entropy", "hamming", "smith-waterman", "risk"}

func (o HomologOptions) withDefaults() (HomologOptions, error) {
	if err := learner.Complete(&o, &o); err != nil {
		return o, fmt.Errorf("experiment: %w", err)
	}
	var err error
	o.Task, err = o.Task.withDefaults()
	return o, err
}

// HomologReport is the outcome of Homologs.
type HomologReport struct {
	Length  int            `json:"length"`
	Band    int            `json:"band"`
	Seeds   int            `json:"seeds"`
	Tested  int            `json:"tested"` // sequences, all seeds together
	Copy    float64        `json:"copy"`   // mean score of the first homolog as it is
	Scores  []HomologScore `json:"models"`
	Seconds float64        `json:"seconds"`
}

// HomologScore is an objective's result. Scores are means over test sequences;
// 50 is the native itself.
type HomologScore struct {
	Name      string      `json:"name"`
	Score     float64     `json:"score"`
	SD        float64     `json:"sd"`     // of the seeds' means
	Accuracy  float64     `json:"right"`  // positions with the native residue, per cent
	Chosen    []Constants `json:"chosen"` // by seed
	Edge      int         `json:"edge"`   // seeds that chose constants at the end of a list
	Converged bool        `json:"converged"`

	// Against the first objective.
	Difference float64       `json:"difference"`
	P          metrics.Maybe `json:"p"`       // paired t over all test sequences
	PSeeds     metrics.Maybe `json:"p_seeds"` // paired t over the seeds' means

	// Of the band, for objectives with the Smith-Waterman loss.
	BandExact float64 `json:"band_exact,omitempty"` // share of predictions whose banded loss is the exact one
	LogZ      float64 `json:"log_z,omitempty"`      // mean of log Z of the first seed's tests, at its γ
	LogZError float64 `json:"log_z_error,omitempty"`
	ErrorKind string  `json:"log_z_error_kind,omitempty"` // bound or estimate: the weakest of all
}

// Homologs runs the experiment of the package comment.
func Homologs(ctx context.Context, opts *HomologOptions) (*HomologReport, error) {
	var o HomologOptions
	if opts != nil {
		o = *opts
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	band := losses.SmithWaterman
	band.Band = o.Band
	templates, err := o.templates()
	if err != nil {
		return nil, err
	}
	contest := Contest{Workers: o.Workers, Fitted: o.Fitted,
		Measure: func(u, truth []string) float64 { return losses.SmithWaterman.Value(residues(u), residues(truth)) }}
	for _, name := range o.Objectives {
		e := Entry{Name: name, L2: o.L2, Options: sequence.TrainOptions{Order: 1, Templates: templates}}
		e.Options.Control.Stop = run.Stop{Iterations: o.Iterations, Relative: 1e-4}
		switch name {
		case "cross-entropy":
		case "hamming":
			e.Options.Kind = sequence.SoftmaxMargin
			for _, g := range o.Gamma {
				e.Gamma = append(e.Gamma, 3*g)
			}
		case "smith-waterman":
			e.Options.Kind, e.Options.Loss, e.Gamma = sequence.SoftmaxMargin, band, o.Gamma
		case "risk":
			e.Options.Kind, e.Options.Loss = sequence.Risk, band
		default:
			return nil, fmt.Errorf("experiment: there is no objective %q; there are %s", name,
				strings.Join(HomologObjectives, ", "))
		}
		contest.Entries = append(contest.Entries, e)
	}
	trials := make([]Trial, o.Seeds)
	for s := range trials {
		all, err := o.Task.Draw(o.Train+o.Heldout+o.Test, rand.New(rand.NewPCG(o.Seed, uint64(s))))
		if err != nil {
			return nil, err
		}
		trials[s] = Trial{all[:o.Train], all[o.Train:][:o.Heldout], all[o.Train+o.Heldout:]}
	}
	outcomes, err := contest.Run(ctx, trials)
	if err != nil {
		return nil, err
	}
	r := &HomologReport{Length: o.Task.Length, Band: o.Band, Seeds: o.Seeds, Tested: o.Seeds * o.Test}
	var copies []float64
	for _, t := range trials {
		for i := range t.Test {
			var first []string
			for _, row := range t.Test[i].Columns {
				first = append(first, row[0])
			}
			copies = append(copies, scoreOf(contest.Measure(first, t.Test[i].Labels)))
		}
	}
	r.Copy = mean(copies)
	var base, baseSeeds []float64
	for e := range contest.Entries {
		s, values, seeds := homologScore(contest.Entries[e].Name, trials, outcomes, e)
		if e == 0 {
			base, baseSeeds = values, seeds
			s.P, s.PSeeds = 1, 1
		} else {
			s.Difference, s.P, s.PSeeds = s.Score-r.Scores[0].Score, 1, 1
			if t, err := metrics.PairedT(values, base); err == nil {
				s.P = t.P
			}
			if t, err := metrics.PairedT(seeds, baseSeeds); err == nil {
				s.PSeeds = t.P
			}
		}
		if contest.Entries[e].Options.Loss != nil {
			if err := s.judgeBand(band, trials, outcomes, e); err != nil {
				return nil, err
			}
		}
		r.Scores = append(r.Scores, s)
	}
	r.Seconds = time.Since(begin).Seconds()
	return r, nil
}

// scoreOf turns a loss round: 1 for a match, -1/2 for all else.
func scoreOf(loss float64) float64 { return -loss / 2 }

func residues(u []string) []int {
	out := make([]int, len(u))
	for i, s := range u {
		out[i] = int(s[0] - 'A')
	}
	return out
}

// templates are every column at the position, before and after.
func (o *HomologOptions) templates() ([]*sequence.Template, error) {
	var text strings.Builder
	for c := range o.Task.Homologs + o.Task.Decoys {
		for d := -1; d <= 1; d++ {
			fmt.Fprintf(&text, "U%d.%d:%%x[%d,%d]\n", c, d+1, d, c)
		}
	}
	return sequence.ParseTemplates(strings.NewReader(text.String()), "templates")
}

func homologScore(name string, trials []Trial, outcomes [][]Outcome, e int) (s HomologScore, values,
	seeds []float64) {
	s = HomologScore{Name: name, Converged: true}
	var right metrics.Rate
	for t := range trials {
		out := &outcomes[t][e]
		var scores []float64
		for _, v := range out.Values {
			scores = append(scores, scoreOf(v))
		}
		for i, u := range out.Predictions {
			right = right.Add(metrics.Symbols(u, trials[t].Test[i].Labels))
		}
		values, seeds = append(values, scores...), append(seeds, mean(scores))
		s.Chosen = append(s.Chosen, out.Chosen)
		s.Converged = s.Converged && out.Converged
		if out.Edge {
			s.Edge++
		}
	}
	s.Score, s.Accuracy = mean(seeds), 100-100*right.Value()
	if n := len(seeds); n > 1 {
		for _, v := range seeds {
			s.SD += (v - s.Score) * (v - s.Score) / float64(n-1)
		}
		s.SD = math.Sqrt(s.SD)
	}
	return s, values, seeds
}

// judgeBand fills in what the band costs.
func (s *HomologScore) judgeBand(band losses.Edit, trials []Trial, outcomes [][]Outcome, e int) error {
	same, all := 0, 0
	for t := range trials {
		for i, u := range outcomes[t][e].Predictions {
			truth := residues(trials[t].Test[i].Labels)
			all++
			if band.Value(residues(u), truth) == losses.SmithWaterman.Value(residues(u), truth) {
				same++
			}
		}
	}
	s.BandExact = float64(same) / float64(all)
	// Log Z on a few examples: a certified bound takes several sweeps each.
	out := &outcomes[0][e]
	tagger := out.Model.Tagger()
	number := map[string]int{}
	for k, y := range out.Model.Labels() {
		number[y] = k
	}
	var ev losses.Evaluator
	var r losses.Result
	const few = 10
	examples := trials[0].Test[:min(few, len(trials[0].Test))]
	worst := losses.ErrorExact
	gamma := out.Chosen.Gamma
	if gamma == 0 {
		gamma = 1 // of risk, which has none
	}
	for i := range examples {
		p, err := tagger.Potentials(&examples[i].Input)
		if err != nil {
			return err
		}
		ref := make([]int, len(examples[i].Labels))
		for t, y := range examples[i].Labels {
			k, ok := number[y]
			if !ok {
				k = len(number)
			}
			ref[t] = k
		}
		m, err := band.Machine(ref, len(number), len(ref))
		if err != nil {
			return err
		}
		if err := ev.Eval(m, p, gamma, losses.WantError, &r); err != nil {
			return err
		}
		s.LogZ += r.LogZ / float64(len(examples))
		s.LogZError += r.LogZError / float64(len(examples))
		worst = max(worst, r.LogZErrorKind)
	}
	s.ErrorKind = worst.String()
	return nil
}

// WriteTable writes the report for people.
func (r *HomologReport) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "objective\tscore\tsd of seeds\tpositions right %\tdifference\tp (sequences)\tp "+
		"(seeds)\tconstants (seeds)")
	fmt.Fprintf(t, "(first homolog as it is)\t%.2f\t\t\t\t\t\t\n", r.Copy)
	for i, s := range r.Scores {
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.1f", s.Name, s.Score, s.SD, s.Accuracy)
		if i == 0 {
			fmt.Fprint(t, "\t\t\t")
		} else {
			fmt.Fprintf(t, "\t%+.2f\t%s\t%s", s.Difference, s.P.Text("%.2g"), s.PSeeds.Text("%.2g"))
		}
		fmt.Fprintf(t, "\t%s\n", tally(s.Chosen))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d test sequences of length %d over %d seeds; a perfect prediction scores %d\n", r.Tested,
		r.Length, r.Seeds, r.Length)
	for _, s := range r.Scores {
		if s.ErrorKind != "" {
			fmt.Fprintf(w, "%s: band %d gives the exact loss of %.1f%% of the predictions; mean log Z %.2f, its "+
				"error %.2g (%s)\n",
				s.Name, r.Band, 100*s.BandExact, s.LogZ, s.LogZError, s.ErrorKind)
		}
		if !s.Converged {
			fmt.Fprintf(w, "%s: not every fit converged\n", s.Name)
		}
	}
	_, err := fmt.Fprintf(w, "%.0f s\n", r.Seconds)
	return err
}

// tally counts equal constants, in order of appearance.
func tally(list []Constants) string {
	var parts []string
	for i, c := range list {
		n := 0
		for _, d := range list {
			if d == c {
				n++
			}
		}
		again := false
		for _, d := range list[:i] {
			again = again || d == c
		}
		if !again {
			parts = append(parts, fmt.Sprintf("%v (%d)", c, n))
		}
	}
	return strings.Join(parts, ", ")
}

// WriteCSV writes the report as a table for programs: a row an objective, with
// differences from the first. Numbers that an objective does not have are empty.
func (r *HomologReport) WriteCSV(w io.Writer) error {
	rows := [][]string{{"objective", "score", "sd", "right", "difference", "p_sequences", "p_seeds", "converged",
		"constants", "band_exact", "log_z", "log_z_error", "log_z_error_kind"}}
	g := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for i, s := range r.Scores {
		row := []string{s.Name, g(s.Score), g(s.SD), g(s.Accuracy), "", "", "", strconv.FormatBool(s.Converged),
			tally(s.Chosen), "", "", "", ""}
		if i > 0 {
			row[4], row[5], row[6] = g(s.Difference), g(float64(s.P)), g(float64(s.PSeeds))
		}
		if s.ErrorKind != "" {
			row[9], row[10], row[11], row[12] = g(s.BandExact), g(s.LogZ), g(s.LogZError), s.ErrorKind
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}
