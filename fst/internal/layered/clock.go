package layered

import "context"

// clock counts the steps of a layout, and looks at its context as they go by.
type clock struct {
	ctx  context.Context
	work int
	next int   // steps at which to look again
	err  error // the context's, once it has ended
}

// spend counts steps, and reports whether the layout is to go on. Where it is not, what is under way
// returns, whatever it has: Lay throws it away.
func (c *clock) spend(steps int) bool {
	c.work += steps
	if c.ctx != nil && c.work >= c.next && c.err == nil {
		c.next = c.work + 1<<15
		c.err = c.ctx.Err()
	}
	return c.err == nil
}
