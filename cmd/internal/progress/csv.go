package progress

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/tropica-fst/tropica/learn/optim"
)

// CSV returns a Recorder that writes a header, then a line for each row.

func CSV(w io.Writer) optim.Recorder {
	c := csv.NewWriter(w)
	begun := false
	return optim.RecorderFunc(func(r optim.Row) error {
		if !begun {
			begun = true
			if err := c.Write([]string{"iteration", "objective", "gradient_norm", "step", "evaluations", "seconds", "examples_per_second"}); err != nil {
				return err
			}
		}
		g := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
		err := c.Write([]string{strconv.Itoa(r.Iteration), g(r.Objective), g(r.GradNorm), g(r.Step), strconv.Itoa(r.Evaluations),
			strconv.FormatFloat(r.Seconds, 'f', 6, 64), strconv.FormatFloat(r.Rate, 'f', 1, 64)})
		if err != nil {
			return err
		}
		c.Flush()
		return c.Error()
	})
}
