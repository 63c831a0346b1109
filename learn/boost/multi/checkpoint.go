package multi

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/run"
)

// Checkpoint is the state of a run between two rounds. A resumed run gives the bits of the unbroken
// one.
type Checkpoint struct {
	Model   *Model
	Round   int
	Seconds float64
	Norm    float64
	Q       []float64 // of the training rows, by row and domain
	G       []float64 // Σ_j alpha h of the training rows, by row and slot
	Data    uint64    // fingerprint of the training rows

	Valid []float64 // the same for the validation rows; nil without any
	// ValidHistory is the largest loss of a domain on those after every round; nil in files of
	// earlier programs.
	ValidHistory []float64
	// ValidData is the fingerprint of the validation rows; 0 without any.
	ValidData uint64
	// Unlabelled is the fingerprint of the unlabelled rows that Q was trained on; 0 without any.
	Unlabelled uint64

	Best   float64
	BestAt int
	Waited int
}

// checkpoint is the state at a checkpoint of the run.
func (r *training) checkpoint(at *run.Checkpoint) *Checkpoint {
	m := *r.e
	m.Trained = at.Iteration
	m.Slots = nil
	for _, e := range r.e.Slots {
		c := *e
		c.Terms = slices.Clone(e.Terms)
		m.Slots = append(m.Slots, &c)
	}
	m.History = slices.Clone(r.e.History)
	m.Warnings = slices.Clone(r.e.Warnings)
	k := &Checkpoint{Model: &m, Round: at.Iteration, Seconds: at.Seconds, Norm: r.s.norm, G: slices.Clone(r.s.g),
		Data: fingerprint(r.d), Unlabelled: r.unlabelled(), Best: math.Inf(-1)}
	if r.chooses() {
		k.Best, k.BestAt, k.Waited = r.run.Best.Loss, r.run.Best.Step, r.run.Best.Waited
	}
	k.Q = make([]float64, len(r.s.f)*r.s.p)
	for i := range r.s.f {
		copy(k.Q[i*r.s.p:(i+1)*r.s.p], r.s.q[i*r.s.slots:])
	}
	if r.valid != nil {
		k.Valid, k.ValidData, k.ValidHistory = slices.Clone(r.valid.g), fingerprint(r.o.Valid),
			slices.Clone(r.validHistory)
	}
	return k
}

// resume takes up a checkpoint.
func (r *training) resume(k *Checkpoint) error {
	bad := func(format string, v ...any) error {
		return fmt.Errorf("multi: %w: %s", boost.ErrResume, fmt.Sprintf(format, v...))
	}
	m := k.Model
	different := boost.SettingsDifference(m.Settings, r.e.Settings)
	switch {
	case m.Loss.Name() != r.e.Loss.Name():
		return bad("the settings differ: the loss was %s and is now %s", m.Loss.Name(), r.e.Loss.Name())
	case different != "":
		return bad("the settings differ: %s", different)
	case k.Round > r.o.Rounds:
		return bad("it has %d rounds already, and %d are asked for; ask for as many or more, or take a prefix "+
			"of the finished model", k.Round, r.o.Rounds)
	case k.Data != fingerprint(r.d) || len(k.G) != len(r.s.g):
		return bad("the training rows differ")
	case k.Unlabelled != r.unlabelled():
		return bad("the unlabelled rows differ")
	case !slices.Equal(m.Learners, r.e.Learners):
		return bad("it has the learners %q, now %q", m.Learners, r.e.Learners)
	case len(m.Slots) != len(r.e.Slots):
		return bad("%d slots, now %d", len(m.Slots), len(r.e.Slots))
	case (r.valid == nil) != (k.Valid == nil) || r.valid != nil &&
		(len(k.Valid) != len(r.valid.g) || k.ValidData != fingerprint(r.o.Valid)):
		return bad("the validation rows differ")
	}
	for s, e := range m.Slots {
		r.e.Slots[s].Terms = slices.Clone(e.Terms)
	}
	r.e.History, r.e.Warnings = slices.Clone(m.History), slices.Clone(m.Warnings)
	r.e.QLambda, r.e.QLogLoss = m.QLambda, m.QLogLoss
	copy(r.s.g, k.G)
	r.s.norm = k.Norm
	r.s.rescore()
	if r.valid != nil {
		copy(r.valid.g, k.Valid)
		r.valid.rescore()
		r.validHistory = slices.Clone(k.ValidHistory)
	}
	at := &run.Checkpoint{Iteration: k.Round, Seconds: k.Seconds}
	if r.chooses() {
		at.Best = &run.Best{Loss: k.Best, Step: k.BestAt, Waited: k.Waited}
	}
	r.run.TakeUp(at)
	return nil
}

