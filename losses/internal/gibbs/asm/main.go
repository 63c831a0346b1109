// Command asm writes the assembly of package gibbs. It is a module of its own, so
// that only those who change a kernel need avo:
//
//	go generate ./losses/internal/gibbs
//
// Each kernel does what the Go form of the same name in kernels.go does, bit by bit, on the lanes
// of one register of AVX-512 or two of AVX2. Arguments are structures, whose offsets are checked in
// path_amd64.go.
//
// Where chains become floats, group g of 16 chains is what an in-lane shuffle gets: chain 16L+4g+i
// is float 4L+i of group g, so that packing sorts chains again without a step across lanes.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	lanes = 64
	most  = 32   // labels
	dummy = most // the code of symbols that no label stands for
	row   = 4 * most
)

// isa is an instruction set: all 64 lanes are in 1 or 2 registers.
type isa struct {
	name string
	wide bool
}

func (s isa) regs() int {
	if s.wide {
		return 1
	}
	return 2
}

func (s isa) bytes() int { return lanes / s.regs() }

func (s isa) vec() reg.VecVirtual {
	if s.wide {
		return ZMM()
	}
	return YMM()
}

func (s isa) vecs() []reg.VecVirtual {
	v := make([]reg.VecVirtual, s.regs())
	for i := range v {
		v[i] = s.vec()
	}
	return v
}

// part returns the memory of register i.
func (s isa) part(m Mem, i int) Mem {
	m.Disp += i * s.bytes()
	return m
}

func (s isa) load(m Op, v reg.VecVirtual) {
	if s.wide {
		VMOVDQU64(m, v)
	} else {
		VMOVDQU(m, v)
	}
}

func (s isa) store(v reg.VecVirtual, m Op) { s.load2(v, m) }

func (s isa) load2(from, to Op) {
	if s.wide {
		VMOVDQU64(from, to)
	} else {
		VMOVDQU(from, to)
	}
}

func (s isa) fill(byteValue uint64) reg.VecVirtual {
	r, v := GP64(), s.vec()
	MOVQ(U32(uint32(byteValue)), r)
	x := XMM()
	MOVQ(r, x)
	VPBROADCASTB(x, v)
	return v
}

func (s isa) broadcastField(base reg.Register, off int) reg.VecVirtual {
	v := s.vec()
	VPBROADCASTB(Mem{Base: base, Disp: off}, v)
	return v
}

func (s isa) xor(a, b Op, v reg.VecVirtual) {
	if s.wide {
		VPXORD(a, b, v)
	} else {
		VPXOR(a, b, v)
	}
}

func field(base reg.Register, off int) reg.GPVirtual {
	r := GP64()
	MOVQ(Mem{Base: base, Disp: off}, r)
	return r
}

// Offsets of scanArgs.
const (
	scanF      = 0
	scanG      = 8
	scanCode   = 16
	scanN      = 24
	scanHead   = 32
	scanTail   = 40
	scanX      = 48
	scanSave   = 56
	scanSub    = 64
	scanDel    = 72
	scanLabels = 80
)

