package calls

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/tropica-fst/tropica/cmd/internal/lossspec"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// loss is what a loss handle stands for.
type loss struct {
	spec     *lossspec.Spec
	of       losses.Loss // Spec.Direct, or a *losses.Transducer
	tropical fst.Expanded[semiring.Tropical64]
	rational fst.Expanded[semiring.Probability]
	limit    int64
}

// greatestFile bounds a transducer's file, which is read before its size is known.
const greatestFile = 1 << 32

func (s *Server) loss(a *LossArgs, m Memory) error {
	text, err := view[byte](m, "spec", a.Spec, a.SpecBytes)
	if err != nil {
		return err
	}
	if !json.Valid(text) {
		return fmt.Errorf("loss: %q is not JSON; a loss is {\"kind\": \"edit\", ...}, as fst loss --help has it",
			text[:min(len(text), 80)])
	}
	l := &loss{limit: a.Limit}
	if l.spec, err = lossspec.Parse(text); err != nil {
		// A transducer that comes as bytes needs no file.
		return fmt.Errorf("loss: %w", err)
	}
	if len(l.spec.Ignored) > 0 {
		return fmt.Errorf("loss: it has a field %s", l.spec.Ignored[0])
	}
	if a.Limit < 0 {
		return fmt.Errorf("limit: %d bytes", a.Limit)
	}
	l.of = l.spec.Direct
	if l.of == nil {
		if err := l.transducer(a, m); err != nil {
			return err
		}
	}
	a.Loss = s.hold(l)
	return nil
}

// transducer reads the machine of a transducer loss.
func (l *loss) transducer(a *LossArgs, m Memory) error {
	var data []byte
	name := l.spec.File
	if a.File != 0 {
		given, err := view[byte](m, "file", a.File, a.FileBytes)
		if err != nil {
			return err
		}
		data, name = bytes.Clone(given), "the transducer"
	} else {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("loss: %w", err)
		}
		defer f.Close()
		if data, err = io.ReadAll(io.LimitReader(f, greatestFile)); err != nil {
			return fmt.Errorf("loss: %w", err)
		}
	}
	u, err := readMachine(data)
	if err != nil {
		return fmt.Errorf("loss: %s: %w", name, err)
	}
	if l.spec.Rational {
		if l.rational, err = converted[semiring.Probability](u); err == nil {
			var t *losses.Transducer
			if t, err = losses.RationalTransducer(l.rational, l.spec.C); err == nil {
				t.Name, t.Limits.Bytes, l.of = name, l.limit, t
			}
		}
	} else if l.tropical, err = converted[semiring.Tropical64](u); err == nil {
		var t *losses.Transducer
		if t, err = losses.TropicalTransducer(l.tropical); err == nil {
			t.Name, t.Limits.Bytes, l.of = name, l.limit, t
		}
	}
	if err != nil {
		return fmt.Errorf("loss: %s: %w", name, err)
	}
	return nil
}

// within returns the loss with its budget and a context.
func (l *loss) within(ctx context.Context) losses.Loss {
	if l.spec.Cap != nil {
		return capped{l, ctx}
	}
	b := losses.Budget{Ctx: ctx, Bytes: l.limit}
	switch x := l.of.(type) {
	case losses.Edit:
		x.Budget = b
		return x
	case losses.Local:
		x.Budget = b
		return x
	case losses.NGram:
		x.Budget = b
		return x
	case *losses.Transducer:
		t := *x
		t.Limits.Ctx = ctx
		return &t
	}
	return l.of
}

// capped is a loss with a greatest value. Its machines are made along the general path, from an
// acceptor of all strings.
type capped struct {
	*loss
	ctx context.Context
}

func (c capped) Machine(ref []int, alphabet, length int) (*losses.Machine, error) {
	a, err := c.automaton(losses.Strings(alphabet, length), ref, alphabet,
		&losses.GeneralOptions{Limits: ops.Limits{Ctx: c.ctx, Bytes: c.limit}})
	if err != nil {
		return nil, err
	}
	return a.Machine(alphabet, length)
}

