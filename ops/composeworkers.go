package ops

import (
	"sync"
	"sync/atomic"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// composeChunk is a run of states of a composition whose arcs are made by one worker,
// and numbered afterwards.
type composeChunk[W semiring.Weight[W]] struct {
	first, n int
	tuples   []uint64 // the table's, as far as it was known
	finals   []W
	ends     []int // of each state's arcs
	arcs     []fst.Arc[W]
	keys     []uint64
	failed   bool
	done     chan struct{} // holds one when the rest may be read
}

// What runs ahead: chunks are large enough for a hand-over to cost little, and few
// enough for their arcs to stay in a cache until they are numbered.
const (
	composeChunkStates = 256
	composeAhead       = 8    // chunks for each worker
	composeAlone       = 4096 // states that one worker makes first
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
		a: newSide(c.a.f, outputLabels), b: newSide(c.b.f, inputLabels),
		filter: c.filter, match: c.match, zero: c.zero,
		meter: meter{op: c.meter.op, lim: c.meter.lim},
	}
}

// fill makes the arcs of k's states, without the numbers of the states they lead to.
func (c *Composer[W]) fill(k *composeChunk[W]) {
	c.table.keys, c.keys = k.tuples, k.keys[:0]
	k.finals, k.ends, k.arcs, k.failed = k.finals[:0], k.ends[:0], k.arcs[:0], false
	var block [composeBlock]pairOf[W]
	var err error
	for done := 0; done < k.n && !k.failed; {
		n := min(len(block), k.n-done)
		c.read(fst.StateID(k.first+done), block[:n])
		for i := range n {
			if k.arcs, err = c.expand(&block[i], k.arcs, nil); err != nil {
				k.failed = true
				break
			}
			k.ends = append(k.ends, len(k.arcs))
			k.finals = append(k.finals, block[i].final)
		}
		done += n
	}
	k.keys = c.keys
	k.done <- struct{}{}
}

// runAhead does the rest of run, from state q on, with w workers: all make arcs of states
// that have their numbers, and the one that called numbers what they make in the order of
// the states, which is all that the result depends on. It expands chunks itself as long
// as the next in order is not there. A chunk that failed is made again in order, so
// that the error is the one that a single worker meets.
//
// Numbering is half of the whole, so that a third worker finds little to do.
func (c *Composer[W]) runAhead(out *stateBuffer[W], q, w int) error {
	tasks := make(chan *composeChunk[W], w*composeAhead)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range w - 1 {
		h := c.ahead()
		wg.Go(func() {
			for k := range tasks {
				if !stop.Load() {
					h.fill(k)
				}
			}
		})
	}
	defer func() {
		stop.Store(true)
		close(tasks)
		wg.Wait()
	}()
	own := c.ahead()
	ring := make([]composeChunk[W], w*composeAhead)
	for i := range ring {
		ring[i].done = make(chan struct{}, 1)
	}
	issued, taken := 0, 0
	for q < c.table.len() || taken < issued {
		// Less than a whole chunk waits for what the chunks under way will find.
		for q < c.table.len() && issued-taken < len(ring) && (c.table.len()-q >= composeChunkStates || issued == taken) {
			k := &ring[issued%len(ring)]
			k.first, k.n, k.tuples = q, min(composeChunkStates, c.table.len()-q), c.table.keys
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
		if k.failed {
			for lo := k.first; lo < k.first+k.n; {
				n := min(composeBlock, k.first+k.n-lo)
				if err := c.step(out, lo, n); err != nil {
					return err
				}
				lo += n
			}
			continue
		}
		c.keys = k.keys
		c.number(k.arcs)
		begin := 0
		for i, end := range k.ends {
			out.push(k.finals[i], k.arcs[begin:end])
			begin = end
		}
		c.built += int64(len(k.arcs))
		if err := c.check(0); err != nil {
			return err
		}
	}
	return nil
}
