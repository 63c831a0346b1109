package boost

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// What a run does whose options leave the number of rounds open.
const (
	// MostRounds is the largest number of rounds that a run chooses.
	MostRounds = 1000
	// OpenPatience is run.Stop.Patience of such a run where that is 0.
	OpenPatience = 50

	heldFolds   = 5    // of the rows, one is held out at a time
	heldRows    = 2000 // hold out folds until they have this many rows
	fewestRows  = 20   // fewer rows are no measure of anything
	roundsOfFew = 100  // which such a table gets
)

// begin starts a booster on rows, with validation rows or nil; an open number of rounds is
// MostRounds.
type begin func(d, valid *Data, c *run.Control) (*training, error)

// settingsFor returns a copy of the settings that o points to, nil for none, for rows that are
// there.
func settingsFor[O any](name string, d *Data, o *O) (*O, error) {
	var settings O
	if o != nil {
		settings = *o
	}
	if d == nil || d.X == nil {
		return nil, fmt.Errorf("boost: %s: %w: no rows", name, ErrData)
	}
	return &settings, nil
}

// trainRounds makes the rounds of a run on rows that were checked. Where their number is 0 it
// is chosen first; start then makes runs of an open number.
func trainRounds(name string, d, valid *Data, rounds *int, seed uint64, control *run.Control,
	start begin) (*Ensemble, *optim.Result, error) {
	var c run.Control
	if control != nil {
		c = *control
	}
	chosen, choosing := *rounds == 0 && valid == nil, 0.0
	if *rounds == 0 {
		begin, resumed := time.Now(), c.Resume != nil
		var err error
		if *rounds, c, err = openRounds(d, valid, seed, c, start); err != nil {
			return nil, nil, err
		}
		if chosen && d.Rows() >= fewestRows && !(resumed && c.Resume != nil) {
			choosing = time.Since(begin).Seconds()
		}
	}
	b, err := start(d, valid, &c)
	if err != nil {
		return nil, nil, unbegun(name, &c, err)
	}
	e, r, err := b.rounds()
	e.Run.Chosen, e.Run.Choosing = chosen, choosing
	return e, r, err
}

// openRounds returns the number of rounds for a run whose options leave it open, and the control
// that the run then has.
//
// With validation rows the run itself stops by them. Otherwise the number is that of the least mean
// loss on held-out rows. The rows are divided in five. One part after the other is held out of a
// run of its own, until 2,000 rows have been held out. These runs advance together until Patience
// rounds bring no lower loss. The model is then trained on all rows. A small table therefore holds
// out every row once, a large one a fifth of them. So does a sparse table, whose bins would
// otherwise be in memory five times.
func openRounds(d, validation *Data, seed uint64, c run.Control, start begin) (int, run.Control, error) {
	if c.Stop.Patience == 0 {
		c.Stop.Patience = OpenPatience
	}
	if validation != nil {
		return MostRounds, c, nil
	}
	if k := c.Resume; k != nil && slices.Contains(strings.Fields(k.Problem), dataWord(d)) {
		return int(k.Scalars[partRounds]), c, nil // they were chosen before it was written
	}
	if d.Rows() < fewestRows {
		return roundsOfFew, c, nil
	}
	single := d.Rows() >= heldFolds*heldRows || d.X.Sparse != nil
	if c.Resume != nil && !single {
		return MostRounds, c, nil // a checkpoint of other rows, which is refused beside them
	}
	fold := d.folds(heldFolds, seed)
	var runs []*training
	held := 0
	for k := 0; k < heldFolds && held < heldRows && !(single && k > 0); k++ {
		train, valid := d.divide(func(i int) bool { return fold[i] == k })
		held += valid.Rows()
		own := run.Control{Ctx: c.Ctx, Workers: c.Workers}
		if single {
			// A single long run: it stops by itself, and can be taken up again.
			own.Stop.Patience, own.Checkpoint, own.CheckpointEvery, own.Resume = c.Stop.Patience, c.Checkpoint,
				c.CheckpointEvery, c.Resume
		}
		b, err := start(train, valid, &own)
		if err != nil {
			if errors.Is(err, run.ErrOther) {
				return MostRounds, c, nil
			}
			return 0, c, err
		}
		runs = append(runs, b)
	}
	c.Resume = nil
	n, err := leastHeldOut(runs, &c)
	return max(n, 1), c, err
}

// leastHeldOut makes the rounds of all runs side by side and returns the number of rounds with
// the least mean validation loss. Control.Live watches them.
func leastHeldOut(runs []*training, c *run.Control) (int, error) {
	loss, weight, total := make([]float64, len(runs)), make([]float64, len(runs)), 0.0
	mean := func() float64 {
		sum := 0.0
		for k, w := range weight {
			sum += w * loss[k]
		}
		return sum / total
	}
	round := 0
	for k, b := range runs {
		loss[k], weight[k] = b.Best.Loss, b.held.total()
		total += weight[k]
		round = max(round, b.Steps())
	}
	best, at := mean(), round-runs[0].Best.Waited // a run that was taken up has waited
	for open := true; open && round < MostRounds && round-at < c.Stop.Patience; {
		open = false
		round++
		for k, b := range runs {
			stop, err := optim.DescendOnce(b.Run, b)
			if err != nil {
				return at, err
			}
			if n := len(b.history); n > 0 { // the loss of a run that is over stays what it is
				loss[k] = b.history[n-1].Valid
			}
			open = open || stop == ""
		}
		if v := mean(); v < best {
			best, at = v, round
		}
		if c.Live != nil {
			p := &Progress{Round: round, Of: MostRounds, Trial: true, Loss: math.NaN(), Objective: math.NaN(),
				Valid: mean(), Derivative: math.NaN(), Family: -1, Seconds: runs[0].Seconds()}
			if err := c.Live.Record(run.Row{Iteration: round, Seconds: p.Seconds, Detail: p}); err != nil {
				return at, err
			}
		}
	}
	return at, nil
}

// folds deals the rows into the given number of parts, each with its share of every class, or of
// large and small targets.
func (d *Data) folds(n int, seed uint64) []int {
	rng := rand.New(rand.NewPCG(seed, 0x666f6c6473))
	order := rng.Perm(d.Rows())
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(d.Y[a], d.Y[b]) })
	fold := make([]int, d.Rows())
	for from := 0; from < len(order); from += n {
		// n neighbours go to n folds, in an order of their own: no fold gets the larger ones.
		to := rng.Perm(n)
		for k, i := range order[from:min(from+n, len(order))] {
			fold[i] = to[k]
		}
	}
	return fold
}

// divide returns the rows that are not held out, and those that are.
func (d *Data) divide(held func(int) bool) (train, valid *Data) {
	var rows [2][]int
	for i := range d.Rows() {
		k := 0
		if held(i) {
			k = 1
		}
		rows[k] = append(rows[k], i)
	}
	return d.Subset(rows[0]), d.Subset(rows[1])
}
