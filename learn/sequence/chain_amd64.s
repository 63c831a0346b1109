//go:build amd64 && !purego

#include "textflag.h"

// Recursions over the positions of a sequence, for rows of 8k floats, k up to 4. What
// lies beyond the labels is zero in all rows.

#define ZERO1 VPXORQ Z0, Z0, Z0; VPXORQ Z4, Z4, Z4
#define ZERO2 ZERO1; VPXORQ Z1, Z1, Z1; VPXORQ Z5, Z5, Z5
#define ZERO3 ZERO2; VPXORQ Z2, Z2, Z2; VPXORQ Z6, Z6, Z6
#define ZERO4 ZERO3; VPXORQ Z3, Z3, Z3; VPXORQ Z7, Z7, Z7
#define EVEN1 VFMADD231PD (AX), Z12, Z0
#define EVEN2 EVEN1; VFMADD231PD 64(AX), Z12, Z1
#define EVEN3 EVEN2; VFMADD231PD 128(AX), Z12, Z2
#define EVEN4 EVEN3; VFMADD231PD 192(AX), Z12, Z3
#define ODD1 VFMADD231PD (R13), Z13, Z4
#define ODD2 ODD1; VFMADD231PD 64(R13), Z13, Z5
#define ODD3 ODD2; VFMADD231PD 128(R13), Z13, Z6
#define ODD4 ODD3; VFMADD231PD 192(R13), Z13, Z7
#define BOTH1 VADDPD Z4, Z0, Z0
#define BOTH2 BOTH1; VADDPD Z5, Z1, Z1
#define BOTH3 BOTH2; VADDPD Z6, Z2, Z2
#define BOTH4 BOTH3; VADDPD Z7, Z3, Z3
#define TIMES1(at) VMULPD (at), Z0, Z0
#define TIMES2(at) TIMES1(at); VMULPD 64(at), Z1, Z1
#define TIMES3(at) TIMES2(at); VMULPD 128(at), Z2, Z2
#define TIMES4(at) TIMES3(at); VMULPD 192(at), Z3, Z3
#define BY1(z) VMULPD z, Z0, Z0
#define BY2(z) BY1(z); VMULPD z, Z1, Z1
#define BY3(z) BY2(z); VMULPD z, Z2, Z2
#define BY4(z) BY3(z); VMULPD z, Z3, Z3
#define PUT1(at) VMOVUPD Z0, (at)
#define PUT2(at) PUT1(at); VMOVUPD Z1, 64(at)
#define PUT3(at) PUT2(at); VMOVUPD Z2, 128(at)
#define PUT4(at) PUT3(at); VMOVUPD Z3, 192(at)
#define GET1(at) VMOVUPD (at), Z0
#define GET2(at) GET1(at); VMOVUPD 64(at), Z1
#define GET3(at) GET2(at); VMOVUPD 128(at), Z2
#define GET4(at) GET3(at); VMOVUPD 192(at), Z3
#define ALL1 VMOVAPD Z0, Z8
#define ALL2 VADDPD Z1, Z0, Z8
#define ALL3 ALL2; VADDPD Z2, Z8, Z8
#define ALL4 ALL3; VADDPD Z3, Z8, Z8

// The R10 numbers from R12 on, times the matrix at DI, into Z0-Z3: rows of even number
// in Z0-Z3 and the others in Z4-Z7, so that fewer sums wait for one before.
#define VECMAT(rows, odd, done, zero, even, oddrow, both) \
	MOVQ DI, AX \
	MOVQ R10, CX \
	zero \
	SUBQ $2, CX \
	JLT odd \
rows: \
	LEAQ (AX)(R8*1), R13 \
	VBROADCASTSD (R12), Z12 \
	VBROADCASTSD 8(R12), Z13 \
	even \
	oddrow \
	ADDQ $16, R12 \
	LEAQ (AX)(R8*2), AX \
	SUBQ $2, CX \
	JGE rows \
odd: \
	CMPQ CX, $-1 \
	JNE done \
	VBROADCASTSD (R12), Z12 \
	even \
done: \
	both

#define KEEP1 VMOVAPD Z0, Z24
#define KEEP2 KEEP1; VMOVAPD Z1, Z25
#define KEEP3 KEEP2; VMOVAPD Z2, Z26
#define KEEP4 KEEP3; VMOVAPD Z3, Z27
#define LAST1 VMULPD Z10, Z24, Z24; VMOVUPD Z24, (SI)
#define LAST2 LAST1; VMULPD Z10, Z25, Z25; VMOVUPD Z25, 64(SI)
#define LAST3 LAST2; VMULPD Z10, Z26, Z26; VMOVUPD Z26, 128(SI)
#define LAST4 LAST3; VMULPD Z10, Z27, Z27; VMOVUPD Z27, 192(SI)

