//go:build amd64 && !purego

#include "textflag.h"

// 24 times all bits, then 24 times none: a window of 24 entries that begins
// 24-n entries in selects n columns.
DATA masks<>+0(SB)/8, $-1
DATA masks<>+8(SB)/8, $-1
DATA masks<>+16(SB)/8, $-1
DATA masks<>+24(SB)/8, $-1
DATA masks<>+32(SB)/8, $-1
DATA masks<>+40(SB)/8, $-1
DATA masks<>+48(SB)/8, $-1
DATA masks<>+56(SB)/8, $-1
DATA masks<>+64(SB)/8, $-1
DATA masks<>+72(SB)/8, $-1
DATA masks<>+80(SB)/8, $-1
DATA masks<>+88(SB)/8, $-1
DATA masks<>+96(SB)/8, $-1
DATA masks<>+104(SB)/8, $-1
DATA masks<>+112(SB)/8, $-1
DATA masks<>+120(SB)/8, $-1
DATA masks<>+128(SB)/8, $-1
DATA masks<>+136(SB)/8, $-1
DATA masks<>+144(SB)/8, $-1
DATA masks<>+152(SB)/8, $-1
DATA masks<>+160(SB)/8, $-1
DATA masks<>+168(SB)/8, $-1
DATA masks<>+176(SB)/8, $-1
DATA masks<>+184(SB)/8, $-1
GLOBL masks<>(SB), RODATA|NOPTR, $384

// func sumRowsAVX2(dst *float64, n int, w *float64, rows *int32, count, stride int)
//
// Blocks of up to 24 columns stay in Y0-Y5 while all rows go by; Y6-Y11 select
// the columns of the block.
TEXT ·sumRowsAVX2(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DX
	MOVQ n+8(FP), R9
	MOVQ w+16(FP), DI
	MOVQ stride+40(FP), R8
	SHLQ $3, R8

block:
	MOVQ rows+24(FP), SI
	MOVQ count+32(FP), CX
	MOVQ $24, R10
	CMPQ R9, R10
	CMOVQLT R9, R10            // columns of this block
	LEAQ masks<>(SB), R11
	LEAQ 192(R11), R11
	MOVQ R10, R12
	SHLQ $3, R12
	SUBQ R12, R11
	VMOVUPD (R11), Y6
	VMOVUPD 32(R11), Y7
	VMOVUPD 64(R11), Y8
	VMOVUPD 96(R11), Y9
	VMOVUPD 128(R11), Y10
	VMOVUPD 160(R11), Y11
	VMASKMOVPD (DX), Y6, Y0
	VMASKMOVPD 32(DX), Y7, Y1
	VMASKMOVPD 64(DX), Y8, Y2
	VMASKMOVPD 96(DX), Y9, Y3
	VMASKMOVPD 128(DX), Y10, Y4
	VMASKMOVPD 160(DX), Y11, Y5
	TESTQ CX, CX
	JZ store
	CMPQ R10, $16
	JLE narrow

wide:
	MOVLQSX (SI), AX
	IMULQ R8, AX
	ADDQ DI, AX
	VADDPD (AX), Y0, Y0        // more than 16 columns: these are whole
	VADDPD 32(AX), Y1, Y1
	VADDPD 64(AX), Y2, Y2
	VADDPD 96(AX), Y3, Y3
	VMASKMOVPD 128(AX), Y10, Y14
	VMASKMOVPD 160(AX), Y11, Y15
	VADDPD Y14, Y4, Y4
	VADDPD Y15, Y5, Y5
	ADDQ $4, SI
	DECQ CX
	JNZ wide
	JMP store

narrow:
	MOVLQSX (SI), AX
	IMULQ R8, AX
	ADDQ DI, AX
	VMASKMOVPD (AX), Y6, Y12
	VMASKMOVPD 32(AX), Y7, Y13
	VMASKMOVPD 64(AX), Y8, Y14
	VMASKMOVPD 96(AX), Y9, Y15
	VADDPD Y12, Y0, Y0
	VADDPD Y13, Y1, Y1
	VADDPD Y14, Y2, Y2
	VADDPD Y15, Y3, Y3
	ADDQ $4, SI
	DECQ CX
	JNZ narrow

store:
	VMASKMOVPD Y0, Y6, (DX)
	VMASKMOVPD Y1, Y7, 32(DX)
	VMASKMOVPD Y2, Y8, 64(DX)
	VMASKMOVPD Y3, Y9, 96(DX)
	VMASKMOVPD Y4, Y10, 128(DX)
	VMASKMOVPD Y5, Y11, 160(DX)
	ADDQ R12, DX
	ADDQ R12, DI
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

// func cpuid(leaf, sub uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL sub+4(FP), CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET

// func xgetbv() uint32
TEXT ·xgetbv(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, ret+0(FP)
	RET
