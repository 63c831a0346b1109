package progress

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/tropica-fst/tropica/learn/optim"
)

var csvHeader = []string{"iteration", "objective", "gradient_norm", "step", "evaluations", "seconds", "examples_per_second"}

// CSV returns a Recorder that writes a header, then a line for each row. Rows of a run
// in stages have one column more, the stage. Rows of games have the value and the
// weight of every objective too, and the bounds, empty where there are none.
//
// earlier, unless nil, is what CSV wrote for the run that this one goes on with: its
// rows come first, up to the one that the first new row repeats. What was done after
// the checkpoint, and is now done again, is dropped.
func CSV(w io.Writer, earlier io.Reader) optim.Recorder {
	c := csv.NewWriter(w)
	begun := false
	return optim.RecorderFunc(func(r optim.Row) error {
		if !begun {
			begun = true
			header := slices.Clone(csvHeader)
			if s := r.Saddle; s != nil {
				for _, what := range []string{"loss", "lambda", "mean_lambda"} {
					for k := range s.Values {
						name := strconv.Itoa(k + 1)
						if k < len(s.Names) {
							name = s.Names[k]
						}
						header = append(header, what+" "+name)
					}
				}
				header = append(header, "upper", "lower")
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
		line := []string{strconv.Itoa(r.Iteration), g(r.Objective), g(r.GradNorm), g(r.Step), strconv.Itoa(r.Evaluations),
			strconv.FormatFloat(r.Seconds, 'f', 6, 64), strconv.FormatFloat(r.Rate, 'f', 1, 64)}
		if s := r.Saddle; s != nil {
			for _, list := range [][]float64{s.Values, s.Lambda, s.Mean} {
				for _, v := range list {
					line = append(line, g(v))
				}
			}
			for _, v := range []float64{s.Upper, s.Lower} {
				if math.IsInf(v, 0) {
					line = append(line, "")
				} else {
					line = append(line, g(v))
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
func before(earlier io.Reader, header []string, r optim.Row) ([][]string, error) {
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