func (c capped) AppendKey(dst []byte) []byte {
	return binary.LittleEndian.AppendUint64(c.of.AppendKey(append(dst, "capped"...)),
		math.Float64bits(*c.spec.Cap))
}

// automaton prepares the loss for the strings of y along the general path.
func (l *loss) automaton(y fst.Expanded[semiring.Log64], ref []int, alphabet int,
	opts *losses.GeneralOptions) (*losses.Automaton, error) {
	opts.Band, opts.Cap = l.spec.Band, l.spec.Cap
	switch {
	case l.tropical != nil:
		return losses.TropicalAutomaton(y, l.tropical, ref, opts)
	case l.rational != nil:
		return losses.RationalAutomaton(y, l.rational, ref, l.spec.C, opts)
	}
	return l.of.(interface {
		Automaton(y fst.Expanded[semiring.Log64], ref []int, alphabet int,
			opts *losses.GeneralOptions) (*losses.Automaton, error)
	}).Automaton(y, ref, alphabet, opts)
}

// among returns the losses of strings against a reference, +Inf where there is none.
func (l *loss) among(strings [][]int, ref []int) ([]float64, error) {
	if t, ok := l.of.(*losses.Transducer); ok {
		return t.Among(strings, ref)
	}
	out := make([]float64, len(strings))
	for i, u := range strings {
		out[i] = l.spec.Value(u, ref)
	}
	return out, nil
}

func (s *Server) minRisk(a *MinRiskArgs, m Memory) error {
	ctx, err := s.context(a.Cancel)
	if err != nil {
		return err
	}
	l, err := get[*loss](s, a.Loss, "loss")
	if err != nil {
		return err
	}
	if a.Count < 1 || a.Count > 1<<20 {
		return fmt.Errorf("count: %d candidates are not between 1 and %d", a.Count, 1<<20)
	}
	offsets, err := view[int64](m, "offsets", a.Offsets, a.Count+1)
	if err != nil {
		return err
	}
	for i := range a.Count {
		if offsets[0] != 0 || offsets[i+1] < offsets[i] {
			return at(int(i), fmt.Errorf("offsets: the candidate is from %d to %d", offsets[i], offsets[i+1]))
		}
	}
	symbols, err := view[int32](m, "symbols", a.Symbols, offsets[a.Count])
	if err != nil {
		return err
	}
	weights, err := optional[float64](m, "log_weights", a.LogWeights, a.Count)
	if err != nil {
		return err
	}
	risks, err := optional[float64](m, "risks", a.Risks, a.Count)
	if err != nil {
		return err
	}
	candidates := make([][]int, a.Count)
	top := math.Inf(-1)
	for i := range candidates {
		for t, k := range symbols[offsets[i]:offsets[i+1]] {
			if k < 0 || int64(k) >= a.Alphabet {
				return at(i, fmt.Errorf("label %d is %d, outside the alphabet of %d", t, k, a.Alphabet))
			}
			candidates[i] = append(candidates[i], int(k))
		}
		if weights != nil {
			if math.IsNaN(weights[i]) || math.IsInf(weights[i], 1) {
				return at(i, fmt.Errorf("its log weight is %v", weights[i]))
			}
			top = max(top, weights[i])
		}
	}
	if weights != nil && math.IsInf(top, -1) {
		return errors.New("log_weights: all are -Inf")
	}
	sum, total := make([]float64, a.Count), 0.0
	for j, ref := range candidates {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := 1.0
		if weights != nil {
			p = math.Exp(weights[j] - top)
		}
		if total += p; p == 0 {
			continue
		}
		values, err := l.among(candidates, ref)
		if err != nil {
			return at(j, err)
		}
		for i, v := range values {
			sum[i] += p * v
		}
	}
	best := 0
	for i := range sum {
		sum[i] /= total
		if sum[i] < sum[best] {
			best = i
		}
	}
	copy(risks, sum)
	a.Best = int64(best)
	return nil
}

