package tree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomBlock makes codes below stride, every third row's word equal to the row
// before it, so that additions to one cell follow each other.
func randomBlock(rng *rand.Rand, rows, stride int) []uint64 {
	codes := make([]uint64, rows)
	for i := range codes {
		if i%3 == 2 {
			codes[i] = codes[i-1]
			continue
		}
		for k := range blockColumns {
			codes[i] |= uint64(rng.IntN(stride)) << (8 * k)
		}
	}
	return codes
}

func randomRows(rng *rand.Rand, rows, n int) []int32 {
	out := make([]int32, 0, n)
	for i := range rows {
		if rng.IntN(rows-i) < n-len(out) {
			out = append(out, int32(i))
		}
	}
	return out
}

func TestAddBlockAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, stride := range []int{4, 16, 64, 128, 256} {
		for _, n := range []int{1, 2, 15, 16, 17, 18, 33, 500} {
			codes := randomBlock(rng, 1000, stride)
			step := 1 + rng.IntN(8)
			spread, bytes := make([]uint64, step*1000), make([][]uint8, blockColumns)
			for i, w := range codes {
				spread[step*i] = w
				for j := range blockColumns {
					bytes[j] = append(bytes[j], uint8(w>>(8*j)))
				}
			}
			cells := make([]Cell, n)
			for i := range cells {
				cells[i] = Cell{rng.Int64() - rng.Int64(), rng.Int64N(1 << 40)}
			}
			for _, rows := range [][]int32{randomRows(rng, 1000, n), nil} {
				want := make([]Cell, blockColumns*stride)
				for k, c := range cells {
					i := k
					if rows != nil {
						i = int(rows[k])
					}
					for j := range blockColumns {
						at := j*stride + int(codes[i]>>(8*j)&255)
						want[at] = Cell{want[at].G + c.G, want[at].H + c.H}
					}
				}
				for columns := 1; columns <= blockColumns; columns++ {
					fast, plain := make([]Cell, len(want)), make([]Cell, len(want))
					addBlock(fast, stride, columns, spread, step, rows, cells)
					addBlockGo(plain, stride, columns, spread, step, rows, cells)
					if k := columns * stride; !slices.Equal(fast[:k], want[:k]) || !slices.Equal(plain[:k], want[:k]) {
						t.Fatalf("stride %d, %d columns, %d cells, rows given: %v: wrong sums", stride, columns, n, rows != nil)
					}
				}
				for j := range blockColumns {
					one := make([]Cell, stride)
					addColumn(one, bytes[j], rows, cells)
					if !slices.Equal(one, want[j*stride:(j+1)*stride]) {
						t.Fatalf("stride %d, %d cells, column %d: wrong sums", stride, n, j)
					}
				}
			}
		}
	}
}

func TestSubtractAndOccupied(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for _, n := range []int{1, 4, 8, 16, 64, 100, 128, 256} {
		for range 20 {
			a, b := make([]Cell, n), make([]Cell, n)
			var want [4]uint64
			for i := range a {
				if a[i].G = rng.Int64() - rng.Int64(); rng.IntN(2) == 0 {
					a[i].H = 1 + rng.Int64N(1<<61)>>rng.IntN(60)
					want[i/64] |= 1 << (i % 64)
				}
				b[i] = Cell{rng.Int64(), rng.Int64()}
			}
			fast, plain := [4]uint64{1, 2, 3, 4}, [4]uint64{1, 2, 3, 4}
			occupied(&fast, a)
			occupiedGo(&plain, a)
			if fast != want || plain != want {
				t.Fatalf("%d cells: occupied are %x and %x, want %x", n, fast, plain, want)
			}
			less, lessGo := slices.Clone(a), slices.Clone(a)
			subtract(less, b)
			subtractGo(lessGo, b)
			for i := range a {
				if d := a[i].minus(b[i]); less[i] != d || lessGo[i] != d {
					t.Fatalf("%d cells, cell %d: %v and %v, want %v", n, i, less[i], lessGo[i], d)
				}
			}
		}
	}
}

func BenchmarkHistogram(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	const rows = 1 << 20
	codes := randomBlock(rng, rows, 256)
	hist := make([]Cell, blockColumns*256)
	cells := make([]Cell, rows)
	for _, share := range []int{1, 2, 16} {
		list := randomRows(rng, rows, rows/share)
		if share == 1 {
			list = nil
		}
		for _, kernel := range []struct {
			name string
			run  func([]Cell, int, int, []uint64, int, []int32, []Cell)
		}{{"go", addBlockGo}, {"chosen", addBlock}} {
			b.Run(fmt.Sprintf("rows=1of%d/kernel=%s", share, kernel.name), func(b *testing.B) {
				for b.Loop() {
					kernel.run(hist, 256, 8, codes, 1, list, cells[:rows/share])
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(
					rows/share*blockColumns), "ns/code")
			})
		}
	}
}
