package progress

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/tropica-fst/tropica/learn/run"
)

var csvHeader = []string{"iteration", "objective", "gradient_norm", "step", "evaluations", "seconds",
	"examples_per_second"}

// CSV returns a Recorder that writes a header, then a line for each row. Rows of a run
// in stages have one column more, the stage. The fields of a row's Detail follow the common
// columns; what is not finite is left empty.
//
// earlier, unless nil, is what CSV wrote for the run that this one continues. Its rows come first,
// up to the one that the first new row repeats. Rows after the checkpoint, whose steps are now
// repeated, are dropped.
func CSV(w io.Writer, earlier io.Reader) run.Recorder {
	c := csv.NewWriter(w)
	begun := false
	return run.RecorderFunc(func(r run.Row) error {
		own, lined := r.Detail.(run.Lined)
		if !begun {
			begun = true
			header := slices.Clone(csvHeader)
			if lined {
				header = own.Header()
			} else if r.Detail != nil {
				for _, f := range r.Detail.Fields() {
					header = append(header, f.Name)
				}
			}
			if r.Stage != "" {
				header = append(header, "stage")
			}
			if err := c.Write(header); err != nil {
				return err
			}
			if earlier != nil {
				rows, err := before(earlier, header, r)
				if err != nil {
					return err
				}
				if err := c.WriteAll(rows); err != nil {
					return err
				}
			}
		}
		g := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
		line := []string{strconv.Itoa(r.Iteration), g(r.Objective), g(r.GradNorm), g(r.Step),
			strconv.Itoa(r.Evaluations), strconv.FormatFloat(r.Seconds, 'f', 6, 64),
			strconv.FormatFloat(r.Rate, 'f', 1, 64)}
		if lined {
			line = own.Line()
		} else if r.Detail != nil {
			for _, f := range r.Detail.Fields() {
				if math.IsNaN(f.Value) || math.IsInf(f.Value, 0) {
					line = append(line, "")
				} else {
					line = append(line, g(f.Value))
				}
			}
		}
		if r.Stage != "" {
			line = append(line, r.Stage)
		}
		if err := c.Write(line); err != nil {
			return err
		}
		c.Flush()
		return c.Error()
	})
}

// before reads the rows of a history that come before r.
func before(earlier io.Reader, header []string, r run.Row) ([][]string, error) {
	d := csv.NewReader(earlier)
	d.FieldsPerRecord = len(header)
	rows, err := d.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("the earlier history: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	if !slices.Equal(rows[0], header) {
		return nil, errors.New("the earlier history has other columns: it is not that of this run")
	}
	rows = rows[1:]
	for i, row := range rows {
		n, err := strconv.Atoi(row[0])
		if err != nil {
			return nil, fmt.Errorf("the earlier history: row %d: %q is no iteration", i+1, row[0])
		}
		if n >= r.Iteration && (r.Stage == "" || row[len(row)-1] == r.Stage) {
			return rows[:i], nil
		}
	}
	return rows, nil
}
