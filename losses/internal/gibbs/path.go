package gibbs

// The kernels there are.
const (
	isaGo     = iota
	isaSliced // Go too, of unit costs
	isaAVX2
	isaAVX512
)
