// AVX2 kernels of the sweeps. Each has a Go equivalent that defines it
// (kernels.go, ngramsweep.go) and tests that compare the two.

#include "textflag.h"

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

// func xgetbv() (lo, hi uint32)
TEXT ·xgetbv(SB), NOSPLIT, $0-8
	XORL CX, CX
	XGETBV
	MOVL AX, lo+0(FP)
	MOVL DX, hi+4(FP)
	RET

// Offsets in rowArgs.
#define A_START 0
#define A_CTX 8
#define A_ARCS 16
#define A_P 24
#define A_ALPHA 32
#define A_NEXT 40
#define A_W 48
#define A_V 56
#define A_X 64
#define A_BETA 72
#define A_ROWS 80
#define A_SINGLE 88
#define A_TAIL 96
#define A_SHIFT 104
#define A_MASK 112


// func forwardRows8(a *rowArgs)
//
// v = Σ alpha · row of P in registers, then scattered along the arcs.
TEXT ·forwardRows8(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), AX
	MOVQ A_START(AX), R8
	MOVQ A_CTX(AX), R9
	MOVQ A_ARCS(AX), R10
	MOVQ A_P(AX), R11
	MOVQ A_ALPHA(AX), R12
	MOVQ A_NEXT(AX), R13
	MOVQ A_W(AX), SI
	MOVQ A_V(AX), DI
	MOVQ A_SHIFT(AX), CX
	MOVQ A_MASK(AX), BX
	MOVL (R8), DX // first entry of the row
row:
	CMPQ A_ROWS(AX), $0
	JEQ done
	DECQ A_ROWS(AX)
	MOVL 4(R8), R14 // end of the row
	ADDQ $4, R8
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	CMPL DX, R14
	JEQ scatter
entry:
	MOVL (R9)(DX*4), R15
	SHLQ $6, R15
	VBROADCASTSD (R12)(DX*8), Y8
	VFMADD231PD 0(R11)(R15*1), Y8, Y0
	VFMADD231PD 32(R11)(R15*1), Y8, Y1
	INCL DX
	CMPL DX, R14
	JNE entry
scatter:
	VMOVUPD Y0, 0(DI)
	VMOVUPD Y1, 32(DI)
	XORQ R14, R14
	CMPQ A_SINGLE(AX), $0
	JEQ tail
single:
	MOVL (R10)(R14*4), R15
	MOVQ R15, R9
	SHRXQ CX, R15, R15
	ANDQ BX, R9
	VMOVSD (DI)(R14*8), X9
	VMULSD (SI)(R9*8), X9, X9
	VADDSD (R13)(R15*8), X9, X9
	VMOVSD X9, (R13)(R15*8)
	INCQ R14
	CMPQ R14, A_SINGLE(AX)
	JNE single
tail:
	LEAQ (R10)(R14*4), R10
	MOVQ A_TAIL(AX), R9
	TESTQ R9, R9
	JEQ next
	// One class of several labels: neighbours in v and in the next layer.
	MOVL (R10), R15
	ADDQ $4, R10
	MOVQ R15, R9
	ANDQ BX, R9
	VMOVSD (SI)(R9*8), X10
	SHRXQ CX, R15, R15
	LEAQ (R13)(R15*8), R15
	LEAQ (DI)(R14*8), R14
	MOVQ A_TAIL(AX), R9
tailone:
	VMOVSD (R14), X9
	VMULSD X10, X9, X9
	VADDSD (R15), X9, X9
	VMOVSD X9, (R15)
	ADDQ $8, R14
	ADDQ $8, R15
	DECQ R9
	JNE tailone
next:
	MOVQ A_CTX(AX), R9
	JMP row
done:
	VZEROUPPER
	RET

// func backwardRows8(a *rowArgs)
//
// g gathered along the arcs, then for each entry beta = P·g and X += alpha g.
TEXT ·backwardRows8(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), AX
	MOVQ A_START(AX), R8
	MOVQ A_CTX(AX), R9
	MOVQ A_ARCS(AX), R10
	MOVQ A_P(AX), R11
	MOVQ A_ALPHA(AX), R12
	MOVQ A_NEXT(AX), R13
	MOVQ A_W(AX), SI
	MOVQ A_V(AX), DI
	MOVQ A_SHIFT(AX), CX
	MOVQ A_MASK(AX), BX
	MOVL (R8), DX
