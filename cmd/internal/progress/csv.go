package progress

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"github.com/tropica-fst/tropica/learn/optim"
)

// CSV returns a Recorder that writes a header, then a line for each row. Rows of games
// have the value and the weight of every objective too, and the bounds, empty where there
// are none.
func CSV(w io.Writer) optim.Recorder {
	c := csv.NewWriter(w)
	begun := false
	return optim.RecorderFunc(func(r optim.Row) error {
		if !begun {
			begun = true
			header := []string{"iteration", "objective", "gradient_norm", "step", "evaluations", "seconds", "examples_per_second"}
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
			if err := c.Write(header); err != nil {
				return err
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
		if err := c.Write(line); err != nil {
			return err
		}
		c.Flush()
		return c.Error()
	})
}