func (s isa) scan() {
	TEXT("scan"+s.name, NOSPLIT, "func(a *byte)")
	Pragma("noescape")
	Doc("finds by how much less each label costs.")
	a := Load(Param("a"), GP64())
	f, g, code, n := field(a, scanF), field(a, scanG), field(a, scanCode), field(a, scanN)
	x := field(a, scanX)
	n8 := s.regs()
	far := s.fill(127)
	m0, p := s.vecs(), s.vecs()
	k := GP64()
	at := Mem{Base: x, Index: k, Scale: 1}
	labels := field(a, scanLabels)
	SHLQ(Imm(6), labels)
	XORQ(k, k)
	Label("clear")
	for i := range n8 {
		s.store(far, s.part(at, i))
	}
	ADDQ(Imm(lanes), k)
	CMPQ(k, labels)
	JLT(LabelRef("clear"))
	for i := range n8 {
		s.store(far, s.part(Mem{Base: x, Disp: dummy * lanes}, i))
		s.load2(far, m0[i])
		s.load(s.part(Mem{Base: f, Disp: -lanes}, i), p[i])
	}
	CMPQ(Mem{Base: a, Disp: scanHead}, Imm(0))
	JE(LabelRef("body"))
	for i := range n8 {
		t := s.vec()
		VPADDSB(s.part(Mem{Base: g, Disp: lanes}, i), p[i], t)
		VPMINSB(t, m0[i], m0[i])
	}
	Label("body")
	class := func(v []reg.VecVirtual) { // x[code] = min(x[code], p + v)
		MOVBQZX(Mem{Base: code}, k)
		SHLQ(Imm(6), k)
		for i := range n8 {
			t := s.vec()
			VPADDSB(v[i], p[i], t)
			VPMINSB(s.part(at, i), t, t)
			s.store(t, s.part(at, i))
		}
	}
	TESTQ(n, n)
	JZ(LabelRef("tail"))
	Label("loop")
	v := s.vecs()
	for i := range n8 {
		s.load(s.part(Mem{Base: g}, i), v[i])
	}
	class(v)
	for i := range n8 {
		t := s.vec()
		s.load(s.part(Mem{Base: f}, i), p[i])
		VPADDSB(v[i], p[i], t)
		VPMINSB(t, m0[i], m0[i])
	}
	INCQ(code)
	ADDQ(Imm(lanes), f)
	SUBQ(Imm(lanes), g)
	DECQ(n)
	JNZ(LabelRef("loop"))
	Label("tail")
	CMPQ(Mem{Base: a, Disp: scanTail}, Imm(0))
	JE(LabelRef("least"))
	for i := range n8 {
		s.load(s.part(Mem{Base: g}, i), v[i])
	}
	class(v)
	Label("least")
	low := s.vecs()
	for i := range n8 {
		s.load(s.part(Mem{Base: x, Disp: dummy * lanes}, i), low[i])
	}
	XORQ(k, k)
	Label("min")
	for i := range n8 {
		VPMINSB(s.part(at, i), low[i], low[i])
	}
	ADDQ(Imm(lanes), k)
	CMPQ(k, labels)
	JLT(LabelRef("min"))
	sub, del := s.broadcastField(a, scanSub), s.broadcastField(a, scanDel)
	for i := range n8 {
		VPADDSB(del, m0[i], m0[i])
		VPADDSB(sub, low[i], low[i])
		VPMINSB(low[i], m0[i], m0[i])
	}
	save := field(a, scanSave)
	XORQ(k, k)
	Label("save")
	for i := range n8 {
		t := s.vec()
		VPMINSB(s.part(at, i), m0[i], t)
		VPSUBB(t, m0[i], t)
		s.store(t, s.part(Mem{Base: save, Index: k, Scale: 1}, i))
	}
	ADDQ(Imm(lanes), k)
	CMPQ(k, labels)
	JLT(LabelRef("save"))
	VZEROUPPER()
	RET()
}

// Offsets of stepArgs.
const (
	stepF     = 0
	stepN     = 8
	stepCode  = 16
	stepCells = 24
	stepK     = 32
	stepSub   = 40
	stepIns   = 48
	stepDel   = 56
)

