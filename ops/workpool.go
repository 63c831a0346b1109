package ops

import (
	"sync"
	"sync/atomic"
)

// workPool hands pieces of work to workers that have none left, the last first.
type workPool[T any] struct {
	workers int
	idle    atomic.Int32 // workers that wait for some
	mu      sync.Mutex
	more    sync.Cond
	pieces  []T
	stopped atomic.Bool
}

// newWorkPool returns a pool for as many workers, with these pieces.
func newWorkPool[T any](workers int, pieces ...T) *workPool[T] {
	p := &workPool[T]{workers: workers, pieces: pieces}
	p.more.L = &p.mu
	return p
}

// put gives away a piece, which the giver does not use any more.
func (p *workPool[T]) put(piece T) {
	p.mu.Lock()
	p.pieces = append(p.pieces, piece)
	p.mu.Unlock()
	p.more.Signal()
}

// stop makes take return false: a worker is gone that others would wait for.
func (p *workPool[T]) stop() {
	p.mu.Lock()
	p.stopped.Store(true)
	p.pieces = nil
	p.mu.Unlock()
	p.more.Broadcast()
}

// take returns a piece that somebody has put there, and false when all workers wait for one: whoever
// works may still put some.
func (p *workPool[T]) take() (piece T, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle.Add(1)
	for len(p.pieces) == 0 || p.stopped.Load() {
		if int(p.idle.Load()) >= p.workers || p.stopped.Load() {
			p.more.Broadcast()
			return piece, false
		}
		p.more.Wait()
	}
	p.idle.Add(-1)
	return p.last(), true
}

// tryTake is take by who has other things to wait for: it returns false when nothing is there.
func (p *workPool[T]) tryTake() (piece T, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pieces) == 0 {
		return piece, false
	}
	return p.last(), true
}

func (p *workPool[T]) last() T {
	last := len(p.pieces) - 1
	piece := p.pieces[last]
	var none T
	p.pieces[last] = none // and what it holds
	p.pieces = p.pieces[:last]
	return piece
}
