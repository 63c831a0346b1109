package sequence

import (
	"fmt"

	"github.com/tropica-fst/tropica/learn/run"
)

// development is a set of examples that tells how good weights are during training.
type development struct {
	model   *Model
	inputs  []Input
	labels  [][]string
	taggers []*Tagger
	workers int
	all     int // positions
}

func newDevelopment(m *Model, examples []Example, workers int) (*development, error) {
	d := &development{model: m, workers: workers}
	for i := range examples {
		e := &examples[i]
		if len(e.Labels) != e.Len() {
			return nil, fmt.Errorf("sequence: development set: %s: %d labels for %d positions",
				nameOf(e.Source, i), len(e.Labels), e.Len())
		}
		d.inputs, d.labels = append(d.inputs, e.Input), append(d.labels, e.Labels)
		for _, y := range e.Labels {
			if y != "" { // else not known
				d.all++
			}
		}
	}
	if d.all == 0 {
		return nil, fmt.Errorf("sequence: no position of the development set has a label")
	}
	for range workers {
		d.taggers = append(d.taggers, m.Tagger())
	}
	return d, nil
}

// loss returns the share of positions whose label is wrong with weights w.
func (d *development) loss(w []float64) (float64, error) {
	d.model.w = w
	wrong := make([]int, len(d.inputs))
	err := run.Each(d.workers, len(d.inputs), func(worker, i int) error {
		u, err := d.taggers[worker].Viterbi(&d.inputs[i])
		if err != nil {
			return err
		}
		for t, y := range d.labels[i] {
			if y != "" && u[t] != y {
				wrong[i]++
			}
		}
		return nil
	})
	sum := 0
	for _, n := range wrong {
		sum += n
	}
	return float64(sum) / float64(d.all), err
}

// watched is an objective of scaled and merged weights with a development set.
type watched struct {
	*objective
	columns *columns
	dev     *development
	w, x    []float64
}

// Watch implements optim.Watched.
func (f *watched) Watch(z []float64) (float64, error) {
	if f.x == nil {
		f.x = make([]float64, len(z))
	}
	for i, v := range z {
		f.x[i] = f.scale[i] * v
	}
	w := f.x
	if f.columns != nil {
		if f.w == nil {
			f.w = make([]float64, f.dev.model.layout.dim)
		}
		f.columns.expand(f.dev.model.layout, f.w, f.x)
		w = f.w
	}
	return f.dev.loss(w)
}

// watchedTerms are terms with a development set.
type watchedTerms struct {
	*terms
	dev *development
}

// Watch implements optim.Watched.
func (f *watchedTerms) Watch(x []float64) (float64, error) {
	return f.dev.loss(x)
}
