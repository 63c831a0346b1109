package gemm

import "unsafe"

// portable is the path for processors without assembly. Its tiles are 4 by up to 12, computed 4 by
// 4 so that the sums stay in registers.
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
	k := len(a) / 4
	_ = b[(k-1)*ldb+3] // what the loop reads
	row := uintptr(ldb) * unsafe.Sizeof(T(0))
	var sum [4][4]T
	// Two rows at a time: eight sums and six operands fit sixteen registers.
	for i := 0; i < min(rows, 4); i += 2 {
		var c00, c01, c02, c03, c10, c11, c12, c13 T
		// Offsets instead of slices: with their bounds checks the loop runs at half
		// the rate.
		pa, pb := unsafe.Pointer(&a[i]), unsafe.Pointer(&b[0])
		var oa, ob uintptr
		for range k {
			x, y := (*[2]T)(unsafe.Add(pa, oa)), (*[4]T)(unsafe.Add(pb, ob))
			oa += 4 * unsafe.Sizeof(T(0))
			ob += row
			c00 += x[0] * y[0]
			c10 += x[1] * y[0]
			c01 += x[0] * y[1]
			c11 += x[1] * y[1]
			c02 += x[0] * y[2]
			c12 += x[1] * y[2]
			c03 += x[0] * y[3]
			c13 += x[1] * y[3]
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
