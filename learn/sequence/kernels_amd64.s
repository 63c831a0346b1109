//go:build amd64 && !purego

#include "textflag.h"

// Four times all bits, then four times none: a window of four entries that
// begins 4-n entries in selects n columns.
DATA masks<>+0(SB)/8, $-1
DATA masks<>+8(SB)/8, $-1
DATA masks<>+16(SB)/8, $-1
DATA masks<>+24(SB)/8, $-1
GLOBL masks<>(SB), RODATA|NOPTR, $64

#define LOAD1
#define LOAD2 VMOVUPD (DX), Y0
#define LOAD3 LOAD2; VMOVUPD 32(DX), Y1
#define LOAD4 LOAD3; VMOVUPD 64(DX), Y2
#define LOAD5 LOAD4; VMOVUPD 96(DX), Y3
#define LOAD6 LOAD5; VMOVUPD 128(DX), Y4
#define LOAD7 LOAD6; VMOVUPD 160(DX), Y5
#define LOAD8 LOAD7; VMOVUPD 192(DX), Y6
#define ADD1
#define ADD2 VADDPD (AX), Y0, Y0
#define ADD3 ADD2; VADDPD 32(AX), Y1, Y1
#define ADD4 ADD3; VADDPD 64(AX), Y2, Y2
#define ADD5 ADD4; VADDPD 96(AX), Y3, Y3
#define ADD6 ADD5; VADDPD 128(AX), Y4, Y4
#define ADD7 ADD6; VADDPD 160(AX), Y5, Y5
#define ADD8 ADD7; VADDPD 192(AX), Y6, Y6
#define SAVE1
#define SAVE2 VMOVUPD Y0, (DX)
#define SAVE3 SAVE2; VMOVUPD Y1, 32(DX)
#define SAVE4 SAVE3; VMOVUPD Y2, 64(DX)
#define SAVE5 SAVE4; VMOVUPD Y3, 96(DX)
#define SAVE6 SAVE5; VMOVUPD Y4, 128(DX)
#define SAVE7 SAVE6; VMOVUPD Y5, 160(DX)
#define SAVE8 SAVE7; VMOVUPD Y6, 192(DX)

// One block of up to 4k columns, the last four (in Y7) under the mask Y15: all
// rows go by.
#define SUM(k, loop, load, add, save) \
	load                                  \
	VMASKMOVPD (32*k-32)(DX), Y15, Y7     \
loop:                                         \
	MOVLQSX (SI), AX                      \
	IMULQ R8, AX                          \
	ADDQ DI, AX                           \
	add                                   \
	VMASKMOVPD (32*k-32)(AX), Y15, Y14    \
	VADDPD Y14, Y7, Y7                    \
	ADDQ $4, SI                           \
	DECQ CX                               \
	JNZ loop                              \
	save                                  \
	VMASKMOVPD Y7, Y15, (32*k-32)(DX)     \
	JMP next

