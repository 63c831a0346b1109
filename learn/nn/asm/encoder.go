package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// encoder writes the loops of package encoder, in float32.
func encoder() {
	k := kind(32)
	load := func(m Mem) reg.VecVirtual {
		v := YMM()
		VMOVUPS(m, v)
		return v
	}
	k.loop("rectify", "stores max(x, 0) in y, and NaN where x is NaN.", []string{"y", "x"}, nil,
		func(at []Mem, _ []reg.VecVirtual) {
			x, zero := load(at[1]), YMM()
			VXORPS(zero, zero, zero)
			VMAXPS(x, zero, x)
			VMOVUPS(x, at[0])
		})
	k.loop("maskPositive", "stores d in dst where y is positive, and else 0.", []string{"dst", "d", "y"}, nil,
		func(at []Mem, _ []reg.VecVirtual) {
			mask, zero := YMM(), YMM()
			VXORPS(zero, zero, zero)
			VCMPPS(Imm(1), load(at[2]), zero, mask) // 0 < y
			VANDPS(at[1], mask, mask)
			VMOVUPS(mask, at[0])
		})
	k.loop("add", "adds x to dst.", []string{"dst", "x"}, nil, func(at []Mem, _ []reg.VecVirtual) {
		v := load(at[0])
		VADDPS(at[1], v, v)
		VMOVUPS(v, at[0])
	})
	k.loop("sum", "stores a + b in dst.", []string{"dst", "a", "b"}, nil, func(at []Mem, _ []reg.VecVirtual) {
		v := load(at[1])
		VADDPS(at[2], v, v)
		VMOVUPS(v, at[0])
	})
	k.loop("product", "stores a·b in dst.", []string{"dst", "a", "b"}, nil, func(at []Mem, _ []reg.VecVirtual) {
		v := load(at[1])
		VMULPS(at[2], v, v)
		VMOVUPS(v, at[0])
	})
	k.loop("scale", "multiplies x by s.", []string{"x"}, []string{"s"}, func(at []Mem, s []reg.VecVirtual) {
		v := YMM()
		VMULPS(at[0], s[0], v)
		VMOVUPS(v, at[0])
	})
	k.loop("scaleShift", "stores x·scale + shift in dst.", []string{"dst", "x", "scale", "shift"}, nil,
		func(at []Mem, _ []reg.VecVirtual) {
			v := load(at[1])
			VMULPS(at[2], v, v)
			VADDPS(at[3], v, v)
			VMOVUPS(v, at[0])
		})
	squared()
	normalise()
	normaliseBack()
	cell()
	cellBack()
}

// frame begins a function with the pointers given and n, the bytes of a vector of n floats.
func frame(name, doc, sig string, pointers ...string) (at []reg.GPVirtual, n reg.GPVirtual) {
	TEXT(name, NOSPLIT, sig)
	Pragma("noescape")
	Doc(doc)
	for _, p := range pointers {
		at = append(at, Load(Param(p), GP64()).(reg.GPVirtual))
	}
	n = Load(Param("n"), GP64()).(reg.GPVirtual)
	SHLQ(Imm(2), n)
	return at, n
}

// each runs body for every 32 bytes of n, with the offset.
func each(label string, n reg.GPVirtual, body func(i reg.GPVirtual)) {
	i := GP64()
	XORQ(i, i)
	Label(label)
	body(i)
	ADDQ(Imm(32), i)
	CMPQ(i, n)
	JLT(LabelRef(label))
}

func zero() reg.VecVirtual {
	v := YMM()
	VXORPS(v, v, v)
	return v
}

func broadcast(name string) reg.VecVirtual {
	v := YMM()
	from, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(from.Addr, v)
	return v
}

// total stores the sum of the lanes of v in all of them.
func total(v reg.VecVirtual) {
	t := YMM()
	VPERM2F128(Imm(1), v, v, t)
	VADDPS(t, v, v)
	VHADDPS(v, v, v)
	VHADDPS(v, v, v)
}

func squared() {
	at, n := frame("squared32", "returns the sum of the squares.", "func(x *float32, n int) float64", "x")
	low, high := zero(), zero()
	each("loop", n, func(i reg.GPVirtual) {
		for half, sum := range []reg.VecVirtual{low, high} {
			v := YMM()
			VCVTPS2PD(Mem{Base: at[0], Index: i, Scale: 1, Disp: 16 * half}, v)
			VMULPD(v, v, v)
			VADDPD(v, sum, sum)
		}
	})
	VADDPD(high, low, low)
	VEXTRACTF128(Imm(1), low, high.AsX())
	VADDPD(high.AsX(), low.AsX(), low.AsX())
	VHADDPD(low.AsX(), low.AsX(), low.AsX())
	Store(low.AsX(), ReturnIndex(0))
	VZEROUPPER()
	RET()
}

