package multi

import (
	"fmt"
	"io"
	"strings"
)

// Write prints the report for a person.
func (r *BoundReport) Write(w io.Writer) error {
	var b strings.Builder
	t := r.At[r.Best]
	theorem := "4.4"
	if r.AnyRho {
		theorem = "B.2"
	}
	fmt.Fprintf(&b, "Agnostic bound (Theorem %s): with probability %.4g the error on every mixture of the "+
		"target set is at most %.4g", theorem, 1-r.Delta, r.Bound)
	if r.Vacuous {
		fmt.Fprintf(&b, " (the parts add up to %.4g)", t.Agnostic)
	}
	fmt.Fprintf(&b, ".\n||alpha||_1 = %.4g, %d columns.\n\n", r.Norm, r.Columns)
	fmt.Fprintf(&b, "%8s %12s %12s %12s %12s %12s %12s\n", "rho", "agnostic", "as stated", "mixture",
		"as stated", "4.5 part 1", "4.5 part 2")
	for i, t := range r.At {
		mark := ""
		if i == r.Best {
			mark = "  <- least"
		}
		fmt.Fprintf(&b, "%8.4g %12.4g %12.4g %12.4g %12.4g %12s %12s%s\n", t.Rho, t.Agnostic, t.AgnosticStated,
			t.Mixture, t.MixtureStated, known(t.Near), known(t.Mixed), mark)
	}
	uniform := ""
	if r.AnyRho {
		uniform = ", and with 2/rho and ln(p/delta) where a bound for all rho at once has 4/rho and ln(2p/delta)"
	}
	fmt.Fprintf(&b, "\"As stated\" is without the correction for the union of the domains' classes, which "+
		"the proof needs%s. The mixture is %.4g; Theorem 4.5 has a cover of %d points, radius %.4g.\n", uniform,
		r.Lambda, r.Cover, r.Radius)
	fmt.Fprintf(&b, "\nParts for each source at rho = %.4g:\n%24s %8s %10s %10s %10s %10s %10s %10s\n", t.Rho,
		"source", "rows", "error", "margin<=", "complexity", "union", "confidence", "sum")
	for k, d := range t.Domains {
		fmt.Fprintf(&b, "%24.24s %8d %10.4g %10.4g %10.4g %10.4g %10.4g %10.4g\n", r.Sources[k], r.Rows[k],
			r.Errors[k], d.Empirical, d.Complexity, d.Union, d.Confidence, d.Sum)
	}
	fmt.Fprintf(&b, "\nMargins y f(x)/||alpha||_1, quantiles:\n%24s", "source")
	for _, q := range MarginQuantiles {
		fmt.Fprintf(&b, " %7.0f%%", 100*q)
	}
	b.WriteString("\n")
	for k, row := range r.Margins {
		fmt.Fprintf(&b, "%24.24s", r.Sources[k])
		for _, v := range row {
			fmt.Fprintf(&b, " %8.4f", v)
		}
		b.WriteString("\n")
	}
	for _, s := range r.Warnings {
		fmt.Fprintf(&b, "\nWarning: %s.\n", s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func known(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.4g", *v)
}
