//go:build !amd64

package align

func moveWords(*wordArgs)   { panic("losses: no vectors") }
func moveWords10(*laneArgs) { panic("losses: no vectors") }
func moveWords21(*laneArgs) { panic("losses: no vectors") }
func moveWords41(*laneArgs) { panic("losses: no vectors") }
func moveWords43(*laneArgs) { panic("losses: no vectors") }

func prefetchSlots(*uint64, int, *wordSlot, uint)    {}
func prefetchPairs(*movedPair, int, *pairSlot, uint) {}
