//go:build !amd64 || purego

package encoder

func addFast[T Float](dst, x []T) int                      { return 0 }
func sumFast[T Float](dst, a, b []T) int                   { return 0 }
func productFast[T Float](dst, a, b []T) int               { return 0 }
func scaleFast[T Float](x []T, s T) int                    { return 0 }
func squaredFast[T Float](x []T) (int, float64)            { return 0, 0 }
func rectifyFast[T Float](y, x []T) int                    { return 0 }
func maskPositiveFast[T Float](dst, d, y []T) int          { return 0 }
func scaleShiftFast[T Float](dst, x, scale, shift []T) int { return 0 }
func normaliseFast[T Float](dst, x []T) (T, bool)          { return 0, false }
func normaliseBackFast[T Float](dx, d, normal, scale, dScale, dShift []T, inverse T) bool {
	return false
}
func cellFast[T Float](gates, before, c, th, h []T) bool          { return false }
func cellBackFast[T Float](d, gates, before, th, dh, dc []T) bool { return false }
