package gemm

import "unsafe"

// portable is the path for processors without assembly: tiles of 4 by up to 12,
// taken 4 by 4 so that the sums stay in registers.
func portable[T Float]() *path[T] {
	p := &path[T]{name: "Go", mr: 4, lanes: 4}
	for v := range p.tile {
		width := (v + 1) * p.lanes
		p.tile[v] = func(k int, a, b, c *T, ldb, ldc, rows, last int, alpha, beta T) {
			as, bs := unsafe.Slice(a, 4*k), unsafe.Slice(b, (k-1)*ldb+width)
			for j := 0; j < width; j += 4 {
				n := 4
				if j+4 == width {
					n = last
				}
				tile4x4(as, bs[j:], ldb, unsafe.Slice(c, (rows-1)*ldc+j+n)[j:], ldc, rows, n, alpha, beta)
			}
		}
	}
	return p
}

// tile4x4 stores beta·C + alpha·a·b in rows by n of C, where the rows of b are ldb apart.
func tile4x4[T Float](a, b []T, ldb int, c []T, ldc, rows, n int, alpha, beta T) {
	var sum [4][4]T
	// Two rows at a time: eight sums and six operands fit sixteen registers.
	for i := 0; i < min(rows, 4); i += 2 {
		var c00, c01, c02, c03, c10, c11, c12, c13 T
		for p, q := 0, 0; p+4 <= len(a); p, q = p+4, q+ldb {
			x0, x1 := a[p+i], a[p+i+1]
			y := b[q:][:4:4]
			c00 += x0 * y[0]
			c01 += x0 * y[1]
			c02 += x0 * y[2]
			c03 += x0 * y[3]
			c10 += x1 * y[0]
			c11 += x1 * y[1]
			c12 += x1 * y[2]
			c13 += x1 * y[3]
		}
		sum[i] = [4]T{c00, c01, c02, c03}
		sum[i+1] = [4]T{c10, c11, c12, c13}
	}
	for i := range rows {
		finish(c[i*ldc:][:n], sum[i][:n], alpha, beta)
	}
}

// finish stores beta·row + alpha·sum in a row of C.
func finish[T Float](row, sum []T, alpha, beta T) {
	if beta == 0 {
		for j, v := range sum {
			row[j] = alpha * v
		}
		return
	}
	for j, v := range sum {
		row[j] = beta*row[j] + alpha*v
	}
}