// A row is multiplied by the scale of the one before (Z10), which is known by then, and
// by its own (when it is in Z24-Z27) only after the next was made of it: so no row waits
// for a sum and a division.
#define FORWARD(step, rows, odd, done, zero, even, oddrow, both, times, all, by, put, get, keep, last) \
	VBROADCASTSD X14, Z10 \
	get(SI) \
	keep \
step: \
	MOVQ SI, R12 \
	VECMAT(rows, odd, done, zero, even, oddrow, both) \
	times(DX) \
	by(Z10) \
	last \
	ADDQ R8, SI \
	put(SI) \
	keep \
	all \
	VEXTRACTF64X4 $1, Z8, Y9 \
	VADDPD Y9, Y8, Y8 \
	VEXTRACTF128 $1, Y8, X9 \
	VADDPD X9, X8, X8 \
	VPERMILPD $1, X8, X9 \
	VADDSD X9, X8, X8 \
	VDIVSD X8, X14, X10 \
	VMOVSD X10, (R11) \
	VBROADCASTSD X10, Z10 \
	ADDQ R8, DX \
	ADDQ $8, R11 \
	DECQ R9 \
	JNZ step \
	last \
	VZEROUPPER \
	RET

#define POST1 VMULPD (SI), Z0, Z8; VMOVUPD Z8, (BX)
#define POST2 POST1; VMULPD 64(SI), Z1, Z9; VMOVUPD Z9, 64(BX)
#define POST3 POST2; VMULPD 128(SI), Z2, Z10; VMOVUPD Z10, 128(BX)
#define POST4 POST3; VMULPD 192(SI), Z3, Z11; VMOVUPD Z11, 192(BX)

#define BACKWARD(step, rows, odd, done, zero, even, oddrow, both, times, by, put, get, post) \
	MOVQ beta+40(FP), AX \
	get(AX) \
step: \
	VBROADCASTSD (R11), Z8 \
	times(DX) \
	by(Z8) \
	put(DX) \
	MOVQ DX, R12 \
	VECMAT(rows, odd, done, zero, even, oddrow, both) \
	post \
	SUBQ R8, SI \
	SUBQ R8, DX \
	SUBQ R8, BX \
	SUBQ $8, R11 \
	DECQ R9 \
	JNZ step \
	MOVQ beta+40(FP), AX \
	put(AX) \
	VZEROUPPER \
	RET

DATA one<>+0(SB)/8, $1.0
GLOBL one<>(SB), RODATA|NOPTR, $8

// func forwardAVX512(alpha, exp, trans, scale *float64, labels, stride, steps int)
//
// alpha is at a row that is there, exp and scale at the next position; steps rows are
// made, at least one.
TEXT ·forwardAVX512(SB), NOSPLIT, $0-56
	MOVQ alpha+0(FP), SI
	MOVQ exp+8(FP), DX
	MOVQ trans+16(FP), DI
	MOVQ scale+24(FP), R11
	MOVQ labels+32(FP), R10
	MOVQ stride+40(FP), R8
	MOVQ steps+48(FP), R9
	SHLQ $3, R8
	VMOVSD one<>(SB), X14
	CMPQ R8, $192
	JEQ three
	CMPQ R8, $256
	JEQ four
	CMPQ R8, $128
	JEQ two
	FORWARD(step1, rows1, odd1, done1, ZERO1, EVEN1, ODD1, BOTH1, TIMES1, ALL1, BY1, PUT1, GET1, KEEP1, LAST1)

two:
	FORWARD(step2, rows2, odd2, done2, ZERO2, EVEN2, ODD2, BOTH2, TIMES2, ALL2, BY2, PUT2, GET2, KEEP2, LAST2)

three:
	FORWARD(step3, rows3, odd3, done3, ZERO3, EVEN3, ODD3, BOTH3, TIMES3, ALL3, BY3, PUT3, GET3, KEEP3, LAST3)

four:
	FORWARD(step4, rows4, odd4, done4, ZERO4, EVEN4, ODD4, BOTH4, TIMES4, ALL4, BY4, PUT4, GET4, KEEP4, LAST4)

