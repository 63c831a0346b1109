//go:build !amd64 || purego

package nn

func biasReLUFast[T Float](y, bias []T) int                               { return 0 }
func maskReLUFast[T Float](d, y, sum []T) int                             { return 0 }
func stepSGDFast[T Float](w, g []T, rate, shrink T) int                   { return 0 }
func stepMomentumFast[T Float](w, v, g []T, rate, momentum, shrink T) int { return 0 }
func stepAdaGradFast[T Float](w, a, g []T, rate, tiny, l2 T) int          { return 0 }
func stepAdamFast[T Float](w, a, b, g []T, s *adam[T]) int                { return 0 }
func finiteFast[T Float](x []T) (int, bool)                               { return 0, true }
