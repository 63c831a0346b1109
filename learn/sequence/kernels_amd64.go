//go:build amd64 && !purego

package sequence

import "golang.org/x/sys/cpu"

//go:noescape
func sumRowsAVX2(dst *float64, n int, w *float64, rows *int32, count, stride int)

//go:noescape
func vecMatAVX2(dst *float64, n int, a *float64, count int, m *float64)

//go:noescape
func addOuterAVX2(m *float64, a *float64, count int, r *float64, n int)

//go:noescape
func expRowAVX2(dst, src *float64, n int, top float64)

//go:noescape
func spanAVX2(src *float64, n int) (top, low float64)

//go:noescape
func mulSumAVX2(a, e *float64, n int) float64

//go:noescape
func mulAVX2(dst, a, b *float64, n int, factor float64)

//go:noescape
func scaleAVX2(a *float64, n int, factor float64)

//go:noescape
func sumRowsAVX512(dst *float64, n int, w *float64, rows *int32, count, stride, ahead int)

//go:noescape
func vecMatAVX512(dst *float64, n int, a *float64, count int, m *float64)

// What the processor has and the system saves the registers of.
var (
	hasAVX2   = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	hasAVX512 = hasAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL
)

func sumRows(dst, w []float64, rows []int32, stride int) {
	sumRowsOf(dst, w, rows, len(rows), stride)
}

// fetchAhead is how many rows before its turn a row is fetched. An evaluation on chunking
// takes 132 ms without and 104 with.
const fetchAhead = 24

// fetchFrom is the size of what rows are taken from that makes fetching worth its while.
const fetchFrom = 1 << 15

func sumRowsOf(dst, w []float64, rows []int32, count, stride int) {
	if !hasAVX2 || len(dst) == 0 || count == 0 {
		sumRowsGo(dst, w, rows[:count], stride)
		return
	}
	if hasAVX512 {
		ahead := fetchAhead
		if count+ahead > len(rows) || len(w) < fetchFrom {
			ahead = 0
		}
		sumRowsAVX512(&dst[0], len(dst), &w[0], &rows[0], count, stride, ahead)
		return
	}
	rows = rows[:count]
	sumRowsAVX2(&dst[0], len(dst), &w[0], &rows[0], len(rows), stride)
}

func vecMat(dst, a, m []float64) {
	if !hasAVX2 || len(dst) == 0 || len(dst)%4 != 0 || len(a) == 0 {
		vecMatGo(dst, a, m)
		return
	}
	_ = m[len(a)*len(dst)-1]
	if hasAVX512 {
		vecMatAVX512(&dst[0], len(dst), &a[0], len(a), &m[0])
		return
	}
	vecMatAVX2(&dst[0], len(dst), &a[0], len(a), &m[0])
}

func mulSum(a, e []float64) float64 {
	if !hasAVX2 || len(a) == 0 || len(a)%4 != 0 {
		return mulSumGo(a, e)
	}
	_ = e[len(a)-1]
	return mulSumAVX2(&a[0], &e[0], len(a))
}

func mul(dst, a, b []float64, factor float64) {
	if !hasAVX2 || len(dst) == 0 || len(dst)%4 != 0 {
		mulGo(dst, a, b, factor)
		return
	}
	_, _ = a[len(dst)-1], b[len(dst)-1]
	mulAVX2(&dst[0], &a[0], &b[0], len(dst), factor)
}

func scale(a []float64, factor float64) {
	if !hasAVX2 || len(a) == 0 || len(a)%4 != 0 {
		scaleGo(a, factor)
		return
	}
	scaleAVX2(&a[0], len(a), factor)
}

func addOuter(m, a, r []float64) {
	if !hasAVX2 || len(r) == 0 || len(r)%4 != 0 || len(a) == 0 {
		addOuterGo(m, a, r)
		return
	}
	_ = m[len(a)*len(r)-1]
	addOuterAVX2(&m[0], &a[0], len(a), &r[0], len(r))
}

func expRow(dst, src []float64, top float64) {
	if !hasAVX2 || len(dst) == 0 || len(dst)%4 != 0 {
		expRowGo(dst, src, top)
		return
	}
	_ = src[len(dst)-1]
	expRowAVX2(&dst[0], &src[0], len(dst), top)
}

func span(v []float64) (top, low float64) {
	if !hasAVX2 || len(v) < 4 {
		return spanGo(v)
	}
	return spanAVX2(&v[0], len(v))
}
