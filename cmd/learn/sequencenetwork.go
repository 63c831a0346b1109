package main

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/nn/encoder"
	"github.com/tropica-fst/tropica/learn/sequence"
)

// networkFlags holds the flags of a network beside the features.
type networkFlags struct {
	kind           *string
	epochs         *int64
	hidden, layers *int64
	dropout        *float64
}

func (n *networkFlags) define(fs *flags.Set) {
	n.kind = fs.Enum("network", "none", []string{"none", string(encoder.Convolution),
		string(encoder.Recurrence)},
		"Network of words and their characters whose scores are added to those of the features: convolutions, "+
			"or long short-term memory in both directions")
	n.epochs = fs.Int("epochs", 32, 15, "Passes over the sentences, of a network")
	n.hidden = fs.Int("hidden", 32, 128, "Channels of a network, or units of a direction")
	n.layers = fs.Int("layers", 32, 0, "Layers of a network; 0 is 3 for conv and 1 for lstm")
	n.dropout = fs.Float("dropout", 0.4, "Share of a network that each step of training leaves out")
}

// prepare checks the flags, and sets those of the run that a network gives another meaning. It
// returns nil if there is no network.
func (n *networkFlags) prepare(c *call, t *training, s *scored) (*sequence.Network, error) {
	if *n.kind == "none" {
		return nil, c.idle("it needs --network conv or lstm", "epochs", "hidden", "layers", "dropout")
	}
	why := "a network is trained by epochs of Adam"
	if c.flags.Given("solver") && *s.solver != "adam" {
		return nil, errors.New("flag --solver: " + why + ": leave it out")
	}
	if err := c.idle(why, "iterations", "stop", "l2", "l1", "memory", "gap", "decay"); err != nil {
		return nil, err
	}
	if *n.epochs < 1 || *n.hidden < 1 || *n.hidden > 4096 || *n.layers < 0 || *n.layers > 16 {
		return nil, errors.New("flag --epochs must be at least 1, --hidden between 1 and 4096, and --layers " +
			"between 0 and 16")
	}
	if !(*n.dropout >= 0 && *n.dropout < 1) {
		return nil, fmt.Errorf("flag --dropout: %v is not in [0,1)", *n.dropout)
	}
	*t.iterations, *s.solver = *n.epochs, "adam"
	o := &sequence.Network{Kind: encoder.Kind(*n.kind), Hidden: int(*n.hidden), Layers: int(*n.layers),
		Dropout: amount(*n.dropout), Epochs: int(*n.epochs), Rate: *s.rate}
	if c.flags.Given("batch") {
		o.Batch = int(*s.batch)
	}
	return o, nil
}
