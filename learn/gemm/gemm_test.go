package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/tropica-fst/tropica/fst/fsttest"
)

// product is one call, with strides of its own and room around the matrices.
type product[T Float] struct {
	tA, tB        blas.Transpose
	m, n, k       int
	alpha, beta   T
	a, b, c       []T
	lda, ldb, ldc int
}

func random[T Float](rng *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(rng.NormFloat64())
	}
	return x
}

func newProduct[T Float](rng *rand.Rand, tA, tB blas.Transpose, m, n, k int, alpha, beta T) *product[T] {
	p := &product[T]{tA: tA, tB: tB, m: m, n: n, k: k, alpha: alpha, beta: beta}
	ar, ac, br, bc := m, k, k, n
	if tA != blas.NoTrans {
		ar, ac = k, m
	}
	if tB != blas.NoTrans {
		br, bc = n, k
	}
	p.lda, p.ldb, p.ldc = max(1, ac)+rng.IntN(3), max(1, bc)+rng.IntN(3), max(1, n)+rng.IntN(3)
	p.a = random[T](rng, max(0, (ar-1)*p.lda+ac)) // no element more than is asked for
	p.b = random[T](rng, max(0, (br-1)*p.ldb+bc))
	p.c = random[T](rng, m*p.ldc+5) // what lies beyond must stay
	return p
}

// reference is gonum's answer in float64.
func (p *product[T]) reference() []T {
	wide := func(s []T) []float64 {
		w := make([]float64, len(s))
		for i, v := range s {
			w[i] = float64(v)
		}
		return w
	}
	c := wide(p.c)
	gonum.Implementation{}.Dgemm(p.tA, p.tB, p.m, p.n, p.k, float64(p.alpha), wide(p.a), p.lda, wide(p.b), p.ldb,
		float64(p.beta), c, p.ldc)
	want := make([]T, len(c))
	for i, v := range c {
		want[i] = T(v)
	}
	return want
}

func (p *product[T]) run(with *path[T], workers int) []T {
	c := slices.Clone(p.c)
	with.gemm(workers, p.tA != blas.NoTrans, p.tB != blas.NoTrans, p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b,
		p.ldb, p.beta, c, p.ldc)
	return c
}

// check compares with the reference, element by element, within the error of k
// roundings, and what is not of C exactly.
func (p *product[T]) check(with *path[T], workers int) error {
	got, want := p.run(with, workers), p.reference()
	eps := 2.3e-16
	if _, ok := any(T(0)).(float32); ok {
		eps = 1.2e-7
	}
	for i := range got {
		inside := p.n > 0 && i/p.ldc < p.m && i%p.ldc < p.n
		if !inside && got[i] != p.c[i] {
			return fmt.Errorf("c[%d], outside the matrix, became %v", i, got[i])
		}
		// |terms| are a few units each: the bound is generous by a factor of about ten
		if inside && !(math.Abs(float64(got[i]-want[i])) <= eps*(4+math.Abs(float64(p.alpha)))*float64(p.k+8)) {
			return fmt.Errorf("C[%d,%d] = %v, want %v", i/p.ldc, i%p.ldc, got[i], want[i])
		}
	}
	return nil
}

func (p *product[T]) String() string {
	return fmt.Sprintf("tA=%c tB=%c m=%d n=%d k=%d alpha=%v beta=%v lda=%d ldb=%d ldc=%d", p.tA, p.tB, p.m, p.n,
		p.k, p.alpha, p.beta, p.lda, p.ldb, p.ldc)
}

var transposes = []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans}

// Every path, every edge: all sizes up to two tiles and one, then sizes around
// the limits of blocks, with all transpositions, strides and scalars.
func TestAgainstGonum(t *testing.T) {
	t.Run("type=float32", testAgainstGonum[float32])
	t.Run("type=float64", testAgainstGonum[float64])
}

