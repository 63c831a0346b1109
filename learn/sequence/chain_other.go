//go:build !amd64 || purego

package sequence

func useRows(int) bool { return false }

func (c *chain) expRowsFast(int) (tops, spread float64) { panic("not reached") }
func (c *chain) forwardFast(int)                        { panic("not reached") }
func (c *chain) backwardFast(int, []float64, *pairSums) { panic("not reached") }
