package gemm

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"gonum.org/v1/gonum/blas"
)

// Sizes of blocks. A panel of B (maxK rows of three vectors) stays near the first-level cache while
// a column of tiles reads it. A block of A and one of B stay in the second level. On an AVX-512
// server core (48 KB and 2 MB) other sizes were no better: blocks of 192 or 400 steps, and of half
// or twice the bytes, reach 0.9 to 1.02 of this speed (BenchmarkLayer).
const (
	maxK   = 256     // steps of k in a block
	bytesA = 1 << 18 // of a packed block of A
	bytesB = 1 << 19 // of a packed block of B
)

// Gemm stores alpha·op(A)·op(B) + beta·C in C, where op is the identity or the transposition. op(A)
// is m×k, op(B) k×n and C m×n, in rows of lda, ldb and ldc elements. C must share no memory with A
// or B. Up to workers goroutines take part (zero is GOMAXPROCS), and never more than the size of
// the product justifies. The result is the same, bit for bit, for any number of them.
//
// It panics as gonum's routine does on dimensions, strides and slices that do not
// fit. Cost: O(m·n·k) operations, and O(workers) blocks of at most 1 MB that are
// kept for the next call.
func Gemm[T Float](workers int, tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int,
	beta T, c []T, ldc int) {
	check(tA, tB, m, n, k, len(a), lda, len(b), ldb, len(c), ldc)
	best[T]().gemm(workers, tA != blas.NoTrans, tB != blas.NoTrans, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

func (p *path[T]) gemm(workers int, tA, tB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T,
	c []T, ldc int) {
	if m == 0 || n == 0 {
		return
	}
	if k == 0 || alpha == 0 {
		scale(m, n, beta, c, ldc)
		return
	}
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if least := float64(m) * float64(n) * float64(k) / perWorker; least < float64(workers) {
		workers = max(1, int(least))
	}
	t := takeTask[T]()
	t.path, t.tA, t.tB, t.m, t.n, t.k, t.alpha, t.beta = p, tA, tB, m, n, k, alpha, beta
	t.a, t.lda, t.b, t.ldb, t.c, t.ldc = a, lda, b, ldb, c, ldc
	t.split(workers)
	t.next.Store(0)
	helpers := min(workers, t.down*t.across) - 1
	t.done.Add(helpers)
	for range helpers {
		go t.help()
	}
	t.work()
	t.done.Wait()
	t.put()
}

// perWorker is the least number of multiplications worth a goroutine of its own:
// to start one and wait for it takes about 5 µs.
const perWorker = 1 << 19

// scale stores beta·C in C.
func scale[T Float](m, n int, beta T, c []T, ldc int) {
	if beta == 1 {
		return
	}
	for i := range m {
		row := c[i*ldc:][:n]
		if beta == 0 {
			clear(row)
			continue
		}
		for j := range row {
			row[j] *= beta
		}
	}
}

// task is one product on its way. Its jobs are the cells of a grid over C.
type task[T Float] struct {
	path            *path[T]
	tA, tB          bool
	m, n, k         int
	alpha, beta     T
	a, b, c         []T
	lda, ldb, ldc   int
	down, across    int // cells of the grid
	height, breadth int // of a cell
	next            atomic.Int64
	done            sync.WaitGroup
	help            func() // t.work and a Done, bound once: `go t.help()` then allocates nothing
}

// tasks and spaces keep what calls need, as a sync.Pool would, but not only until the next
// collection.
type stack[E any] struct {
	mu   sync.Mutex
	free []E
}

func (s *stack[E]) pop() (e E, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		e, s.free = s.free[n-1], s.free[:n-1]
		return e, true
	}
	return e, false
}

func (s *stack[E]) put(e E) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) < runtime.NumCPU() { // no more are in use at a time, but for callers who overdo it
		s.free = append(s.free, e)
	}
}

var (
	tasks32  stack[*task[float32]]
	tasks64  stack[*task[float64]]
	spaces32 stack[*space[float32]]
	spaces64 stack[*space[float64]]
)

func tasks[T Float]() *stack[*task[T]] {
	var s any
	switch any(T(0)).(type) {
	case float32:
		s = &tasks32
	case float64:
		s = &tasks64
	}
	return s.(*stack[*task[T]])
}

func spaces[T Float]() *stack[*space[T]] {
	var s any
	switch any(T(0)).(type) {
	case float32:
		s = &spaces32
	case float64:
		s = &spaces64
	}
	return s.(*stack[*space[T]])
}

func takeTask[T Float]() *task[T] {
	t, ok := tasks[T]().pop()
	if !ok {
		t = &task[T]{}
		t.help = func() {
			t.work()
			t.done.Done()
		}
	}
	return t
}

// put gives the task back, without the caller's matrices.
func (t *task[T]) put() {
	t.a, t.b, t.c = nil, nil, nil
	tasks[T]().put(t)
}

