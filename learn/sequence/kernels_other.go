//go:build !amd64 || purego

package sequence

func sumRows(dst, w []float64, rows []int32, stride int) { sumRowsGo(dst, w, rows, stride) }
func vecMat(dst, a, m []float64)                         { vecMatGo(dst, a, m) }
func addOuter(m, a, r []float64)                         { addOuterGo(m, a, r) }
