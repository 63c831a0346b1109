// Command asm writes the assembly of packages nn and encoder: loops over vectors that the compiler
// does not vectorise, for AVX2. It is a module of its own, so that only those who change a loop
// need avo:
//
//	go generate ./learn/nn ./learn/nn/encoder
//
// Every loop takes n elements, n > 0 and a multiple of eight (float32) or four (float64). It
// computes the same as the Go form of the same name in vector.go, operation by operation.
package main

import (
	"flag"
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// kind is float32 or float64.
type kind int

func (k kind) typ() string { return fmt.Sprintf("float%d", int(k)) }

func (k kind) pick(single, double func(...Op)) func(...Op) {
	if k == 32 {
		return single
	}
	return double
}

// loop writes the frame: pointers named in arrays, n, scalars broadcast; body gets
// the memory of each array and the register of each scalar.
func (k kind) loop(name, doc string, arrays, scalars []string, body func(at []Mem, s []reg.VecVirtual)) {
	sig := fmt.Sprintf("func(%s *%s, n int", strings.Join(arrays, ", "), k.typ())
	if len(scalars) > 0 {
		sig += fmt.Sprintf(", %s %s", strings.Join(scalars, ", "), k.typ())
	}
	TEXT(fmt.Sprintf("%s%d", name, int(k)), NOSPLIT, sig+")")
	Pragma("noescape")
	Doc(doc)
	var at []Mem
	i := GP64()
	for _, a := range arrays {
		at = append(at, Mem{Base: Load(Param(a), GP64()), Index: i, Scale: 1})
	}
	n := Load(Param("n"), GP64())
	shift := uint64(2)
	if k == 64 {
		shift = 3
	}
	SHLQ(Imm(shift), n)
	var s []reg.VecVirtual
	for _, name := range scalars {
		v := YMM()
		from, err := Param(name).Resolve()
		if err != nil {
			panic(err)
		}
		if k == 32 {
			VBROADCASTSS(from.Addr, v)
		} else {
			VBROADCASTSD(from.Addr, v)
		}
		s = append(s, v)
	}
	XORQ(i, i)
	Label("loop")
	body(at, s)
	ADDQ(Imm(32), i)
	CMPQ(i, n)
	JLT(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func main() {
	flag.Parse() // those of avo, and set
	ConstraintExpr("amd64,!purego")
	if *set == "encoder" {
		encoder()
	} else {
		network()
	}
	Generate()
}

var set = flag.String("set", "nn", "package whose loops are written: nn or encoder")

// network writes the loops of package nn.
func network() {
	for _, k := range []kind{32, 64} {
		mov := k.pick(VMOVUPS, VMOVUPD)
		add := k.pick(VADDPS, VADDPD)
		sub := k.pick(VSUBPS, VSUBPD) // sub(b, a, c): c = a - b
		mul := k.pick(VMULPS, VMULPD)
		div := k.pick(VDIVPS, VDIVPD) // div(b, a, c): c = a / b
		sqrt := k.pick(VSQRTPS, VSQRTPD)
		load := func(m Mem) reg.VecVirtual {
			v := YMM()
			mov(m, v)
			return v
		}

		k.loop("biasReLU", "stores max(y+bias, 0) in y, and NaN where the sum is NaN.", []string{"y", "bias"}, nil,
			func(at []Mem, _ []reg.VecVirtual) {
				y, zero := load(at[0]), YMM()
				add(at[1], y, y)
				k.pick(VXORPS, VXORPD)(zero, zero, zero)
				k.pick(VMAXPS, VMAXPD)(y, zero, y) // the last source wins when either is NaN
				mov(y, at[0])
			})
		k.loop("maskReLU", "stores zero in d where y is not positive, and adds d to sum.",
			[]string{"d", "y", "sum"}, nil, func(at []Mem, _ []reg.VecVirtual) {
				mask, zero := YMM(), YMM()
				k.pick(VXORPS, VXORPD)(zero, zero, zero)
				y := load(at[1])
				if k == 32 {
					VCMPPS(Imm(1), y, zero, mask) // 0 < y
					VANDPS(at[0], mask, mask)
				} else {
					VCMPPD(Imm(1), y, zero, mask)
					VANDPD(at[0], mask, mask)
				}
				mov(mask, at[0])
				add(at[2], mask, mask)
				mov(mask, at[2])
			})
		k.loop("stepSGD", "stores (w - rate·g)·shrink in w.", []string{"w", "grad"}, []string{"rate", "shrink"},
			func(at []Mem, s []reg.VecVirtual) {
				g, w := YMM(), load(at[0])
				mul(at[1], s[0], g)
				sub(g, w, w)
				mul(s[1], w, w)
				mov(w, at[0])
			})
		k.loop("stepMomentum", "stores momentum·v + g in v, then (w - rate·v)·shrink in w.",
			[]string{"w", "v", "grad"}, []string{"rate", "momentum", "shrink"}, func(at []Mem, s []reg.VecVirtual) {
				v, w := YMM(), load(at[0])
				mul(at[1], s[1], v)
				add(at[2], v, v)
				mov(v, at[1])
				mul(s[0], v, v)
				sub(v, w, w)
				mul(s[2], w, w)
				mov(w, at[0])
			})
		k.loop("stepAdaGrad", "adds g² to a, and stores (w - r·g)/(1 + r·l2) in w, where r = rate/(tiny+√a).",
			[]string{"w", "a", "grad"}, []string{"rate", "tiny", "one", "l2"}, func(at []Mem, s []reg.VecVirtual) {
				w, a, g := load(at[0]), YMM(), load(at[2])
				mul(g, g, a)
				add(at[1], a, a)
				mov(a, at[1])
				sqrt(a, a)
				add(s[1], a, a)
				r := YMM()
				div(a, s[0], r)
				mul(r, g, g)
				sub(g, w, w)
				mul(s[3], r, r)
				add(s[2], r, r)
				div(r, w, w)
				mov(w, at[0])
			})
		k.unfinite()
		// With the bias corrections c1 = 1/(1-β1^t), c2 = 1/(1-β2^t).
		k.loop("stepAdam", "moves a by β1'·(g-a) and b by β2'·(g²-b), and stores (w - r·c1·a)/(1 + r·l2) in w, "+
			"where r = rate/(tiny+√(c2·b)).",
			[]string{"w", "a", "b", "grad"}, []string{"rate", "tiny", "one", "l2", "beta1", "beta2", "c1", "c2"},
			func(at []Mem, s []reg.VecVirtual) {
				w, a, b, g := load(at[0]), load(at[1]), load(at[2]), load(at[3])
				t := YMM()
				sub(a, g, t)
				mul(s[4], t, t)
				add(t, a, a)
				mov(a, at[1])
				mul(g, g, g)
				sub(b, g, g)
				mul(s[5], g, g)
				add(g, b, b)
				mov(b, at[2])
				mul(s[7], b, b)
				sqrt(b, b)
				add(s[1], b, b)
				div(b, s[0], b) // r
				mul(s[6], a, a)
				mul(b, a, a)
				sub(a, w, w)
				mul(s[3], b, b)
				add(s[2], b, b)
				div(b, w, w)
				mov(w, at[0])
			})
	}
}

// unfinite sums x-x over four lanes of registers: zero, unless something is not finite.
func (k kind) unfinite() {
	TEXT(fmt.Sprintf("unfinite%d", int(k)), NOSPLIT, fmt.Sprintf("func(x *%s, n int) bool", k.typ()))
	Pragma("noescape")
	Doc("reports whether one of n elements is NaN or infinite.")
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	lanes := 256 / int(k)
	acc := YMM()
	VXORPS(acc, acc, acc)
	Label("loop")
	v := YMM()
	if k == 32 {
		VMOVUPS(Mem{Base: x}, v)
		VSUBPS(v, v, v)
	} else {
		VMOVUPD(Mem{Base: x}, v)
		VSUBPD(v, v, v)
	}
	VORPS(v, acc, acc) // NaN has bits, zero none
	ADDQ(Imm(32), x)
	SUBQ(Imm(uint64(lanes)), n)
	JNZ(LabelRef("loop"))
	VPTEST(acc, acc)
	out := GP8()
	SETNE(out)
	Store(out, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
