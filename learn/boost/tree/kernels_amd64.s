//go:build amd64 && !purego

#include "textflag.h"

// The code in eight bits of AX, which a rotation to the right brings to 16 bytes a cell: its cell in
// the histogram at base is increased by X0.
#define CELL(turn, base) \
	RORXQ $turn, AX, R15     \
	ANDL $0xff0, R15         \
	VPADDQ (base)(R15*1), X0, X1 \
	VMOVDQU X1, (base)(R15*1)

// Eight histograms of CX cells start at DI, R8 to R13 and CX.
#define BASES \
	SHLQ $4, CX              \
	LEAQ (DI)(CX*1), R8      \
	LEAQ (R8)(CX*1), R9      \
	LEAQ (R9)(CX*1), R10     \
	LEAQ (R10)(CX*1), R11    \
	LEAQ (R11)(CX*1), R12    \
	LEAQ (R12)(CX*1), R13    \
	LEAQ (R13)(CX*1), CX

#define TWO \
	CELL(60, DI)             \
	CELL(4, R8)

#define FOUR \
	TWO                      \
	CELL(12, R9)             \
	CELL(20, R10)

#define SIX \
	FOUR                     \
	CELL(28, R11)            \
	CELL(36, R12)

#define EIGHT \
	SIX                      \
	CELL(44, R13)            \
	CELL(52, CX)

// Words of a block are step bytes apart. Rows of a node lie far apart: the words of sixteen rows on
// are asked for now.
#define LISTED(name, SUMS) \
TEXT name(SB), NOSPLIT, $0-56    \
	MOVQ hist+0(FP), DI      \
	MOVQ stride+8(FP), CX    \
	MOVQ codes+16(FP), SI    \
	MOVQ rows+32(FP), DX     \
	MOVQ cells+40(FP), BX    \
	BASES                    \
	MOVQ n+48(FP), R14       \
	SUBQ $16, R14            \
	JLE tail                 \
ahead:                           \
	MOVLQSX 64(DX), AX       \
	IMULQ step+24(FP), AX    \
	PREFETCHT0 (SI)(AX*1)    \
	MOVLQSX (DX), AX         \
	IMULQ step+24(FP), AX    \
	MOVQ (SI)(AX*1), AX      \
	VMOVDQU (BX), X0         \
	SUMS                     \
	ADDQ $4, DX              \
	ADDQ $16, BX             \
	DECQ R14                 \
	JNZ ahead                \
tail:                            \
	MOVQ n+48(FP), R14       \
	CMPQ R14, $16            \
	JLE last                 \
	MOVQ $16, R14            \
last:                            \
	MOVLQSX (DX), AX         \
	IMULQ step+24(FP), AX    \
	MOVQ (SI)(AX*1), AX      \
	VMOVDQU (BX), X0         \
	SUMS                     \
	ADDQ $4, DX              \
	ADDQ $16, BX             \
	DECQ R14                 \
	JNZ last                 \
	RET

#define ALL(name, SUMS) \
TEXT name(SB), NOSPLIT, $0-48    \
	MOVQ hist+0(FP), DI      \
	MOVQ stride+8(FP), CX    \
	MOVQ codes+16(FP), SI    \
	MOVQ step+24(FP), DX     \
	MOVQ cells+32(FP), BX    \
	BASES                    \
	MOVQ n+40(FP), R14       \
loop:                            \
	MOVQ (SI), AX            \
	VMOVDQU (BX), X0         \
	SUMS                     \
	ADDQ DX, SI              \
	ADDQ $16, BX             \
	DECQ R14                 \
	JNZ loop                 \
	RET

// func addBlock2AVX2(hist *Cell, stride int, codes *uint64, step int, rows *int32, cells *Cell, n int)
LISTED(·addBlock2AVX2, TWO)

// func addBlock4AVX2(hist *Cell, stride int, codes *uint64, step int, rows *int32, cells *Cell, n int)
LISTED(·addBlock4AVX2, FOUR)

