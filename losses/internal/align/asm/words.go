//go:build ignore

// This program writes words_amd64.s: moveWords of AVX-512, one function for each pair of gains.
//
//	go run asm/words.go >words_amd64.s
//
// A column is a word of groups of hi bits, one a step, with as many ones at the high end of a group
// as the step is high. T_i is the plane of [step ≥ i], one bit a group at its low end, and N_i its
// complement. For the rise h of a cell, H_i = [h of the cell before ≥ i], the move
//
//	h_j = max(0, gain_j - s_j, h_{j-1} - s_j),   s'_j = max(s_j, gain_j, h_{j-1}) - h_{j-1}
//
// is, for i from hi down, with E the cells that match and gain hi, the others lo,
//
//	G_i  = E N_{hi-i+1} + ¬E N_{lo-i+1} + Σ_{σ>0} N_{σ+1} H_{i+σ}     generates a rise of i
//	H_i  = the carries of (G_i + N_1) + G_i                          a step of 0 hands it on
//	T'_i = E ¬H_{hi-i+1} + ¬E ¬H_{lo-i+1} + Σ_{η≥0} ¬H_{η+1} T_{i+η}
//
// where bits between those of the planes are set in one summand, so that carries pass them. It is
// the method of J. Loving, Y. Hernandez and G. Benson, "BitPAl: a bit-parallel, general
// integer-scoring sequence alignment algorithm", Bioinformatics 30(22), 2014, for one sign of steps
// and for eight columns at a time.
//
// The clamp needs the greatest prefix sum of (step - lo): by table for half bytes, then by a tree.
package main

import "fmt"

func main() {
	fmt.Print(header)
	for _, g := range [][2]int{{1, 0}, {2, 1}, {4, 1}, {4, 3}} {
		tables(g[0], g[1])
		move(g[0], g[1])
	}
}

// Registers. Planes and what is made of them are numbered from the bases below.
const (
	keyAt  = 0 // T_1 … T_hi
	notAt  = 4 // N_1 … N_hi
	riseAt = 8 // H_1 … H_hi
	x, y   = 12, 13
	out    = 14
	same   = 15 // E
	other  = 16 // ¬E
	sum    = 17
	best   = 18
	z      = 19
	lows   = 20 // low bits of groups
	fill   = 21 // the others
	nibble = 22
	sums   = 23
	bests  = 24
	all    = 25
	limAll = 26
	sure   = 27
	low    = 28
	high   = 29
	one    = 30
	signs  = 31
)

func op(format string, a ...any) { fmt.Printf("\t"+format+"\n", a...) }

func tables(hi, lo int) {
	sums, bests := [16]byte{}, [16]byte{}
	for v := range 16 {
		sum, best := 0, 0
		for i := 0; i < 4; i += hi {
			for b := range hi {
				sum += v >> (i + b) & 1
			}
			sum -= lo
			best = max(best, sum)
		}
		sums[v], bests[v] = byte(int8(sum)), byte(int8(best))
	}
	for _, t := range []struct {
		name string
		of   [16]byte
	}{{"Sums", sums}, {"Bests", bests}} {
		name := fmt.Sprintf("·word%s%d%d", t.name, hi, lo)
		for half := range 2 {
			w := uint64(0)
			for i := range 8 {
				w |= uint64(t.of[8*half+i]) << (8 * i)
			}
			fmt.Printf("DATA %s+%d(SB)/8, $%#x\n", name, 8*half, w)
		}
		fmt.Printf("GLOBL %s(SB), RODATA|NOPTR, $16\n", name)
	}
	w := uint64(0)
	for i := 0; i < 64; i += hi {
		w |= 1 << i
	}
	fmt.Printf("DATA ·wordLows%d%d+0(SB)/8, $%#x\nGLOBL ·wordLows%d%d(SB), RODATA|NOPTR, $8\n\n", hi, lo, w, hi,
		lo)
}

// or adds terms to register dst: and-products of two, or of a complement and another.
type term struct {
	not  bool // of a
	a, b int
}

func or(dst int, terms []term) {
	for i, t := range terms {
		to := dst
		if i > 0 {
			// dst |= a b or ¬a b; the table has bits by dst, a, b.
			if t.not {
				op("VPTERNLOGQ $0xf2, Z%d, Z%d, Z%d", t.b, t.a, to)
			} else {
				op("VPTERNLOGQ $0xf8, Z%d, Z%d, Z%d", t.b, t.a, to)
			}
			continue
		}
		if t.not {
			op("VPANDNQ Z%d, Z%d, Z%d", t.b, t.a, to)
		} else {
			op("VPANDQ Z%d, Z%d, Z%d", t.b, t.a, to)
		}
	}
}

