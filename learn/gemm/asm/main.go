// Command asm writes the assembly of package gemm. It is a module of its own, so that only those
// who change a kernel need avo:
//
//	go generate ./learn/gemm
//
// A tile is MR rows by up to three vectors of C, held in registers while k runs. It uses 24
// accumulators of the 32 registers of AVX-512, 12 of the 16 of AVX2. Three vectors a row of B
// against MR broadcasts of A need (3+MR) loads for 3·MR fused multiply-adds, fewer than two a cycle
// can carry. This is the micro-kernel of K. Goto and R. van de Geijn, "Anatomy of high-performance
// matrix multiplication", ACM TOMS 34(3), 2008, with rows for columns.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// unroll is the number of steps of k in the main loop, at most the rows of B that an
// address can name.
const unroll = 4

// target is one instruction set and one type.
type target struct {
	isa    string
	single bool
	wide   bool // AVX-512
	mr     int
}

func (t target) size() int {
	if t.single {
		return 4
	}
	return 8
}

func (t target) bytes() int { // of a vector
	if t.wide {
		return 64
	}
	return 32
}

func (t target) typ() string { return fmt.Sprintf("float%d", 8*t.size()) }

func (t target) vec() reg.VecVirtual {
	if t.wide {
		return ZMM()
	}
	return YMM()
}

func main() {
	ConstraintExpr("amd64,!purego")
	masks := GLOBL("laneMasks", RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(uint32(int32(i/8)-1))) // eight lanes of ones, then eight of zeros
	}
	for _, t := range []target{
		{"AVX512", true, true, 8}, {"AVX512", false, true, 8},
		{"AVX2", true, false, 4}, {"AVX2", false, false, 4},
	} {
		for nv := 1; nv <= 3; nv++ {
			t.tile(nv, masks)
		}
	}
	for _, single := range []bool{true, false} {
		for nv := 1; nv <= 3; nv++ {
			sums(single, nv)
		}
	}
	transpose8()
	transpose4()
	Generate()
}

// tile writes func(k, a, b, c, ldb, ldc, rows, last, alpha, beta), which computes the first rows
// rows of nv vectors of C as beta·C + alpha·a·b. a holds k columns of mr floats, b holds k rows of
// nv whole vectors, ldb floats apart, and the last vector of C has last lanes.
func (t target) tile(nv int, masks Mem) {
	typ := t.typ()
	TEXT(fmt.Sprintf("tile%d%sx%d", 8*t.size(), t.isa, nv), NOSPLIT,
		fmt.Sprintf("func(k int, a, b, c *%s, ldb, ldc, rows, last int, alpha, beta %s)", typ, typ))
	Pragma("noescape")
	Doc(fmt.Sprintf("stores beta·C + alpha·a·b in up to %d rows of %d vectors of C.", t.mr, nv))

	k := Load(Param("k"), GP64())
	a := Load(Param("a"), GP64())
	b := Load(Param("b"), GP64())
	ldb := Load(Param("ldb"), GP64())
	shift := uint64(2)
	if !t.single {
		shift = 3
	}
	SHLQ(Imm(shift), ldb)
	ldb3 := GP64()
	LEAQ(Mem{Base: ldb, Index: ldb, Scale: 2}, ldb3)
	rows := []Mem{{Base: b}, {Base: b, Index: ldb, Scale: 1}, {Base: b, Index: ldb, Scale: 2},
		{Base: b, Index: ldb3, Scale: 1}}
	acc := make([][]reg.VecVirtual, t.mr)
	for i := range acc {
		for range nv {
			v := t.vec()
			acc[i] = append(acc[i], v)
			if t.wide {
				VPXORQ(v, v, v)
			} else {
				VXORPS(v, v, v)
			}
		}
	}
	step := func(u int) {
		row := make([]reg.VecVirtual, nv)
		for j := range row {
			row[j] = t.vec()
			at := rows[u]
			at.Disp = j * t.bytes()
			t.load(at, row[j])
		}
		for i := range acc {
			x := t.vec()
			t.broadcast(Mem{Base: a, Disp: (u*t.mr + i) * t.size()}, x)
			for j := range row {
				t.fma(row[j], x, acc[i][j])
			}
		}
	}
	SUBQ(Imm(unroll), k)
	JL(LabelRef("rest"))
	Label("loop")
	for u := range unroll {
		step(u)
	}
	ADDQ(I32(int32(unroll*t.mr*t.size())), a)
	LEAQ(Mem{Base: b, Index: ldb, Scale: unroll}, b)
	SUBQ(Imm(unroll), k)
	JGE(LabelRef("loop"))
	Label("rest")
	ADDQ(Imm(unroll), k)
	JZ(LabelRef("store"))
	Label("one")
	step(0)
	ADDQ(Imm(uint64(t.mr*t.size())), a)
	ADDQ(ldb, b)
	DECQ(k)
	JNZ(LabelRef("one"))
	Label("store")
	t.store(nv, acc, masks)
}

