//go:build amd64 && !purego

#include "textflag.h"

// R12 gets the number of vectors of eight that hold min(R9, 32) columns, and K1 the
// mask of the last one.
#define BLOCK \
	MOVQ $32, R10 \
	CMPQ R9, R10 \
	CMOVQLT R9, R10 \
	MOVQ R10, R12 \
	ADDQ $7, R12 \
	SHRQ $3, R12 \
	MOVQ R12, CX \
	SHLQ $3, CX \
	SUBQ R10, CX \
	MOVL $0xff, AX \
	SHRL CX, AX \
	KMOVW AX, K1

#define LOAD1
#define LOAD2 VMOVUPD (DX), Z0
#define LOAD3 LOAD2; VMOVUPD 64(DX), Z1
#define LOAD4 LOAD3; VMOVUPD 128(DX), Z2
#define ADD1
#define ADD2 VADDPD (AX), Z0, Z0
#define ADD3 ADD2; VADDPD 64(AX), Z1, Z1
#define ADD4 ADD3; VADDPD 128(AX), Z2, Z2
#define SAVE1
#define SAVE2 VMOVUPD Z0, (DX)
#define SAVE3 SAVE2; VMOVUPD Z1, 64(DX)
#define SAVE4 SAVE3; VMOVUPD Z2, 128(DX)
#define FETCH1 PREFETCHT0 (BX)
#define FETCH2 FETCH1; PREFETCHT0 64(BX)
#define FETCH3 FETCH2; PREFETCHT0 128(BX)
#define FETCH4 FETCH3; PREFETCHT0 192(BX)

// One block of up to 8k columns, the last eight (in Z3) under the mask K1: all rows
// go by.
#define SUM(k, loop, load, add, save, fetch) \
	load \
	VMOVUPD.Z (64*k-64)(DX), K1, Z3 \
loop: \
	MOVLQSX (SI), AX \
	MOVLQSX (SI)(R11*4), BX \
	IMULQ R8, AX \
	IMULQ R8, BX \
	ADDQ DI, AX \
	ADDQ DI, BX \
	fetch \
	add \
	VMOVUPD.Z (64*k-64)(AX), K1, Z4 \
	VADDPD Z4, Z3, Z3 \
	ADDQ $4, SI \
	DECQ CX \
	JNZ loop \
	save \
	VMOVUPD Z3, K1, (64*k-64)(DX) \
	JMP next

// The same without fetching.
#define PLAIN(k, loop, load, add, save) \
	load \
	VMOVUPD.Z (64*k-64)(DX), K1, Z3 \
loop: \
	MOVLQSX (SI), AX \
	IMULQ R8, AX \
	ADDQ DI, AX \
	add \
	VMOVUPD.Z (64*k-64)(AX), K1, Z4 \
	VADDPD Z4, Z3, Z3 \
	ADDQ $4, SI \
	DECQ CX \
	JNZ loop \
	save \
	VMOVUPD Z3, K1, (64*k-64)(DX) \
	JMP next

