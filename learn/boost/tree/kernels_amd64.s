//go:build amd64 && !purego

#include "textflag.h"

// The lowest code of AX, as a displacement of 16 bytes a cell: its cell in the
// histogram at base is increased by X0.
#define CELL(base) \
	MOVBLZX AX, R15          \
	SHLQ $4, R15             \
	VPADDQ (base)(R15*1), X0, X1 \
	VMOVDQU X1, (base)(R15*1)

#define NEXT(base) \
	SHRQ $8, AX              \
	CELL(base)

// Seven histograms start at DI, R8 to R13; the eighth CX bytes after R13.
#define BASES \
	SHLQ $4, CX              \
	LEAQ (DI)(CX*1), R8      \
	LEAQ (R8)(CX*1), R9      \
	LEAQ (R9)(CX*1), R10     \
	LEAQ (R10)(CX*1), R11    \
	LEAQ (R11)(CX*1), R12    \
	LEAQ (R12)(CX*1), R13

#define FOUR \
	CELL(DI)                 \
	NEXT(R8)                 \
	NEXT(R9)                 \
	NEXT(R10)

#define ROW \
	CELL(DI)                 \
	NEXT(R8)                 \
	NEXT(R9)                 \
	NEXT(R10)                \
	NEXT(R11)                \
	NEXT(R12)                \
	NEXT(R13)                \
	SHRQ $8, AX              \
	SHLQ $4, AX              \
	ADDQ CX, AX              \
	VPADDQ (R13)(AX*1), X0, X1 \
	VMOVDQU X1, (R13)(AX*1)

// func addBlockAVX2(hist *Cell, stride int, codes *uint64, rows *int32, cells *Cell, n int)
TEXT ·addBlockAVX2(SB), NOSPLIT, $0-48
	MOVQ hist+0(FP), DI
	MOVQ stride+8(FP), CX
	MOVQ codes+16(FP), SI
	MOVQ rows+24(FP), DX
	MOVQ cells+32(FP), BX
	BASES
	MOVQ n+40(FP), R14
	SUBQ $16, R14
	JLE tail

// Rows of a node lie far apart: the words of sixteen rows on are asked for now.
ahead:
	MOVLQSX 64(DX), AX
	PREFETCHT0 (SI)(AX*8)
	MOVLQSX (DX), AX
	MOVQ (SI)(AX*8), AX
	VMOVDQU (BX), X0
	ROW
	ADDQ $4, DX
	ADDQ $16, BX
	DECQ R14
	JNZ ahead

tail:
	MOVQ n+40(FP), R14
	CMPQ R14, $16
	JLE last
	MOVQ $16, R14

last:
	MOVLQSX (DX), AX
	MOVQ (SI)(AX*8), AX
	VMOVDQU (BX), X0
	ROW
	ADDQ $4, DX
	ADDQ $16, BX
	DECQ R14
	JNZ last
	RET

// func addBlockSeqAVX2(hist *Cell, stride int, codes *uint64, cells *Cell, n int)
TEXT ·addBlockSeqAVX2(SB), NOSPLIT, $0-40
	MOVQ hist+0(FP), DI
	MOVQ stride+8(FP), CX
	MOVQ codes+16(FP), SI
	MOVQ cells+24(FP), BX
	MOVQ n+32(FP), R14
	BASES

loop:
	MOVQ (SI), AX
	VMOVDQU (BX), X0
	ROW
	ADDQ $8, SI
	ADDQ $16, BX
	DECQ R14
	JNZ loop
	RET

// func addBlock4AVX2(hist *Cell, stride int, codes *uint64, rows *int32, cells *Cell, n int)
TEXT ·addBlock4AVX2(SB), NOSPLIT, $0-48
	MOVQ hist+0(FP), DI
	MOVQ stride+8(FP), CX
	MOVQ codes+16(FP), SI
	MOVQ rows+24(FP), DX
	MOVQ cells+32(FP), BX
	BASES
	MOVQ n+40(FP), R14
	SUBQ $16, R14
	JLE tail

ahead:
	MOVLQSX 64(DX), AX
	PREFETCHT0 (SI)(AX*8)
	MOVLQSX (DX), AX
	MOVQ (SI)(AX*8), AX
	VMOVDQU (BX), X0
	FOUR
	ADDQ $4, DX
	ADDQ $16, BX
	DECQ R14
	JNZ ahead

tail:
	MOVQ n+40(FP), R14
	CMPQ R14, $16
	JLE last
	MOVQ $16, R14

last:
	MOVLQSX (DX), AX
	MOVQ (SI)(AX*8), AX
	VMOVDQU (BX), X0
	FOUR
	ADDQ $4, DX
	ADDQ $16, BX
	DECQ R14
	JNZ last
	RET

// func addBlock4SeqAVX2(hist *Cell, stride int, codes *uint64, cells *Cell, n int)
TEXT ·addBlock4SeqAVX2(SB), NOSPLIT, $0-40
	MOVQ hist+0(FP), DI
	MOVQ stride+8(FP), CX
	MOVQ codes+16(FP), SI
	MOVQ cells+24(FP), BX
	MOVQ n+32(FP), R14
	BASES

loop:
	MOVQ (SI), AX
	VMOVDQU (BX), X0
	FOUR
	ADDQ $8, SI
	ADDQ $16, BX
	DECQ R14
	JNZ loop
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