// func backwardAVX512(alpha, exp, trans, scale, post, beta *float64, labels, stride, steps int)
//
// exp and scale are at a position, alpha and post at the one before; beta holds the row
// of the former, and that of the latter afterwards. The same for steps positions, at
// least one, downwards. trans is transposed. Rows of exp become exp·beta·scale.
TEXT ·backwardAVX512(SB), NOSPLIT, $0-72
	MOVQ alpha+0(FP), SI
	MOVQ exp+8(FP), DX
	MOVQ trans+16(FP), DI
	MOVQ scale+24(FP), R11
	MOVQ post+32(FP), BX
	MOVQ labels+48(FP), R10
	MOVQ stride+56(FP), R8
	MOVQ steps+64(FP), R9
	SHLQ $3, R8
	CMPQ R8, $192
	JEQ three
	CMPQ R8, $256
	JEQ four
	CMPQ R8, $128
	JEQ two
	BACKWARD(step1, rows1, odd1, done1, ZERO1, EVEN1, ODD1, BOTH1, TIMES1, BY1, PUT1, GET1, POST1)

two:
	BACKWARD(step2, rows2, odd2, done2, ZERO2, EVEN2, ODD2, BOTH2, TIMES2, BY2, PUT2, GET2, POST2)

three:
	BACKWARD(step3, rows3, odd3, done3, ZERO3, EVEN3, ODD3, BOTH3, TIMES3, BY3, PUT3, GET3, POST3)

four:
	BACKWARD(step4, rows4, odd4, done4, ZERO4, EVEN4, ODD4, BOTH4, TIMES4, BY4, PUT4, GET4, POST4)