// fingerprint is that of features and domains by name, labels and weights.
func fingerprint(d *boost.Data) uint64 { return d.X.Fingerprint(d.Y, d.W) }

// unlabelled is the fingerprint of the rows without labels that Q was trained on, 0 without any.
func (r *training) unlabelled() uint64 {
	if r.o.Unlabelled == nil {
		return 0
	}
	return r.o.Unlabelled.Fingerprint()
}

const (
	checkpointKind    = "multiboost-checkpoint"
	checkpointVersion = 1
)

type checkpointMeta struct {
	Round      int     `json:"round"`
	Seconds    float64 `json:"seconds"`
	Data       uint64  `json:"data,string"`
	BestAt     int     `json:"best_at"`
	Waited     int     `json:"waited"`
	HasValid   bool    `json:"has_valid"`
	Valid      uint64  `json:"valid,string"`      // 0 in files of earlier programs, which fit no validation rows
	Unlabelled uint64  `json:"unlabelled,string"` // 0 without any
}

// Write writes the checkpoint as a model file of kind "multiboost-checkpoint".
func (k *Checkpoint) Write(w io.Writer) error {
	f := model.New(checkpointKind, checkpointVersion)
	if err := f.SetMeta(checkpointMeta{k.Round, k.Seconds, k.Data, k.BestAt, k.Waited, k.Valid != nil,
		k.ValidData, k.Unlabelled}); err != nil {
		return fmt.Errorf("multi: checkpoint: %w", err)
	}
	var b bytes.Buffer
	if err := k.Model.Write(&b); err != nil {
		return err
	}
	model.Put(f, "model", b.Bytes())
	model.Put(f, "q", k.Q)
	model.Put(f, "g", k.G)
	model.Put(f, "numbers", []float64{k.Norm, k.Best})
	if k.Valid != nil {
		model.Put(f, "valid", k.Valid)
	}
	if len(k.ValidHistory) > 0 {
		model.Put(f, "valid_history", k.ValidHistory)
	}
	return f.Write(w)
}

// ReadCheckpoint reads what Write wrote.
func ReadCheckpoint(r io.Reader) (*Checkpoint, error) {
	var m checkpointMeta
	f, err := model.ReadKind(r, checkpointKind, checkpointVersion, &m)
	if err != nil {
		return nil, err
	}
	k := &Checkpoint{Round: m.Round, Seconds: m.Seconds, Data: m.Data, ValidData: m.Valid,
		Unlabelled: m.Unlabelled, BestAt: m.BestAt, Waited: m.Waited}
	b, err := model.Get[uint8](f, "model")
	if err != nil {
		return nil, err
	}
	if k.Model, err = Read(bytes.NewReader(b)); err != nil {
		return nil, err
	}
	if k.Q, err = model.Get[float64](f, "q"); err != nil {
		return nil, err
	}
	if k.G, err = model.Get[float64](f, "g"); err != nil {
		return nil, err
	}
	n, err := model.Get[float64](f, "numbers", 2)
	if err != nil {
		return nil, err
	}
	k.Norm, k.Best = n[0], n[1]
	if m.HasValid {
		if k.Valid, err = model.Get[float64](f, "valid"); err != nil {
			return nil, err
		}
	}
	if _, ok := f.Shape("valid_history"); ok {
		if k.ValidHistory, err = model.Get[float64](f, "valid_history"); err != nil {
			return nil, err
		}
	}
	if k.Round != k.Model.Trained || k.BestAt < 0 || k.BestAt > k.Round || k.Waited < 0 {
		return nil, fmt.Errorf("multi: checkpoint: %w: round %d of a model of %d, best %d, waited %d",
			model.ErrFormat, k.Round, k.Model.Trained, k.BestAt, k.Waited)
	}
	return k, nil
}
