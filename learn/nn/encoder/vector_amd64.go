//go:build amd64 && !purego

package encoder

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run -C ../asm . -set encoder -out ../encoder/vector_amd64.s -stubs ../encoder/vectorstubs_amd64.go -pkg encoder

var hasAVX2 = cpu.X86.HasAVX2

// lanes is the number of float32 in a register.
const lanes = 8

// whole is the number of elements of n that fill registers; none in float64.
func whole[T Float](n int) int {
	if !hasAVX2 || unsafe.Sizeof(T(0)) != 4 {
		return 0
	}
	return n &^ (lanes - 1)
}

// all reports whether vectors of n elements fill registers.
func all[T Float](n int) bool { return n > 0 && whole[T](n) == n }

func single[T Float](x []T) *float32 { return (*float32)(unsafe.Pointer(unsafe.SliceData(x))) }

// Each of these does the first elements and returns their number, or says whether it did all. The
// vectors are as long as those of vector.go.

func addFast[T Float](dst, x []T) int {
	n := whole[T](len(dst))
	if n > 0 {
		add32(single(dst), single(x), n)
	}
	return n
}

func sumFast[T Float](dst, a, b []T) int {
	n := whole[T](len(dst))
	if n > 0 {
		sum32(single(dst), single(a), single(b), n)
	}
	return n
}

func productFast[T Float](dst, a, b []T) int {
	n := whole[T](len(dst))
	if n > 0 {
		product32(single(dst), single(a), single(b), n)
	}
	return n
}

func scaleFast[T Float](x []T, s T) int {
	n := whole[T](len(x))
	if n > 0 {
		scale32(single(x), n, float32(s))
	}
	return n
}

func squaredFast[T Float](x []T) (int, float64) {
	n := whole[T](len(x))
	if n == 0 {
		return 0, 0
	}
	return n, squared32(single(x), n)
}

func rectifyFast[T Float](y, x []T) int {
	n := whole[T](len(y))
	if n > 0 {
		rectify32(single(y), single(x), n)
	}
	return n
}

func maskPositiveFast[T Float](dst, d, y []T) int {
	n := whole[T](len(dst))
	if n > 0 {
		maskPositive32(single(dst), single(d), single(y), n)
	}
	return n
}

func scaleShiftFast[T Float](dst, x, scale, shift []T) int {
	n := whole[T](len(dst))
	if n > 0 {
		scaleShift32(single(dst), single(x), single(scale), single(shift), n)
	}
	return n
}

func normaliseFast[T Float](dst, x []T) (T, bool) {
	if !all[T](len(dst)) {
		return 0, false
	}
	return T(normalise32(single(dst), single(x), len(dst), 1/float32(len(dst)), epsilon)), true
}

func normaliseBackFast[T Float](dx, d, normal, scale, dScale, dShift []T, inverse T) bool {
	if !all[T](len(dx)) {
		return false
	}
	normaliseBack32(single(dx), single(d), single(normal), single(scale), single(dScale), single(dShift),
		len(dx),
		1/float32(len(dx)), float32(inverse))
	return true
}

func cellFast[T Float](gates, before, c, th, h []T) bool {
	if !all[T](len(c)) {
		return false
	}
	cell32(single(gates), single(before), single(c), single(th), single(h), len(c), &table[0])
	return true
}

func cellBackFast[T Float](d, gates, before, th, dh, dc []T) bool {
	if !all[T](len(dc)) {
		return false
	}
	cellBack32(single(d), single(gates), single(before), single(th), single(dh), single(dc), len(dc), &table[0])
	return true
}