#define READ1 VMOVUPD 0(DX), Z16
#define READ2 VMOVUPD 0(DX), Z16; VMOVUPD 64(DX), Z17
#define READ3 VMOVUPD 0(DX), Z16; VMOVUPD 64(DX), Z17; VMOVUPD 128(DX), Z18
#define READ4 VMOVUPD 0(DX), Z16; VMOVUPD 64(DX), Z17; VMOVUPD 128(DX), Z18; VMOVUPD 192(DX), Z19
#define TAKE1a VMOVUPD 0(DI), Z0
#define LEAVE1a VMOVUPD Z0, 0(DI)
#define FMA1a VFMADD231PD Z16, Z20, Z0
#define TAKE1b VMOVUPD 0(AX), Z4
#define LEAVE1b VMOVUPD Z4, 0(AX)
#define FMA1b VFMADD231PD Z16, Z21, Z4
#define TAKE1c VMOVUPD 0(R13), Z8
#define LEAVE1c VMOVUPD Z8, 0(R13)
#define FMA1c VFMADD231PD Z16, Z22, Z8
#define TAKE1d VMOVUPD 0(BX), Z12
#define LEAVE1d VMOVUPD Z12, 0(BX)
#define FMA1d VFMADD231PD Z16, Z23, Z12
#define TAKE2a VMOVUPD 0(DI), Z0; VMOVUPD 64(DI), Z1
#define LEAVE2a VMOVUPD Z0, 0(DI); VMOVUPD Z1, 64(DI)
#define FMA2a VFMADD231PD Z16, Z20, Z0; VFMADD231PD Z17, Z20, Z1
#define TAKE2b VMOVUPD 0(AX), Z4; VMOVUPD 64(AX), Z5
#define LEAVE2b VMOVUPD Z4, 0(AX); VMOVUPD Z5, 64(AX)
#define FMA2b VFMADD231PD Z16, Z21, Z4; VFMADD231PD Z17, Z21, Z5
#define TAKE2c VMOVUPD 0(R13), Z8; VMOVUPD 64(R13), Z9
#define LEAVE2c VMOVUPD Z8, 0(R13); VMOVUPD Z9, 64(R13)
#define FMA2c VFMADD231PD Z16, Z22, Z8; VFMADD231PD Z17, Z22, Z9
#define TAKE2d VMOVUPD 0(BX), Z12; VMOVUPD 64(BX), Z13
#define LEAVE2d VMOVUPD Z12, 0(BX); VMOVUPD Z13, 64(BX)
#define FMA2d VFMADD231PD Z16, Z23, Z12; VFMADD231PD Z17, Z23, Z13
#define TAKE3a VMOVUPD 0(DI), Z0; VMOVUPD 64(DI), Z1; VMOVUPD 128(DI), Z2
#define LEAVE3a VMOVUPD Z0, 0(DI); VMOVUPD Z1, 64(DI); VMOVUPD Z2, 128(DI)
#define FMA3a VFMADD231PD Z16, Z20, Z0; VFMADD231PD Z17, Z20, Z1; VFMADD231PD Z18, Z20, Z2
#define TAKE3b VMOVUPD 0(AX), Z4; VMOVUPD 64(AX), Z5; VMOVUPD 128(AX), Z6
#define LEAVE3b VMOVUPD Z4, 0(AX); VMOVUPD Z5, 64(AX); VMOVUPD Z6, 128(AX)
#define FMA3b VFMADD231PD Z16, Z21, Z4; VFMADD231PD Z17, Z21, Z5; VFMADD231PD Z18, Z21, Z6
#define TAKE3c VMOVUPD 0(R13), Z8; VMOVUPD 64(R13), Z9; VMOVUPD 128(R13), Z10
#define LEAVE3c VMOVUPD Z8, 0(R13); VMOVUPD Z9, 64(R13); VMOVUPD Z10, 128(R13)
#define FMA3c VFMADD231PD Z16, Z22, Z8; VFMADD231PD Z17, Z22, Z9; VFMADD231PD Z18, Z22, Z10
#define TAKE3d VMOVUPD 0(BX), Z12; VMOVUPD 64(BX), Z13; VMOVUPD 128(BX), Z14
#define LEAVE3d VMOVUPD Z12, 0(BX); VMOVUPD Z13, 64(BX); VMOVUPD Z14, 128(BX)
#define FMA3d VFMADD231PD Z16, Z23, Z12; VFMADD231PD Z17, Z23, Z13; VFMADD231PD Z18, Z23, Z14
#define TAKE4a VMOVUPD 0(DI), Z0; VMOVUPD 64(DI), Z1; VMOVUPD 128(DI), Z2; VMOVUPD 192(DI), Z3
#define LEAVE4a VMOVUPD Z0, 0(DI); VMOVUPD Z1, 64(DI); VMOVUPD Z2, 128(DI); VMOVUPD Z3, 192(DI)
#define FMA4a VFMADD231PD Z16, Z20, Z0; VFMADD231PD Z17, Z20, Z1; VFMADD231PD Z18, Z20, Z2; VFMADD231PD Z19, Z20, Z3
#define TAKE4b VMOVUPD 0(AX), Z4; VMOVUPD 64(AX), Z5; VMOVUPD 128(AX), Z6; VMOVUPD 192(AX), Z7
#define LEAVE4b VMOVUPD Z4, 0(AX); VMOVUPD Z5, 64(AX); VMOVUPD Z6, 128(AX); VMOVUPD Z7, 192(AX)
#define FMA4b VFMADD231PD Z16, Z21, Z4; VFMADD231PD Z17, Z21, Z5; VFMADD231PD Z18, Z21, Z6; VFMADD231PD Z19, Z21, Z7
#define TAKE4c VMOVUPD 0(R13), Z8; VMOVUPD 64(R13), Z9; VMOVUPD 128(R13), Z10; VMOVUPD 192(R13), Z11
#define LEAVE4c VMOVUPD Z8, 0(R13); VMOVUPD Z9, 64(R13); VMOVUPD Z10, 128(R13); VMOVUPD Z11, 192(R13)
#define FMA4c VFMADD231PD Z16, Z22, Z8; VFMADD231PD Z17, Z22, Z9; VFMADD231PD Z18, Z22, Z10; VFMADD231PD Z19, Z22, Z11
#define TAKE4d VMOVUPD 0(BX), Z12; VMOVUPD 64(BX), Z13; VMOVUPD 128(BX), Z14; VMOVUPD 192(BX), Z15
#define LEAVE4d VMOVUPD Z12, 0(BX); VMOVUPD Z13, 64(BX); VMOVUPD Z14, 128(BX); VMOVUPD Z15, 192(BX)
#define FMA4d VFMADD231PD Z16, Z23, Z12; VFMADD231PD Z17, Z23, Z13; VFMADD231PD Z18, Z23, Z14; VFMADD231PD Z19, Z23, Z15

