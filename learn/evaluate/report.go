package evaluate

import (
	"fmt"
	"hash/fnv"

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

	// Best is the setting with the least mean first measure on the test parts themselves, and
	// BestValues are its first measures by trial: not nested, and too good by the luck of the
	// choice. Empty without Hindsight.
	Best       string    `json:"best,omitempty"`
	BestValues []float64 `json:"best_values,omitempty"`

	// Against the first contestant, by measure: nil for that one, and with fewer than two
	// trials.
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
		s := Standing{Name: k.Name, Values: make([][]float64, len(r.Measures))}
		for t, chosen := range r.chosen[c] {
			s.Chosen = append(s.Chosen, k.Grid[chosen].Name)
			for m, v := range r.whole(c, t, chosen) {
				s.Values[m] = append(s.Values[m], v)
			}
		}
		if r.Hindsight {
			least := 0.0
			for g := range k.Grid {
				values := make([]float64, len(r.Trials))
				for t := range values {
					values[t] = r.whole(c, t, g)[0]
				}
				if mean, _ := metrics.MeanSD(values); g == 0 || mean < least {
					least, s.Best, s.BestValues = mean, k.Grid[g].Name, values
				}
			}
		}
		if c > 0 && len(r.Trials) > 1 {
			for m := range r.Measures {
				plain, err := metrics.PairedT(s.Values[m], out.Standings[0].Values[m])
				if err != nil {
					return nil, err
				}
				corrected, err := metrics.CorrectedT(s.Values[m], out.Standings[0].Values[m], test, train)
				if err != nil {
					return nil, err
				}
				s.Plain, s.Corrected = append(s.Plain, plain), append(s.Corrected, corrected)
			}
		}
		out.Standings = append(out.Standings, s)
	}
	return out, nil
}

// whole returns the measures of a setting that was trained on a trial's whole training part.
func (r *planned) whole(c, t, s int) []float64 {
	return r.values[c][t][len(r.Trials[t].Inner)][s]
}

// fingerprint is a short name of a setting's text.
func fingerprint(text string) string {
	h := fnv.New64a()
	h.Write([]byte(text))
	return fmt.Sprintf("%016x", h.Sum64())
}