// func addBlock6AVX2(hist *Cell, stride int, codes *uint64, step int, rows *int32, cells *Cell, n int)
LISTED(·addBlock6AVX2, SIX)

// func addBlock8AVX2(hist *Cell, stride int, codes *uint64, step int, rows *int32, cells *Cell, n int)
LISTED(·addBlock8AVX2, EIGHT)

// func addBlock2SeqAVX2(hist *Cell, stride int, codes *uint64, step int, cells *Cell, n int)
ALL(·addBlock2SeqAVX2, TWO)

// func addBlock4SeqAVX2(hist *Cell, stride int, codes *uint64, step int, cells *Cell, n int)
ALL(·addBlock4SeqAVX2, FOUR)

// func addBlock6SeqAVX2(hist *Cell, stride int, codes *uint64, step int, cells *Cell, n int)
ALL(·addBlock6SeqAVX2, SIX)

// func addBlock8SeqAVX2(hist *Cell, stride int, codes *uint64, step int, cells *Cell, n int)
ALL(·addBlock8SeqAVX2, EIGHT)

// func gatherAVX2(to, cells *Cell, rows *int32, n int)
//
// Cells of 32 rows on are asked for.
TEXT ·gatherAVX2(SB), NOSPLIT, $0-32
	MOVQ to+0(FP), DI
	MOVQ cells+8(FP), SI
	MOVQ rows+16(FP), DX
	MOVQ n+24(FP), CX
	SUBQ $32, CX
	JLE tail

ahead:
	MOVLQSX 128(DX), AX
	SHLQ $4, AX
	PREFETCHT0 (SI)(AX*1)
	MOVLQSX (DX), BX
	SHLQ $4, BX
	VMOVDQU (SI)(BX*1), X0
	VMOVDQU X0, (DI)
	ADDQ $4, DX
	ADDQ $16, DI
	DECQ CX
	JNZ ahead

tail:
	MOVQ n+24(FP), CX
	CMPQ CX, $32
	JLE last
	MOVQ $32, CX

last:
	MOVLQSX (DX), BX
	SHLQ $4, BX
	VMOVDQU (SI)(BX*1), X0
	VMOVDQU X0, (DI)
	ADDQ $4, DX
	ADDQ $16, DI
	DECQ CX
	JNZ last
	RET

// func subtractAVX2(a, b *Cell, n int)
//
// n is a positive multiple of 4.
TEXT ·subtractAVX2(SB), NOSPLIT, $0-24
	MOVQ a+0(FP), DI
	MOVQ b+8(FP), SI
	MOVQ n+16(FP), CX

loop:
	VMOVDQU (DI), Y0
	VMOVDQU 32(DI), Y1
	VPSUBQ (SI), Y0, Y0
	VPSUBQ 32(SI), Y1, Y1
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	ADDQ $64, DI
	ADDQ $64, SI
	SUBQ $4, CX
	JNZ loop
	VZEROUPPER
	RET

// Four bits to R: which of the H of four cells at off(SI) are zero.
#define ZEROS(off, R) \
	VMOVDQU off(SI), Y0          \
	VPUNPCKHQDQ off+32(SI), Y0, Y0 \
	VPERMQ $0xD8, Y0, Y0         \
	VPCMPEQQ Y15, Y0, Y0         \
	VMOVMSKPD Y0, R

// func occupiedAVX2(mask *uint64, cells *Cell, n int)
//
// n is a positive multiple of 8; a byte of mask is written for each 8 cells.
TEXT ·occupiedAVX2(SB), NOSPLIT, $0-24
	MOVQ mask+0(FP), DI
	MOVQ cells+8(FP), SI
	MOVQ n+16(FP), CX
	VPXOR Y15, Y15, Y15

loop:
	ZEROS(0, AX)
	ZEROS(64, BX)
	SHLL $4, BX
	ORL BX, AX
	XORL $255, AX
	MOVB AX, (DI)
	INCQ DI
	ADDQ $128, SI
	SUBQ $8, CX
	JNZ loop
	VZEROUPPER
	RET

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
