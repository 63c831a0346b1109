package experiment

import "sync"

// counter counts completed fits. A trial has a largest number of fits. When it needed fewer,
// because both rules chose the same setting, the others count as done at its end.
type counter struct {
	mu              sync.Mutex
	done, all, goal int
	tell            func(done, all int, set, contestant string, trial int)
}

func newCounter(all int, tell func(done, all int, set, contestant string, trial int)) *counter {
	return &counter{all: all, tell: tell}
}

// begin returns what to call after each fit of a trial.
func (c *counter) begin(set, contestant string, trial, most int) func() {
	c.goal = c.done + most
	return func() {
		c.mu.Lock()
		c.done++
		done := c.done
		c.mu.Unlock()
		if c.tell != nil {
			c.tell(done, c.all, set, contestant, trial)
		}
	}
}

func (c *counter) end() { c.done = c.goal }

// skip counts fits that need not be made.
func (c *counter) skip(n int) { c.done += n }
