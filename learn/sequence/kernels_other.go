//go:build !amd64 || purego

package sequence

func sumRows(dst, w []float64, rows []int32, stride int) { sumRowsGo(dst, w, rows, stride) }
func sumRowsOf(dst, w []float64, rows []int32, count, stride int) {
	sumRowsGo(dst, w, rows[:count], stride)
}
func mulSum(a, e []float64) float64           { return mulSumGo(a, e) }
func mul(dst, a, b []float64, factor float64) { mulGo(dst, a, b, factor) }
func scale(a []float64, factor float64)       { scaleGo(a, factor) }
func vecMat(dst, a, m []float64)              { vecMatGo(dst, a, m) }
func addOuter(m, a, r []float64)              { addOuterGo(m, a, r) }
func expRow(dst, src []float64, top float64)  { expRowGo(dst, src, top) }
func span(v []float64) (top, low float64)     { return spanGo(v) }
