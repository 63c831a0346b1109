package multi

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/run"
)

// The parts of a checkpoint, from which a run goes on to the bits of the unbroken one.
const (
	partModel   = "model" // file
	partNorm    = "norm"
	partQ       = "q"             // of the training rows, by row and domain
	partG       = "g"             // Σ_j alpha h of the training rows, by row and slot
	partValid   = "valid"         // the same for the validation rows
	partHistory = "valid_history" // the largest loss of a domain on those after every round
)

// State implements optim.Additive.
func (r *training) State() (*run.Checkpoint, error) {
	if r.run.Steps() == 0 {
		return nil, nil
	}
	m := *r.e
	m.Trained = r.run.Steps()
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		return nil, err
	}
	s := r.s
	q := make([]float64, len(s.f)*s.p)
	for i := range s.f {
		copy(q[i*s.p:(i+1)*s.p], s.q[i*s.slots:])
	}
	k := &run.Checkpoint{Scalars: map[string]float64{partNorm: s.norm},
		Files:  map[string][]byte{partModel: b.Bytes()},
		Arrays: map[string][]float64{partQ: q, partG: slices.Clone(s.g)}}
	if r.valid != nil {
		k.Arrays[partValid], k.Arrays[partHistory] = slices.Clone(r.valid.g), slices.Clone(r.validHistory)
	}
	return k, nil
}

// taken returns the model that the run goes on from, nil where it begins. It is an error if rows or
// settings differ from those of the checkpoint.
func (r *training) taken() (*Model, error) {
	if r.run.Checkpoint == nil && r.run.Resume == nil {
		return nil, nil
	}
	o := &r.o
	var valid, unlabelled uint64
	if o.Valid != nil {
		valid = o.Valid.X.Fingerprint(o.Valid.Y, o.Valid.W)
	}
	if o.Unlabelled != nil {
		unlabelled = o.Unlabelled.Fingerprint()
	}
	r.run.Problem = fmt.Sprintf("data=%016x valid=%016x unlabelled=%016x loss=%s learner=%s %s",
		r.d.X.Fingerprint(r.d.Y, r.d.W), valid, unlabelled, o.Loss.Name(),
		strings.ReplaceAll(strings.Join(r.e.Learners, ","), " ", "_"), boost.SettingsWords(r.e.Settings))
	k, err := r.run.Taken()
	if err != nil || k == nil {
		return nil, err
	}
	m, err := Read(bytes.NewReader(k.Files[partModel]))
	if err != nil {
		return nil, fmt.Errorf("multi: checkpoint: %w", err)
	}
	if len(m.Slots) != len(r.e.Slots) || len(k.Arrays[partG]) != len(r.s.g) ||
		len(k.Arrays[partQ]) != len(r.s.f)*r.s.p {
		return nil, fmt.Errorf("multi: checkpoint: %w: %d slots, %d numbers, %d of Q", model.ErrFormat,
			len(m.Slots),
			len(k.Arrays[partG]), len(k.Arrays[partQ]))
	}
	return m, nil
}

// resume takes up the state of a checkpoint, whose model is m.
func (r *training) resume(m *Model) error {
	k := r.run.Resume
	for s, e := range m.Slots {
		r.e.Slots[s].Terms = e.Terms
	}
	r.e.History, r.e.Warnings = m.History, m.Warnings
	r.e.QLambda, r.e.QLogLoss = m.QLambda, m.QLogLoss
	copy(r.s.g, k.Arrays[partG])
	r.s.norm = k.Scalars[partNorm]
	r.s.rescore()
	if r.valid == nil {
		return nil
	}
	if len(k.Arrays[partValid]) != len(r.valid.g) {
		return fmt.Errorf("multi: checkpoint: %w: %d numbers of validation rows", model.ErrFormat,
			len(k.Arrays[partValid]))
	}
	copy(r.valid.g, k.Arrays[partValid])
	r.valid.rescore()
	r.validHistory = slices.Clone(k.Arrays[partHistory])
	return nil
}
