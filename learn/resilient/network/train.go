package network

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// Options adjusts Train; zero fields are the defaults.
type Options struct {
	Method string  `flag:"method" default:"auto" values:"auto,huber,quadratic,cvar,plain,itlm,trim" help:"How rows count: auto is plain or Huber's relaxation at one of three strengths, the weakest that predicts rows it did not see about as well as the best, and takes 20 fits more; huber, quadratic and cvar are by multipliers; plain is all alike; itlm and trim are all but those of large loss"`
	Hidden []int   `flag:"hidden" default:"64" min:"0" help:"Units of each hidden layer; 0 alone is none, a linear model"`
	Delta  float64 `flag:"delta" default:"0.2" above:"0" help:"Loss from which on a row of --method huber or auto counts no more"`
	Epochs int     `flag:"epochs" default:"100" min:"1" help:"Passes over the rows; --iterations cuts them short"`
	Rate   float64 `flag:"rate" default:"0.05" above:"0" help:"Learning rate of the weights"`
	L2     float64 `flag:"l2" default:"0.0005" min:"0" help:"Weight of half the squared weights beside the mean loss"`
	Hold   float64 `flag:"hold" min:"0" max:"0.9" help:"Share of the rows held out: the model is the one of least loss on them"`

	Patience       int     `flag:"patience" default:"10" min:"1" help:"With --hold, passes without a lower loss after which the run ends" topic:"run"`
	Tail           float64 `flag:"tail" default:"0.2" above:"0" max:"1" help:"Share of the rows that --method cvar looks at" topic:"method"`
	Scale          float64 `flag:"scale" min:"0" help:"Multiplies the weights of --method quadratic and huber; 0 is 1/--delta for huber, whose largest weight is then 1 as in plain training, and 1 for quadratic" topic:"method"`
	Drop           float64 `flag:"leave_out" default:"0.25" min:"0" max:"0.99" help:"Share of the rows that itlm and trim leave out: that of wrong labels, plus 0.05" topic:"method"`
	Every          int     `flag:"every" default:"10" min:"1" help:"Passes after which itlm chooses rows anew, and trim once" topic:"method"`
	ChoiceFolds    int     `flag:"choice_folds" default:"5" min:"2" max:"100" help:"Folds by which --method auto compares its ways; it trains each as often" topic:"method"`
	RateMultiplier float64 `flag:"rate_multiplier" default:"0.1" above:"0" help:"Learning rate of the multipliers, in units of the curvature of the relaxation: the fraction by which a multiplier moves to its target" topic:"method"`
	RateSlack      float64 `flag:"rate_slack" min:"0" help:"Learning rate of the relaxations; 0 takes the exact step" topic:"method"`
	Loss           string  `flag:"loss" default:"auto" values:"auto,logistic,softmax,squared,huber" help:"Loss; auto is logistic for two classes, softmax for more, squared for numbers" topic:"method"`
	HuberDelta     float64 `flag:"huber_delta" default:"1" above:"0" help:"Residual from which --loss huber is linear" topic:"method"`
	Raw            bool    `flag:"raw" help:"Take columns as they are; by default they are brought to mean 0 and variance 1" topic:"method"`
	Step           string  `flag:"step" default:"sgd" values:"sgd,adagrad,adam" help:"Steps of the weights" topic:"run"`
	Momentum       float64 `flag:"momentum" default:"0.9" min:"0" max:"0.999" help:"Momentum of sgd" topic:"run"`
	Batch          int     `flag:"batch" default:"64" min:"1" help:"Rows of a minibatch" topic:"run"`
	Seed           uint64  `flag:"seed" default:"1" help:"Seed of the start, of the order of rows and of --hold" topic:"run"`
}

// relaxation returns the curve of a method, and the method as resilient.Descent knows it.
func (o *Options) relaxation() (resilient.Relaxation, resilient.Method) {
	switch o.Method {
	case "huber":
		return resilient.Capped(o.Delta, o.Scale), resilient.Resilient
	case "quadratic":
		return resilient.Quadratic{Scale: o.Scale}, resilient.Resilient
	case "cvar":
		return resilient.CVaR{Tail: o.Tail}, resilient.Resilient
	}
	return resilient.Linear{}, resilient.Method(o.Method)
}