func (s isa) step() {
	TEXT("step"+s.name, NOSPLIT, "func(a *byte)")
	Pragma("noescape")
	Doc("makes a row.")
	a := Load(Param("a"), GP64())
	f, to, code, n := field(a, stepF), field(a, stepN), field(a, stepCode), field(a, stepCells)
	kp := field(a, stepK)
	sub, ins, del := s.broadcastField(a, stepSub), s.broadcastField(a, stepIns), s.broadcastField(a, stepDel)
	far := s.fill(127)
	u, p, last := s.vecs(), s.vecs(), s.vecs()
	for i := range s.regs() {
		s.load(s.part(Mem{Base: kp}, i), u[i])
		s.load(s.part(Mem{Base: f, Disp: -lanes}, i), p[i])
		s.load2(far, last[i])
	}
	Label("loop")
	y := s.vec()
	VPBROADCASTB(Mem{Base: code}, y)
	for i := range s.regs() {
		x, t := s.vec(), s.vec()
		if s.wide {
			k := K()
			VPCMPB(Imm(4), y, u[i], k) // not equal
			VMOVDQU8_Z(sub, k, x)
		} else {
			VPCMPEQB(y, u[i], x)
			VPANDN(sub, x, x)
		}
		VPADDSB(x, p[i], x)
		s.load(s.part(Mem{Base: f}, i), p[i])
		VPADDSB(del, p[i], t)
		VPMINSB(t, x, x)
		VPADDSB(ins, last[i], last[i])
		VPMINSB(x, last[i], last[i])
		s.store(last[i], s.part(Mem{Base: to}, i))
	}
	INCQ(code)
	ADDQ(Imm(lanes), f)
	ADDQ(Imm(lanes), to)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func (s isa) less() {
	TEXT("less"+s.name, NOSPLIT, "func(at, o *byte, n int)")
	Pragma("noescape")
	Doc("subtracts o from n cells.")
	at, o, n := Load(Param("at"), GP64()), Load(Param("o"), GP64()), Load(Param("n"), GP64())
	v := s.vecs()
	for i := range v {
		s.load(s.part(Mem{Base: o}, i), v[i])
	}
	Label("loop")
	for i := range v {
		t := s.vec()
		s.load(s.part(Mem{Base: at}, i), t)
		VPSUBSB(v[i], t, t)
		s.store(t, s.part(Mem{Base: at}, i))
	}
	ADDQ(Imm(lanes), at)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func (s isa) meet() {
	TEXT("meet"+s.name, NOSPLIT, "func(own, other *byte, n int, low *byte)")
	Pragma("noescape")
	Doc("stores the least of f[j] + g[-j] for n cells.")
	f, g, n, low := Load(Param("own"), GP64()), Load(Param("other"), GP64()), Load(Param("n"),
		GP64()), Load(Param("low"), GP64())
	far, m := s.fill(127), s.vecs()
	for i := range m {
		s.load2(far, m[i])
	}
	Label("loop")
	for i := range m {
		t := s.vec()
		s.load(s.part(Mem{Base: f}, i), t)
		VPADDSB(s.part(Mem{Base: g}, i), t, t)
		VPMINSB(t, m[i], m[i])
	}
	ADDQ(Imm(lanes), f)
	SUBQ(Imm(lanes), g)
	DECQ(n)
	JNZ(LabelRef("loop"))
	for i := range m {
		s.store(m[i], s.part(Mem{Base: low}, i))
	}
	VZEROUPPER()
	RET()
}

// Offsets of siteArgs.
const (
	siteSave    = 0
	siteLeft    = 8
	siteRight   = 16
	siteIn      = 24
	siteOut     = 32
	siteTexp    = 40
	siteRandom  = 48
	siteU       = 56
	siteScratch = 64
	siteLeftN   = 72
	siteRightN  = 80
	siteLabels  = 88
	siteTrue    = 96
)

// The scratch of a site: words of 255 p by group and label, the labels drawn by group, weights, and
// bytes of 255 p sorted for the counts.
const (
	words   = 0
	drawn   = words + 4*most*64
	weights = drawn + 4*64
	sorted  = weights + most*64
)

// constants are what all forms of site share.
type constants struct {
	widen                                  Mem // four shuffles
	tiny, byteMask, part, half, scale, one Mem
	ones, wordOnes                         Mem
	zero                                   Mem // loaded: avo believes that an exclusive or reads
}

func data() constants {
	var c constants
	c.widen = GLOBL("widen", RODATA|NOPTR)
	for g := range 4 {
		for i := 0; i < 64; i += 8 { // byte 4g+j of each 16 goes to word j, its other bytes are 0
			j := uint64(4*g + i%16/4)
			DATA(64*g+i, U64(0x8080_8000_8080_8000|j|(j+1)<<32))
		}
	}
	single := func(name string, f float32) Mem {
		m := GLOBL(name, RODATA|NOPTR)
		DATA(0, U32(math.Float32bits(f))) // avo writes 255 as an integer
		return m
	}
	c.tiny = single("tiny", 1.0/(1<<24))
	c.part = single("part256", 1.0/256)
	c.half = single("half512", 1.0/512)
	c.scale = single("scale255", 255)
	c.ones = GLOBL("byteOnes", RODATA|NOPTR)
	DATA(0, U32(0x01010101))
	c.wordOnes = GLOBL("wordOnes", RODATA|NOPTR)
	DATA(0, U32(0x00010001))
	c.byteMask = GLOBL("byteMask", RODATA|NOPTR)
	DATA(0, U32(255))
	c.zero = GLOBL("zeroWord", RODATA|NOPTR)
	DATA(0, U32(0))
	c.one = GLOBL("oneWord", RODATA|NOPTR)
	DATA(0, U32(1))
	return c
}

func (s isa) constant(m Mem) reg.VecVirtual {
	v := s.vec()
	VPBROADCASTD(m, v)
	return v
}

// look stores table[idx] of one label. A table has 32 floats; the first 16 serve up to 16
// labels. In AVX2 top has bit 3 of the index as the sign; a nil top says that the index is below 8.
func (s isa) look(table Mem, idx, top, v reg.VecVirtual, labels int) {
	switch {
	case labels > 16:
		hi := table
		hi.Disp += 64
		s.load(table, v)
		VPERMT2PS(hi, idx, v)
	case s.wide || top == nil:
		VPERMPS(table, idx, v)
	default:
		VPERMPS(table, idx, v)
		table.Disp += 32
		hi := s.vec()
		VPERMPS(table, idx, hi)
		VBLENDVPS(top, hi, v, v)
	}
}

// site writes the form for 4r labels.
func (s isa) site(r int, c constants) {
	TEXT(fmt.Sprintf("site%dx%s", 4*r, s.name), NOSPLIT, "func(a *byte)")
	Pragma("noescape")
	Doc(fmt.Sprintf("draws a site of %d labels, and counts.", 4*r))
	a := Load(Param("a"), GP64())
	for h := range s.regs() {
		s.groups(r, h, c, a)
		// Chains in their order again.
		scratch := field(a, siteScratch)
		s.store(s.packed(Mem{Base: scratch, Disp: drawn}, 64), s.part(Mem{Base: field(a, siteU)}, h))
		done := fmt.Sprintf("done%d", h)
		CMPQ(Mem{Base: a, Disp: siteLeftN}, Imm(0))
		JE(LabelRef(done))
		s.counts(r, h, a, scratch, c)
		Label(done)
	}
	VZEROUPPER()
	RET()
}

// packed returns the words of four groups, so many bytes apart, as bytes in the order of chains.
func (s isa) packed(at Mem, step int) reg.VecVirtual {
	lo, hi, t := s.vec(), s.vec(), s.vec()
	for i, v := range []reg.VecVirtual{lo, hi} {
		first, second := at, at
		first.Disp += 2 * i * step
		second.Disp += (2*i + 1) * step
		s.load(first, v)
		s.load(second, t)
		VPACKUSDW(t, v, v)
	}
	VPACKUSWB(hi, lo, lo)
	return lo
}

// groups draws four times 16 chains (8 in AVX2).
func (s isa) groups(r, h int, c constants, a reg.Register) {
	d := 4 * r
	g, widen, random := GP64(), GP64(), field(a, siteRandom)
	XORQ(g, g)
	LEAQ(c.widen, widen)
	scratch := field(a, siteScratch)
	word := GP64() // of the group
	MOVQ(scratch, word)
	loop := fmt.Sprintf("group%d", h)
	Label(loop)
	w := s.vec()
	s.load(Mem{Base: widen, Index: g, Scale: 1}, w)
	lf, rt := s.vec(), s.vec()
	s.load(s.part(Mem{Base: field(a, siteLeft)}, h), lf)
	VPSHUFB(w, lf, lf)
	s.load(s.part(Mem{Base: field(a, siteRight)}, h), rt)
	VPSHUFB(w, rt, rt)
	var lfTop, rtTop reg.VecVirtual
	if !s.wide && r > 2 {
		lfTop, rtTop = s.vec(), s.vec()
		VPSLLD(Imm(28), lf, lfTop)
		VPSLLD(Imm(28), rt, rtTop)
	}
	z := s.constant(c.zero)
	save, in, out := field(a, siteSave), field(a, siteIn), field(a, siteOut)
	exps := Mem{Base: field(a, siteTexp)}
	// AVX-512 keeps the weights of few labels in registers, else they are in memory.
	held := make([]reg.VecVirtual, d)
	keep := s.wide && r <= 4
	slot := func(k int) Mem { return Mem{Base: scratch, Disp: weights + s.bytes()*k} }
	for k := range d {
		m, q, t := s.vec(), s.vec(), s.vec()
		s.load(s.part(Mem{Base: save, Disp: lanes * k}, h), m)
		VPSHUFB(w, m, m)
		VPERMPS(exps, m, q)
		s.look(Mem{Base: in, Disp: row * k}, lf, lfTop, t, d)
		VMULPS(t, q, q)
		s.look(Mem{Base: out, Disp: row * k}, rt, rtTop, t, d)
		VMULPS(t, q, q)
		VADDPS(q, z, z)
		if keep {
			held[k] = q
		} else {
			VMOVUPS(q, slot(k))
		}
	}
	weight := func(k int) Op {
		if keep {
			return held[k]
		}
		return slot(k)
	}
	// xoshiro128+
	x := s.vec()
	st := func(i int) Mem { return s.part(Mem{Base: random, Index: g, Scale: 1, Disp: 256 * i}, h) }
	r0, r1, r2, r3, sh := s.vec(), s.vec(), s.vec(), s.vec(), s.vec()
	for i, v := range []reg.VecVirtual{r0, r1, r2, r3} {
		s.load(st(i), v)
	}
	VPADDD(r3, r0, x)
	VPSLLD(Imm(9), r1, sh)
	s.xor(r0, r2, r2)
	s.xor(r1, r3, r3)
	s.xor(r2, r1, r1)
	s.xor(r3, r0, r0)
	s.xor(sh, r2, r2)
	if s.wide {
		VPROLD(Imm(11), r3, r3)
	} else {
		VPSLLD(Imm(11), r3, sh)
		VPSRLD(Imm(21), r3, r3)
		VPOR(sh, r3, r3)
	}
	for i, v := range []reg.VecVirtual{r0, r1, r2, r3} {
		s.store(v, st(i))
	}
	cut, cum, k := s.vec(), s.constant(c.zero), s.constant(c.zero)
	VPSRLD(Imm(8), x, cut)
	VCVTDQ2PS(cut, cut)
	VMULPS(s.constant(c.tiny), cut, cut)
	VMULPS(cut, z, cut)
	one := s.constant(c.one)
	for i := range d - 1 {
		VADDPS(weight(i), cum, cum)
		if s.wide {
			m := K()
			VCMPPS(Imm(0x12), cut, cum, m) // cum <= cut
			VPADDD(one, k, m, k)
		} else {
			m := s.vec()
			VCMPPS(Imm(0x12), cut, cum, m)
			VPSUBD(m, k, k)
		}
	}
	s.store(k, Mem{Base: scratch, Index: g, Scale: 1, Disp: drawn})
	skip := fmt.Sprintf("skip%d", h)
	CMPQ(Mem{Base: a, Disp: siteLeftN}, Imm(0))
	JE(LabelRef(skip))
	f, dither := s.vec(), s.vec()
	VDIVPS(z, s.constant(c.scale), f)
	if s.wide {
		VPANDD(s.constant(c.byteMask), x, dither)
	} else {
		VPAND(s.constant(c.byteMask), x, dither)
	}
	VCVTDQ2PS(dither, dither)
	VMULPS(s.constant(c.part), dither, dither)
	VADDPS(s.constant(c.half), dither, dither)
	for i := range d {
		q := s.vec()
		VMULPS(weight(i), f, q)
		VADDPS(dither, q, q)
		VCVTTPS2DQ(q, q)
		s.store(q, Mem{Base: word, Disp: 64 * i})
	}
	Label(skip)
	ADDQ(U32(64*most), word)
	ADDQ(Imm(64), g)
	CMPQ(g, U32(256))
	JLT(LabelRef(loop))
}

// counts adds the bytes of all labels to the rows of both neighbours.
func (s isa) counts(r, h int, a, scratch reg.Register, c constants) {
	ones := s.constant(c.ones)
	var wordOnes reg.VecVirtual
	if !s.wide {
		wordOnes = s.constant(c.wordOnes)
	}
	// t[4b+i], 128 bits L: chains 16L+4i … of labels 4b … 4b+3.
	t := make([]Op, 4*r)
	for b := range r {
		var q, e [4]reg.VecVirtual
		for i := range q {
			e[i] = s.vec()
			q[i] = s.packed(Mem{Base: scratch, Disp: words + 64*(4*b+i)}, 64*most)
		}
		VPUNPCKLDQ(q[1], q[0], e[0])
		VPUNPCKHDQ(q[1], q[0], e[1])
		VPUNPCKLDQ(q[3], q[2], e[2])
		VPUNPCKHDQ(q[3], q[2], e[3])
		for i := range 4 {
			v := s.vec()
			if i%2 == 0 {
				VPUNPCKLQDQ(e[2+i/2], e[i/2], v)
			} else {
				VPUNPCKHQDQ(e[2+i/2], e[i/2], v)
			}
			if s.wide && r <= 4 {
				t[4*b+i] = v
			} else {
				m := Mem{Base: scratch, Disp: sorted + s.bytes()*(4*b+i)}
				s.store(v, m)
				t[4*b+i] = m
			}
		}
	}
	for side := range 2 {
		skip := fmt.Sprintf("none%d_%d", h, side)
		loop := fmt.Sprintf("count%d_%d", h, side)
		acc := field(a, []int{siteLeftN, siteRightN}[side])
		TESTQ(acc, acc)
		JZ(LabelRef(skip))
		nb := field(a, []int{siteLeft, siteRight}[side])
		n := field(a, siteTrue)
		at, v := s.constant(c.zero), s.vec()
		s.load(s.part(Mem{Base: nb}, h), v)
		if h == 1 {
			ADDQ(Imm(32), acc)
		}
		Label(loop)
		hot := s.vec()
		if s.wide {
			m := K()
			VPCMPEQB(at, v, m)
			VMOVDQU8_Z(ones, m, hot)
		} else {
			VPCMPEQB(at, v, hot)
			VPAND(ones, hot, hot)
		}
		var four [4]reg.VecVirtual
		for i := range four {
			four[i] = s.vec()
			VPSHUFD(Imm(uint64(0x55*i)), hot, four[i])
		}
		for b := range r {
			m := Mem{Base: acc, Disp: 64 * b}
			sum := s.vec()
			if s.wide {
				s.load(m, sum)
				for i := range four {
					x := t[4*b+i]
					// the instruction takes signed bytes from memory, and these are not
					if at, ok := x.(Mem); ok {
						v := s.vec()
						s.load(at, v)
						x = v
					}
					dot(four[i], x, sum)
				}
			} else {
				for i := range four {
					x := s.vec()
					s.load(t[4*b+i], x)
					if i == 0 {
						VPMADDUBSW(four[i], x, sum)
					} else {
						VPMADDUBSW(four[i], x, x)
						VPADDW(x, sum, sum)
					}
				}
				VPMADDWD(wordOnes, sum, sum)
				VPADDD(m, sum, sum)
			}
			s.store(sum, m)
		}
		VPADDB(ones, at, at)
		ADDQ(U32(uint32(64*r)), acc)
		DECQ(n)
		JNZ(LabelRef(loop))
		Label(skip)
	}
}

// dot is VPDPBUSD, which avo does not know: sum += unsigned bytes b · signed bytes a, by four.
func dot(a, b Op, sum reg.VecVirtual) {
	Instruction(&ir.Instruction{Opcode: "VPDPBUSD", Operands: []Op{a, b, sum}, Inputs: []Op{a, b, sum},
		Outputs: []Op{sum}, ISA: []string{"AVX512_VNNI"}})
}

func main() {
	ConstraintExpr("amd64,!purego")
	c := data()
	for _, s := range []isa{{"AVX512", true}, {"AVX2", false}} {
		s.scan()
		s.step()
		s.less()
		s.meet()
		for r := 1; r <= 4; r++ {
			s.site(r, c)
		}
		if s.wide {
			s.site(6, c)
			s.site(8, c)
		}
	}
	Generate()
}
