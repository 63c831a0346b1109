package gibbs

// The kernels there are.
const (
	isaGo = iota
	isaAVX2
	isaAVX512
)
