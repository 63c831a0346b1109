package evaluate

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/metrics"
)

// Report is what a comparison found.
type Report struct {
	Measures  []string   `json:"measures"`
	Trials    int        `json:"trials"`
	Standings []Standing `json:"contestants"`
}

// Standing is one contestant's result.
type Standing struct {
	Name   string      `json:"name"`
	Chosen []string    `json:"chosen"` // setting by trial
	Values [][]float64 `json:"values"` // by measure and trial, of the setting chosen on inner folds

	// Inner are the means over inner folds, by measure and trial, of the setting chosen; zeros
	// where there was one setting.
	Inner [][]float64 `json:"-"`

	// Best is the setting with the least mean of measure Plan.BestBy on the test parts themselves,
	// and BestValues are those measures by trial. They are not nested, and optimistic. Empty
	// without Hindsight.
	Best       string    `json:"best,omitempty"`
	BestValues []float64 `json:"best_values,omitempty"`
	// Settings are the measures of every setting, by setting, measure and trial; nil without
	// Hindsight.
	Settings [][][]float64 `json:"-"`

	// Against Plan.Against, by measure: nil for that contestant, and with fewer than two
	// trials. Tests of infinite values have NaN for everything.
	Plain     []metrics.TTest `json:"t_test,omitempty"`
	Corrected []metrics.TTest `json:"corrected_t_test,omitempty"`
}

// report gathers the fits of the whole training parts.
func (r *planned) report() (*Report, error) {
	out := &Report{Measures: r.Measures, Trials: len(r.Trials)}
	train, test := 0.0, 0.0
	for i := range r.Trials {
		train, test = train+float64(len(r.Trials[i].Train)), test+float64(len(r.Trials[i].Test))
	}
	for c, k := range r.Contestants {
		s := Standing{Name: k.Name, Values: make([][]float64, len(r.Measures)),
			Inner: make([][]float64, len(r.Measures))}
		for t, chosen := range r.chosen[c] {
			s.Chosen = append(s.Chosen, r.grid(c)[chosen].Name)
			inner := r.sums(c, t, chosen)
			for m, v := range r.whole(c, t, chosen) {
				s.Values[m], s.Inner[m] = append(s.Values[m], v), append(s.Inner[m], inner[m])
			}
		}
		if r.Hindsight {
			r.hindsight(&s, c)
		}
		out.Standings = append(out.Standings, s)
	}
	if len(r.Trials) < 2 {
		return out, nil
	}
	with := &out.Standings[r.tested]
	for c := range out.Standings {
		s := &out.Standings[c]
		if c == r.tested {
			continue
		}
		for m := range r.Measures {
			plain, corrected := undefined(len(r.Trials)), undefined(len(r.Trials))
			if !slices.ContainsFunc(slices.Concat(s.Values[m], with.Values[m]), infinite) {
				var err error
				if plain, err = metrics.PairedT(s.Values[m], with.Values[m]); err != nil {
					return nil, err
				}
				if corrected, err = metrics.CorrectedT(s.Values[m], with.Values[m], test, train); err != nil {
					return nil, err
				}
			}
			s.Plain, s.Corrected = append(s.Plain, plain), append(s.Corrected, corrected)
		}
	}
	return out, nil
}

// hindsight fills in what all settings came to on the test parts.
func (r *planned) hindsight(s *Standing, c int) {
	least := 0.0
	for g, setting := range r.grid(c) {
		values := make([][]float64, len(r.Measures))
		for t := range r.Trials {
			for m, v := range r.whole(c, t, g) {
				values[m] = append(values[m], v)
			}
		}
		s.Settings = append(s.Settings, values)
		if mean, _ := metrics.MeanSD(values[r.BestBy]); g == 0 || mean < least {
			least, s.Best, s.BestValues = mean, setting.Name, values[r.BestBy]
		}
	}
}

func infinite(v float64) bool { return math.IsInf(v, 0) }

// undefined is a test that says nothing.
func undefined(trials int) metrics.TTest {
	none := math.NaN()
	return metrics.TTest{Mean: none, SE: none, T: metrics.Maybe(none), P: metrics.Maybe(none), DF: trials - 1}
}

// whole returns the measures of a setting that was trained on a trial's whole training part.
func (r *planned) whole(c, t, s int) []float64 {
	return r.values[r.owner[c]][t][len(r.Trials[t].Inner)][s]
}

// fingerprint is a short name of a setting's text.
func fingerprint(text string) string {
	h := fnv.New64a()
	h.Write([]byte(text))
	return fmt.Sprintf("%016x", h.Sum64())
}
