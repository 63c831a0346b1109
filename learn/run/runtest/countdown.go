// Package runtest helps to test what a context can end.
package runtest

import (
	"context"
	"sync"
)

// Countdown is a context that is cancelled when its error has been asked for a number of times.
type Countdown struct {
	context.Context
	cancel context.CancelFunc
	mu     sync.Mutex
	left   int
}

// NewCountdown returns a context whose error is asked for n times before it is cancelled.
func NewCountdown(n int) *Countdown {
	ctx, cancel := context.WithCancel(context.Background())
	return &Countdown{Context: ctx, cancel: cancel, left: n}
}

// Err implements context.Context.
func (c *Countdown) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left < 0 {
		c.cancel()
	}
	return c.Context.Err()
}
