package main

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
)

// mostInequalities bounds the work of projections onto the set that inequalities leave, whose time
// is proportional to their number. A table of 400 rows took 2.5 s with 100, 26 s with 1000.
const mostInequalities = 256

// inequalities reads A λ ≤ b for p objectives: lines of p numbers, a relation and the bound,
// parted by blanks or commas.
func (c *call) inequalities(name string, p int) (a [][]float64, b []float64, err error) {
	r, shown, err := c.Open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("flag --inequalities: %w", err)
	}
	defer r.Close()
	lines := bufio.NewScanner(r)
	at := 0
	fail := func(format string, args ...any) ([][]float64, []float64, error) {
		return nil, nil, fmt.Errorf("flag --inequalities: %s:%d: "+format, append([]any{shown, at}, args...)...)
	}
	for lines.Scan() {
		at++
		text, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(text) == "" {
			continue
		}
		if len(a) == mostInequalities {
			return fail("more than %d inequalities", mostInequalities)
		}
		sign, relation := 1.0, "<="
		if !strings.Contains(text, relation) {
			sign, relation = -1, ">="
		}
		left, right, found := strings.Cut(text, relation)
		if !found {
			return fail("there is no <= or >= in %.40q", text)
		}
		row, err := plainNumbers(left)
		if err != nil {
			return fail("%w", err)
		}
		bound, err := plainNumbers(right)
		if err != nil {
			return fail("%w", err)
		}
		if len(row) != p || len(bound) != 1 {
			return fail("%d factors %s %d numbers; for %d objectives there must be %d, and one bound", len(row),
				relation, len(bound), p, p)
		}
		for k := range row {
			row[k] *= sign
		}
		a, b = append(a, row), append(b, sign*bound[0])
	}
	at++
	if err := lines.Err(); err != nil {
		return fail("%w", err)
	}
	if len(a) == 0 {
		return nil, nil, fmt.Errorf("flag --inequalities: %s has none", shown)
	}
	return a, b, nil
}

// plainNumbers reads finite numbers parted by blanks or commas.
func plainNumbers(text string) ([]float64, error) {
	var out []float64
	for _, s := range strings.FieldsFunc(
		text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\r' }) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || v-v != 0 {
			return nil, fmt.Errorf("%.40q is not a finite number", s)
		}
		out = append(out, v)
	}
	return out, nil
}