func move(hi, lo int) {
	T := func(i int) int { return keyAt + i - 1 }
	N := func(i int) int { return notAt + i - 1 }
	H := func(i int) int { return riseAt + i - 1 }
	fmt.Printf("// func moveWords%d%d(a *laneArgs)\nTEXT ·moveWords%d%d(SB), NOSPLIT, $0-8\n", hi, lo, hi, lo)
	op("MOVQ a+0(FP), AX")
	op("MOVQ L_OUT(AX), DI")
	op("MOVQ L_OFF(AX), SI")
	op("MOVQ L_STRIDE(AX), R8")
	op("VPBROADCASTQ ·wordLows%d%d(SB), Z%d", hi, lo, lows)
	op("VPTERNLOGQ $0xff, Z%d, Z%d, Z%d", fill, fill, fill)
	op("VPXORQ Z%d, Z%d, Z%d", lows, fill, fill)
	op("VPBROADCASTQ ·wordNibble(SB), Z%d", nibble)
	op("VBROADCASTI32X4 ·wordSums%d%d(SB), Z%d", hi, lo, sums)
	op("VBROADCASTI32X4 ·wordBests%d%d(SB), Z%d", hi, lo, bests)
	op("VPBROADCASTQ L_ALL(AX), Z%d", all)
	op("VPBROADCASTQ L_LIMALL(AX), Z%d", limAll)
	op("VPBROADCASTQ L_SURE(AX), Z%d", sure)
	op("VPBROADCASTQ L_LOW(AX), Z%d", low)
	op("VPBROADCASTQ L_HIGH(AX), Z%d", high)
	op("VPBROADCASTQ ·wordOne(SB), Z%d", one)
	op("VPBROADCASTQ ·wordSign(SB), Z%d", signs)
	op("XORQ R10, R10 // the columns at hand")
	fmt.Println("columns:")
	op("MOVQ L_KEYS(AX), R9")
	op("VMOVDQU64 (R9)(R10*8), Z%d", x)
	for i := 1; i <= hi; i++ {
		from := x
		if s := hi - i; s > 0 {
			op("VPSRLQ $%d, Z%d, Z%d", s, x, y)
			from = y
		}
		op("VPANDQ Z%d, Z%d, Z%d", lows, from, T(i))
		op("VPANDNQ Z%d, Z%d, Z%d", lows, from, N(i))
	}
	op("MOVQ L_MATCH(AX), R11")
	op("MOVQ L_CLASSES(AX), R12")
	op("LEAQ (DI)(R10*8), R13 // of the first class")
	op("LEAQ (SI)(R10*1), R15")
	fmt.Println("class:")
	op("VPBROADCASTQ (R11), Z%d", same)
	op("ADDQ $8, R11")
	op("VPANDNQ Z%d, Z%d, Z%d", lows, same, other)
	for i := hi; i >= 1; i-- {
		g := []term{{a: same, b: N(hi - i + 1)}}
		if i <= lo {
			g = append(g, term{a: other, b: N(lo - i + 1)})
		}
		for s := 1; s <= hi-i; s++ {
			g = append(g, term{a: N(s + 1), b: H(i + s)})
		}
		or(x, g)
		op("VPORQ Z%d, Z%d, Z%d", N(1), fill, y)
		op("VPORQ Z%d, Z%d, Z%d", x, y, y)
		op("VPADDQ Z%d, Z%d, Z%d", x, y, H(i))
		op("VPTERNLOGQ $0x96, Z%d, Z%d, Z%d", x, y, H(i))
		op("VPANDQ Z%d, Z%d, Z%d", lows, H(i), H(i))
	}
	for i := 1; i <= hi; i++ {
		g := []term{{true, H(hi - i + 1), same}}
		if i <= lo {
			g = append(g, term{true, H(lo - i + 1), other})
		}
		for n := 0; n <= hi-i; n++ {
			g = append(g, term{true, H(n + 1), T(i + n)})
		}
		if i == 1 {
			or(out, g)
		} else {
			or(x, g)
			op("VPADDQ Z%d, Z%d, Z%d", out, out, out)
			op("VPORQ Z%d, Z%d, Z%d", x, out, out)
		}
	}
	op("VPANDQ Z%d, Z%d, Z%d", all, out, out)
	// What leaves the window, and the column.
	op("VPANDQ.BCST L_DROPPED(AX), Z%d, Z%d", out, z)
	op("VPOPCNTQ Z%d, Z%d", z, z)
	op("VMOVQ L_DROP(AX), X%d", x)
	op("VPSRLQ X%d, Z%d, Z%d", x, out, out)
	// G.
	op("VMOVQ L_TURN(AX), X%d", x)
	op("VPSRLQ X%d, Z%d, Z%d", x, out, y)
	op("VPANDQ Z%d, Z%d, Z%d", nibble, y, x)
	op("VPSRLQ $4, Z%d, Z%d", y, y)
	op("VPANDQ Z%d, Z%d, Z%d", nibble, y, y)
	op("VPSHUFB Z%d, Z%d, Z%d", x, sums, sum)
	op("VPSHUFB Z%d, Z%d, Z%d", x, bests, best)
	op("VPSHUFB Z%d, Z%d, Z%d", y, bests, x)
	op("VPADDB Z%d, Z%d, Z%d", sum, x, x)
	op("VPMAXSB Z%d, Z%d, Z%d", x, best, best)
	op("VPSHUFB Z%d, Z%d, Z%d", y, sums, y)
	op("VPADDB Z%d, Z%d, Z%d", y, sum, sum)
	for _, s := range []int{8, 16, 32} {
		op("VPSRLQ $%d, Z%d, Z%d", s, best, x)
		op("VPADDB Z%d, Z%d, Z%d", sum, x, x)
		op("VPMAXSB Z%d, Z%d, Z%d", x, best, best)
		if s < 32 {
			op("VPSRLQ $%d, Z%d, Z%d", s, sum, x)
			op("VPADDB Z%d, Z%d, Z%d", x, sum, sum)
		}
	}
	op("VPANDQ.BCST ·wordByte(SB), Z%d, Z%d", best, best)
	op("VPANDQ.BCST L_BEFORE(AX), Z%d, Z%d", out, x)
	op("VPOPCNTQ Z%d, Z%d", x, x)
	op("VPADDQ Z%d, Z%d, Z%d", x, best, best)
	op("VPADDQ Z%d, Z%d, Z%d", sure, best, best)
	// By how much the first cell rises, and the last.
	op("VPXORQ Z%d, Z%d, Z%d", x, x, x)
	op("VPSUBQ Z%d, Z%d, Z%d", low, best, y)
	op("VPMAXSQ Z%d, Z%d, Z%d", x, y, y)
	op("VPADDQ Z%d, Z%d, Z%d", y, z, z)
	op("VPMOVQB Z%d, (R15)", z)
	op("VPSUBQ Z%d, Z%d, Z%d", high, best, best)
	op("VPOPCNTQ Z%d, Z%d", out, x)
	op("VPSUBQ Z%d, Z%d, Z%d", x, best, best)
	op("VPXORQ Z%d, Z%d, Z%d", x, x, x)
	op("VPMAXSQ Z%d, Z%d, Z%d", x, best, best)
	op("VPANDNQ Z%d, Z%d, Z%d", limAll, out, sum) // zeros
	op("VMOVDQA64 Z%d, Z%d", sum, z)
	op("VPTESTMQ Z%d, Z%d, K1", y, y)
	op("VPTESTMQ Z%d, Z%d, K2", best, best)
	op("KORTESTB K1, K2")
	op("JEQ clamped")
	fmt.Println("raise:")
	op("VPSUBQ Z%d, Z%d, Z%d", one, out, x)
	op("VPANDQ Z%d, Z%d, K1, Z%d", x, out, out)
	op("VPLZCNTQ Z%d, Z%d", sum, x)
	op("VPSRLVQ Z%d, Z%d, Z%d", x, signs, x)
	op("VPXORQ Z%d, Z%d, K2, Z%d", x, sum, sum)
	op("VPSUBQ Z%d, Z%d, K1, Z%d", one, y, y)
	op("VPSUBQ Z%d, Z%d, K2, Z%d", one, best, best)
	op("VPTESTMQ Z%d, Z%d, K1", y, y)
	op("VPTESTMQ Z%d, Z%d, K2", best, best)
	op("KORTESTB K1, K2")
	op("JNE raise")
	op("VPXORQ Z%d, Z%d, Z%d", sum, z, z) // those that were set
	op("VPORQ Z%d, Z%d, Z%d", z, out, out)
	fmt.Println("clamped:")
	op("VMOVDQU64 Z%d, (R13)", out)
	op("LEAQ (R13)(R8*8), R13")
	op("ADDQ R8, R15")
	op("DECQ R12")
	op("JNE class")
	op("ADDQ $8, R10")
	op("CMPQ R10, L_N(AX)")
	op("JLT columns")
	op("VZEROUPPER")
	op("RET")
	fmt.Println()
}

const header = `// Code generated by asm/words.go. DO NOT EDIT.

//go:build amd64

#include "textflag.h"

// laneArgs
#define L_KEYS 0
#define L_N 8
#define L_OUT 16
#define L_OFF 24
#define L_MATCH 32
#define L_CLASSES 40
#define L_STRIDE 48
#define L_DROPPED 56
#define L_DROP 64
#define L_ALL 72
#define L_BEFORE 80
#define L_SURE 88
#define L_TURN 96
#define L_LOW 104
#define L_HIGH 112
#define L_LIMALL 120

DATA ·wordNibble+0(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL ·wordNibble(SB), RODATA|NOPTR, $8
DATA ·wordOne+0(SB)/8, $1
GLOBL ·wordOne(SB), RODATA|NOPTR, $8
DATA ·wordSign+0(SB)/8, $0x8000000000000000
GLOBL ·wordSign(SB), RODATA|NOPTR, $8
DATA ·wordByte+0(SB)/8, $255
GLOBL ·wordByte(SB), RODATA|NOPTR, $8

`