func (s *Server) lattice(a *LatticeArgs, m Memory) error {
	ctx, err := s.context(a.Cancel)
	if err != nil {
		return err
	}
	arcs, err := arcsOf(m, a.States, a.Arcs, a.From, a.To, a.Label, a.Label, a.Score, a.Final)
	if err != nil {
		return err
	}
	v := fst.NewVector[semiring.Log64](int(a.States))
	v.AddStates(int(a.States))
	if a.States > 0 {
		v.SetStart(0)
	}
	for q, x := range arcs.final {
		v.SetFinal(fst.StateID(q), semiring.Log64(-x))
	}
	place := make([]int, len(arcs.from)) // of each arc among those of its state
	for i, q := range arcs.from {
		k := arcs.ilabel[i]
		if k < 0 || int64(k) >= a.Alphabet {
			return at(i, fmt.Errorf("the arc's label is %d, outside the alphabet of %d", k, a.Alphabet))
		}
		place[i] = len(v.Arcs(fst.StateID(q)))
		v.AddArc(fst.StateID(q), fst.Arc[semiring.Log64]{ILabel: fst.Label(k + 1), OLabel: fst.Label(k + 1),
			Weight: semiring.Log64(-arcs.weight[i]), NextState: fst.StateID(arcs.to[i])})
	}
	ref32, err := view[int32](m, "reference", a.Reference, a.ReferenceCount)
	if err != nil {
		return err
	}
	var ref []int
	for t, k := range ref32 {
		if k < 0 || int64(k) >= a.Alphabet {
			return fmt.Errorf("label %d of the reference is %d, outside the alphabet of %d", t, k, a.Alphabet)
		}
		ref = append(ref, int(k))
	}
	lat := &losses.Lattice{A: v}
	want := losses.WantExpected | losses.WantPlain | losses.WantRisk | losses.WantMaxAug
	var out [4][]float64
	for i, x := range []struct {
		name string
		at   Address
		want losses.Want
	}{{"marginals", a.Marginals, losses.WantMarginals},
		{"risk_gradient", a.RiskGradient, losses.WantRiskGradient}, {"hvp", a.HVP, losses.WantHVP},
		{"risk_hvp", a.RiskHVP, losses.WantRiskHVP}} {
		if out[i], err = optional[float64](m, x.name, x.at, a.Arcs); err != nil {
			return err
		}
		if x.at != 0 {
			want |= x.want
		}
	}
	if a.HVP != 0 || a.RiskHVP != 0 {
		d, err := view[float64](m, "direction", a.Direction, a.Arcs)
		if err != nil {
			return err
		}
		lat.V = make([][]float64, a.States)
		for i, q := range arcs.from {
			lat.V[q] = append(lat.V[q], d[i])
		}
	}
	lim := ops.Limits{Ctx: ctx}
	var automaton *losses.Automaton
	gamma := a.Gamma
	if a.Loss == 0 {
		gamma, want = 0, want&^(losses.WantExpected|losses.WantRisk|losses.WantRiskGradient|losses.WantRiskHVP)
	} else {
		l, err := get[*loss](s, a.Loss, "loss")
		if err != nil {
			return err
		}
		lim.Bytes = l.limit
		if automaton, err = l.automaton(v, ref, int(a.Alphabet), &losses.GeneralOptions{Limits: lim}); err != nil {
			return err
		}
	}
	r, err := lat.Eval(automaton, gamma, want, lim)
	if err != nil {
		return err
	}
	a.LogZ, a.LogZ0, a.Expected, a.Risk, a.MaxAug = r.LogZ, r.LogZ0, r.Expected, r.Risk, r.MaxAug
	for k, rows := range [][][]float64{r.Marginals, r.RiskGradient, r.HVP, r.RiskHVP} {
		if len(rows) == 0 {
			clear(out[k])
			continue
		}
		for i := range out[k] {
			out[k][i] = rows[arcs.from[i]][place[i]]
		}
	}
	a.ArgmaxCount = int64(len(r.ArgmaxAug))
	if a.Argmax != 0 && a.ArgmaxCount <= a.ArgmaxRoom {
		to, err := view[int32](m, "argmax", a.Argmax, a.ArgmaxRoom)
		if err != nil {
			return err
		}
		for i, k := range r.ArgmaxAug {
			to[i] = int32(k)
		}
	}
	return nil
}
