//go:build !amd64 || purego

package optim

func dotsFront[T float32 | float64](*[5]float64, []T, []T, []float64, []float64, []float64) int {
	return 0
}

func addTwoFront[T float32 | float64]([]float64, []T, []T, float64, float64) int { return 0 }

func differenceFront[T float32 | float64]([]T, []float64, []float64, []float64) int { return 0 }

func largestFront([]float64) (float64, int) { return 0, 0 }
