package align

// BandWindows returns the first and last cell of each layer: all, or those with
// |j - t m/l| ≤ band, widened until consecutive windows touch.
func BandWindows(l, m, band int) (first, last []int) {
	first, last, _ = WidenedWindows(l, m, band)
	return first, last
}

// WidenedWindows is BandWindows with the band that it took.
func WidenedWindows(l, m, band int) (first, last []int, used int) {
	first, last = make([]int, l+1), make([]int, l+1)
	if band == 0 || l == 0 {
		for t := range last {
			last[t] = m
		}
		return first, last, band
	}
	// ceil and floor of t m/l ∓ band, without overflow: m, l ≤ 2³¹ or so, and a band
	// beyond the lengths is one of all cells.
	band = min(band, l+m)
	set := func(band int) (touch bool) {
		touch = true
		for t := range first {
			at := int64(t) * int64(m)
			first[t] = max(0, int((at+int64(l)-1)/int64(l))-band)
			last[t] = min(m, int(at/int64(l))+band)
			if t > 0 && last[t-1]+1 < first[t] {
				touch = false
			}
		}
		return touch
	}
	if set(band) {
		return first, last, band
	}
	// Windows move by m/l a layer, and have 2·band+1 cells or one less: the
	// wider, the sooner they touch, and at m/l they all do.
	lo, hi := band, m/l+1
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; set(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	set(hi)
	return first, last, hi
}
