package experiment

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/learn/metrics"
)

// Versus is a booster's errors less another's, in the same trials.
type Versus struct {
	Set     string        `json:"set"`
	Rule    string        `json:"rule"` // loss or error: what settings were chosen by
	Of      string        `json:"of"`
	With    string        `json:"with"`
	Plain   metrics.TTest `json:"t_test"`
	Correct metrics.TTest `json:"corrected_t_test"` // see metrics.CorrectedT
}

// level is the significance that the summary speaks of: one-tailed by the plain test, as in the
// thesis, two-tailed by the corrected one.
const level = 0.05

// Compare tests every booster against every recorded program, and the first booster
// against the others, under both rules of choice. The corrected test is the one
// to believe: training parts of different trials overlap.
func Compare(sets []AccuracySet) ([]Versus, error) {
	var out []Versus
	for i := range sets {
		s := &sets[i]
		for _, rule := range []Choice{ByLoss, ByError} {
			test := func(of, with string, a, b []float64) error {
				if len(a) < 2 {
					return nil
				}
				plain, err := metrics.PairedT(a, b)
				if err != nil {
					return fmt.Errorf("experiment: %s: %s against %s: %w", s.Name, of, with, err)
				}
				tested, trained := 0.0, 0.0
				for _, r := range s.Contestants[0].Results {
					tested, trained = tested+float64(r.Test), trained+float64(r.Train)
				}
				corrected, err := metrics.CorrectedT(a, b, tested, trained)
				if err != nil {
					return fmt.Errorf("experiment: %s: %s against %s: %w", s.Name, of, with, err)
				}
				out = append(out, Versus{s.Name, ruleName(rule), of, with, plain, corrected})
				return nil
			}
			for k := range s.Contestants {
				c := &s.Contestants[k]
				for _, p := range s.Recorded {
					if err := test(c.Name, p.Name, c.Errors(rule), p.Errors); err != nil {
						return nil, err
					}
				}
				if k > 0 {
					if err := test(s.Contestants[0].Name, c.Name, s.Contestants[0].Errors(rule),
						c.Errors(rule)); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return out, nil
}

func ruleName(c Choice) string {
	if c == ByError {
		return "error"
	}
	return "loss"
}

// rules in the order of the report.
var rules = []Choice{ByLoss, ByError}

// WriteAccuracy writes the report for people: the table in the thesis' form beside its figures and
// those on record, the tests, and how many sets each booster leads on.
func WriteAccuracy(w io.Writer, sets []AccuracySet) error {
	versus, err := Compare(sets)
	if err != nil || len(sets) == 0 {
		return err
	}
	if err := writeErrors(w, sets); err != nil {
		return err
	}
	for _, rule := range rules {
		fmt.Fprintf(w, "\nDifferences in points of %%, settings chosen by inner %s; negative: the first is "+
			"better. p are of the plain paired t-test, two-tailed and, as in the thesis, one-tailed, and of the "+
			"corrected one, two-tailed, which accounts for overlapping training parts.\n", ruleName(rule))
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "data\tbooster\tagainst\tdifference\tt\tp\tone-tailed p\tcorrected t\tp")
		for _, v := range versus {
			if v.Rule == ruleName(rule) && !strings.HasSuffix(v.With, " default") {
				fmt.Fprintf(t, "%s\t%s\t%s\t%+.2f\t%s\t%s\t%s\t%s\t%s\n", v.Set, v.Of, v.With, 100*v.Plain.Mean,
					v.Plain.T.Text("%+.2f"), v.Plain.P.Text("%.3f"), v.Plain.OneTailed().Text("%.3f"),
					v.Correct.T.Text("%+.2f"), v.Correct.P.Text("%.3f"))
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
		for _, c := range sets[0].Contestants {
			fmt.Fprintln(w, Tally(versus, c.Name, recordedFirst(sets), ruleName(rule)))
		}
	}
	fmt.Fprintln(w)
	for _, s := range sets {
		if s.NoRecord != "" {
			fmt.Fprintf(w, "%s: %s\n", s.Name, s.NoRecord)
		}
	}
	return writeChoices(w, sets)
}

// recordedFirst is the name of the program that the summary compares with.
func recordedFirst(sets []AccuracySet) string {
	for _, s := range sets {
		if len(s.Recorded) > 0 {
			return s.Recorded[0].Name
		}
	}
	return ""
}

// Tally says on how many sets one is at or below the other, and where it is
// significantly above.
func Tally(versus []Versus, of, with, rule string) string {
	at, n := 0, 0
	var plain, corrected []string
	for _, v := range versus {
		if v.Of != of || v.With != with || v.Rule != rule {
			continue
		}
		n++
		if v.Plain.Mean <= 0 {
			at++
			continue
		}
		if v.Plain.OneTailed() < level {
			plain = append(plain, v.Set)
		}
		if v.Correct.P < level {
			corrected = append(corrected, v.Set)
		}
	}
	if n == 0 {
		return of + ": no errors on record to compare with"
	}
	or := func(list []string) string {
		if len(list) == 0 {
			return "none"
		}
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s: at or below %s on %d of %d; significantly above at 5%% by the plain test, "+
		"one-tailed: %s; by the corrected one, two-tailed: %s", of, with, at, n, or(plain), or(corrected))
}

// writeErrors writes the table of errors, a line for each set and rule.
func writeErrors(w io.Writer, sets []AccuracySet) error {
	fmt.Fprintln(w, "Test error in %, mean (standard deviation) over trials; T = 100, settings chosen on "+
		"inner folds by loss, below it by error.")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "data\trows\tcolumns\ttrials\tchosen by")
	for _, c := range sets[0].Contestants {
		fmt.Fprintf(t, "\t%s", c.Name)
	}
	peer := recordedFirst(sets)
	if peer != "" {
		fmt.Fprintf(t, "\t%s", peer)
	}
	fmt.Fprintln(t, "\tthesis RGB\tthesis GB\tlevel")
	for i := range sets {
		s := &sets[i]
		for k, rule := range rules {
			if k == 0 {
				fmt.Fprintf(t, "%s\t%d\t%d\t%d", s.Name, s.Rows, s.Columns, len(s.Contestants[0].Results))
			} else {
				fmt.Fprint(t, "\t\t\t")
			}
			fmt.Fprintf(t, "\t%s", ruleName(rule))
			for c := range s.Contestants {
				fmt.Fprintf(t, "\t%s", metrics.FormatMeanSD(s.Contestants[c].Errors(rule), 100, 2))
			}
			if k > 0 {
				if peer != "" {
					fmt.Fprint(t, "\t")
				}
				fmt.Fprintln(t, "\t\t\t")
				continue
			}
			if peer != "" {
				text := "-"
				if len(s.Recorded) > 0 {
					text = metrics.FormatMeanSD(s.Recorded[0].Errors, 100, 2)
				}
				fmt.Fprintf(t, "\t%s", text)
			}
			if f := s.Thesis; f != nil {
				level := f.Level
				if level == "" {
					level = "none"
				}
				fmt.Fprintf(t, "\t%.2f (%.2f)\t%.2f (%.2f)\t%s", f.RGB[0], f.RGB[1], f.GB[0], f.GB[1], level)
			} else {
				fmt.Fprint(t, "\t-\t-\t-")
			}
			fmt.Fprintln(t)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range sets {
		if n := sets[i].Note; n != "" {
			fmt.Fprintf(w, "%s: %s\n", sets[i].Name, n)
		}
	}
	return nil
}

// writeChoices says which settings were chosen, and the best by hindsight.
func writeChoices(w io.Writer, sets []AccuracySet) error {
	for i := range sets {
		s := &sets[i]
		for c := range s.Contestants {
			k := &s.Contestants[c]
			if k.Settings < 2 {
				continue
			}
			var chosen []string
			for _, r := range k.Results {
				chosen = append(chosen, r.ByLoss.Setting)
			}
			if _, err := fmt.Fprintf(w, "%s: %s chose from %d settings on %d inner folds, by loss: %s\n", s.Name,
				k.Name, k.Settings, s.Inner, countedList(chosen)); err != nil {
				return err
			}
			if best, ok := hindsight(k.Results); ok {
				fmt.Fprintf(w, "%s: %s: %.2f for the setting that is best on the test parts; not nested, too good by "+
					"the luck of the choice\n", s.Name, k.Name, 100*best)
			}
		}
	}
	return nil
}

// hindsight is the least mean test error of a setting.
func hindsight(results []Nested) (least float64, ok bool) {
	for s := 0; len(results) > 0 && s < len(results[0].Hindsight); s++ {
		sum := 0.0
		for _, r := range results {
			if s >= len(r.Hindsight) {
				return 0, false
			}
			sum += r.Hindsight[s] / float64(len(results))
		}
		if !ok || sum < least {
			least, ok = sum, true
		}
	}
	return least, ok
}

// countedList joins words with how often each came, in order of appearance.
func countedList(words []string) string {
	n := map[string]int{}
	var order []string
	for _, s := range words {
		if n[s] == 0 {
			order = append(order, s)
		}
		n[s]++
	}
	for k, s := range order {
		order[k] = fmt.Sprintf("%s (%d)", s, n[s])
	}
	return strings.Join(order, "; ")
}

// WriteAccuracyCSV writes a line for each set, trial and booster, and for each
// recorded program.
func WriteAccuracyCSV(w io.Writer, sets []AccuracySet) error {
	c := csv.NewWriter(w)
	g := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	rows := [][]string{{"set", "trial", "booster", "chosen_by", "setting", "test_error", "test_loss",
		"inner_error", "inner_loss", "train_rows", "test_rows", "seconds"}}
	for _, s := range sets {
		for _, k := range s.Contestants {
			for _, r := range k.Results {
				for by, p := range []Pick{r.ByLoss, r.ByError} {
					rows = append(rows, []string{s.Name, strconv.Itoa(r.Trial), k.Name, ruleName(rules[by]), p.Setting,
						g(p.Error), g(p.Loss), g(p.InnerError), g(p.InnerLoss), strconv.Itoa(r.Train), strconv.Itoa(r.Test),
						strconv.FormatFloat(r.Seconds, 'f', 3, 64)})
				}
			}
		}
		for _, p := range s.Recorded {
			for k, e := range p.Errors {
				rows = append(rows, []string{s.Name, strconv.Itoa(s.Contestants[0].Results[k].Trial), p.Name, "recorded",
					"", g(e), "", "", "", "", "", ""})
			}
		}
	}
	if err := c.WriteAll(rows); err != nil {
		return err
	}
	return c.Error()
}
