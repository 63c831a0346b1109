// AVX2 kernels of columns. Each has a Go equivalent that defines it (words.go, pairs.go), and tests
// that compare the two.

#include "textflag.h"

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
#define B_AT 168

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
	MOVQ $0, B_AT(AX)
column:
	MOVQ B_AT(AX), R10
	CMPQ R10, B_N(AX)
	JEQ done
	MOVQ B_PLANES(AX), R9
class:
	MOVQ B_KEYS(AX), R10
	MOVQ B_AT(AX), R15
	MOVQ (R10)(R15*8), R10 // rest
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
	INCQ B_AT(AX)
	JMP column
done:
	RET

// func prefetchSlots(keys *uint64, n int, slots *wordSlot, shift uint)
TEXT ·prefetchSlots(SB), NOSPLIT, $0-32
	MOVQ keys+0(FP), SI
	MOVQ n+8(FP), BX
	MOVQ slots+16(FP), DI
	MOVQ shift+24(FP), CX
	MOVQ $0x9e3779b97f4a7c15, DX
	LEAQ (SI)(BX*8), BX
	CMPQ SI, BX
	JEQ fetched
fetch:
	MOVQ (SI), AX
	IMULQ DX, AX
	SHRXQ CX, AX, AX
	SHLQ $4, AX
	PREFETCHT0 (DI)(AX*1)
	ADDQ $8, SI
	CMPQ SI, BX
	JNE fetch
fetched:
	RET

// func prefetchPairs(moved *movedPair, n int, slots *pairSlot, shift uint)
TEXT ·prefetchPairs(SB), NOSPLIT, $0-32
	MOVQ moved+0(FP), SI
	MOVQ n+8(FP), BX
	MOVQ slots+16(FP), DI
	MOVQ shift+24(FP), CX
	SHLQ $5, BX
	ADDQ SI, BX
	CMPQ SI, BX
	JEQ fetched
fetch:
	MOVQ 16(SI), AX
	SHRXQ CX, AX, AX
	LEAQ (AX)(AX*2), AX
	PREFETCHT0 (DI)(AX*8)
	ADDQ $32, SI
	CMPQ SI, BX
	JNE fetch
fetched:
	RET