// The rows of m in fours, of which Z0-Z3, Z4-Z7, Z8-Z11 and Z12-Z15 hold up to 32
// columns: all positions go by.
#define OUTERS(fours, four, read, ta, tb, tc, td, fa, fb, fc, fd, la, lb, lc, ld) \
fours: \
	LEAQ (DI)(R8*1), AX \
	LEAQ (DI)(R8*2), R13 \
	LEAQ (AX)(R8*2), BX \
	ta \
	tb \
	tc \
	td \
	MOVQ SI, R12 \
	MOVQ R11, DX \
	MOVQ R9, CX \
four: \
	read \
	VBROADCASTSD (R12), Z20 \
	VBROADCASTSD 8(R12), Z21 \
	VBROADCASTSD 16(R12), Z22 \
	VBROADCASTSD 24(R12), Z23 \
	fa \
	fb \
	fc \
	fd \
	ADDQ R8, R12 \
	ADDQ R8, DX \
	DECQ CX \
	JNZ four \
	la \
	lb \
	lc \
	ld \
	ADDQ $32, SI \
	LEAQ (DI)(R8*4), DI \
	SUBQ $4, R10 \
	JG fours \
	VZEROUPPER \
	RET

// func addOutersAVX512(m, a, r *float64, rows, stride, steps int)
//
// rows is a positive multiple of 4, steps is positive.
TEXT ·addOutersAVX512(SB), NOSPLIT, $0-48
	MOVQ m+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ r+16(FP), R11
	MOVQ rows+24(FP), R10
	MOVQ stride+32(FP), R8
	MOVQ steps+40(FP), R9
	SHLQ $3, R8
	CMPQ R8, $192
	JEQ three
	CMPQ R8, $256
	JEQ four
	CMPQ R8, $128
	JEQ two
	OUTERS(fours1, four1, READ1, TAKE1a, TAKE1b, TAKE1c, TAKE1d, FMA1a, FMA1b, FMA1c, FMA1d, LEAVE1a, LEAVE1b, LEAVE1c, LEAVE1d)

two:
	OUTERS(fours2, four2, READ2, TAKE2a, TAKE2b, TAKE2c, TAKE2d, FMA2a, FMA2b, FMA2c, FMA2d, LEAVE2a, LEAVE2b, LEAVE2c, LEAVE2d)

three:
	OUTERS(fours3, four3, READ3, TAKE3a, TAKE3b, TAKE3c, TAKE3d, FMA3a, FMA3b, FMA3c, FMA3d, LEAVE3a, LEAVE3b, LEAVE3c, LEAVE3d)

four:
	OUTERS(fours4, four4, READ4, TAKE4a, TAKE4b, TAKE4c, TAKE4d, FMA4a, FMA4b, FMA4c, FMA4d, LEAVE4a, LEAVE4b, LEAVE4c, LEAVE4d)

// What the exponential needs: log₂e, ln 2 in two parts (the first ends in zero bits,
// so that its products with exponents are exact), 1/13!, 1/12! … 1/2!, 1.
DATA expc<>+0(SB)/8, $0x3ff71547652b82fe
DATA expc<>+8(SB)/8, $0x3fe62e42fefa3800
DATA expc<>+16(SB)/8, $0x3d2ef35793c76730
DATA expc<>+24(SB)/8, $0x3de6124613a86d09
DATA expc<>+32(SB)/8, $0x3e21eed8eff8d898
DATA expc<>+40(SB)/8, $0x3e5ae64567f544e4
DATA expc<>+48(SB)/8, $0x3e927e4fb7789f5c
DATA expc<>+56(SB)/8, $0x3ec71de3a556c734
DATA expc<>+64(SB)/8, $0x3efa01a01a01a01a
DATA expc<>+72(SB)/8, $0x3f2a01a01a01a01a
DATA expc<>+80(SB)/8, $0x3f56c16c16c16c17
DATA expc<>+88(SB)/8, $0x3f81111111111111
DATA expc<>+96(SB)/8, $0x3fa5555555555555
DATA expc<>+104(SB)/8, $0x3fc5555555555555
DATA expc<>+112(SB)/8, $0x3fe0000000000000
DATA expc<>+120(SB)/8, $0x3ff0000000000000
GLOBL expc<>(SB), RODATA|NOPTR, $128

