package gibbs

// The kernels there are.
const (
	isaGo     = iota
	isaSliced // Go too, where Units.slices
	isaAVX2
	isaAVX512
)
