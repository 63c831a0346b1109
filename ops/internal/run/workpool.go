package run

import (
	"sync"
	"sync/atomic"
)

// WorkPool hands pieces of work to workers that have none left, the last first.
type WorkPool[T any] struct {
	Workers int
	Idle    atomic.Int32 // workers that wait for some
	mu      sync.Mutex
	more    sync.Cond
	pieces  []T
	Stopped atomic.Bool
}

// NewWorkPool returns a pool for as many workers, with these pieces.
func NewWorkPool[T any](workers int, pieces ...T) *WorkPool[T] {
	p := &WorkPool[T]{Workers: workers, pieces: pieces}
	p.more.L = &p.mu
	return p
}

// Put gives away a piece, which the giver does not use any more.
func (p *WorkPool[T]) Put(piece T) {
	p.mu.Lock()
	p.pieces = append(p.pieces, piece)
	p.mu.Unlock()
	p.more.Signal()
}

// Stop makes take return false: a worker is gone that others would wait for.
func (p *WorkPool[T]) Stop() {
	p.mu.Lock()
	p.Stopped.Store(true)
	p.pieces = nil
	p.mu.Unlock()
	p.more.Broadcast()
}

// Take returns a piece that a worker has put there, and false when all workers wait for one:
// whoever works may still put some.
func (p *WorkPool[T]) Take() (piece T, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Idle.Add(1)
	for len(p.pieces) == 0 || p.Stopped.Load() {
		if int(p.Idle.Load()) >= p.Workers || p.Stopped.Load() {
			p.more.Broadcast()
			return piece, false
		}
		p.more.Wait()
	}
	p.Idle.Add(-1)
	return p.last(), true
}

// TryTake is take by who has other things to wait for: it returns false when nothing is there.
func (p *WorkPool[T]) TryTake() (piece T, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pieces) == 0 {
		return piece, false
	}
	return p.last(), true
}

func (p *WorkPool[T]) last() T {
	last := len(p.pieces) - 1
	piece := p.pieces[last]
	var none T
	p.pieces[last] = none // and what it holds
	p.pieces = p.pieces[:last]
	return piece
}
