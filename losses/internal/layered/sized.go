package layered

// Resize returns a slice of length n in the memory of a where that has room. Its contents are
// arbitrary.
func Resize[T any](a []T, n int) []T {
	if cap(a) < n {
		return make([]T, n)
	}
	return a[:n]
}
