package gibbs

import "unsafe"

// The kernels in Go define those in assembly, bit by bit.

func span(at *cells, before, n int) []cells {
	return unsafe.Slice((*cells)(unsafe.Add(unsafe.Pointer(at), -before*Lanes)), before+n)
}

// add is a saturating sum.
func add(a, b int8) int8 { return int8(min(int(a)+int(b), far)) }

// sum is add of two cells that may both be negative.
func sum(a, b int8) int8 { return int8(max(-far-1, min(int(a)+int(b), far))) }

func scanGo(a *scanArgs) {
	for i := range a.x {
		for c := range Lanes {
			a.x[i][c] = far
		}
	}
	f := span(a.f, 1, a.n)               // f[0] is F[from-1]
	g := span(a.g, a.n+a.tail, 1+a.head) // G falls with j
	at := a.n + a.tail                   // of from
	code := unsafe.Slice(a.code, a.n+a.tail)
	var m0 cells
	for c := range m0 {
		m0[c] = far
	}
	if a.head > 0 {
		for c := range m0 {
			m0[c] = sum(f[0][c], g[at+1][c])
		}
	}
	for i := range a.n + a.tail {
		x, gj := &a.x[code[i]], &g[at-i]
		for c := range x {
			x[c] = min(x[c], sum(f[i][c], gj[c]))
		}
		if i < a.n {
			for c := range x {
				m0[c] = min(m0[c], sum(f[i+1][c], gj[c]))
			}
		}
	}
	low := a.x[dummy]
	for k := range a.labels {
		for c := range low {
			low[c] = min(low[c], a.x[k][c])
		}
	}
	for c := range low {
		m0[c] = min(sum(m0[c], int8(a.del)), sum(low[c], int8(a.sub)))
	}
	for k := range a.labels {
		for c, base := range m0 {
			a.save[k][c] = uint8(int(base) - int(min(base, a.x[k][c])))
		}
	}
}

func stepGo(a *stepArgs) {
	f := span(a.f, 1, a.cells)
	n := span(a.n, 0, a.cells)
	code := unsafe.Slice(a.code, a.cells)
	var last cells
	for c := range last {
		last[c] = far
	}
	sub, ins, del := int8(a.sub), int8(a.ins), int8(a.del)
	for j := range n {
		y, p, q, to := code[j], &f[j], &f[j+1], &n[j]
		for c := range last {
			x := p[c]
			if a.k[c] != y {
				x = add(x, sub)
			}
			x = min(x, add(q[c], del), add(last[c], ins))
			last[c] = x
			to[c] = x
		}
	}
}

func lessGo(at *cells, o *cells, n int) {
	row := span(at, 0, n)
	for j := range row {
		for c, x := range o {
			row[j][c] = int8(max(-far-1, min(far, int(row[j][c])-int(x))))
		}
	}
}

func meetGo(f, g *cells, n int, low *cells) {
	fs, gs := span(f, 0, n), span(g, n-1, 1)
	for c := range low {
		low[c] = far
	}
	for j := range fs {
		x, y := &fs[j], &gs[n-1-j]
		for c := range low {
			low[c] = min(low[c], sum(x[c], y[c]))
		}
	}
}

// next is xoshiro128+.
func next(r *[4][Lanes]uint32, k int) uint32 {
	x := r[0][k] + r[3][k]
	z := r[1][k] << 9
	r[2][k] ^= r[0][k]
	r[3][k] ^= r[1][k]
	r[1][k] ^= r[2][k]
	r[0][k] ^= r[3][k]
	r[2][k] ^= z
	r[3][k] = r[3][k]<<11 | r[3][k]>>21
	return x
}

// siteGo draws a site: chain 16L+4g+i has number 16g+4L+i, so that in-lane shuffles sort chains.
func siteGo(a *siteArgs) {
	r := a.labels / 4
	for c := range Lanes {
		x := next(a.random, c>>2&3<<4|c>>4<<2|c&3)
		left, right := a.left[c], a.right[c]
		var p [most]float32
		z := float32(0)
		for k := range a.labels {
			// Conversions round: no processor may fuse these with the sum.
			v := float32(a.texp[a.save[k][c]&15] * a.in[k][left&31])
			v = float32(v * a.out[k][right&31])
			p[k] = v
			z += v
		}
		u := float32(x>>8) * 0x1p-24
		cut := z * u
		k, sum := uint8(0), float32(0)
		for i := range a.labels - 1 {
			sum += p[i]
			if sum <= cut {
				k++
			}
		}
		a.u[c] = k
		if a.countLeft == nil {
			continue
		}
		scale := 255 / z
		v := float32(float32(x&255)*(1./256)) + 1./512
		for i := range a.labels {
			y := float32(p[i] * scale)
			q := int32(float32(y + v))
			if int(left) < a.true {
				add32(a.countLeft, ((int(left)*r+i/4)*Groups+c>>4)*4+i&3, q)
			}
			if a.countRight != nil {
				add32(a.countRight, ((int(right)*r+i/4)*Groups+c>>4)*4+i&3, q)
			}
		}
	}
}

func add32(base *int32, i int, x int32) {
	*(*int32)(unsafe.Add(unsafe.Pointer(base), 4*i)) += x
}
