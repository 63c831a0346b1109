package ops

import (
	"sync/atomic"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// composeChunk is a run of states of a composition whose arcs are made by one worker,
// and numbered afterwards.
type composeChunk[W semiring.Weight[W]] struct {
	first, n int
	tuples   []uint64 // the table's, as far as it was known
	finals   []W
	ends     []int // of each state's arcs; where there are fewer, the rest is for the one that numbers
	arcs     []fst.Arc[W]
	keys     []uint64
	whole    bool          // false where filling it came to a panic, or to nothing after another's
	done     chan struct{} // holds one when the rest may be read
}

// Sizes of running ahead. Chunks are large enough to make a hand-over cheap. They are few enough
// for their arcs to stay in a cache until they are numbered.
const (
	composeChunkStates = 256
	composeAhead       = 8    // chunks for each worker
	composeAlone       = 4096 // states that one worker makes first
	composeChunkArcs   = 1 << 16
)

// shareable reports whether f may be read by several goroutines at once.
func shareable[W semiring.Weight[W]](f fst.Fst[W]) bool {
	switch f.(type) {
	case *fst.Vector[W], *fst.Const[W]:
		return true
	}
	return false
}

// ahead returns a composer that expands states for c, whose table it does not touch.
// Of the limits it knows enough to stop early: the one that numbers the states
// has the say.
func (c *Composer[W]) ahead() *Composer[W] {
	return &Composer[W]{
		a: c.a.again(), b: c.b.again(),
		filter: c.filter, match: c.match, zero: c.zero, later: true,
		meter: Limits(c.meter.Lim).meter(c.meter.Op),
	}
}

// fill makes the arcs of k's states, without the numbers of the states they lead to. It ends at a
// state that fails, or with which there are very many.
func (c *Composer[W]) fill(k *composeChunk[W]) {
	c.table.Keys, c.keys = k.tuples, k.keys[:0]
	k.finals, k.ends, k.arcs, k.whole = k.finals[:0], k.ends[:0], k.arcs[:0], false
	var block [composeBlock]pairOf[W]
	defer func() {
		k.keys = c.keys
		k.done <- struct{}{}
	}()
	for len(k.ends) < k.n {
		n := min(len(block), k.n-len(k.ends))
		c.read(fst.StateID(k.first+len(k.ends)), block[:n])
		for i := range n {
			arcs, err := c.expand(&block[i], k.arcs, nil)
			if err != nil {
				c.keys, k.whole = c.keys[:len(k.arcs)], true
				return
			}
			k.arcs = arcs
			k.ends = append(k.ends, len(k.arcs))
			k.finals = append(k.finals, block[i].final)
			if len(arcs) >= composeChunkArcs {
				k.whole = true
				return
			}
		}
	}
	k.whole = true
}

// runAhead continues run from state q on with w workers. All workers make arcs of states that have
// their numbers. The caller numbers what they make in the order of the states, and the result
// depends on this order only. While the next chunk in order is missing, the caller expands chunks
// itself. Where a chunk is incomplete, because a state failed or has too many arcs to hold, it
// makes the rest in order. So an error is the one that a single worker meets.
//
// Numbering is half of the whole, so that a third worker finds little to do.
func (c *Composer[W]) runAhead(out *run.StateBuffer[W], q, w int) (err error) {
	tasks := make(chan *composeChunk[W], w*composeAhead)
	var stopped atomic.Bool
	run.Together(w, func() { stopped.Store(true) }, func(worker int) {
		h := c.ahead()
		if worker == 0 {
			defer func() {
				stopped.Store(true)
				close(tasks)
			}()
			err = c.numberAhead(out, q, w, tasks, h)
			return
		}
		for k := range tasks {
			if stopped.Load() {
				k.whole = false
				k.done <- struct{}{}
				continue
			}
			h.fill(k)
		}
	})
	return err
}

// numberAhead is what the one that called does for runAhead, where own expands chunks.
func (c *Composer[W]) numberAhead(out *run.StateBuffer[W], q, w int, tasks chan *composeChunk[W],
	own *Composer[W]) error {
	ring := make([]composeChunk[W], w*composeAhead)
	for i := range ring {
		ring[i].done = make(chan struct{}, 1)
	}
	issued, taken := 0, 0
	for q < c.table.Len() || taken < issued {
		// Less than a whole chunk waits for what the chunks under way will find.
		states := min(composeChunkStates, int(composeChunkArcs/(2*(c.built/int64(q)+1)))+1)
		for q < c.table.Len() && issued-taken < len(ring) && (c.table.Len()-q >= states || issued == taken) {
			k := &ring[issued%len(ring)]
			k.first, k.n, k.tuples = q, min(states, c.table.Len()-q), c.table.Keys
			q += k.n
			issued++
			tasks <- k
		}
		k := &ring[taken%len(ring)]
		for waiting := true; waiting; {
			select {
			case <-k.done:
				waiting = false
			default:
				select {
				case <-k.done:
					waiting = false
				case t := <-tasks:
					own.fill(t)
				}
			}
		}
		taken++
		if !k.whole {
			return nil // the panic comes when all have ended
		}
		c.keys = k.keys
		c.number(k.arcs)
		out.PushAll(k.finals, k.ends, k.arcs)
		c.built += int64(len(k.arcs))
		if err := c.check(0); err != nil {
			return err
		}
		for lo := k.first + len(k.ends); lo < k.first+k.n; {
			n, err := c.step(out, lo, min(composeBlock, k.first+k.n-lo))
			if err != nil {
				return err
			}
			lo += n
		}
	}
	return nil
}