// func sumRowsAVX512(dst *float64, n int, w *float64, rows *int32, count, stride, ahead int)
//
// n and count are positive. The row of which the number stands ahead places after
// that of the row in hand is fetched into the cache; none if ahead is zero.
TEXT ·sumRowsAVX512(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DX
	MOVQ n+8(FP), R9
	MOVQ w+16(FP), DI
	MOVQ stride+40(FP), R8
	MOVQ ahead+48(FP), R11
	SHLQ $3, R8

block:
	BLOCK
	MOVQ rows+24(FP), SI
	MOVQ count+32(FP), CX
	TESTQ R11, R11
	JZ plain
	CMPQ R12, $3
	JEQ three
	CMPQ R12, $4
	JEQ four
	CMPQ R12, $2
	JEQ two
	SUM(1, loop1, LOAD1, ADD1, SAVE1, FETCH1)

two:
	SUM(2, loop2, LOAD2, ADD2, SAVE2, FETCH2)

three:
	SUM(3, loop3, LOAD3, ADD3, SAVE3, FETCH3)

four:
	SUM(4, loop4, LOAD4, ADD4, SAVE4, FETCH4)

plain:
	CMPQ R12, $3
	JEQ plain3
	CMPQ R12, $4
	JEQ plain4
	CMPQ R12, $2
	JEQ plain2
	PLAIN(1, again1, LOAD1, ADD1, SAVE1)

plain2:
	PLAIN(2, again2, LOAD2, ADD2, SAVE2)

plain3:
	PLAIN(3, again3, LOAD3, ADD3, SAVE3)

plain4:
	PLAIN(4, again4, LOAD4, ADD4, SAVE4)

next:
	LEAQ (DX)(R10*8), DX
	LEAQ (DI)(R10*8), DI
	SUBQ R10, R9
	JG block
	VZEROUPPER
	RET

#define ZERO(a, b) VPXORQ a, a, a; VPXORQ b, b, b
#define ZERO1 ZERO(Z3, Z7)
#define ZERO2 ZERO1; ZERO(Z0, Z4)
#define ZERO3 ZERO2; ZERO(Z1, Z5)
#define ZERO4 ZERO3; ZERO(Z2, Z6)
#define FMA1
#define FMA2 VFMADD231PD (DI), Z15, Z0
#define FMA3 FMA2; VFMADD231PD 64(DI), Z15, Z1
#define FMA4 FMA3; VFMADD231PD 128(DI), Z15, Z2
#define ODD1
#define ODD2 VFMADD231PD (BX), Z14, Z4
#define ODD3 ODD2; VFMADD231PD 64(BX), Z14, Z5
#define ODD4 ODD3; VFMADD231PD 128(BX), Z14, Z6
#define BOTH1 VADDPD Z7, Z3, Z3
#define BOTH2 BOTH1; VADDPD Z4, Z0, Z0
#define BOTH3 BOTH2; VADDPD Z5, Z1, Z1
#define BOTH4 BOTH3; VADDPD Z6, Z2, Z2

// One block of up to 8k columns: the rows of m go by in twos, those of even number
// into Z0-Z3 and the others into Z4-Z7, so that no sum waits for the one before.
#define VECMAT(k, loop, odd, end, zero, fma, fmaodd, both, save) \
	zero \
	SUBQ $2, CX \
	JLT odd \
loop: \
	LEAQ (DI)(R8*1), BX \
	VBROADCASTSD (SI), Z15 \
	VBROADCASTSD 8(SI), Z14 \
	fma \
	fmaodd \
	VMOVUPD.Z (64*k-64)(DI), K1, Z13 \
	VMOVUPD.Z (64*k-64)(BX), K1, Z12 \
	VFMADD231PD Z13, Z15, Z3 \
	VFMADD231PD Z12, Z14, Z7 \
	ADDQ $16, SI \
	LEAQ (DI)(R8*2), DI \
	SUBQ $2, CX \
	JGE loop \
odd: \
	CMPQ CX, $-1 \
	JNE end \
	VBROADCASTSD (SI), Z15 \
	fma \
	VMOVUPD.Z (64*k-64)(DI), K1, Z13 \
	VFMADD231PD Z13, Z15, Z3 \
end: \
	both \
	save \
	VMOVUPD Z3, K1, (64*k-64)(DX) \
	JMP nextcolumns

// func vecMatAVX512(dst *float64, n int, a *float64, count int, m *float64)
//
// n and count are positive.
TEXT ·vecMatAVX512(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DX
	MOVQ n+8(FP), R9
	MOVQ m+32(FP), R13
	MOVQ R9, R8
	SHLQ $3, R8

columns:
	BLOCK
	MOVQ a+16(FP), SI
	MOVQ count+24(FP), CX
	MOVQ R13, DI
	CMPQ R12, $3
	JEQ three
	CMPQ R12, $4
	JEQ four
	CMPQ R12, $2
	JEQ two
	VECMAT(1, loop1, odd1, end1, ZERO1, FMA1, ODD1, BOTH1, SAVE1)

two:
	VECMAT(2, loop2, odd2, end2, ZERO2, FMA2, ODD2, BOTH2, SAVE2)

three:
	VECMAT(3, loop3, odd3, end3, ZERO3, FMA3, ODD3, BOTH3, SAVE3)

four:
	VECMAT(4, loop4, odd4, end4, ZERO4, FMA4, ODD4, BOTH4, SAVE4)

nextcolumns:
	LEAQ (DX)(R10*8), DX
	LEAQ (R13)(R10*8), R13
	SUBQ R10, R9
	JG columns
	VZEROUPPER
	RET

// func mulSumAVX2(a, e *float64, n int) float64
//
// n is a positive multiple of 4.
TEXT ·mulSumAVX2(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), DI
	MOVQ e+8(FP), SI
	MOVQ n+16(FP), CX
	VXORPD Y0, Y0, Y0

products:
	VMOVUPD (DI), Y1
	VMULPD (SI), Y1, Y1
	VMOVUPD Y1, (DI)
	VADDPD Y1, Y0, Y0
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $4, CX
	JG products
	VEXTRACTF128 $1, Y0, X1
	VADDPD X1, X0, X0
	VPERMILPD $1, X0, X1
	VADDSD X1, X0, X0
	VMOVSD X0, ret+24(FP)
	VZEROUPPER
	RET

// func mulAVX2(dst, a, b *float64, n int, factor float64)
//
// n is a positive multiple of 4.
TEXT ·mulAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ n+24(FP), CX
	VBROADCASTSD factor+32(FP), Y2

mul:
	VMOVUPD (SI), Y0
	VMULPD (DX), Y0, Y0
	VMULPD Y2, Y0, Y0
	VMOVUPD Y0, (DI)
	ADDQ $32, SI
	ADDQ $32, DX
	ADDQ $32, DI
	SUBQ $4, CX
	JG mul
	VZEROUPPER
	RET

// func scaleAVX2(a *float64, n int, factor float64)
//
// n is a positive multiple of 4.
TEXT ·scaleAVX2(SB), NOSPLIT, $0-24
	MOVQ a+0(FP), DI
	MOVQ n+8(FP), CX
	VBROADCASTSD factor+16(FP), Y2

scale:
	VMULPD (DI), Y2, Y0
	VMOVUPD Y0, (DI)
	ADDQ $32, DI
	SUBQ $4, CX
	JG scale
	VZEROUPPER
	RET
