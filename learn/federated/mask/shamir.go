package mask

import (
	"crypto/aes"
	"crypto/cipher"
)

// Shamir's scheme over the field of 256 elements, byte by byte: a secret is the constant of
// a polynomial of degree threshold-1, and share x its value at x (A. Shamir, "How to share a
// secret", CACM 22, 1979).

// times multiplies in the field of AES, modulo x⁸+x⁴+x³+x+1, in constant time.
func times(a, b byte) byte {
	var p byte
	for range 8 {
		p ^= a & -(b & 1)
		b >>= 1
		a = a<<1 ^ 0x1b&-(a>>7)
	}
	return p
}

// inverse is a²⁵⁴, 0 for 0.
func inverse(a byte) byte {
	p := byte(1)
	for bit := 7; bit >= 0; bit-- {
		p = times(p, p)
		if 254>>bit&1 == 1 {
			p = times(p, a)
		}
	}
	return p
}

// split returns n shares of a secret, threshold of which determine it. The other coefficients
// come from the seed.
func split(secret []byte, n, threshold int, seed []byte) [][]byte {
	block, err := aes.NewCipher(seed)
	if err != nil {
		panic(err) // of a length that is constant
	}
	c := make([]byte, len(secret)*(threshold-1))
	cipher.NewCTR(block, make([]byte, aes.BlockSize)).XORKeyStream(c, c)
	out := make([][]byte, n)
	for x := range out {
		out[x] = make([]byte, len(secret))
		for b := range secret {
			var v byte
			for k := threshold - 2; k >= 0; k-- {
				v = times(v^c[k*len(secret)+b], byte(x+1))
			}
			out[x][b] = v ^ secret[b]
		}
	}
	return out
}

// join returns the secret of shares at xs, which differ from one another and from 0.
func join(xs []byte, shares [][]byte) []byte {
	out := make([]byte, len(shares[0]))
	for i, s := range shares {
		w := byte(1)
		for j, x := range xs {
			if j != i {
				w = times(w, times(x, inverse(x^xs[i])))
			}
		}
		for b, v := range s {
			out[b] ^= times(w, v)
		}
	}
	return out
}