// split chooses the grid of up to workers cells, of whole tiles, whose largest cell costs least:
// the others wait for it. A cell packs its rows of A and its columns of B for itself. That is
// (height+breadth)·k copies for height·breadth·k multiplications; a copy counts as 16 of these.
func (t *task[T]) split(workers int) {
	rows := (t.m + t.path.mr - 1) / t.path.mr
	cols := (t.n + t.path.lanes - 1) / t.path.lanes
	least := math.Inf(1)
	for down := 1; down <= min(workers, rows); down++ {
		across := min(workers/down, cols)
		height := (rows + down - 1) / down * t.path.mr
		breadth := (cols + across - 1) / across * t.path.lanes
		h, w := float64(height), float64(breadth)
		if cost := h*w + 16*(h+w); cost < least {
			least = cost
			t.height, t.breadth = height, breadth
		}
	}
	t.down = (t.m + t.height - 1) / t.height
	t.across = (t.n + t.breadth - 1) / t.breadth
}

// work computes cells until there are no more.
func (t *task[T]) work() {
	var s *space[T]
	for {
		cell := int(t.next.Add(1)) - 1
		if cell >= t.down*t.across {
			break
		}
		if s == nil {
			s = takeSpace[T]()
		}
		i, j := cell/t.across*t.height, cell%t.across*t.breadth
		t.cell(s, i, min(t.m, i+t.height), j, min(t.n, j+t.breadth))
	}
	if s != nil {
		spaces[T]().put(s)
	}
}

// space is what a worker packs into.
type space[T Float] struct{ a, b, c []T }

func takeSpace[T Float]() *space[T] {
	if s, ok := spaces[T]().pop(); ok {
		return s
	}
	return &space[T]{}
}

func grown[T Float](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// directRows is the number of tiles of rows of C up to which B is read without packing. Packing
// pays when its rows are read more often. For m×1024×784 in float32, GFLOP/s packed and direct: 70
// and 107 at m=16, 90 and 121 at m=24.
const directRows = 4

// cell computes rows i0 to i1 and columns j0 to j1 of C.
func (t *task[T]) cell(s *space[T], i0, i1, j0, j1 int) {
	p := t.path
	mr, nr := p.mr, p.nr()
	size := int(unsafe.Sizeof(T(0)))
	// Equal blocks of k rather than full ones and a remainder, which would spend a
	// pass over C on little.
	blocks := (t.k + maxK - 1) / maxK
	kc := (t.k + blocks - 1) / blocks
	mc := max(mr, bytesA/size/kc/mr*mr)
	nc := max(nr, bytesB/size/kc/nr*nr)
	s.a = grown(s.a, kc*min(mc, (i1-i0+mr-1)/mr*mr))
	direct := !t.tB && i1-i0 <= directRows*mr
	if !direct {
		s.b = grown(s.b, kc*min(nc, (j1-j0+p.lanes-1)/p.lanes*p.lanes))
	}
	one := i1-i0 <= mc // a single block of A for each block of k: packed once
	for k0 := 0; k0 < t.k; k0 += kc {
		depth := min(kc, t.k-k0)
		beta := t.beta
		if k0 > 0 {
			beta = 1
		}
		for jb := j0; jb < j1; jb += nc {
			je := min(j1, jb+nc)
			whole := 0 // columns not packed
			if direct {
				whole = (je - jb) / p.lanes * p.lanes
				s.b = grown(s.b, kc*p.lanes)
			}
			var b []T
			if t.tB {
				b = p.pack(s.b, t.b[jb*t.ldb+k0:], t.ldb, je-jb, depth, nr, p.lanes, true)
			} else if jb+whole < je {
				b = p.pack(s.b, t.b[k0*t.ldb+jb+whole:], t.ldb, je-jb-whole, depth, nr, p.lanes, false)
			}
			for ib := i0; ib < i1; ib += mc {
				ie := min(i1, ib+mc)
				if !one || jb == j0 {
					if t.tA {
						p.pack(s.a, t.a[k0*t.lda+ib:], t.lda, ie-ib, depth, mr, mr, false)
					} else {
						p.pack(s.a, t.a[ib*t.lda+k0:], t.lda, ie-ib, depth, mr, mr, true)
					}
				}
				if whole > 0 {
					t.tiles(s.a, t.b[k0*t.ldb+jb:], true, ib, ie, jb, jb+whole, depth, beta)
				}
				if jb+whole < je {
					t.tiles(s.a, b, false, ib, ie, jb+whole, je, depth, beta)
				}
			}
		}
	}
}

// tiles computes a block of C from a packed block of A and a block of B, which is packed unless
// direct.
func (t *task[T]) tiles(a, b []T, direct bool, ib, ie, jb, je, depth int, beta T) {
	p := t.path
	mr, nr := p.mr, p.nr()
	for j := jb; j < je; j += nr {
		vectors := (min(nr, je-j) + p.lanes - 1) / p.lanes
		last := min(nr, je-j) - (vectors-1)*p.lanes
		tile, at, ldb := p.tile[vectors-1], (j-jb)*depth, vectors*p.lanes
		if direct {
			at, ldb = j-jb, t.ldb
		}
		for i := ib; i < ie; i += mr {
			tile(depth, &a[(i-ib)*depth], &b[at], &t.c[i*t.ldc+j], ldb, t.ldc, min(mr, ie-i), last, t.alpha, beta)
		}
	}
}
