package experiment

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// wholeSets are the rows to train on that the figures of others are of.
var wholeSets = map[string]int{"mnist": 60000, "fashion-mnist": 60000, "adult": 32561}

// known are figures of others: cross-entropy, error, hinge, 1-norm and AUC; a NaN is
// what was not given.
type known struct{ uniform, almo [5]float64 }

// thesis has the figures of tables 5.1 and 5.2 as printed. Outputs and units are not
// given there, and the 1-norm cannot be one of scores (it is below the hinge): only
// orders can be compared.
var thesis = map[string]map[string]known{
	"5.1": {
		"mnist": {[5]float64{0.1412, 0.143, 0.839, 0.2349, 0.9801},
			[5]float64{0.0726, 0.114, 0.711, 0.6587, 0.9877}},
		"fashion-mnist": {[5]float64{0.1011, 0.1836, 0.633, 0.488, 0.9776},
			[5]float64{0.0716, 0.1789, 0.695, 0.672, 0.9794}},
		"adult": {[5]float64{0.680, 0.224, 0.967, 0.250, 0.8291}, [5]float64{0.501, 0.214, 0.518, 0.871, 0.8321}},
	},
	"5.2": {
		"mnist": {[5]float64{0.044, 0.0158, 0.631, 0.436, 0.9986},
			[5]float64{0.045, 0.0153, 0.752, 0.313, 0.9993}},
		"fashion-mnist": {[5]float64{0.0700, 0.114, 0.661, 0.435, 0.9883},
			[5]float64{0.0614, 0.110, 0.547, 0.554, 0.9911}},
		"adult": {[5]float64{0.673, 0.149, 0.914, 0.153, 0.8092}, [5]float64{0.460, 0.159, 0.389, 0.845, 0.8840}},
	},
}

// baseline holds results of an independent implementation of the same reading in another framework
// on the whole data. They are test metrics and the worst normalised training loss of the uniform
// mixture, of plain descent and ascent, and of the best single loss.
type baseline struct {
	uniform, almo    [5]float64
	worst, worstAlmo float64
	worstSingle      float64 // 0 where they were not run
	single           string
}

var baselines = map[string]map[string]baseline{
	"5.1": {
		"mnist": {[5]float64{0.2288, 0.1138, 0.0884, 0.7324, 0.9801},
			[5]float64{0.1937, 0.1105, 0.0793, 0.9827, 0.9814}, 1.1519, 0.9769, 1.9055, "1-norm"},
		"fashion-mnist": {[5]float64{0.2411, 0.1805, 0.0991, 0.6707, 0.9661},
			[5]float64{0.1981, 0.1757, 0.0938, 0.9791, 0.9699}, 1.1936, 0.9772, 1.8140, "1-norm"},
		"adult": {[5]float64{0.4455, 0.1729, 0.4008, 0.5621, 0.8858},
			[5]float64{0.4852, 0.1915, 0.4332, 0.4813, 0.8647}, 0.5606, 0.4862, 0.5213, "1-norm"},
	},
	"5.2": {
		"mnist": {[5]float64{0.1943, 0.0266, 0.0194, 0.6281, 0.9987},
			[5]float64{0.1633, 0.0217, 0.0148, 0.8132, 0.9991}, 0.9667, 0.8082, 0, ""},
		"adult": {[5]float64{0.4467, 0.1410, 0.3012, 0.3132, 0.8462},
			[5]float64{0.4218, 0.1416, 0.3085, 0.4262, 0.9039}, 0.4373, 0.4105, 0, ""},
	},
}

