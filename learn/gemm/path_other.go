//go:build !amd64 || purego

package gemm

func processor32() []*path[float32] { return nil }
func processor64() []*path[float64] { return nil }
