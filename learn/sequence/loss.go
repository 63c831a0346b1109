package sequence

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/tropica-fst/tropica/losses"
)

// Kind says what training minimises, for each example with labels y; θ are the
// scores of a label sequence and L is its loss against y.
type Kind int

const (
	CrossEntropy  Kind = iota // log Σ exp θ(u) - θ(y): the conditional random field (J. Lafferty et al., ICML 2001)
	SoftmaxMargin             // log Σ exp(θ(u) + γ L(u)) - θ(y); with γ < 0, reward-augmented likelihood
	MaxMargin                 // max_u θ(u) + γ L(u) - θ(y): not smooth, for the stochastic solvers; or smoothed (Beta)
	Risk                      // Σ p(u) L(u), p ∝ exp θ: not convex; start from other weights (Init)
)

var kindNames = []string{"cross-entropy", "softmax-margin", "max-margin", "risk"}

func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return kindNames[k]
}

// ParseKind finds a kind by its name.
func ParseKind(name string) (Kind, error) {
	for k, s := range kindNames {
		if s == name {
			return Kind(k), nil
		}
	}
	return 0, fmt.Errorf("sequence: %q is no training objective; choose one of %q", name, kindNames)
}

// LongEdit is the edit distance for sequences of any length. It is exact up to Exact labels.
// Beyond, it is restricted to a band, which is linear in the length and never below the exact
// distance (losses.Edit says more).
type LongEdit struct {
	Edit  losses.Edit // the zero value is unit costs
	Exact int         // zero is 8
	Band  int         // zero is 2
}

func (e LongEdit) withDefaults() LongEdit {
	if e.Edit.Match == 0 && e.Edit.Sub == 0 && e.Edit.Ins == 0 && e.Edit.Del == 0 &&
		e.Edit.SubTable == nil && e.Edit.InsTable == nil && e.Edit.DelTable == nil {
		e.Edit.Sub, e.Edit.Ins, e.Edit.Del = 1, 1, 1
	}
	if e.Exact == 0 {
		e.Exact = 8
	}
	if e.Band == 0 {
		e.Band = 2
	}
	return e
}

// Machine implements losses.Loss.
func (e LongEdit) Machine(ref []int, alphabet, l int) (*losses.Machine, error) {
	e = e.withDefaults()
	if max(len(ref), l) > e.Exact {
		e.Edit.Band = e.Band
	}
	return e.Edit.Machine(ref, alphabet, l)
}

// AppendKey implements losses.Loss.
func (e LongEdit) AppendKey(dst []byte) []byte {
	e = e.withDefaults()
	return fmt.Appendf(e.Edit.AppendKey(append(dst, "long"...)), ",%d,%d", e.Exact, e.Band)
}

// LongLocal is the local alignment loss for sequences of any length. It is exact up to Exact
// labels, and restricted to a band beyond, which is never below the exact loss. Columns of a band
// still grow with about the cube of the length. Where those of Band exceed the budget of Local, the
// widest narrower one that fits is used; if none fits, that is an error. The choice depends on the
// reference, lengths and budget only.
type LongLocal struct {
	Local losses.Local
	Exact int // zero is 8
	Band  int // zero is 2
}

func (x LongLocal) withDefaults() LongLocal {
	if x.Exact == 0 {
		x.Exact = 8
	}
	if x.Band == 0 {
		x.Band = 2
	}
	return x
}

// Machine implements losses.Loss.
func (x LongLocal) Machine(ref []int, alphabet, l int) (*losses.Machine, error) {
	x = x.withDefaults()
	if max(len(ref), l) <= x.Exact {
		return x.Local.Machine(ref, alphabet, l)
	}
	x.Local.Band = x.Band
	m, err := x.Local.Machine(ref, alphabet, l)
	// The error names the widest band known to fit, by machines of some ten thousands of columns;
	// more may.
	for x.Local.Band > 1 && errors.Is(err, losses.ErrBudget) {
		x.Local.Band--
		m, err = x.Local.Machine(ref, alphabet, l)
	}
	return m, err
}

// AppendKey implements losses.Loss.
func (x LongLocal) AppendKey(dst []byte) []byte {
	x = x.withDefaults()
	return fmt.Appendf(x.Local.AppendKey(append(dst, "long"...)), ",%d,%d", x.Exact, x.Band)
}

// NoLabellingError reports an example for which every labelling has an infinite loss,
// so that no objective of that loss has a value. Train's error holds one.
type NoLabellingError struct {
	Example int // index among the examples
	Labels  int // how many it has
}

func (e *NoLabellingError) Error() string {
	return fmt.Sprintf("every labelling has an infinite loss (an n-gram loss without a constant excludes labellings that share no n-gram with the truth, and %d labels may have too few n-grams); give the loss a constant above 0, or leave the example out", e.Labels)
}

// lossOf is the training objective of every sequence, and the machines made so far.
type lossOf struct {
	kind   Kind
	loss   losses.Loss // nil is the Hamming distance
	gamma  float64
	beta   float64 // smoothing of MaxMargin; zero is none
	stride int

	partial        bool      // some labels are not known
	onChain        bool      // no machine, label 3-gram or pair attribute is needed
	referencePairs []float64 // how often each label pair stands in the references; nil for Risk

	sampling *sampling // nil is exact machines

	machines []*losses.Machine
	bytes    atomic.Int64
	limit    int64
}

func (o *lossOf) hamming() bool { return o.loss == nil }

func (o *lossOf) smoothing() float64 {
	if o.kind == MaxMargin && o.beta > 0 {
		return o.beta
	}
	return 1
}

func (o *lossOf) gammaOnChain() float64 {
	if o.kind == CrossEntropy {
		return 0
	}
	return o.gamma
}

// machine returns the loss machine of sequence i. Machines do not depend on the
// weights and serve every evaluation. Sequences are evaluated by one goroutine at
// a time each.
func (o *lossOf) machine(i int, reference []int, labels int) (*losses.Machine, error) {
	if m := o.machines[i]; m != nil {
		return m, nil
	}
	loss := o.loss
	if loss == nil {
		loss = losses.Hamming{Scale: 1}
	}
	return loss.Machine(reference, labels, len(reference))
}

// keep keeps the machine of sequence i for the next evaluation, if it still
// fits. It is asked after the first one, which lays out the machine's graph.
// What was kept stays: an evaluation visits all sequences in turn, where dropping
// the least recently used (losses.Cache) would drop each before its next use.
func (o *lossOf) keep(i int, m *losses.Machine) {
	if m == nil || o.machines[i] != nil {
		return
	}
	if n := m.Bytes(); o.bytes.Add(n) <= o.limit {
		o.machines[i] = m
	} else {
		o.bytes.Add(-n)
	}
}
