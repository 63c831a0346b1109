package experiment

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/learn/metrics"
)

// WriteSKPCA writes the tables of a report: test errors in per cent, and paired comparisons of the
// coupled projection with the best unsupervised one.
func WriteSKPCA(w io.Writer, r *SKPCAReport) error {
	note := ""
	if r.Note != "" {
		note = " (" + r.Note + ")"
	}
	fmt.Fprintf(w, "%s%s: %d rows, %d columns, %d trials\n\n", r.Name, note, r.Rows, r.Columns,
		r.Reports[0].Trials)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "rank\tany kernel\tof all columns\tmean kernel\tuniform weights\tcoupled\tless any\tp\t"+
		"corrected p\tskpca\tless any\tp\tcorrected p\tless all columns\tp")
	for i, rank := range r.Ranks {
		p := r.Reports[i]
		fmt.Fprint(t, rank)
		var all, ours []float64
		for _, s := range p.Standings {
			switch s.Name {
			case unsupervisedName, allColumnsName, meanName, uniformName, coupledName, skpcaName:
				fmt.Fprintf(t, "\t%s", metrics.FormatMeanSD(s.Values[0], 1, 2))
			}
			switch s.Name {
			case allColumnsName:
				all = s.Values[0]
			case skpcaName:
				ours = s.Values[0]
				fallthrough
			case coupledName:
				if s.Plain != nil {
					fmt.Fprintf(t, "\t%+.2f\t%s\t%s", s.Plain[0].Mean, s.Plain[0].P.Text("%.3f"),
						s.Corrected[0].P.Text("%.3f"))
				} else {
					fmt.Fprint(t, "\t-\t-\t-")
				}
			}
		}
		if d, err := metrics.PairedT(ours, all); err == nil {
			fmt.Fprintf(t, "\t%+.2f\t%s", d.Mean, d.P.Text("%.3f"))
		} else {
			fmt.Fprint(t, "\t-\t-")
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i, rank := range r.Ranks {
		for _, s := range r.Reports[i].Standings {
			switch s.Name {
			case skpcaName:
				chosen := map[string]int{}
				for _, name := range s.Chosen {
					f, _, _ := strings.Cut(name, " gamma")
					chosen[f]++
				}
				var parts []string
				for _, name := range sortedKeys(chosen) {
					parts = append(parts, fmt.Sprintf("%s (%d)", name, chosen[name]))
				}
				fmt.Fprintf(w, "rank %d chose %s\n", rank, strings.Join(parts, "; "))
			case unsupervisedName, allColumnsName, meanName, uniformName, coupledName:
			default: // machines are of no rank
				if i == 0 {
					fmt.Fprintf(w, "%s: %s\n", s.Name, metrics.FormatMeanSD(s.Values[0], 1, 2))
				}
			}
		}
	}
	return nil
}

func sortedKeys(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }
