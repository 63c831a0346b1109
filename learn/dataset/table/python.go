package table

import (
	"crypto/sha512"
	"math"
	"math/bits"
)

// pythonRandom draws as Python's random.Random does when seeded with a string, so that splits can
// be made here that were first made there. It is the Mersenne twister MT19937 of M. Matsumoto and
// T. Nishimura (ACM TOMACS 8(1):3-30, 1998), seeded by init_by_array. The key is the string and its
// SHA-512, as one big-endian number, in 32-bit words from the low end. For other purposes
// math/rand/v2 is the better choice.
type pythonRandom struct {
	state [624]uint32
	next  int
}

func newPythonRandom(seed string) *pythonRandom {
	sum := sha512.Sum512([]byte(seed))
	number := append([]byte(seed), sum[:]...)
	for len(number) > 1 && number[0] == 0 {
		number = number[1:]
	}
	var key []uint32
	for end := len(number); end > 0; end -= 4 {
		var w uint32
		for _, b := range number[max(0, end-4):end] {
			w = w<<8 | uint32(b)
		}
		key = append(key, w)
	}
	r := &pythonRandom{next: 624}
	m := &r.state
	m[0] = 19650218
	for i := 1; i < 624; i++ {
		m[i] = 1812433253*(m[i-1]^m[i-1]>>30) + uint32(i)
	}
	i, j := 1, 0
	for range max(624, len(key)) {
		m[i] = (m[i] ^ (m[i-1]^m[i-1]>>30)*1664525) + key[j] + uint32(j)
		if i++; i == 624 {
			m[0], i = m[623], 1
		}
		if j++; j == len(key) {
			j = 0
		}
	}
	for range 623 {
		m[i] = (m[i] ^ (m[i-1]^m[i-1]>>30)*1566083941) - uint32(i)
		if i++; i == 624 {
			m[0], i = m[623], 1
		}
	}
	m[0] = 1 << 31
	return r
}

func (r *pythonRandom) uint32() uint32 {
	m := &r.state
	if r.next == 624 {
		for i := range 624 {
			y := m[i]&(1<<31) | m[(i+1)%624]&(1<<31-1)
			m[i] = m[(i+397)%624] ^ y>>1 ^ -(y&1)&0x9908b0df
		}
		r.next = 0
	}
	y := m[r.next]
	r.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// below returns a number from 0 to n-1; n is less than 2³².
func (r *pythonRandom) below(n int) int {
	k := 32 - bits.Len(uint(n))
	for {
		if x := int(r.uint32() >> k); x < n {
			return x
		}
	}
}

func (r *pythonRandom) shuffle(xs []int) {
	for i := len(xs) - 1; i > 0; i-- {
		j := r.below(i + 1)
		xs[i], xs[j] = xs[j], xs[i]
	}
}

// sample draws k of xs without replacement.
func (r *pythonRandom) sample(xs []int, k int) []int {
	n, out := len(xs), make([]int, k)
	setSize := 21
	if k > 5 {
		setSize += 1 << (2 * int(math.Ceil(math.Log(float64(3*k))/math.Log(4))))
	}
	if n <= setSize {
		pool := append([]int(nil), xs...)
		for i := range out {
			j := r.below(n - i)
			out[i], pool[j] = pool[j], pool[n-i-1]
		}
		return out
	}
	taken := make(map[int]bool, k)
	for i := range out {
		j := r.below(n)
		for taken[j] {
			j = r.below(n)
		}
		taken[j] = true
		out[i] = xs[j]
	}
	return out
}