// func expRowsAVX512(dst, src *float64, labels, stride, rows int, out *[2]float64)
//
// stores, for rows of which each has labels numbers and room for stride, their
// exponentials relative to the largest of the row, and zero in the rest. It adds those
// largest ones to out[0], in order, and raises out[1] to the largest difference within a
// row. x = k·ln 2 + r with |r| ≤ ln 2 / 2; eˣ is 2ᵏ times the power series of eʳ up to
// r¹³/13!, the rest of which is below 2⁻⁵⁷.
TEXT ·expRowsAVX512(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ labels+16(FP), R10
	MOVQ stride+24(FP), R8
	MOVQ rows+32(FP), R9
	MOVQ out+40(FP), R11
	SHLQ $3, R8
	MOVQ R10, CX
	NEGQ CX
	ANDQ $7, CX // of the last eight that are beyond
	MOVL $0xff, AX
	SHRL CX, AX
	KMOVW AX, K1
	LEAQ -64(R8), R12 // where the last eight stand
	VMOVSD (R11), X14
	VMOVSD 8(R11), X15
	VBROADCASTSD expc<>+0(SB), Z16
	VBROADCASTSD expc<>+8(SB), Z17
	VBROADCASTSD expc<>+16(SB), Z18
	VBROADCASTSD expc<>+24(SB), Z19
	VBROADCASTSD expc<>+32(SB), Z20
	VBROADCASTSD expc<>+40(SB), Z21
	VBROADCASTSD expc<>+48(SB), Z22
	VBROADCASTSD expc<>+56(SB), Z23
	VBROADCASTSD expc<>+64(SB), Z24
	VBROADCASTSD expc<>+72(SB), Z25
	VBROADCASTSD expc<>+80(SB), Z26
	VBROADCASTSD expc<>+88(SB), Z27
	VBROADCASTSD expc<>+96(SB), Z28
	VBROADCASTSD expc<>+104(SB), Z29
	VBROADCASTSD expc<>+112(SB), Z30
	VBROADCASTSD expc<>+120(SB), Z31

row:
	VBROADCASTSD (SI), Z0
	VMOVUPD (SI)(R12*1), K1, Z0
	VMOVAPD Z0, Z1
	XORQ CX, CX
	CMPQ CX, R12
	JGE spanned

span:
	VMOVUPD (SI)(CX*1), Z2
	VMAXPD Z2, Z0, Z0
	VMINPD Z2, Z1, Z1
	ADDQ $64, CX
	CMPQ CX, R12
	JLT span

spanned:
	VEXTRACTF64X4 $1, Z0, Y2
	VEXTRACTF64X4 $1, Z1, Y3
	VMAXPD Y2, Y0, Y0
	VMINPD Y3, Y1, Y1
	VEXTRACTF128 $1, Y0, X2
	VEXTRACTF128 $1, Y1, X3
	VMAXPD X2, X0, X0
	VMINPD X3, X1, X1
	VPERMILPD $1, X0, X2
	VPERMILPD $1, X1, X3
	VMAXSD X2, X0, X0
	VMINSD X3, X1, X1
	VADDSD X0, X14, X14
	VSUBSD X1, X0, X1
	VMAXSD X1, X15, X15
	VBROADCASTSD X0, Z13
	XORQ CX, CX

exps:
	VMOVUPD (SI)(CX*1), Z0
	VSUBPD Z13, Z0, Z0
	VMULPD Z16, Z0, Z2
	VRNDSCALEPD $0, Z2, Z2
	VFNMADD231PD Z17, Z2, Z0
	VFNMADD231PD Z18, Z2, Z0
	VMOVAPD Z19, Z3
	VFMADD213PD Z20, Z0, Z3
	VFMADD213PD Z21, Z0, Z3
	VFMADD213PD Z22, Z0, Z3
	VFMADD213PD Z23, Z0, Z3
	VFMADD213PD Z24, Z0, Z3
	VFMADD213PD Z25, Z0, Z3
	VFMADD213PD Z26, Z0, Z3
	VFMADD213PD Z27, Z0, Z3
	VFMADD213PD Z28, Z0, Z3
	VFMADD213PD Z29, Z0, Z3
	VFMADD213PD Z30, Z0, Z3
	VFMADD213PD Z31, Z0, Z3
	VFMADD213PD Z31, Z0, Z3
	VSCALEFPD Z2, Z3, Z3
	VMOVUPD Z3, (DI)(CX*1)
	ADDQ $64, CX
	CMPQ CX, R8
	JLT exps
	VMOVAPD.Z Z3, K1, Z3
	VMOVUPD Z3, (DI)(R12*1)
	ADDQ R8, SI
	ADDQ R8, DI
	DECQ R9
	JNZ row
	VMOVSD X14, (R11)
	VMOVSD X15, 8(R11)
	VZEROUPPER
	RET