// store ends a tile. C is not read when beta is zero: it may hold NaN then.
func (t target) store(nv int, acc [][]reg.VecVirtual, masks Mem) {
	c := Load(Param("c"), GP64())
	ldc := Load(Param("ldc"), GP64())
	rows := Load(Param("rows"), GP64())
	last := Load(Param("last"), GP64())
	shift := uint64(2)
	if !t.single {
		shift = 3
	}
	SHLQ(Imm(shift), ldc)
	var mask reg.Register
	if t.wide {
		bits := GP64()
		MOVQ(I32(-1), bits)
		BZHIQ(last, bits, bits)
		mask = K()
		KMOVW(bits.As32(), mask)
	} else {
		base := GP64()
		LEAQ(masks, base)
		SHLQ(Imm(shift), last)
		SUBQ(last, base)
		mask = YMM()
		VMOVDQU(Mem{Base: base, Disp: 32}, mask)
	}
	alphaAt, _ := Param("alpha").Resolve()
	betaAt, _ := Param("beta").Resolve()
	alpha := t.vec()
	t.broadcast(alphaAt.Addr, alpha)
	zero := GP64()
	if t.single {
		MOVL(betaAt.Addr, zero.As32())
		SHLL(Imm(1), zero.As32()) // the sign of zero does not count
	} else {
		MOVQ(betaAt.Addr, zero)
		SHLQ(Imm(1), zero)
	}
	JZ(LabelRef("overwrite"))

	beta := t.vec()
	t.broadcast(betaAt.Addr, beta)
	t.rows(acc, rows, c, ldc, func(at Mem, v reg.VecVirtual, partial bool) {
		old := t.vec()
		switch {
		case !partial:
			t.load(at, old)
		case t.wide && t.single:
			VMOVUPS_Z(at, mask, old)
		case t.wide:
			VMOVUPD_Z(at, mask, old)
		case t.single:
			VMASKMOVPS(at, mask, old)
		default:
			VMASKMOVPD(at, mask, old)
		}
		t.mul(beta, old, old)
		t.fma(alpha, v, old)
		t.put(old, mask, at, partial)
	})
	t.done()
	Label("overwrite")
	t.rows(acc, rows, c, ldc, func(at Mem, v reg.VecVirtual, partial bool) {
		x := t.vec()
		t.mul(alpha, v, x)
		t.put(x, mask, at, partial)
	})
	Label("done")
	t.done()
}

func (t target) done() {
	VZEROUPPER()
	RET()
}

// rows visits the tile row by row, until the number of rows is reached.
func (t target) rows(acc [][]reg.VecVirtual, rows, c, ldc reg.Register,
	f func(at Mem, v reg.VecVirtual, partial bool)) {
	for i := range acc {
		for j, v := range acc[i] {
			f(Mem{Base: c, Disp: j * t.bytes()}, v, j == len(acc[i])-1)
		}
		if i+1 < len(acc) {
			ADDQ(ldc, c)
			DECQ(rows)
			JZ(LabelRef("done"))
		}
	}
}

