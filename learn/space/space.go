package space

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// Solution is an output with what is known of its score.
type Solution[Y any] struct {
	Y          Y
	Value      float64 // of Y: its score, with the loss where the call adds it
	UpperBound float64 // no output of the set has more; Value where Optimal
	Optimal    bool    // Y is the best of the set
}

// Exact returns the solution y with a value that is known to be the best.
func Exact[Y any](y Y, value float64) Solution[Y] {
	return Solution[Y]{Y: y, Value: value, UpperBound: value, Optimal: true}
}

// Space is a set Y(x) of outputs for every input x. It has joint features Φ(x, y) of Dim numbers,
// the score f = ⟨w, Φ(x, y)⟩ to maximise, and a loss Δ(a, y) ≥ 0 of outputs against annotations.
// See the package comment for what implementations must obey.
//
// Every call that takes a context obeys it within 0.2 s.
type Space[X, Y, A any] interface {
	// Dim returns the number of weights.
	Dim() int
	// Argmax returns the best output.
	Argmax(ctx context.Context, x X, w []float64) (Solution[Y], error)
	// ArgmaxLoss returns the output of largest f + Δ(a, ·).
	ArgmaxLoss(ctx context.Context, x X, w []float64, a A) (Solution[Y], error)
	// ArgmaxWithin returns the best of the outputs that agree with a.
	ArgmaxWithin(ctx context.Context, x X, w []float64, a A) (Solution[Y], error)
	// KBest returns the k best outputs, best first, no two of them equal. It returns fewer
	// where there are no more.
	KBest(ctx context.Context, x X, w []float64, k int) ([]Solution[Y], error)
	// Argmin returns the worst output; UpperBound is then a lower bound of the score.
	Argmin(ctx context.Context, x X, w []float64) (Solution[Y], error)
	// AddPhi adds scale·Φ(x, y) to dst, of Dim entries.
	AddPhi(dst []float64, scale float64, x X, y Y)
	// Delta returns the loss of y where a is right.
	Delta(x X, a A, y Y) float64
	// LossZeroOnCompatible reports whether Δ(a, y) = 0 for every y that agrees with a. Then
	// max(max_{y not in a} f + Δ, max_{y in a} f) is ArgmaxLoss, and no complement is needed.
	LossZeroOnCompatible() bool
	// Complete reports whether exactly one output agrees with a.
	Complete(x X, a A) bool
}

// Complement is a Space that can leave out the outputs that agree with an annotation. Only
// losses that are positive on some of them need it.
type Complement[X, Y, A any] interface {
	Space[X, Y, A]
	// ArgmaxLossOutside returns the output of largest f + Δ(a, ·) among those that do not
	// agree with a; an *EmptyError where all do.
	ArgmaxLossOutside(ctx context.Context, x X, w []float64, a A) (Solution[Y], error)
}

// Summing is a Space that can sum over its outputs: log Z = log Σ_y exp f(x, y; w), over all
// outputs or over those that agree with an annotation. Likelihoods and entropies need it.
type Summing[X, Y, A any] interface {
	Space[X, Y, A]
	// LogZ returns log Z of all outputs. Unless dst is nil, it adds scale times the
	// expectation of Φ to it.
	LogZ(ctx context.Context, x X, w []float64, dst []float64, scale float64) (float64, error)
	// LogZWithin is LogZ over the outputs that agree with a.
	LogZWithin(ctx context.Context, x X, w []float64, a A, dst []float64, scale float64) (float64, error)
	// Entropy returns that of the distribution exp(f - log Z), in nats.
	Entropy(ctx context.Context, x X, w []float64) (float64, error)
}

// Remembering is a Space whose outputs may be kept. Learners score what they found before at other
// weights, which costs much less than a search, and write it to checkpoints.
type Remembering[X, Y, A any] interface {
	Space[X, Y, A]
	// Score returns f(x, y; w).
	Score(x X, w []float64, y Y) float64
	// AppendOutput appends y, an output of x, to dst.
	AppendOutput(dst []byte, x X, y Y) []byte
	// ReadOutput reads what AppendOutput appended, and returns the bytes after it. The error says
	// that src does not hold an output of x.
	ReadOutput(src []byte, x X) (y Y, rest []byte, err error)
}

// AppendNumbers appends the length of a list and its numbers, none negative. Outputs that are lists
// of numbers are written so.
func AppendNumbers(dst []byte, list []int) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, v := range list {
		dst = binary.AppendUvarint(dst, uint64(v))
	}
	return dst
}

// ReadNumbers reads what AppendNumbers appended, at most most numbers, each below the limit.
func ReadNumbers(src []byte, most, limit int) (list []int, rest []byte, err error) {
	n, src, err := number(src, most+1)
	if err != nil {
		return nil, nil, err
	}
	list = make([]int, n)
	for i := range list {
		if list[i], src, err = number(src, limit); err != nil {
			return nil, nil, err
		}
	}
	return list, src, nil
}

// number reads one number below a limit.
func number(src []byte, limit int) (int, []byte, error) {
	v, n := binary.Uvarint(src)
	if n <= 0 || limit <= 0 || v >= uint64(limit) {
		return 0, nil, ErrOutput
	}
	return int(v), src[n:], nil
}

// ErrOutput reports bytes that are no output of the input.
var ErrOutput = errors.New("the bytes are no output")

// Sample is an input with its annotation.
type Sample[X, A any] struct {
	X    X
	A    A
	Name string // for errors and logs, such as file and line; may be empty
}

// Label returns the name of the sample, or its number from 0.
func (s *Sample[X, A]) Label(i int) string {
	if s.Name != "" {
		return s.Name
	}
	return fmt.Sprintf("sample %d", i)
}

// ErrEmpty reports a set without outputs.
var ErrEmpty = errors.New("no output is possible")

// EmptyError reports that no output is possible, or none that agrees with the annotation.
type EmptyError struct {
	Within bool   // none agrees with the annotation; else there are none at all
	Place  string // where the outputs die, such as "position 3: label B"; may be empty
}

func (e *EmptyError) Error() string {
	what := "the input has no output"
	if e.Within {
		what = "no output agrees with the annotation"
	}
	if e.Place != "" {
		return what + ": " + e.Place
	}
	return what
}

// Unwrap returns ErrEmpty.
func (e *EmptyError) Unwrap() error { return ErrEmpty }
