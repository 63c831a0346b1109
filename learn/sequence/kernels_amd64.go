//go:build amd64 && !purego

package sequence

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

func cpuid(leaf, sub uint32) (a, b, c, d uint32)
func xgetbv() uint32

// hasAVX2 is whether the processor has AVX2 and FMA and the system saves their registers.
var hasAVX2 = func() bool {
	if leaves, _, _, _ := cpuid(0, 0); leaves < 7 {
		return false
	}
	const fma, osxsave, avx = 1 << 12, 1 << 27, 1 << 28
	if _, _, c, _ := cpuid(1, 0); c&(fma|osxsave|avx) != fma|osxsave|avx || xgetbv()&6 != 6 {
		return false
	}
	_, b, _, _ := cpuid(7, 0)
	return b&(1<<5) != 0
}()

func sumRows(dst, w []float64, rows []int32, stride int) {
	if !hasAVX2 || len(dst) == 0 || len(rows) == 0 {
		sumRowsGo(dst, w, rows, stride)
		return
	}
	sumRowsAVX2(&dst[0], len(dst), &w[0], &rows[0], len(rows), stride)
}

func vecMat(dst, a, m []float64) {
	if !hasAVX2 || len(dst) == 0 || len(dst)%4 != 0 || len(a) == 0 {
		vecMatGo(dst, a, m)
		return
	}
	_ = m[len(a)*len(dst)-1]
	vecMatAVX2(&dst[0], len(dst), &a[0], len(a), &m[0])
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
