package gemm

// Float is what the kernels multiply.
type Float interface{ float32 | float64 }

// path is one way to compute tiles: a processor's, or Go's.
//
// A tile is mr rows by up to three vectors of lanes columns. tile[v-1] takes k columns of mr floats
// at a, and k rows of v vectors at b, ldb floats apart. It stores beta·C + alpha·a·b in the first
// rows rows of C. The last vector of C has last lanes; C is not read when beta is zero.
type path[T Float] struct {
	name      string
	mr, lanes int
	tile      [3]func(k int, a, b, c *T, ldb, ldc, rows, last int, alpha, beta T)
	// transpose stores dst[p*w+i] = src[i*ld+p] for i < square and p < k, k being
	// a multiple of square. It may be nil.
	transpose func(dst *T, w int, src *T, ld, k int)
	square    int
}

// nr is the width of a full tile.
func (p *path[T]) nr() int { return 3 * p.lanes }

// paths lists what this processor can do, the best first.
func paths[T Float]() []*path[T] {
	var list any
	switch any(T(0)).(type) {
	case float32:
		list = paths32
	case float64:
		list = paths64
	}
	return list.([]*path[T])
}

var (
	paths32 = append(processor32(), portable[float32]())
	paths64 = append(processor64(), portable[float64]())
)

// best is the path in use. Tests take the others.
func best[T Float]() *path[T] { return paths[T]()[0] }