func normalise() {
	at, n := frame("normalise32", "stores x less its mean and divided by its deviation in dst, and returns the "+
		"inverse of the deviation. each is 1/n.",
		"func(dst, x *float32, n int, each, epsilon float32) float32", "dst", "x")
	dst, x, portion := at[0], at[1], broadcast("each")
	mean := zero()
	each("mean", n, func(i reg.GPVirtual) { VADDPS(Mem{Base: x, Index: i, Scale: 1}, mean, mean) })
	total(mean)
	VMULPS(portion, mean, mean)
	square := zero()
	each("deviation", n, func(i reg.GPVirtual) {
		v := YMM()
		VMOVUPS(Mem{Base: x, Index: i, Scale: 1}, v)
		VSUBPS(mean, v, v)
		VMOVUPS(v, Mem{Base: dst, Index: i, Scale: 1})
		VMULPS(v, v, v)
		VADDPS(v, square, square)
	})
	total(square)
	VMULPS(portion, square, square)
	VADDPS(broadcast("epsilon"), square, square)
	VSQRTPS(square, square)
	// The exact quotient: 1 is each·n, but a vector of ones is made of bits.
	one := YMM()
	VPCMPEQD(one, one, one)
	VPSRLD(Imm(25), one, one)
	VPSLLD(Imm(23), one, one)
	VDIVPS(square, one, one)
	each("scale", n, func(i reg.GPVirtual) {
		v := YMM()
		VMULPS(Mem{Base: dst, Index: i, Scale: 1}, one, v)
		VMOVUPS(v, Mem{Base: dst, Index: i, Scale: 1})
	})
	Store(one.AsX(), ReturnIndex(0))
	VZEROUPPER()
	RET()
}

func normaliseBack() {
	at, n := frame("normaliseBack32", "is normaliseBack of vector.go. each is 1/n.",
		"func(dx, d, normal, scale, dScale, dShift *float32, n int, each, inverse float32)",
		"dx", "d", "normal", "scale", "dScale", "dShift")
	mean, along := zero(), zero()
	each("gather", n, func(i reg.GPVirtual) {
		m := func(k int) Mem { return Mem{Base: at[k], Index: i, Scale: 1} }
		d, normal, t := YMM(), YMM(), YMM()
		VMOVUPS(m(1), d)
		VADDPS(m(5), d, t)
		VMOVUPS(t, m(5))
		VMOVUPS(m(2), normal)
		VMULPS(normal, d, t)
		VADDPS(m(4), t, t)
		VMOVUPS(t, m(4))
		VMULPS(m(3), d, d)
		VADDPS(d, mean, mean)
		VMOVUPS(d, m(0))
		VMULPS(d, normal, normal)
		VADDPS(normal, along, along)
	})
	portion := broadcast("each")
	for _, v := range []reg.VecVirtual{mean, along} {
		total(v)
		VMULPS(portion, v, v)
	}
	inverse := broadcast("inverse")
	each("spread", n, func(i reg.GPVirtual) {
		m := func(k int) Mem { return Mem{Base: at[k], Index: i, Scale: 1} }
		d, t := YMM(), YMM()
		VMOVUPS(m(0), d)
		VSUBPS(mean, d, d)
		VMULPS(m(2), along, t)
		VSUBPS(t, d, d)
		VMULPS(inverse, d, d)
		VMOVUPS(d, m(0))
	})
	VZEROUPPER()
	RET()
}

// Places in the table of constants: the numerator, the denominator, the bound of the argument and
// its negative, 1 and -1, 1/2.
const (
	above = 0
	below = 7
	bound = 11
	ones  = 13
	half  = 15
)

// constants loads entries of the table at a pointer.
type constants struct{ table reg.GPVirtual }

func (c constants) at(k int) reg.VecVirtual {
	v := YMM()
	VBROADCASTSS(Mem{Base: c.table, Disp: 4 * k}, v)
	return v
}

