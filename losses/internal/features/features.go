// Package features tells which kernels in assembly run on this processor.
package features

import "golang.org/x/sys/cpu"

// Vectors reports that kernels in assembly for AVX2, FMA and BMI2 run here. Tests set it to false.
var Vectors = cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasBMI2

// Lanes reports that those for AVX-512 run too, with F, DQ, CD, BW, VL and counts of bits.
var Lanes = Vectors && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512CD &&
	cpu.X86.HasAVX512BW &&
	cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VPOPCNTDQ
