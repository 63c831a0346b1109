package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/plot"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/skpca"
)

// skpcaTransform writes the features of rows, which predict does not.
var skpcaTransform = &command{
	name: "skpca transform", args: "[table]", min: 0, max: 1,
	summary: "Projects rows onto the features of a supervised kernel projection.",
	about: `
The table has the form of the training data; labels may be absent. Written is a header, the
names of the features (KERNEL/NUMBER), and a line for each row. --plot draws the rows by
their first two features, with their classes where the table has them; --picture spectrum
draws the eigenvalues of every kernel, times its weight, and needs no table.

Examples:

  learn skpca transform new.csv --model my.model > features.csv
  learn skpca transform train.csv --model my.model --features - --plot rows.svg`,
	setup: func(fs *flags.Set) func(*call) error {
		var k tableKind
		k.define(fs, false)
		name := fs.String("model", "", "File with the model; needed")
		to := fs.String("features", "",
			"File for the features; standard output when not given, or none with --plot")
		picture := fs.Enum("picture", "projection", []string{"projection", "spectrum"}, "What --plot draws")
		file := fs.String("plot", "", "File for a picture, as SVG")
		return func(c *call) error {
			if err := apart([]place{{"the data", c.arg(0)}, {"the model", *name}},
				append(places("the features", *to), place{"the picture", *file})); err != nil {
				return err
			}
			m, _, err := load(c, *name, "skpca train", skpca.Read)
			if err != nil {
				return err
			}
			if *file != "" && *picture == "spectrum" && len(c.args) == 0 {
				return c.Output(*file, spectrumChart(m).Write)
			}
			x, z, err := applied(c, &k, m.Form(), m.Transform)
			if err != nil {
				return err
			}
			if *file != "" {
				chart := spectrumChart(m)
				if *picture == "projection" {
					if len(m.Features()) < 2 {
						return errors.New("flag --plot: the model has one feature; two make a picture")
					}
					chart = projectionChart(m, x, z)
				}
				if err := c.Output(*file, chart.Write); err != nil || *to == "" {
					return err
				}
			}
			return c.Output(*to, func(w io.Writer) error { return writeFeatures(w, m, x, z) })
		}
	},
}

// writeFeatures writes a line for each row.
func writeFeatures(w io.Writer, m *skpca.Model, x *table.Table, z []float64) error {
	b := bufio.NewWriterSize(w, 1<<16)
	out := csv.NewWriter(b)
	names, named := idColumns(x)
	r := len(m.Features())
	if err := out.Write(append(names, m.Features()...)); err != nil {
		return err
	}
	for i := range x.Rows {
		row := named(i)
		for _, v := range z[i*r : (i+1)*r] {
			row = append(row, strconv.FormatFloat(v, 'g', -1, 64))
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return errors.Join(out.Error(), b.Flush())
}

// projectionChart draws rows by the two features of the largest weighted eigenvalues.
func projectionChart(m *skpca.Model, x *table.Table, z []float64) plot.Chart {
	names := m.Features()
	c := plot.Chart{Title: "Rows by two features", XLabel: names[0], YLabel: names[1], Legend: true}
	groups := []string{"rows"}
	if x.Target != nil && x.Classes != nil {
		groups = x.Classes
	}
	for g, name := range groups {
		s := plot.Series{Name: name, Kind: plot.Points}
		for i := range x.Rows {
			if len(groups) == 1 || int(x.Target[i]) == g {
				s.X, s.Y = append(s.X, z[i*len(names)]), append(s.Y, z[i*len(names)+1])
			}
		}
		if len(s.X) > 0 {
			c.Series = append(c.Series, s)
		}
	}
	return c
}

// spectrumChart draws μλ of the kernels that have weight, the heaviest first.
func spectrumChart(m *skpca.Model) plot.Chart {
	c := plot.Chart{Title: "Eigenvalues times kernel weights",
		Subtitle: fmt.Sprintf("%d features are kept, those of the largest", len(m.Features())),
		XLabel:   "eigenfunction", YLabel: "weight · eigenvalue", LogY: true, Legend: true}
	mu, names := m.Weights(), m.Kernels()
	order := make([]int, len(mu))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if mu[a] > mu[b] {
			return -1
		}
		return 1
	})
	const most = 8
	for _, k := range order[:min(most, len(order))] {
		if mu[k] <= 1e-9 {
			break
		}
		s := plot.Series{Name: fmt.Sprintf("%s (%d, weight %.3g)", names[k], m.Counts()[k], mu[k])}
		for j, v := range m.Eigenvalues(k) {
			s.X, s.Y = append(s.X, float64(j+1)), append(s.Y, mu[k]*v)
		}
		c.Series = append(c.Series, s)
	}
	return c
}