row:
	CMPQ A_ROWS(AX), $0
	JEQ done
	DECQ A_ROWS(AX)
	XORQ R14, R14
	CMPQ A_SINGLE(AX), $0
	JEQ tail
single:
	MOVL (R10)(R14*4), R15
	MOVQ R15, R9
	SHRXQ CX, R15, R15
	ANDQ BX, R9
	VMOVSD (SI)(R9*8), X9
	VMULSD (R13)(R15*8), X9, X9
	VMOVSD X9, (DI)(R14*8)
	INCQ R14
	CMPQ R14, A_SINGLE(AX)
	JNE single
tail:
	LEAQ (R10)(R14*4), R10
	CMPQ A_TAIL(AX), $0
	JEQ entries
	MOVL (R10), R15
	ADDQ $4, R10
	MOVQ R15, R9
	ANDQ BX, R9
	VMOVSD (SI)(R9*8), X10
	SHRXQ CX, R15, R15
	LEAQ (R13)(R15*8), R15
	LEAQ (DI)(R14*8), R14
	MOVQ A_TAIL(AX), R9
tailone:
	VMULSD (R15), X10, X9
	VMOVSD X9, (R14)
	ADDQ $8, R14
	ADDQ $8, R15
	DECQ R9
	JNE tailone
entries:
	MOVQ A_CTX(AX), R9
	MOVL 4(R8), R14
	ADDQ $4, R8
	CMPL DX, R14
	JEQ row
	VMOVUPD 0(DI), Y0
	VMOVUPD 32(DI), Y1
	MOVQ A_X(AX), R9
entry:
	MOVQ A_CTX(AX), R15
	MOVL (R15)(DX*4), R15
	SHLQ $6, R15
	VBROADCASTSD (R12)(DX*8), Y8
	VMULPD (R11)(R15*1), Y0, Y4
	VFMADD231PD 32(R11)(R15*1), Y1, Y4
	VMOVUPD 0(R9)(R15*1), Y9
	VFMADD231PD Y8, Y0, Y9
	VMOVUPD Y9, 0(R9)(R15*1)
	VMOVUPD 32(R9)(R15*1), Y10
	VFMADD231PD Y8, Y1, Y10
	VMOVUPD Y10, 32(R9)(R15*1)
	VEXTRACTF128 $1, Y4, X5
	VADDPD X5, X4, X4
	VUNPCKHPD X4, X4, X5
	VADDSD X5, X4, X4
	MOVQ A_BETA(AX), R15
	VMOVSD X4, (R15)(DX*8)
	INCL DX
	CMPL DX, R14
	JNE entry
	JMP row
done:
	VZEROUPPER
	RET

// func forwardRows12(a *rowArgs)
//
// v = Σ alpha · row of P in registers, then scattered along the arcs.
TEXT ·forwardRows12(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), AX
	MOVQ A_START(AX), R8
	MOVQ A_CTX(AX), R9
	MOVQ A_ARCS(AX), R10
	MOVQ A_P(AX), R11
	MOVQ A_ALPHA(AX), R12
	MOVQ A_NEXT(AX), R13
	MOVQ A_W(AX), SI
	MOVQ A_V(AX), DI
	MOVQ A_SHIFT(AX), CX
	MOVQ A_MASK(AX), BX
	MOVL (R8), DX // first entry of the row
row:
	CMPQ A_ROWS(AX), $0
	JEQ done
	DECQ A_ROWS(AX)
	MOVL 4(R8), R14 // end of the row
	ADDQ $4, R8
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	CMPL DX, R14
	JEQ scatter
entry:
	MOVL (R9)(DX*4), R15
	LEAQ (R15)(R15*2), R15
	SHLQ $5, R15
	VBROADCASTSD (R12)(DX*8), Y8
	VFMADD231PD 0(R11)(R15*1), Y8, Y0
	VFMADD231PD 32(R11)(R15*1), Y8, Y1
	VFMADD231PD 64(R11)(R15*1), Y8, Y2
	INCL DX
	CMPL DX, R14
	JNE entry
