//go:build amd64 && !purego

#include "textflag.h"

// Four elements of s_i at (SI), of y_i at (DI), of y, g and s at (R8), (R9), (R10),
// into one of two sets of sums.
#define PAIR(read, at, wide, s0, s1, s2, s3, s4) \
	read at(SI), Y10 \
	read at(DI), Y11 \
	VMOVUPD wide(R8), Y12 \
	VMOVUPD wide(R9), Y13 \
	VMOVUPD wide(R10), Y14 \
	VFMADD231PD Y12, Y10, s0 \
	VFMADD231PD Y13, Y10, s1 \
	VFMADD231PD Y12, Y11, s2 \
	VFMADD231PD Y13, Y11, s3 \
	VFMADD231PD Y14, Y11, s4

#define FOLD(a, b, low, at) \
	VADDPD b, a, a \
	VEXTRACTF128 $1, a, X15 \
	VADDPD X15, low, low \
	VPERMILPD $1, low, X15 \
	VADDSD X15, low, low \
	VMOVSD low, at(DX)

#define DOTS(read, size, loop) \
	MOVQ si+0(FP), SI \
	MOVQ yi+8(FP), DI \
	MOVQ y+16(FP), R8 \
	MOVQ grad+24(FP), R9 \
	MOVQ s+32(FP), R10 \
	MOVQ n+40(FP), CX \
	MOVQ out+48(FP), DX \
	VXORPD Y0, Y0, Y0 \
	VXORPD Y1, Y1, Y1 \
	VXORPD Y2, Y2, Y2 \
	VXORPD Y3, Y3, Y3 \
	VXORPD Y4, Y4, Y4 \
	VXORPD Y5, Y5, Y5 \
	VXORPD Y6, Y6, Y6 \
	VXORPD Y7, Y7, Y7 \
	VXORPD Y8, Y8, Y8 \
	VXORPD Y9, Y9, Y9 \
loop: \
	PAIR(read, 0, 0, Y0, Y1, Y2, Y3, Y4) \
	PAIR(read, (4*size), 32, Y5, Y6, Y7, Y8, Y9) \
	ADDQ $(8*size), SI \
	ADDQ $(8*size), DI \
	ADDQ $64, R8 \
	ADDQ $64, R9 \
	ADDQ $64, R10 \
	SUBQ $8, CX \
	JG loop \
	FOLD(Y0, Y5, X0, 0) \
	FOLD(Y1, Y6, X1, 8) \
	FOLD(Y2, Y7, X2, 16) \
	FOLD(Y3, Y8, X3, 24) \
	FOLD(Y4, Y9, X4, 32) \
	VZEROUPPER \
	RET

#define ADDTWO(read, size, loop) \
	MOVQ dst+0(FP), DX \
	MOVQ si+8(FP), SI \
	MOVQ yi+16(FP), DI \
	MOVQ n+24(FP), CX \
	VBROADCASTSD a+32(FP), Y14 \
	VBROADCASTSD b+40(FP), Y15 \
loop: \
	read 0(SI), Y0 \
	read 0(DI), Y1 \
	read (4*size)(SI), Y2 \
	read (4*size)(DI), Y3 \
	VMOVUPD (DX), Y4 \
	VMOVUPD 32(DX), Y5 \
	VFMADD231PD Y0, Y14, Y4 \
	VFMADD231PD Y2, Y14, Y5 \
	VFMADD231PD Y1, Y15, Y4 \
	VFMADD231PD Y3, Y15, Y5 \
	VMOVUPD Y4, (DX) \
	VMOVUPD Y5, 32(DX) \
	ADDQ $(8*size), SI \
	ADDQ $(8*size), DI \
	ADDQ $64, DX \
	SUBQ $8, CX \
	JG loop \
	VZEROUPPER \
	RET

// func dots32AVX2(si, yi *float32, y, grad, s *float64, n int, out *[5]float64)
//
// n is a positive multiple of 8.
TEXT ·dots32AVX2(SB), NOSPLIT, $0-56
	DOTS(VCVTPS2PD, 4, loop)

// func dots64AVX2(si, yi, y, grad, s *float64, n int, out *[5]float64)
//
// n is a positive multiple of 8.
TEXT ·dots64AVX2(SB), NOSPLIT, $0-56
	DOTS(VMOVUPD, 8, loop)

// func addTwo32AVX2(dst *float64, si, yi *float32, n int, a, b float64)
//
// n is a positive multiple of 8.
TEXT ·addTwo32AVX2(SB), NOSPLIT, $0-48
	ADDTWO(VCVTPS2PD, 4, loop)

// func addTwo64AVX2(dst, si, yi *float64, n int, a, b float64)
//
// n is a positive multiple of 8.
TEXT ·addTwo64AVX2(SB), NOSPLIT, $0-48
	ADDTWO(VMOVUPD, 8, loop)

// func largestAVX2(x *float64, n int) (m, bad float64)
//
// n is a positive multiple of 8. bad is the sum of the elements times zero: NaN when
// one of them is NaN or infinite.
TEXT ·largestAVX2(SB), NOSPLIT, $0-32
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	VXORPD Y6, Y6, Y6
	VPCMPEQD Y7, Y7, Y7
	VPSRLQ $1, Y7, Y7 // all bits but the sign

largest:
	VMOVUPD (SI), Y4
	VMOVUPD 32(SI), Y5
	VFMADD231PD Y6, Y4, Y2
	VFMADD231PD Y6, Y5, Y3
	VANDPD Y7, Y4, Y4
	VANDPD Y7, Y5, Y5
	VMAXPD Y4, Y0, Y0
	VMAXPD Y5, Y1, Y1
	ADDQ $64, SI
	SUBQ $8, CX
	JG largest
	VMAXPD Y1, Y0, Y0
	VADDPD Y3, Y2, Y2
	VEXTRACTF128 $1, Y0, X1
	VMAXPD X1, X0, X0
	VPERMILPD $1, X0, X1
	VMAXSD X1, X0, X0
	VMOVSD X0, m+16(FP)
	VEXTRACTF128 $1, Y2, X3
	VADDPD X3, X2, X2
	VPERMILPD $1, X2, X3
	VADDSD X3, X2, X2
	VMOVSD X2, bad+24(FP)
	VZEROUPPER
	RET

// func difference32AVX2(s *float32, d, a, b *float64, n int)
//
// stores a - b in s, and what s then holds in d. n is a positive multiple of 8.
TEXT ·difference32AVX2(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), SI
	MOVQ d+8(FP), DI
	MOVQ a+16(FP), R8
	MOVQ b+24(FP), R9
	MOVQ n+32(FP), CX

difference:
	VMOVUPD (R8), Y0
	VMOVUPD 32(R8), Y1
	VSUBPD (R9), Y0, Y0
	VSUBPD 32(R9), Y1, Y1
	VCVTPD2PSY Y0, X0
	VCVTPD2PSY Y1, X1
	VMOVUPS X0, (SI)
	VMOVUPS X1, 16(SI)
	VCVTPS2PD X0, Y0
	VCVTPS2PD X1, Y1
	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	ADDQ $32, SI
	ADDQ $64, DI
	ADDQ $64, R8
	ADDQ $64, R9
	SUBQ $8, CX
	JG difference
	VZEROUPPER
	RET