func testAgainstGonum[T Float](t *testing.T) {
	scalars := []T{0, 1, -1, 0.5}
	for _, p := range paths[T]() {
		t.Run("path="+p.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 1))
			one := func(m, n, k, workers int) {
				tA, tB := transposes[rng.IntN(3)], transposes[rng.IntN(3)]
				c := newProduct(rng, tA, tB, m, n, k, scalars[rng.IntN(4)], scalars[rng.IntN(4)])
				if err := c.check(p, workers); err != nil {
					t.Fatalf("%v: %v", c, err)
				}
			}
			// m and n to two tiles and one, k past the unrolled steps: every pair of
			// edges with several k, transposition and scalars drawn.
			draws := 3
			if testing.Short() { // with the race detector
				draws = 1
			}
			for m := range 2*p.mr + 2 {
				for n := range 2*p.nr() + 2 {
					for range draws {
						one(m, n, rng.IntN(20), 1)
					}
				}
			}
			for k := range 2*p.square + 20 {
				for range 7 * draws {
					one(rng.IntN(2*p.mr+2), rng.IntN(2*p.nr()+2), k, 1)
				}
			}
			// all transpositions with all scalars
			for _, tA := range transposes {
				for _, tB := range transposes {
					for _, alpha := range scalars {
						for _, beta := range scalars {
							for range 3 {
								c := newProduct(rng, tA, tB, rng.IntN(3*p.mr), rng.IntN(3*p.nr()), rng.IntN(40), alpha, beta)
								if err := c.check(p, 1); err != nil {
									t.Fatalf("%v: %v", c, err)
								}
							}
						}
					}
				}
			}
			// more than one block along each side
			for _, s := range [][3]int{{1, 1, 2*maxK + 3}, {3, 700, maxK + 1}, {2000, 5, maxK - 1}, {700, 3, 3},
				{67, 1500, 70}, {200, 190, 310}} {
				one(s[0], s[1], s[2], 1+rng.IntN(4))
				one(s[1], s[0], s[2], 1+rng.IntN(4))
			}
		})
	}
}

// C is overwritten, whatever it held, when beta is zero; A and B are not read
// when alpha is.
func TestNaN(t *testing.T) {
	t.Run("type=float32", testNaN[float32])
	t.Run("type=float64", testNaN[float64])
}

func testNaN[T Float](t *testing.T) {
	nan := T(math.NaN())
	for _, p := range paths[T]() {
		rng := rand.New(rand.NewPCG(2, 2))
		for _, s := range [][3]int{{1, 1, 1}, {p.mr, p.nr(), 9}, {2*p.mr + 1, 2*p.nr() + 3, maxK + 5}, {5, 7, 0}} {
			c := newProduct[T](rng, blas.NoTrans, blas.Trans, s[0], s[1], s[2], 1, 0)
			for i := range c.m {
				for j := range c.n {
					c.c[i*c.ldc+j] = nan
				}
			}
			for _, zero := range []T{0, T(math.Copysign(0, -1))} {
				c.beta = zero
				got := c.run(p, 1)
				clean := *c
				clean.c = make([]T, len(c.c))
				want := clean.run(p, 1)
				for i := range c.m {
					for j := range c.n {
						if at := i*c.ldc + j; got[at] != want[at] {
							t.Fatalf("%s: %v: C[%d,%d] = %v, want %v", p.name, c, i, j, got[at], want[at])
						}
					}
				}
			}
			c = newProduct[T](rng, blas.Trans, blas.NoTrans, s[0], s[1], s[2], 0, 0.5)
			want := c.reference() // gonum reads A even so
			for i := range c.a {
				c.a[i] = nan
			}
			if got := c.run(p, 1); !slices.Equal(got, want) {
				t.Fatalf("%s: %v: A is read although alpha is zero", p.name, c)
			}
			// and NaN that is asked for arrives
			c = newProduct[T](rng, blas.NoTrans, blas.NoTrans, s[0], s[1], s[2], 1, 1)
			if s[2] > 0 {
				c.b[0] = nan
				if got := c.run(p, 1)[0]; got == got {
					t.Fatalf("%s: %v: a NaN of B is lost: %v", p.name, c, got)
				}
			}
		}
	}
}

// The bits do not depend on the number of workers, nor those of a row or column
// on the others.
func TestWorkers(t *testing.T) {
	t.Run("type=float32", testWorkers[float32])
	t.Run("type=float64", testWorkers[float64])
}

