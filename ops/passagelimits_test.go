package ops_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Passages that need more bytes than there may be are an error under the name of what was called, before they are made.
func TestPassagesBytes(t *testing.T) {
	f := machineOf[semiring.Log64]("0 1 1 1 1\n1 0 2 2 2\n1 2\n")
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for name, do := range map[string]func(*ops.ForwardBackwardOptions) error{
		"ForwardBackward": func(o *ops.ForwardBackwardOptions) error { _, err := ops.ForwardBackward(f, o); return err },
		"Posteriors":      func(o *ops.ForwardBackwardOptions) error { _, err := ops.Posteriors(f, o); return err },
		"ExpectedCounts":  func(o *ops.ForwardBackwardOptions) error { _, _, _, err := ops.ExpectedCounts(f, o); return err },
	} {
		if err := do(&ops.ForwardBackwardOptions{Limits: ops.Limits{Bytes: 80}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var l *ops.LimitError
		if err := do(&ops.ForwardBackwardOptions{Limits: ops.Limits{Bytes: 79}}); !errors.As(err, &l) || l.Limit != "bytes" || l.Op != name {
			t.Errorf("%s: %v", name, err)
		}
		if err := do(&ops.ForwardBackwardOptions{Limits: ops.Limits{Ctx: done}}); !errors.As(err, &l) || l.Limit != "context" || l.Op != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}