// func sumRowsAVX2(dst *float64, n int, w *float64, rows *int32, count, stride int)
//
// n and count are positive.
TEXT ·sumRowsAVX2(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DX
	MOVQ n+8(FP), R9
	MOVQ w+16(FP), DI
	MOVQ stride+40(FP), R8
	SHLQ $3, R8

block:
	MOVQ rows+24(FP), SI
	MOVQ count+32(FP), CX
	MOVQ $32, R10
	CMPQ R9, R10
	CMOVQLT R9, R10            // columns of this block
	MOVQ R10, R12
	ADDQ $3, R12
	SHRQ $2, R12               // k
	MOVQ R12, R13
	SHLQ $2, R13
	SUBQ R10, R13              // columns of the last four that are beyond
	LEAQ masks<>(SB), R11
	VMOVUPD (R11)(R13*8), Y15
	CMPQ R12, $6
	JEQ six
	CMPQ R12, $5
	JEQ five
	CMPQ R12, $7
	JEQ seven
	CMPQ R12, $8
	JEQ eight
	CMPQ R12, $4
	JEQ four
	CMPQ R12, $3
	JEQ three
	CMPQ R12, $2
	JEQ two
	SUM(1, loop1, LOAD1, ADD1, SAVE1)

two:
	SUM(2, loop2, LOAD2, ADD2, SAVE2)

three:
	SUM(3, loop3, LOAD3, ADD3, SAVE3)

four:
	SUM(4, loop4, LOAD4, ADD4, SAVE4)

five:
	SUM(5, loop5, LOAD5, ADD5, SAVE5)

six:
	SUM(6, loop6, LOAD6, ADD6, SAVE6)

seven:
	SUM(7, loop7, LOAD7, ADD7, SAVE7)

eight:
	SUM(8, loop8, LOAD8, ADD8, SAVE8)

next:
	LEAQ (DX)(R10*8), DX
	LEAQ (DI)(R10*8), DI
	SUBQ R10, R9
	JG block
	VZEROUPPER
	RET

#define ZERO1 VXORPD Y0, Y0, Y0
#define ZERO2 ZERO1; VXORPD Y1, Y1, Y1
#define ZERO3 ZERO2; VXORPD Y2, Y2, Y2
#define ZERO4 ZERO3; VXORPD Y3, Y3, Y3
#define ZERO5 ZERO4; VXORPD Y4, Y4, Y4
#define ZERO6 ZERO5; VXORPD Y5, Y5, Y5
#define FMA1 VFMADD231PD (DI), Y15, Y0
#define FMA2 FMA1; VFMADD231PD 32(DI), Y15, Y1
#define FMA3 FMA2; VFMADD231PD 64(DI), Y15, Y2
#define FMA4 FMA3; VFMADD231PD 96(DI), Y15, Y3
#define FMA5 FMA4; VFMADD231PD 128(DI), Y15, Y4
#define FMA6 FMA5; VFMADD231PD 160(DI), Y15, Y5
#define PUT1 VMOVUPD Y0, (DX)
#define PUT2 PUT1; VMOVUPD Y1, 32(DX)
#define PUT3 PUT2; VMOVUPD Y2, 64(DX)
#define PUT4 PUT3; VMOVUPD Y3, 96(DX)
#define PUT5 PUT4; VMOVUPD Y4, 128(DX)
#define PUT6 PUT5; VMOVUPD Y5, 160(DX)

// One block of 4k columns: all rows of m go by.
#define VECMAT(k, loop, zero, fma, put) \
	zero                    \
loop:                           \
	VBROADCASTSD (SI), Y15  \
	fma                     \
	ADDQ $8, SI             \
	ADDQ R8, DI             \
	DECQ CX                 \
	JNZ loop                \
	put                     \
	ADDQ $(32*k), DX        \
	ADDQ $(32*k), R13       \
	SUBQ $(4*k), R9         \
	JMP block

// func vecMatAVX2(dst *float64, n int, a *float64, count int, m *float64)
//
// n is a positive multiple of 4, count is positive.
TEXT ·vecMatAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DX
	MOVQ n+8(FP), R9
	MOVQ m+32(FP), R13
	MOVQ R9, R8
	SHLQ $3, R8

block:
	MOVQ a+16(FP), SI
	MOVQ count+24(FP), CX
	MOVQ R13, DI
	CMPQ R9, $24
	JGE six
	CMPQ R9, $20
	JEQ five
	CMPQ R9, $16
	JEQ four
	CMPQ R9, $12
	JEQ three
	CMPQ R9, $8
	JEQ two
	CMPQ R9, $4
	JEQ one
	VZEROUPPER
	RET

six:
	VECMAT(6, loop6, ZERO6, FMA6, PUT6)

five:
	VECMAT(5, loop5, ZERO5, FMA5, PUT5)

four:
	VECMAT(4, loop4, ZERO4, FMA4, PUT4)

three:
	VECMAT(3, loop3, ZERO3, FMA3, PUT3)

two:
	VECMAT(2, loop2, ZERO2, FMA2, PUT2)

one:
	VECMAT(1, loop1, ZERO1, FMA1, PUT1)

#define GET1 VMOVUPD (DI), Y0
#define GET2 GET1; VMOVUPD 32(DI), Y1
#define GET3 GET2; VMOVUPD 64(DI), Y2
#define GET4 GET3; VMOVUPD 96(DI), Y3
#define GET5 GET4; VMOVUPD 128(DI), Y4
#define GET6 GET5; VMOVUPD 160(DI), Y5
#define LOADR1 VMOVUPD (DX), Y6
#define LOADR2 LOADR1; VMOVUPD 32(DX), Y7
#define LOADR3 LOADR2; VMOVUPD 64(DX), Y8
#define LOADR4 LOADR3; VMOVUPD 96(DX), Y9
#define LOADR5 LOADR4; VMOVUPD 128(DX), Y10
#define LOADR6 LOADR5; VMOVUPD 160(DX), Y11
#define MUL1 VFMADD231PD Y6, Y15, Y0; VMOVUPD Y0, (DI)
#define MUL2 MUL1; VFMADD231PD Y7, Y15, Y1; VMOVUPD Y1, 32(DI)
#define MUL3 MUL2; VFMADD231PD Y8, Y15, Y2; VMOVUPD Y2, 64(DI)
#define MUL4 MUL3; VFMADD231PD Y9, Y15, Y3; VMOVUPD Y3, 96(DI)
#define MUL5 MUL4; VFMADD231PD Y10, Y15, Y4; VMOVUPD Y4, 128(DI)
#define MUL6 MUL5; VFMADD231PD Y11, Y15, Y5; VMOVUPD Y5, 160(DI)

// One block of 4k columns of m: that part of r stays in Y6-Y11.
#define OUTER(k, loop, load, get, mul) \
	load                    \
loop:                           \
	VBROADCASTSD (SI), Y15  \
	get                     \
	mul                     \
	ADDQ $8, SI             \
	ADDQ R8, DI             \
	DECQ CX                 \
	JNZ loop                \
	ADDQ $(32*k), DX        \
	ADDQ $(32*k), R13       \
	SUBQ $(4*k), R9         \
	JMP block

// func addOuterAVX2(m *float64, a *float64, count int, r *float64, n int)
//
// n is a positive multiple of 4, count is positive.
TEXT ·addOuterAVX2(SB), NOSPLIT, $0-40
	MOVQ m+0(FP), R13
	MOVQ r+24(FP), DX
	MOVQ n+32(FP), R9
	MOVQ R9, R8
	SHLQ $3, R8

block:
	MOVQ a+8(FP), SI
	MOVQ count+16(FP), CX
	MOVQ R13, DI
	CMPQ R9, $24
	JGE six
	CMPQ R9, $20
	JEQ five
	CMPQ R9, $16
	JEQ four
	CMPQ R9, $12
	JEQ three
	CMPQ R9, $8
	JEQ two
	CMPQ R9, $4
	JEQ one
	VZEROUPPER
	RET

six:
	OUTER(6, loop6, LOADR6, GET6, MUL6)

five:
	OUTER(5, loop5, LOADR5, GET5, MUL5)

four:
	OUTER(4, loop4, LOADR4, GET4, MUL4)

three:
	OUTER(3, loop3, LOADR3, GET3, MUL3)

two:
	OUTER(2, loop2, LOADR2, GET2, MUL2)

one:
	OUTER(1, loop1, LOADR1, GET1, MUL1)

// What the exponential needs: log₂e, ln 2 in two parts (the first ends in zero bits,
// so that its products with exponents are exact), 1/13!, 1/12! … 1/2!, 1.
DATA expc<>+0(SB)/8, $0x3ff71547652b82fe // log2e
DATA expc<>+8(SB)/8, $0x3fe62e42fefa3800 // ln2hi
DATA expc<>+16(SB)/8, $0x3d2ef35793c76730 // ln2lo
DATA expc<>+24(SB)/8, $0x3de6124613a86d09 // 1/13!
DATA expc<>+32(SB)/8, $0x3e21eed8eff8d898 // 1/12!
DATA expc<>+40(SB)/8, $0x3e5ae64567f544e4 // 1/11!
DATA expc<>+48(SB)/8, $0x3e927e4fb7789f5c // 1/10!
DATA expc<>+56(SB)/8, $0x3ec71de3a556c734 // 1/9!
DATA expc<>+64(SB)/8, $0x3efa01a01a01a01a // 1/8!
DATA expc<>+72(SB)/8, $0x3f2a01a01a01a01a // 1/7!
DATA expc<>+80(SB)/8, $0x3f56c16c16c16c17 // 1/6!
DATA expc<>+88(SB)/8, $0x3f81111111111111 // 1/5!
DATA expc<>+96(SB)/8, $0x3fa5555555555555 // 1/4!
DATA expc<>+104(SB)/8, $0x3fc5555555555555 // 1/3!
DATA expc<>+112(SB)/8, $0x3fe0000000000000 // 1/2!
DATA expc<>+120(SB)/8, $0x3ff0000000000000 // 1
GLOBL expc<>(SB), RODATA|NOPTR, $128

#define STEP(at) \
	VBROADCASTSD expc<>+at(SB), Y4 \
	VFMADD213PD Y4, Y1, Y3

// func expRowAVX2(dst, src *float64, n int, top float64)
//
// n is a positive multiple of 4. x = k·ln 2 + r with |r| ≤ ln 2 / 2; eˣ is 2ᵏ times
// the power series of eʳ up to r¹³/13!, the rest of which is below 2⁻⁵⁷.
TEXT ·expRowAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSD top+24(FP), Y8
	VBROADCASTSD expc<>+0(SB), Y9
	VBROADCASTSD expc<>+8(SB), Y10
	VBROADCASTSD expc<>+16(SB), Y11
	VBROADCASTSD expc<>+24(SB), Y12
	VBROADCASTSD expc<>+120(SB), Y13

exps:
	VMOVUPD (SI), Y0
	VSUBPD Y8, Y0, Y0
	VMULPD Y9, Y0, Y2
	VROUNDPD $0, Y2, Y2
	VMOVAPD Y0, Y1
	VFNMADD231PD Y10, Y2, Y1
	VFNMADD231PD Y11, Y2, Y1
	VCVTPD2DQY Y2, X5
	VPMOVSXDQ X5, Y5
	VPSLLQ $52, Y5, Y5
	VMOVAPD Y12, Y3
	STEP(32)
	STEP(40)
	STEP(48)
	STEP(56)
	STEP(64)
	STEP(72)
	STEP(80)
	STEP(88)
	STEP(96)
	STEP(104)
	STEP(112)
	VFMADD213PD Y13, Y1, Y3
	VFMADD213PD Y13, Y1, Y3
	VPADDQ Y5, Y3, Y3
	VMOVUPD Y3, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $4, CX
	JG exps
	VZEROUPPER
	RET

// func spanAVX2(src *float64, n int) (top, low float64)
//
// n is at least 4; the last four may be looked at twice.
TEXT ·spanAVX2(SB), NOSPLIT, $0-32
	MOVQ src+0(FP), SI
	MOVQ n+8(FP), CX
	LEAQ -32(SI)(CX*8), DX
	VMOVUPD (DX), Y0
	VMOVAPD Y0, Y1

spans:
	CMPQ SI, DX
	JGE spanned
	VMOVUPD (SI), Y2
	VMAXPD Y2, Y0, Y0
	VMINPD Y2, Y1, Y1
	ADDQ $32, SI
	JMP spans

spanned:
	VEXTRACTF128 $1, Y0, X2
	VEXTRACTF128 $1, Y1, X3
	VMAXPD X2, X0, X0
	VMINPD X3, X1, X1
	VPERMILPD $1, X0, X2
	VPERMILPD $1, X1, X3
	VMAXSD X2, X0, X0
	VMINSD X3, X1, X1
	VMOVSD X0, top+16(FP)
	VMOVSD X1, low+24(FP)
	VZEROUPPER
	RET