func testWorkers[T Float](t *testing.T) {
	// the least sizes that nine workers take part in
	for _, p := range paths[T]() {
		rng := rand.New(rand.NewPCG(3, 3))
		for _, s := range [][3]int{{128, 97, 400}, {301, 299, 60}, {2, 4001, 600}, {4001, 2, 600}} {
			c := newProduct[T](rng, transposes[rng.IntN(2)], transposes[rng.IntN(2)], s[0], s[1], s[2], 0.5, 1)
			want := c.run(p, 1)
			for workers := 2; workers <= 9; workers++ {
				if testing.Short() && workers != 2 && workers != 9 {
					continue
				}
				if !slices.Equal(c.run(p, workers), want) {
					t.Fatalf("%s: %v: %d workers give other bits than one", p.name, c, workers)
				}
			}
			part := *c
			part.m, part.n = s[0]/2+1, s[1]/2+1
			half := part.run(p, 3)
			for i := range part.m {
				if !slices.Equal(half[i*c.ldc:][:part.n], want[i*c.ldc:][:part.n]) {
					t.Fatalf("%s: %v: row %d is another in a smaller product", p.name, c, i)
				}
			}
		}
	}
}

// Several goroutines may multiply at once.
func TestConcurrent(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	var wg sync.WaitGroup
	for range 6 {
		c := newProduct[float32](rng, blas.NoTrans, blas.Trans, 100+rng.IntN(100), 150, 200, 1, 0.5)
		wg.Go(func() {
			for range 20 {
				if err := c.check(best[float32](), 2); err != nil {
					t.Errorf("%v: %v", c, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// The grid covers C once, whatever the sizes and the number of workers.
func TestSplit(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 20000 {
		task := &task[float64]{path: best[float64](), m: 1 + rng.IntN(300), n: 1 + rng.IntN(300)}
		workers := 1 + rng.IntN(20)
		task.split(workers)
		if task.down*task.across > workers || task.down*task.height < task.m ||
			(task.down-1)*task.height >= task.m || task.across*task.breadth < task.n ||
			(task.across-1)*task.breadth >= task.n {
			t.Fatalf("%d×%d for %d workers: %d×%d cells of %d×%d", task.m, task.n, workers, task.down, task.across,
				task.height, task.breadth)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	if fsttest.RaceDetector {
		t.Skip("the race detector empties pools at random")
	}
	rng := rand.New(rand.NewPCG(5, 5))
	a, b, c := random[float32](rng, 200*300), random[float32](rng, 300*400), make([]float32, 200*400)
	if n := testing.AllocsPerRun(20, func() {
		Gemm(2, blas.NoTrans, blas.NoTrans, 200, 400, 300, 1, a, 300, b, 400, 0, c, 400)
	}); n >= 1 {
		t.Errorf("a product allocates %v times", n)
	}
}

// Wrong arguments panic with gonum's words.
func TestPanics(t *testing.T) {
	words := func(f func()) (s any) {
		defer func() { s = recover() }()
		f()
		return nil
	}
	rng := rand.New(rand.NewPCG(6, 6))
	panics := 0
	for range 5000 {
		draw := func() int { return rng.IntN(6) - 1 }
		m, n, k, lda, ldb, ldc := draw(), draw(), draw(), draw(), draw(), draw()
		a, b, c := make([]float64, rng.IntN(30)), make([]float64, rng.IntN(30)), make([]float64, rng.IntN(30))
		tA, tB := blas.Transpose(rng.IntN(2)*2+'N'), transposes[rng.IntN(3)]
		if rng.IntN(2) == 0 {
			tA = transposes[rng.IntN(3)]
		}
		call := func(by blas.Float64) any {
			return words(func() { by.Dgemm(tA, tB, m, n, k, 1, a, lda, b, ldb, 1, c, ldc) })
		}
		got, want := call(Implementation{}), call(gonum.Implementation{})
		if got != want {
			t.Fatalf("Dgemm(%c, %c, %d, %d, %d, lda %d of %d, ldb %d of %d, ldc %d of %d): %v, gonum says %v", tA, tB,
				m, n, k, lda, len(a), ldb, len(b), ldc, len(c), got, want)
		}
		if got != nil {
			panics++
		}
	}
	if panics == 0 || panics == 5000 {
		t.Errorf("%d of 5000 calls were wrong: nothing is tested", panics)
	}
}
