package align

import (
	"encoding/binary"
	"math"
)

// ReferenceClasses gives each symbol of ref a class of its own, in order of appearance. All other
// symbols share one last class. The representative of a class is its least symbol.
func ReferenceClasses(ref []int, alphabet int) (class []uint32, representative []int) {
	class = make([]uint32, alphabet)
	for _, r := range ref {
		if r < alphabet && class[r] == 0 {
			representative = append(representative, r)
			class[r] = uint32(len(representative))
		}
	}
	n := uint32(len(representative))
	for k := range class {
		if class[k] == 0 {
			if int(n) == len(representative) {
				representative = append(representative, k)
			}
			class[k] = n + 1
		}
		class[k]--
	}
	return class, representative
}

// rowClasses puts symbols with equal rows into one class.
func rowClasses(alphabet int, row func(y int) []float64) (class []uint32, representative []int) {
	class = make([]uint32, alphabet)
	seen := map[string]uint32{}
	var key []byte
	for y := range alphabet {
		key = key[:0]
		for _, x := range row(y) {
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(x+0)) // +0 folds -0
		}
		k, ok := seen[string(key)]
		if !ok {
			k = uint32(len(representative))
			seen[string(key)] = k
			representative = append(representative, y)
		}
		class[y] = k
	}
	return class, representative
}