// strengths are the largest weights of Huber's relaxation that auto compares. The smaller, the
// less the losses count beside the penalty, and the shorter are the steps.
var strengths = []float64{1, 0.2, 0.04}

// ways are what auto chooses from: plain training, and the strengths of Huber's relaxation.
func (o *Options) ways() []Way {
	list := []Way{{Method: resilient.Plain, H: resilient.Linear{}}}
	for _, s := range strengths {
		list = append(list, Way{Method: resilient.Resilient, H: resilient.Capped(o.Delta, s/o.Delta)})
	}
	return list
}

// mostCells bounds what is laid out: 8 GB.
const mostCells = 1 << 31

// AllPasses ends a run that made all the passes its options ask for.
const AllPasses = run.AllPasses

// Train fits a network to the rows of t with a target and positive weight. The result says how the
// run ended. When it is interrupted, the model so far stands beside the error.
//
// Errors: unusable options, targets or columns, and those of the run: a learning rate that is too
// large leads to losses that are not finite. O(passes · rows · weights) time; memory beside the
// table is 4 bytes a row and input, 24 a row, and some ten vectors of the weights.
func Train(t *table.Table, opts *Options, c *run.Control) (*Model, *optim.Result, error) {
	var o Options
	if err := learner.Complete(&o, opts); err != nil {
		return nil, nil, fmt.Errorf("resilient: %w", err)
	}
	loss, err := (&linear.Options{Loss: o.Loss, HuberDelta: o.HuberDelta}).LossFor(t)
	if err != nil {
		return nil, nil, err
	}
	d, err := boost.NewData(t, loss) // rows of weight 0 are left out
	if err != nil {
		return nil, nil, err
	}
	if c == nil {
		c = &run.Control{}
	}
	control := *c
	if control.Resume != nil || control.Checkpoint != nil {
		control.Problem = fmt.Sprintf("resilient data=%016x loss=%s %s", d.X.Fingerprint(d.Y, d.W),
			loss.Name(), learner.Settings(&o))
	}
	own := control.Stop.Iterations == 0 || control.Stop.Iterations >= o.Epochs
	if own {
		control.Stop.Iterations = o.Epochs
	}
	m := &Model{form: boost.SchemaOf(d.X), loss: loss, settings: learner.Settings(&o), rows: d.Rows()}
	trained, out := held(d.Rows(), o.Hold, o.Seed)
	if m.inputs, err = linear.Standardised(d.X, d.W, o.Raw, control.Workers); err != nil {
		return nil, nil, err
	}
	if m.net, err = nn.New(o.sizes(len(m.inputs), loss.Outputs())...); err != nil {
		return nil, nil, fmt.Errorf("resilient: hidden: %w", err)
	}
	if cells := float64(d.Rows()) * float64(len(m.inputs)); cells > mostCells {
		return nil, nil,
			fmt.Errorf("resilient: %s: %d rows of %d inputs are laid out in %.0f GB; package linear "+
				"stays sparse, and has the same relaxations", d.X.Title(), d.Rows(), len(m.inputs), 4e-9*cells)
	}
	rows := m.rowsOf(d, trained, learner.Amount(o.L2))
	h, method := o.relaxation()
	descent := resilient.Descent{Method: method, Rate: o.Rate, RateMultiplier: o.RateMultiplier,
		RateSlack: o.RateSlack, Batch: o.Batch, Seed: o.Seed, Drop: learner.Amount(o.Drop), Every: o.Every}
	switch o.Step {
	case "sgd":
		descent.Momentum = learner.Amount(o.Momentum)
	case "adagrad":
		descent.Step = optim.AdaGrad
	case "adam":
		descent.Step = optim.Adam
	}
	if out != nil {
		watched := New(m.rowsOf(d, out, 0), control.Workers)
		descent.Valid = func(x []float64) (float64, error) { return MeanLoss(watched, x) }
		if control.Stop.Patience == 0 {
			control.Stop.Patience = o.Patience
		}
	}
	var unseen []float64 // losses of rows by models that did not see them
	if o.Method == "auto" {
		var way *Way
		if way, unseen, err = o.choose(rows, descent, &control); err != nil {
			return nil, nil, err
		}
		h, method, descent.Method = way.H, way.Method, way.Method
		m.chosen = string(resilient.Plain)
		if method == resilient.Resilient {
			m.chosen = h.Name()
		}
	}
	r, found, err := descent.Minimize(New(rows, control.Workers), h, rows.start(o.Seed), &control)
	if r == nil {
		return nil, nil, err
	}
	if m.w = r.X; own && r.Reason == run.IterationLimit {
		r.Reason = AllPasses
	}
	if found != nil {
		m.residuals = found.Residuals
		show := func(i int) (string, string) { return d.X.At(trained[i]), d.X.Show(trained[i]) }
		switch {
		case unseen != nil:
			lambda := make([]float64, len(unseen))
			for i, l := range unseen {
				lambda[i] = h.At(nil, nil).Deriv(max(l, 0))
			}
			m.hard = resilient.NewDifficulty(h, unseen, lambda, show)
			m.hard.Folds = o.ChoiceFolds
		case method == resilient.Resilient:
			m.hard = resilient.NewDifficulty(h, found.Losses, found.Lambda, show)
		default:
			m.hard = resilient.ByLoss(o.Method, found.Losses, found.Lambda, show)
		}
	}
	return m, r, err
}