// WriteTable writes the report for people: our models, then the figures of others where
// there are some for the set. Of a part of a set these are figures of other data, and the
// table says so.
func (r *AlmoReport) WriteTable(w io.Writer) error {
	var b strings.Builder
	for i, s := range r.Sets {
		if i > 0 {
			b.WriteByte('\n')
		}
		model := "linear model"
		if r.Table == "5.2" {
			model = "network"
		}
		fmt.Fprintf(&b, "Table %s, %s: %s, %d rows to train on, %d to test on, %d features\n", r.Table, s.Name,
			model, s.Train, s.Test, s.Features)
		fmt.Fprintf(&b, "  %s, %s", plural(r.Passes, "passes"), plural(r.Seeds, "seeds"))
		if r.Gap > 0 {
			fmt.Fprintf(&b, "; each model within %g of the least possible for what it is trained on (penalty "+
				"counted), relative to it (to %g, if that is more)", r.Gap, leastValue)
		}
		b.WriteByte('\n')
		whole := wholeSets[s.Name]
		of := ""
		if s.Train != whole {
			of = " *"
		}
		t := tabwriter.NewWriter(&b, 2, 0, 2, ' ', 0)
		fmt.Fprintf(t, "  trained on\tcross-entropy\terror\thinge\t1-norm\t1-norm of prob\tAUC\tworst "+
			"(training)\tλ (%s)\tgap\tseconds\n", strings.Join(r.Losses, ", "))
		for _, m := range s.Models {
			cell := func(c string) string {
				if v, ok := m.Test[c]; ok {
					return fmt.Sprintf("%.4f", v.Mean)
				}
				return "none"
			}
			lambda := make([]string, len(m.Lambda))
			for k, v := range m.Lambda {
				lambda[k] = fmt.Sprintf("%.2f", v)
			}
			gap := ""
			if m.Certified {
				gap = fmt.Sprintf("%.1e", m.Gap)
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%.4f ± %.4f\t%s\t%s\t%.1f\n", m.Name, cell("cross-entropy"),
				cell(columnError), cell("hinge"), cell("1-norm"), cell(columnProb), cell(columnAUC), m.Worst.Mean,
				m.Worst.SD, strings.Join(lambda, " "), gap, m.Seconds)
		}
		other := func(name string, v [5]float64, worst float64) {
			last := ""
			if worst > 0 {
				last = fmt.Sprintf("%.4f", worst)
			}
			fmt.Fprintf(t, "  %s\t%.4f\t%.4f\t%.4f\t%.4f\t\t%.4f\t%s\n", name, v[0], v[1], v[2], v[3], v[4], last)
		}
		if k, ok := thesis[r.Table][s.Name]; ok {
			other("thesis: uniform"+of, k.uniform, 0)
			other("thesis: almo"+of, k.almo, 0)
		}
		if k, ok := baselines[r.Table][s.Name]; ok {
			other("recorded: uniform"+of, k.uniform, k.worst)
			other("recorded: gda"+of, k.almo, k.worstAlmo)
			if k.worstSingle > 0 {
				fmt.Fprintf(t, "  recorded: only %s%s\t\t\t\t\t\t\t%.4f\n", k.single, of, k.worstSingle)
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
		if of != "" && thesis[r.Table][s.Name] != (known{}) {
			fmt.Fprintf(&b, "  * of all %d rows of %s, and not of the %d that ours are trained on: not to be "+
				"compared.\n", whole, s.Name, s.Train)
		}
		if r.Validation > 0 {
			fmt.Fprintf(&b, "  Chosen of %d settings, by the largest loss on %g of the training rows:\n",
				r.Trials, r.Validation)
			for _, m := range s.Models {
				if m.Chosen != nil {
					fmt.Fprintf(&b, "    %s: %v\n", m.Name, *m.Chosen)
				}
			}
		}
		verdict := "is NOT below those of all other models by more than two standard deviations"
		if s.Reached() {
			verdict = "is below those of all other models by more than two standard deviations"
		}
		if len(s.Models) > 0 && len(s.Models[0].worsts) < 2 {
			if verdict = "is NOT below those of all other models"; s.Reached() {
				verdict = "is below those of all other models"
			}
			verdict += "; with one seed there are no standard deviations to judge that by"
		}
		fmt.Fprintf(&b, "  The worst normalised training loss of almo %s.\n", verdict)
		if note := s.aucNote(); note != "" {
			fmt.Fprintf(&b, "  %s\n", note)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// plural counts seeds and passes.
func plural(n int, things string) string {
	if n == 1 {
		things = map[string]string{"seeds": "seed", "passes": "pass"}[things]
	}
	return fmt.Sprintf("%d %s", n, things)
}

func (s *AlmoSet) model(name string) *AlmoModel {
	for k := range s.Models {
		if s.Models[k].Name == name {
			return &s.Models[k]
		}
	}
	return nil
}

// aucNote explains an AUC below the uniform mixture's.
func (s *AlmoSet) aucNote() string {
	u, a := s.model(modelUniform), s.model(modelAlmo)
	if u == nil || a == nil || !(a.Test[columnAUC].Mean < u.Test[columnAUC].Mean) {
		return ""
	}
	note := fmt.Sprintf("AUC is %.4f with almo and %.4f with the uniform mixture: no objective of the game "+
		"asks for an order of scores. "+
		"The 1-norm of scores is the largest loss. To equalise it λ pulls all scores towards ±1, where it does "+
		"not distinguish how confident they are.", a.Test[columnAUC].Mean, u.Test[columnAUC].Mean)
	if r := s.model(modelRegret); r != nil {
		note += fmt.Sprintf(" Measured from what each loss can reach alone (regrets), the losses bind together, "+
			"and AUC is %.4f.", r.Test[columnAUC].Mean)
	} else {
		note += " Regrets in place of losses avoid it."
	}
	return note
}