// tanh replaces x by its hyperbolic tangent.
func (c constants) tanh(x reg.VecVirtual) {
	clamp := func(v reg.VecVirtual, k int) {
		VMINPS(v, c.at(k), v) // v where it is NaN
		VMAXPS(v, c.at(k+1), v)
	}
	clamp(x, bound)
	u := YMM()
	VMULPS(x, x, u)
	series := func(from, to int) reg.VecVirtual {
		v := c.at(to)
		for k := to - 1; k >= from; k-- {
			VMULPS(u, v, v)
			VADDPS(c.at(k), v, v)
		}
		return v
	}
	p := series(above, below-1)
	VMULPS(p, x, x)
	VDIVPS(series(below, bound-1), x, x)
	clamp(x, ones)
}

// sigmoid replaces x by 1/(1+exp(-x)).
func (c constants) sigmoid(x reg.VecVirtual) {
	h := c.at(half)
	VMULPS(h, x, x)
	c.tanh(x)
	h = c.at(half)
	VMULPS(h, x, x)
	VADDPS(h, x, x)
}

// blocks returns the memory of the four blocks of gates at p, and advances nothing.
func blocks(p, n, n3 reg.GPVirtual) [4]Mem {
	return [4]Mem{{Base: p}, {Base: p, Index: n, Scale: 1},
		{Base: p, Index: n, Scale: 2}, {Base: p, Index: n3, Scale: 1}}
}

func cell() {
	at, n := frame("cell32", "is cell of vector.go, with the table of constants.",
		"func(gates, before, c, th, h *float32, n int, table *float32)", "gates", "before", "c", "th", "h")
	k := constants{Load(Param("table"), GP64()).(reg.GPVirtual)}
	n3, left := GP64(), GP64()
	LEAQ(Mem{Base: n, Index: n, Scale: 2}, n3)
	MOVQ(n, left)
	Label("loop")
	g := blocks(at[0], n, n3)
	var v [4]reg.VecVirtual
	for b := range v {
		v[b] = YMM()
		VMOVUPS(g[b], v[b])
		if b < 3 {
			k.sigmoid(v[b])
		} else {
			k.tanh(v[b])
		}
		VMOVUPS(v[b], g[b])
	}
	c, t := YMM(), YMM()
	VMULPS(Mem{Base: at[1]}, v[1], c)
	VMULPS(v[3], v[0], t)
	VADDPS(t, c, c)
	VMOVUPS(c, Mem{Base: at[2]})
	k.tanh(c)
	VMOVUPS(c, Mem{Base: at[3]})
	VMULPS(c, v[2], c)
	VMOVUPS(c, Mem{Base: at[4]})
	for _, p := range at {
		ADDQ(Imm(32), p)
	}
	SUBQ(Imm(32), left)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func cellBack() {
	at, n := frame("cellBack32", "is cellBack of vector.go, with the table of constants.",
		"func(d, gates, before, th, dh, dc *float32, n int, table *float32)", "d", "gates", "before", "th", "dh",
		"dc")
	k := constants{Load(Param("table"), GP64()).(reg.GPVirtual)}
	n3, left := GP64(), GP64()
	LEAQ(Mem{Base: n, Index: n, Scale: 2}, n3)
	MOVQ(n, left)
	one := k.at(ones)
	Label("loop")
	d, g := blocks(at[0], n, n3), blocks(at[1], n, n3)
	load := func(m Mem) reg.VecVirtual {
		v := YMM()
		VMOVUPS(m, v)
		return v
	}
	// left of one: 1 - v.
	rest := func(v reg.VecVirtual) reg.VecVirtual {
		r := YMM()
		VSUBPS(v, one, r)
		return r
	}
	th, dh, o := load(Mem{Base: at[3]}), load(Mem{Base: at[4]}), load(g[2])
	e := YMM()
	VMULPS(th, th, e)
	e = rest(e)
	t := YMM()
	VMULPS(o, dh, t)
	VMULPS(e, t, e)
	VADDPS(Mem{Base: at[5]}, e, e)
	gate := func(v, outer reg.VecVirtual, to Mem) {
		r := rest(v)
		VMULPS(r, v, r)
		VMULPS(r, outer, r)
		VMOVUPS(r, to)
	}
	VMULPS(th, dh, dh)
	gate(o, dh, d[2])
	i, c := load(g[0]), load(g[3])
	VMULPS(c, e, t)
	gate(i, t, d[0])
	f := load(g[1])
	VMULPS(Mem{Base: at[2]}, e, t)
	gate(f, t, d[1])
	VMULPS(i, e, t)
	VMULPS(c, c, c)
	c = rest(c)
	VMULPS(c, t, c)
	VMOVUPS(c, d[3])
	VMULPS(f, e, e)
	VMOVUPS(e, Mem{Base: at[5]})
	for _, p := range at {
		ADDQ(Imm(32), p)
	}
	SUBQ(Imm(32), left)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