// choose returns the way that auto takes, and the losses of rows that its models did not see.
// Checkpoints of the run have both, so that a resumed one does not choose again.
func (o *Options) choose(rows *Rows, d resilient.Descent, c *run.Control) (*Way, []float64, error) {
	if o.Hold > 0 {
		return nil, nil, errors.New("resilient: hold: auto divides the rows itself; give --method to hold rows out")
	}
	ways := o.ways()
	best, own := 0, []float64(nil)
	if k := c.Resume; k != nil {
		best, own = int(k.Scalars["way"]), k.Arrays["own"]
		if best < 0 || best >= len(ways) || len(own) != len(rows.Y) {
			return nil, nil, fmt.Errorf("resilient: %w: it has no choice of a way", run.ErrOther)
		}
	} else {
		choice, err := Choose(c.Ctx, rows, ways, d, o.Epochs, o.ChoiceFolds, o.Seed, c.Workers)
		if err != nil {
			return nil, nil, err
		}
		best, own = choice.Best, choice.Losses[choice.Best]
	}
	if save := c.Checkpoint; save != nil {
		c.Checkpoint = func(k *run.Checkpoint) error {
			k.Scalars["way"], k.Arrays["own"] = float64(best), own
			return save(k)
		}
	}
	return &ways[best], own, nil
}

// sizes are those of the layers.
func (o *Options) sizes(inputs, outputs int) []int {
	sizes := []int{inputs}
	for _, h := range o.Hidden {
		if h > 0 || len(o.Hidden) > 1 {
			sizes = append(sizes, h)
		}
	}
	return append(sizes, outputs)
}

// rowsOf lays out the rows of those numbers.
func (m *Model) rowsOf(d *boost.Data, numbers []int, l2 float64) *Rows {
	r := &Rows{Net: m.net, Loss: m.loss, L2: l2, X: make([]float32, len(numbers)*len(m.inputs)),
		Y: make([]float64, len(numbers))}
	for k, i := range numbers {
		m.input(r.X[k*len(m.inputs):][:len(m.inputs)], d.X, i)
		r.Y[k] = d.Y[i]
	}
	if d.W != nil {
		r.W = make([]float64, len(numbers))
		total := 0.0
		for k, i := range numbers {
			r.W[k] = score.Weight(d.W, i)
			total += r.W[k]
		}
		for k := range r.W {
			r.W[k] *= float64(len(numbers)) / total
		}
	}
	return r
}
