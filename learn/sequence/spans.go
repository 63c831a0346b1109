package sequence

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/losses"
)

// Spans is losses.Span over the labels of the model, which training knows and whoever sets options
// may not. All of them must be labels of spans, such as B-NP, I-NP and O.
type Spans losses.SpanCosts

// Machine implements losses.Loss. It is always an error: training puts the losses.Span of the
// model's labels in the place of Spans.
func (Spans) Machine([]int, int, int) (*losses.Machine, error) {
	return nil, errors.New("sequence: Spans is a loss for training, which knows the labels; elsewhere use " +
		"losses.NewSpan")
}

// AppendKey implements losses.Loss.
func (s Spans) AppendKey(dst []byte) []byte {
	return fmt.Appendf(dst, "spans,%v,%v,%v", s.Missing, s.Spurious, s.Type)
}

// named puts the loss for the labels of a model in the place of one that is for the labels of any.
func (o *TrainOptions) named(labels []string) error {
	s, ok := o.Loss.(Spans)
	if !ok {
		return nil
	}
	loss, err := losses.NewSpan(labels, losses.SpanCosts(s))
	if err != nil {
		return fmt.Errorf("sequence: %w", err)
	}
	o.Loss = loss
	return nil
}
