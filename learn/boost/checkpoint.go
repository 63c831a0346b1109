package boost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/run"
)

// The parts of a booster's checkpoint; a resumed run gives the same bits as an unbroken one. The
// run keeps round, seconds and the best validation loss.
const (
	partModel   = "model"   // file: the ensemble so far
	partBest    = "best"    // file: the ensemble of least validation loss; absent without validation rows
	partScores  = "scores"  // of the training rows
	partValid   = "valid"   // scores of the validation rows
	partHistory = "history" // progressNumbers for each round
	partIdle    = "idle"    // idle rounds in a row
	partRounds  = "rounds"  // asked for, or chosen
)

// State implements optim.Additive.
func (r *training) State() (*run.Checkpoint, error) {
	k := &run.Checkpoint{Scalars: maps.Clone(r.extra), Files: map[string][]byte{}, Arrays: map[string][]float64{
		partScores: slices.Clone(r.scores), partHistory: historyNumbers(r.history)}}
	k.Scalars[partIdle], k.Scalars[partRounds] = float64(r.idle), float64(settingsOf(r.e).Rounds)
	models := map[string][]Term{partModel: r.e.Terms}
	if r.valid != nil {
		models[partBest], k.Arrays[partValid] = r.bestOf, slices.Clone(r.valid)
	}
	for name, terms := range models {
		e := *r.e
		e.Terms = terms
		var b bytes.Buffer
		if err := e.Write(&b); err != nil {
			return nil, err
		}
		k.Files[name] = b.Bytes()
	}
	return k, nil
}

// resume takes up the control's checkpoint, if there is one.
func (r *training) resume() error {
	if r.Checkpoint == nil && r.Resume == nil {
		return nil
	}
	r.Problem = fmt.Sprintf("%s valid=%016x loss=%s %s", dataWord(r.d), fingerprint(r.held), r.e.Loss.Name(),
		SettingsWords(r.e.Settings))
	k, err := r.Taken()
	if err != nil || k == nil {
		return err
	}
	if len(k.Arrays[partScores]) != len(r.scores) || len(k.Arrays[partValid]) != len(r.valid) ||
		len(k.Arrays[partHistory])%progressNumbers != 0 {
		return fmt.Errorf("boost: %s: checkpoint: %w: %d scores, %d of validation rows, %d numbers of history",
			r.Name,
			model.ErrFormat, len(k.Arrays[partScores]), len(k.Arrays[partValid]), len(k.Arrays[partHistory]))
	}
	terms := func(name string) ([]Term, error) {
		e, err := Read(bytes.NewReader(k.Files[name]))
		if err != nil {
			return nil, fmt.Errorf("boost: %s: checkpoint: %w", r.Name, err)
		}
		return e.Terms, nil
	}
	if r.e.Terms, err = terms(partModel); err != nil {
		return err
	}
	if r.valid != nil {
		if r.bestOf, err = terms(partBest); err != nil {
			return err
		}
	}
	copy(r.scores, k.Arrays[partScores])
	copy(r.valid, k.Arrays[partValid])
	r.history = historyOf(k.Arrays[partHistory])
	r.extra = maps.Clone(k.Scalars)
	r.idle = int(r.extra[partIdle])
	return nil
}

// dataWord identifies rows in the description of a run.
func dataWord(d *Data) string { return fmt.Sprintf("data=%016x", fingerprint(d)) }

// fingerprint is that of features and domains by name, labels and weights; 0 without rows.
func fingerprint(d *Data) uint64 {
	if d == nil {
		return 0
	}
	return d.X.Fingerprint(d.Y, d.W)
}

// SettingsWords lists settings, a JSON object, as words name=value for run.Control.Problem. Those
// of objects within it have dots in their names; long values are cut and have a fingerprint. It
// leaves out the number of rounds, since a run may be made longer.
func SettingsWords(settings string) string {
	type object struct {
		prefix string
		fields map[string]json.RawMessage
	}
	top := object{}
	if json.Unmarshal([]byte(settings), &top.fields) != nil {
		return ""
	}
	var words []string
	for queue := []object{top}; len(queue) > 0; queue = queue[1:] {
		for name, raw := range queue[0].fields {
			in := object{prefix: queue[0].prefix + name + "."}
			if json.Unmarshal(raw, &in.fields) == nil && in.fields != nil {
				queue = append(queue, in)
			} else if key := queue[0].prefix + name; key != "rounds" {
				words = append(words, key+"="+word(raw))
			}
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// word writes a JSON value without blanks.
func word(raw json.RawMessage) string {
	text := strings.Join(strings.Fields(strings.Trim(string(raw), `"`)), "_")
	const most = 60
	if len(text) <= most {
		return text
	}
	h := fnv.New64a()
	h.Write(raw)
	return fmt.Sprintf("%.40s...(%x)", text, h.Sum64())
}

// progressNumbers is how many numbers a checkpoint has for a round of the history.
const progressNumbers = 10

func historyNumbers(h []Progress) []float64 {
	var out []float64
	for _, p := range h {
		out = append(out, float64(p.Round), p.Loss, p.Objective, p.Valid, p.Derivative, p.Curvature, p.Step,
			float64(p.Family), float64(p.Splits), p.Seconds)
	}
	return out
}

// historyOf is the inverse. The numbers are for reports alone: no run depends on them.
func historyOf(numbers []float64) []Progress {
	var out []Progress
	for v := range slices.Chunk(numbers, progressNumbers) {
		out = append(out, Progress{Round: int(v[0]), Loss: v[1], Objective: v[2], Valid: v[3], Derivative: v[4],
			Curvature: v[5], Step: v[6], Family: int(v[7]), Splits: int(v[8]), Seconds: v[9]})
	}
	return out
}