func (t target) load(at Mem, v reg.VecVirtual) {
	if t.single {
		VMOVUPS(at, v)
	} else {
		VMOVUPD(at, v)
	}
}

func (t target) put(v reg.VecVirtual, mask reg.Register, at Mem, partial bool) {
	switch {
	case !partial && t.single:
		VMOVUPS(v, at)
	case !partial:
		VMOVUPD(v, at)
	case t.wide && t.single:
		VMOVUPS(v, mask, at)
	case t.wide:
		VMOVUPD(v, mask, at)
	case t.single:
		VMASKMOVPS(v, mask, at)
	default:
		VMASKMOVPD(v, mask, at)
	}
}

func (t target) broadcast(at Mem, v reg.VecVirtual) {
	if t.single {
		VBROADCASTSS(at, v)
	} else {
		VBROADCASTSD(at, v)
	}
}

func (t target) mul(x, y, z reg.VecVirtual) {
	if t.single {
		VMULPS(x, y, z)
	} else {
		VMULPD(x, y, z)
	}
}

func (t target) fma(x, y, z reg.VecVirtual) {
	if t.single {
		VFMADD231PS(x, y, z)
	} else {
		VFMADD231PD(x, y, z)
	}
}

// transpose writes the loop over blocks common to both types: lanes rows of src,
// k of their columns (a multiple of lanes), into dst[p*w+i] = src[i*ld+p].
func transpose(lanes, size int, block func(in []Mem, out []Mem)) {
	typ := fmt.Sprintf("float%d", 8*size)
	TEXT(fmt.Sprintf("transpose%dx%d", lanes, 8*size), NOSPLIT,
		fmt.Sprintf("func(dst *%s, w int, src *%s, ld, k int)", typ, typ))
	Pragma("noescape")
	Doc(fmt.Sprintf("stores dst[p*w+i] = src[i*ld+p] for i < %d and p < k, k being a multiple of %d.",
		lanes, lanes))
	dst := Load(Param("dst"), GP64())
	w := Load(Param("w"), GP64())
	src := Load(Param("src"), GP64())
	ld := Load(Param("ld"), GP64())
	k := Load(Param("k"), GP64())
	shift := uint64(2)
	if size == 8 {
		shift = 3
	}
	SHLQ(Imm(shift), w)
	SHLQ(Imm(shift), ld)
	at := func(base, stride, triple reg.Register, far reg.Register) []Mem {
		m := []Mem{{Base: base}, {Base: base, Index: stride, Scale: 1}, {Base: base, Index: stride, Scale: 2},
			{Base: base, Index: triple, Scale: 1}}
		if lanes == 8 {
			m = append(m, Mem{Base: far}, Mem{Base: far, Index: stride, Scale: 1},
				Mem{Base: far, Index: stride, Scale: 2}, Mem{Base: far, Index: triple, Scale: 1})
		}
		return m
	}
	ld3, w3 := GP64(), GP64()
	LEAQ(Mem{Base: ld, Index: ld, Scale: 2}, ld3)
	LEAQ(Mem{Base: w, Index: w, Scale: 2}, w3)
	src4, dst4 := GP64(), GP64()
	Label("loop")
	LEAQ(Mem{Base: src, Index: ld, Scale: 4}, src4)
	LEAQ(Mem{Base: dst, Index: w, Scale: 4}, dst4)
	block(at(src, ld, ld3, src4), at(dst, w, w3, dst4))
	ADDQ(Imm(uint64(lanes*size)), src)
	LEAQ(Mem{Base: dst, Index: w, Scale: uint8(lanes)}, dst)
	SUBQ(Imm(uint64(lanes)), k)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func transpose8() {
	transpose(8, 4, func(in, out []Mem) {
		r := make([]reg.VecVirtual, 8)
		for i := range r {
			r[i] = YMM()
		}
		// Halves of rows i and i+4 side by side: what is left is two 4x4 blocks.
		for i := range 4 {
			lo, hi := r[i], r[i+4]
			VMOVUPS(in[i], lo.AsX())
			VINSERTF128(Imm(1), in[i+4], lo, lo)
			high, high4 := in[i], in[i+4]
			high.Disp, high4.Disp = 16, 16
			VMOVUPS(high, hi.AsX())
			VINSERTF128(Imm(1), high4, hi, hi)
		}
		for h := range 2 {
			s := r[4*h : 4*h+4]
			t := make([]reg.VecVirtual, 4)
			for i := range t {
				t[i] = YMM()
			}
			VUNPCKLPS(s[1], s[0], t[0]) // a0 b0 a1 b1
			VUNPCKHPS(s[1], s[0], t[1]) // a2 b2 a3 b3
			VUNPCKLPS(s[3], s[2], t[2])
			VUNPCKHPS(s[3], s[2], t[3])
			x := YMM()
			for i, p := range [][2]int{{0, 2}, {1, 3}} {
				VUNPCKLPD(t[p[1]], t[p[0]], x)
				VMOVUPS(x, out[4*h+2*i])
				VUNPCKHPD(t[p[1]], t[p[0]], x)
				VMOVUPS(x, out[4*h+2*i+1])
			}
		}
	})
}

func transpose4() {
	transpose(4, 8, func(in, out []Mem) {
		r := make([]reg.VecVirtual, 4)
		for i := range r {
			r[i] = YMM()
		}
		for i := range 2 {
			lo, hi := r[i], r[i+2]
			VMOVUPD(in[i], lo.AsX())
			VINSERTF128(Imm(1), in[i+2], lo, lo)
			high, high2 := in[i], in[i+2]
			high.Disp, high2.Disp = 16, 16
			VMOVUPD(high, hi.AsX())
			VINSERTF128(Imm(1), high2, hi, hi)
		}
		x := YMM()
		for h := range 2 {
			VUNPCKLPD(r[2*h+1], r[2*h], x)
			VMOVUPD(x, out[2*h])
			VUNPCKHPD(r[2*h+1], r[2*h], x)
			VMOVUPD(x, out[2*h+1])
		}
	})
}

// sums writes the tile for processors without AVX2: 4 rows of nv vectors of a·b, stored side by
// side in out. It omits the strides, scalars and masks that SSE2 lacks.
func sums(single bool, nv int) {
	const rows = 4
	t := target{single: single}
	TEXT(fmt.Sprintf("sums%dSSE2x%d", 8*t.size(), nv), NOSPLIT,
		fmt.Sprintf("func(k int, a, b *%s, ldb int, out *%s)", t.typ(), t.typ()))
	Pragma("noescape")
	Doc(fmt.Sprintf("stores a·b in out, %d rows of %d vectors; k is positive.", rows, nv))
	k := Load(Param("k"), GP64())
	a := Load(Param("a"), GP64())
	b := Load(Param("b"), GP64())
	ldb := Load(Param("ldb"), GP64())
	if single {
		SHLQ(Imm(2), ldb)
	} else {
		SHLQ(Imm(3), ldb)
	}
	acc := make([]reg.VecVirtual, rows*nv)
	for i := range acc {
		acc[i] = XMM()
		XORPS(acc[i], acc[i])
	}
	Label("loop")
	for i := range rows {
		x := XMM()
		from := Mem{Base: a, Disp: i * t.size()}
		if single {
			MOVSS(from, x)
			SHUFPS(Imm(0), x, x)
		} else {
			MOVSD(from, x)
			UNPCKLPD(x, x)
		}
		for j := range nv {
			v := XMM()
			MOVUPS(Mem{Base: b, Disp: 16 * j}, v)
			if single {
				MULPS(x, v)
				ADDPS(v, acc[i*nv+j])
			} else {
				MULPD(x, v)
				ADDPD(v, acc[i*nv+j])
			}
		}
	}
	ADDQ(Imm(uint64(rows*t.size())), a)
	ADDQ(ldb, b)
	DECQ(k)
	JNZ(LabelRef("loop"))
	out := Load(Param("out"), GP64())
	for i, v := range acc {
		MOVUPS(v, Mem{Base: out, Disp: 16 * i})
	}
	RET()
}