scatter:
	VMOVUPD Y0, 0(DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, 64(DI)
	XORQ R14, R14
	CMPQ A_SINGLE(AX), $0
	JEQ tail
single:
	MOVL (R10)(R14*4), R15
	MOVQ R15, R9
	SHRXQ CX, R15, R15
	ANDQ BX, R9
	VMOVSD (DI)(R14*8), X9
	VMULSD (SI)(R9*8), X9, X9
	VADDSD (R13)(R15*8), X9, X9
	VMOVSD X9, (R13)(R15*8)
	INCQ R14
	CMPQ R14, A_SINGLE(AX)
	JNE single
tail:
	LEAQ (R10)(R14*4), R10
	MOVQ A_TAIL(AX), R9
	TESTQ R9, R9
	JEQ next
	// One class of several labels: neighbours in v and in the next layer.
	MOVL (R10), R15
	ADDQ $4, R10
	MOVQ R15, R9
	ANDQ BX, R9
	VMOVSD (SI)(R9*8), X10
	SHRXQ CX, R15, R15
	LEAQ (R13)(R15*8), R15
	LEAQ (DI)(R14*8), R14
	MOVQ A_TAIL(AX), R9
tailone:
	VMOVSD (R14), X9
	VMULSD X10, X9, X9
	VADDSD (R15), X9, X9
	VMOVSD X9, (R15)
	ADDQ $8, R14
	ADDQ $8, R15
	DECQ R9
	JNE tailone
next:
	MOVQ A_CTX(AX), R9
	JMP row
done:
	VZEROUPPER
	RET

// func backwardRows12(a *rowArgs)
//
// g gathered along the arcs, then for each entry beta = P·g and X += alpha g.
TEXT ·backwardRows12(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), AX
	MOVQ A_START(AX), R8
	MOVQ A_CTX(AX), R9
	MOVQ A_ARCS(AX), R10
	MOVQ A_P(AX), R11
	MOVQ A_ALPHA(AX), R12
	MOVQ A_NEXT(AX), R13
	MOVQ A_W(AX), SI
	MOVQ A_V(AX), DI
	MOVQ A_SHIFT(AX), CX
	MOVQ A_MASK(AX), BX
	MOVL (R8), DX
row:
	CMPQ A_ROWS(AX), $0
	JEQ done
	DECQ A_ROWS(AX)
	XORQ R14, R14
	CMPQ A_SINGLE(AX), $0
	JEQ tail
single:
	MOVL (R10)(R14*4), R15
	MOVQ R15, R9
	SHRXQ CX, R15, R15
	ANDQ BX, R9
	VMOVSD (SI)(R9*8), X9
	VMULSD (R13)(R15*8), X9, X9
	VMOVSD X9, (DI)(R14*8)
	INCQ R14
	CMPQ R14, A_SINGLE(AX)
	JNE single
tail:
	LEAQ (R10)(R14*4), R10
	CMPQ A_TAIL(AX), $0
	JEQ entries
	MOVL (R10), R15
	ADDQ $4, R10
	MOVQ R15, R9
	ANDQ BX, R9
	VMOVSD (SI)(R9*8), X10
	SHRXQ CX, R15, R15
	LEAQ (R13)(R15*8), R15
	LEAQ (DI)(R14*8), R14
	MOVQ A_TAIL(AX), R9
tailone:
	VMULSD (R15), X10, X9
	VMOVSD X9, (R14)
	ADDQ $8, R14
	ADDQ $8, R15
	DECQ R9
	JNE tailone
entries:
	MOVQ A_CTX(AX), R9
	MOVL 4(R8), R14
	ADDQ $4, R8
	CMPL DX, R14
	JEQ row
	VMOVUPD 0(DI), Y0
	VMOVUPD 32(DI), Y1
	VMOVUPD 64(DI), Y2
	MOVQ A_X(AX), R9
entry:
	MOVQ A_CTX(AX), R15
	MOVL (R15)(DX*4), R15
	LEAQ (R15)(R15*2), R15
	SHLQ $5, R15
	VBROADCASTSD (R12)(DX*8), Y8
	VMULPD (R11)(R15*1), Y0, Y4
	VFMADD231PD 32(R11)(R15*1), Y1, Y4
	VFMADD231PD 64(R11)(R15*1), Y2, Y4
	VMOVUPD 0(R9)(R15*1), Y9
	VFMADD231PD Y8, Y0, Y9
	VMOVUPD Y9, 0(R9)(R15*1)
	VMOVUPD 32(R9)(R15*1), Y10
	VFMADD231PD Y8, Y1, Y10
	VMOVUPD Y10, 32(R9)(R15*1)
	VMOVUPD 64(R9)(R15*1), Y11
	VFMADD231PD Y8, Y2, Y11
	VMOVUPD Y11, 64(R9)(R15*1)
	VEXTRACTF128 $1, Y4, X5
	VADDPD X5, X4, X4
	VUNPCKHPD X4, X4, X5
	VADDSD X5, X4, X4
	MOVQ A_BETA(AX), R15
	VMOVSD X4, (R15)(DX*8)
	INCL DX
	CMPL DX, R14
	JNE entry
	JMP row
done:
	VZEROUPPER
	RET

// func forwardRows16(a *rowArgs)
//
// v = Σ alpha · row of P in registers, then scattered along the arcs.
TEXT ·forwardRows16(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), AX
	MOVQ A_START(AX), R8
	MOVQ A_CTX(AX), R9
	MOVQ A_ARCS(AX), R10
	MOVQ A_P(AX), R11
	MOVQ A_ALPHA(AX), R12
	MOVQ A_NEXT(AX), R13
	MOVQ A_W(AX), SI
	MOVQ A_V(AX), DI
	MOVQ A_SHIFT(AX), CX
	MOVQ A_MASK(AX), BX
	MOVL (R8), DX // first entry of the row
row:
	CMPQ A_ROWS(AX), $0
	JEQ done
	DECQ A_ROWS(AX)
	MOVL 4(R8), R14 // end of the row
	ADDQ $4, R8
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	CMPL DX, R14
	JEQ scatter
entry:
	MOVL (R9)(DX*4), R15
	SHLQ $7, R15
	VBROADCASTSD (R12)(DX*8), Y8
	VFMADD231PD 0(R11)(R15*1), Y8, Y0
	VFMADD231PD 32(R11)(R15*1), Y8, Y1
	VFMADD231PD 64(R11)(R15*1), Y8, Y2
	VFMADD231PD 96(R11)(R15*1), Y8, Y3
	INCL DX
	CMPL DX, R14
	JNE entry
scatter:
	VMOVUPD Y0, 0(DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, 64(DI)
	VMOVUPD Y3, 96(DI)
	XORQ R14, R14
	CMPQ A_SINGLE(AX), $0
	JEQ tail
single:
	MOVL (R10)(R14*4), R15
	MOVQ R15, R9
	SHRXQ CX, R15, R15
	ANDQ BX, R9
	VMOVSD (DI)(R14*8), X9
	VMULSD (SI)(R9*8), X9, X9
	VADDSD (R13)(R15*8), X9, X9
	VMOVSD X9, (R13)(R15*8)
	INCQ R14
	CMPQ R14, A_SINGLE(AX)
	JNE single
tail:
	LEAQ (R10)(R14*4), R10
	MOVQ A_TAIL(AX), R9
	TESTQ R9, R9
	JEQ next
	// One class of several labels: neighbours in v and in the next layer.
	MOVL (R10), R15
	ADDQ $4, R10
	MOVQ R15, R9
	ANDQ BX, R9
	VMOVSD (SI)(R9*8), X10
	SHRXQ CX, R15, R15
	LEAQ (R13)(R15*8), R15
	LEAQ (DI)(R14*8), R14
	MOVQ A_TAIL(AX), R9
tailone:
	VMOVSD (R14), X9
	VMULSD X10, X9, X9
	VADDSD (R15), X9, X9
	VMOVSD X9, (R15)
	ADDQ $8, R14
	ADDQ $8, R15
	DECQ R9
	JNE tailone
next:
	MOVQ A_CTX(AX), R9
	JMP row
done:
	VZEROUPPER
	RET

// func backwardRows16(a *rowArgs)
//
// g gathered along the arcs, then for each entry beta = P·g and X += alpha g.
TEXT ·backwardRows16(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), AX
	MOVQ A_START(AX), R8
	MOVQ A_CTX(AX), R9
	MOVQ A_ARCS(AX), R10
	MOVQ A_P(AX), R11
	MOVQ A_ALPHA(AX), R12
	MOVQ A_NEXT(AX), R13
	MOVQ A_W(AX), SI
	MOVQ A_V(AX), DI
	MOVQ A_SHIFT(AX), CX
	MOVQ A_MASK(AX), BX
	MOVL (R8), DX
row:
	CMPQ A_ROWS(AX), $0
	JEQ done
	DECQ A_ROWS(AX)
	XORQ R14, R14
	CMPQ A_SINGLE(AX), $0
	JEQ tail
single:
	MOVL (R10)(R14*4), R15
	MOVQ R15, R9
	SHRXQ CX, R15, R15
	ANDQ BX, R9
	VMOVSD (SI)(R9*8), X9
	VMULSD (R13)(R15*8), X9, X9
	VMOVSD X9, (DI)(R14*8)
	INCQ R14
	CMPQ R14, A_SINGLE(AX)
	JNE single
tail:
	LEAQ (R10)(R14*4), R10
	CMPQ A_TAIL(AX), $0
	JEQ entries
	MOVL (R10), R15
	ADDQ $4, R10
	MOVQ R15, R9
	ANDQ BX, R9
	VMOVSD (SI)(R9*8), X10
	SHRXQ CX, R15, R15
	LEAQ (R13)(R15*8), R15
	LEAQ (DI)(R14*8), R14
	MOVQ A_TAIL(AX), R9
tailone:
	VMULSD (R15), X10, X9
	VMOVSD X9, (R14)
	ADDQ $8, R14
	ADDQ $8, R15
	DECQ R9
	JNE tailone
entries:
	MOVQ A_CTX(AX), R9
	MOVL 4(R8), R14
	ADDQ $4, R8
	CMPL DX, R14
	JEQ row
	VMOVUPD 0(DI), Y0
	VMOVUPD 32(DI), Y1
	VMOVUPD 64(DI), Y2
	VMOVUPD 96(DI), Y3
	MOVQ A_X(AX), R9
entry:
	MOVQ A_CTX(AX), R15
	MOVL (R15)(DX*4), R15
	SHLQ $7, R15
	VBROADCASTSD (R12)(DX*8), Y8
	VMULPD (R11)(R15*1), Y0, Y4
	VFMADD231PD 32(R11)(R15*1), Y1, Y4
	VFMADD231PD 64(R11)(R15*1), Y2, Y4
	VFMADD231PD 96(R11)(R15*1), Y3, Y4
	VMOVUPD 0(R9)(R15*1), Y9
	VFMADD231PD Y8, Y0, Y9
	VMOVUPD Y9, 0(R9)(R15*1)
	VMOVUPD 32(R9)(R15*1), Y10
	VFMADD231PD Y8, Y1, Y10
	VMOVUPD Y10, 32(R9)(R15*1)
	VMOVUPD 64(R9)(R15*1), Y11
	VFMADD231PD Y8, Y2, Y11
	VMOVUPD Y11, 64(R9)(R15*1)
	VMOVUPD 96(R9)(R15*1), Y12
	VFMADD231PD Y8, Y3, Y12
	VMOVUPD Y12, 96(R9)(R15*1)
	VEXTRACTF128 $1, Y4, X5
	VADDPD X5, X4, X4
	VUNPCKHPD X4, X4, X5
	VADDSD X5, X4, X4
	MOVQ A_BETA(AX), R15
	VMOVSD X4, (R15)(DX*8)
	INCL DX
	CMPL DX, R14
	JNE entry
	JMP row
done:
	VZEROUPPER
	RET

// func countForwardVector(b, a, p *float64, gain *int32, d, stride, pad, lanes int)
//
// For each label e and each 8 counts: Σ_c p(c, e) a(c, counts - gain(c, e)) in
// two registers.
TEXT ·countForwardVector(SB), NOSPLIT, $0-64
	MOVQ b+0(FP), DI
	MOVQ d+32(FP), R8
	MOVQ stride+40(FP), R9
	SHLQ $3, R9
	MOVQ pad+48(FP), AX
	LEAQ (DI)(AX*8), DI
	XORQ R10, R10 // e
label:
	XORQ R11, R11 // k
counts:
	MOVQ a+8(FP), SI
	MOVQ pad+48(FP), AX
	ADDQ R11, AX
	LEAQ (SI)(AX*8), SI // a(0, k)
	MOVQ p+16(FP), BX
	LEAQ (BX)(R10*8), BX // p(0, e)
	MOVQ gain+24(FP), CX
	LEAQ (CX)(R10*4), CX // gain(0, e)
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	MOVQ R8, R12
	SHRQ $1, R12
	JEQ odd
pair:
	MOVLQSX (CX), DX
	NEGQ DX
	VBROADCASTSD (BX), Y4
	VFMADD231PD (SI)(DX*8), Y4, Y0
	VFMADD231PD 32(SI)(DX*8), Y4, Y1
	ADDQ R9, SI
	MOVLQSX (CX)(R8*4), DX
	NEGQ DX
	VBROADCASTSD (BX)(R8*8), Y5
	VFMADD231PD (SI)(DX*8), Y5, Y2
	VFMADD231PD 32(SI)(DX*8), Y5, Y3
	ADDQ R9, SI
	LEAQ (BX)(R8*8), BX
	LEAQ (BX)(R8*8), BX
	LEAQ (CX)(R8*4), CX
	LEAQ (CX)(R8*4), CX
	DECQ R12
	JNE pair
odd:
	TESTQ $1, R8
	JEQ store
	MOVLQSX (CX), DX
	NEGQ DX
	VBROADCASTSD (BX), Y4
	VFMADD231PD (SI)(DX*8), Y4, Y0
	VFMADD231PD 32(SI)(DX*8), Y4, Y1
store:
	VADDPD Y2, Y0, Y0
	VADDPD Y3, Y1, Y1
	VMOVUPD Y0, (DI)(R11*8)
	VMOVUPD Y1, 32(DI)(R11*8)
	ADDQ $8, R11
	CMPQ R11, lanes+56(FP)
	JLT counts
	ADDQ R9, DI
	INCQ R10
	CMPQ R10, R8
	JLT label
	VZEROUPPER
	RET

// func countBackwardVector(x, beta, betaN, alpha, p *float64, gain *int32, d, stride, pad, lanes int)
//
// For each label c: beta(c, ·) = Σ_e p(c, e) betaN(e, · + gain(c, e)), and for
// each e the dot product of alpha(c, ·) with the same values.
TEXT ·countBackwardVector(SB), NOSPLIT, $0-80
	MOVQ beta+8(FP), DI
	MOVQ alpha+24(FP), R13
	MOVQ pad+64(FP), AX
	LEAQ (R13)(AX*8), R13
	MOVQ p+32(FP), BX
	MOVQ gain+40(FP), CX
	MOVQ x+0(FP), R14
	MOVQ d+48(FP), R8
	MOVQ stride+56(FP), R9
	SHLQ $3, R9
	MOVQ R8, R10
label:
	// The first 8 counts set x, the others add to it.
	XORQ R11, R11 // k
counts:
	MOVQ betaN+16(FP), SI
	LEAQ (SI)(R11*8), SI
	VMOVUPD (R13)(R11*8), Y2
	VMOVUPD 32(R13)(R11*8), Y3
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	XORQ R12, R12 // e
one:
	MOVLQSX (CX)(R12*4), DX
	VMOVUPD (SI)(DX*8), Y4
	VMOVUPD 32(SI)(DX*8), Y5
	VBROADCASTSD (BX)(R12*8), Y6
	VFMADD231PD Y4, Y6, Y0
	VFMADD231PD Y5, Y6, Y1
	VMULPD Y2, Y4, Y4
	VFMADD231PD Y3, Y5, Y4
	VEXTRACTF128 $1, Y4, X5
	VADDPD X5, X4, X4
	VUNPCKHPD X4, X4, X5
	VADDSD X5, X4, X4
	TESTQ R11, R11
	JEQ first
	VADDSD (R14)(R12*8), X4, X4
first:
	VMOVSD X4, (R14)(R12*8)
	ADDQ R9, SI
	INCQ R12
	CMPQ R12, R8
	JLT one
	VMOVUPD Y0, (DI)(R11*8)
	VMOVUPD Y1, 32(DI)(R11*8)
	ADDQ $8, R11
	CMPQ R11, lanes+72(FP)
	JLT counts
	ADDQ R9, DI
	ADDQ R9, R13
	LEAQ (BX)(R8*8), BX
	LEAQ (CX)(R8*4), CX
	LEAQ (R14)(R8*8), R14
	DECQ R10
	JNE label
	VZEROUPPER
	RET

// Offsets in wordArgs.
#define B_KEYS 0
#define B_N 8
#define B_OUT 16
#define B_OFF 24
#define B_PLANES 32
#define B_CLASSES 40
#define B_BLOCKS 48
#define B_MOVE 56
#define B_WIDTH 64
#define B_BLOCKMASK 72
#define B_DROP 80
#define B_DROPPED 88
#define B_ALL 96
#define B_BEFORE 104
#define B_SURE 112
#define B_TURN 120
#define B_PBLOCKS 128
#define B_PROFILE 136
#define B_LOW 144
#define B_HIGH 152
#define B_LIMALL 160

// func moveWords(a *wordArgs)
//
// wordBuilder.step for n keys and all classes. PDEP of -1<<o into a word keeps
// its ones but for the lowest o; into its zeros, it finds the highest of them.
TEXT ·moveWords(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), AX
	MOVQ B_OUT(AX), DI
	MOVQ B_OFF(AX), SI
	MOVQ B_WIDTH(AX), CX
	MOVQ B_MOVE(AX), R12
	MOVQ B_PROFILE(AX), R13
	MOVQ B_BLOCKMASK(AX), R11
column:
	CMPQ B_N(AX), $0
	JEQ done
	DECQ B_N(AX)
	MOVQ B_CLASSES(AX), R8
	MOVQ B_PLANES(AX), R9
class:
	MOVQ B_KEYS(AX), R10
	MOVQ (R10), R10 // rest
	XORQ BX, BX     // carry << 8, and below it what is not read
	XORQ DX, DX     // out
	XORQ R14, R14   // at
	MOVQ B_BLOCKS(AX), R15
	SHLQ $2, R15
	ADDQ R9, R15 // end of the planes
	CMPQ R9, R15
	JEQ moved
block:
	ANDQ $0xff00, BX
	ADDL (R9), BX
	ADDQ $4, R9
	MOVQ R10, AX
	ANDQ R11, AX
	ADDQ AX, BX
	SHRXQ CX, R10, R10
	MOVWQZX (R12)(BX*2), BX
	MOVBQZX BX, AX
	SHLXQ R14, AX, AX
	ORQ AX, DX
	ADDQ CX, R14
	CMPQ R9, R15
	JNE block
	MOVQ a+0(FP), AX
moved:
	ANDQ B_ALL(AX), DX
	MOVQ DX, R10
	ANDQ B_DROPPED(AX), R10
	POPCNTQ R10, R10 // offset
	MOVQ B_DROP(AX), R14
	SHRXQ R14, DX, DX // the column
	MOVQ B_BEFORE(AX), R14
	ANDQ DX, R14
	POPCNTQ R14, R14
	ADDQ B_SURE(AX), R14 // G without the profile
	MOVQ B_PBLOCKS(AX), R15
	TESTQ R15, R15
	JEQ profiled
	MOVQ R9, X0
	MOVQ DI, X1
	MOVQ B_TURN(AX), BX
	SHRXQ BX, DX, BX // rest
	XORQ DI, DI      // sum
	XORQ R9, R9      // best
profile:
	MOVQ BX, AX
	ANDQ R11, AX
	SHRXQ CX, BX, BX
	MOVWLZX (R13)(AX*2), AX
	MOVL AX, R8
	SHRL $8, R8
	ADDQ DI, R8
	CMPQ R8, R9
	CMOVQGT R8, R9
	MOVBQSX AX, AX
	ADDQ AX, DI
	DECQ R15
	JNE profile
	MOVQ a+0(FP), AX
	ADDQ R9, R14
	MOVQ X0, R9
	MOVQ X1, DI
profiled:
	// o = max(0, G - low), top = max(0, G - high - score)
	POPCNTQ DX, BX
	MOVQ R14, R15
	SUBQ B_LOW(AX), R14
	SUBQ B_HIGH(AX), R15
	SUBQ BX, R15
	XORQ BX, BX
	TESTQ R14, R14
	CMOVQLT BX, R14
	TESTQ R15, R15
	CMOVQLT BX, R15
	ADDQ R14, R10
	MOVB R10, (SI)
	INCQ SI
	// zeros of the column as it was: clearing low ones comes after
	MOVQ DX, BX
	NOTQ BX
	ANDQ B_LIMALL(AX), BX
	POPCNTQ BX, R10
	SUBQ R15, R10 // zeros to keep
	MOVQ $-1, R15
	SHLXQ R10, R15, R15
	CMPQ R10, $64
	JNE some
	XORQ R15, R15 // a shift by 64 is one by 0
some:
	PDEPQ BX, R15, BX
	MOVQ $-1, R15
	SHLXQ R14, R15, R15
	PDEPQ DX, R15, DX
	ORQ BX, DX
	MOVQ DX, (DI)
	ADDQ $8, DI
	// next class
	MOVQ B_BLOCKS(AX), R15
	MOVQ B_PLANES(AX), R10
	MOVQ B_CLASSES(AX), R14
	IMULQ R15, R14
	LEAQ (R10)(R14*4), R10
	CMPQ R9, R10
	JNE class
	ADDQ $8, B_KEYS(AX)
	JMP column
done:
	RET
