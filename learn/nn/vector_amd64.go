//go:build amd64 && !purego

package nn

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run -C asm . -out ../vector_amd64.s -stubs ../vectorstubs_amd64.go -pkg nn

// The loops below run at the speed of memory with AVX2 already: wider registers have
// no form of their own.
var hasAVX2 = cpu.X86.HasAVX2

// whole is the number of elements that fill registers.
func whole[T Float](n int) int {
	if !hasAVX2 {
		return 0
	}
	return n &^ (32/int(unsafe.Sizeof(T(0))) - 1)
}

// single and double are the first element of a slice of the type known by its size.
func isSingle[T Float]() bool { return unsafe.Sizeof(T(0)) == 4 }

func single[T Float](x []T) *float32 { return (*float32)(unsafe.Pointer(unsafe.SliceData(x))) }
func double[T Float](x []T) *float64 { return (*float64)(unsafe.Pointer(unsafe.SliceData(x))) }

// Each of these does the first elements and returns their number.

func biasReLUFast[T Float](y, bias []T) int {
	n := whole[T](min(len(y), len(bias)))
	switch {
	case n == 0:
	case isSingle[T]():
		biasReLU32(single(y), single(bias), n)
	default:
		biasReLU64(double(y), double(bias), n)
	}
	return n
}

func maskReLUFast[T Float](d, y, sum []T) int {
	n := whole[T](min(len(d), len(y), len(sum)))
	switch {
	case n == 0:
	case isSingle[T]():
		maskReLU32(single(d), single(y), single(sum), n)
	default:
		maskReLU64(double(d), double(y), double(sum), n)
	}
	return n
}

func stepSGDFast[T Float](w, g []T, rate, shrink T) int {
	n := whole[T](min(len(w), len(g)))
	switch {
	case n == 0:
	case isSingle[T]():
		stepSGD32(single(w), single(g), n, float32(rate), float32(shrink))
	default:
		stepSGD64(double(w), double(g), n, float64(rate), float64(shrink))
	}
	return n
}

func stepMomentumFast[T Float](w, v, g []T, rate, momentum, shrink T) int {
	n := whole[T](min(len(w), len(v), len(g)))
	switch {
	case n == 0:
	case isSingle[T]():
		stepMomentum32(single(w), single(v), single(g), n, float32(rate), float32(momentum), float32(shrink))
	default:
		stepMomentum64(double(w), double(v), double(g), n, float64(rate), float64(momentum), float64(shrink))
	}
	return n
}

func stepAdaGradFast[T Float](w, a, g []T, rate, tiny, l2 T) int {
	n := whole[T](min(len(w), len(a), len(g)))
	switch {
	case n == 0:
	case isSingle[T]():
		stepAdaGrad32(single(w), single(a), single(g), n, float32(rate), float32(tiny), 1, float32(l2))
	default:
		stepAdaGrad64(double(w), double(a), double(g), n, float64(rate), float64(tiny), 1, float64(l2))
	}
	return n
}

func stepAdamFast[T Float](w, a, b, g []T, s *adam[T]) int {
	n := whole[T](min(len(w), len(a), len(b), len(g)))
	switch {
	case n == 0:
	case isSingle[T]():
		stepAdam32(single(w), single(a), single(b), single(g), n, float32(s.rate), float32(s.tiny),
			1, float32(s.l2), float32(s.beta1), float32(s.beta2), float32(s.c1), float32(s.c2))
	default:
		stepAdam64(double(w), double(a), double(b), double(g), n, float64(s.rate), float64(s.tiny),
			1, float64(s.l2), float64(s.beta1), float64(s.beta2), float64(s.c1), float64(s.c2))
	}
	return n
}

func finiteFast[T Float](x []T) (int, bool) {
	n := whole[T](len(x))
	switch {
	case n == 0:
		return 0, true
	case isSingle[T]():
		return n, !unfinite32(single(x), n)
	default:
		return n, !unfinite64(double(x), n)
	}
}
