package mask

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Exponents of 3, a generator of the field, are the oracle of products.
func TestField(t *testing.T) {
	var power [255]byte
	log := map[byte]int{}
	for i, x := 0, byte(1); i < 255; i++ {
		power[i], log[x] = x, i
		double := x << 1
		if x&0x80 != 0 {
			double ^= 0x1b
		}
		x ^= double // 3x
	}
	if len(log) != 255 {
		t.Fatalf("3 has %d powers", len(log))
	}
	for a := range 256 {
		for b := range 256 {
			want := byte(0)
			if a != 0 && b != 0 {
				want = power[(log[byte(a)]+log[byte(b)])%255]
			}
			if got := times(byte(a), byte(b)); got != want {
				t.Fatalf("%d·%d = %d, want %d", a, b, got, want)
			}
		}
		if a != 0 && times(byte(a), inverse(byte(a))) != 1 {
			t.Errorf("inverse of %d", a)
		}
	}
}

func TestShamir(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		n := 2 + rng.IntN(30)
		threshold := 1 + rng.IntN(n)
		secret, seed := sha256.Sum256([]byte(fmt.Sprint(rng.Uint64()))),
			sha256.Sum256([]byte(fmt.Sprint(rng.Uint64())))
		shares := split(secret[:], n, threshold, seed[:])
		order := rng.Perm(n)
		pick := func(k int) (xs []byte, of [][]byte) {
			for _, i := range order[:k] {
				xs, of = append(xs, byte(i+1)), append(of, shares[i])
			}
			return
		}
		if xs, of := pick(threshold); !slices.Equal(join(xs, of), secret[:]) {
			t.Fatalf("%d of %d shares do not give the secret", threshold, n)
		}
		if threshold > 1 {
			if xs, of := pick(threshold - 1); slices.Equal(join(xs, of), secret[:]) {
				t.Fatalf("%d of %d shares give the secret of %d", threshold-1, n, threshold)
			}
		}
	}
}

// round runs the protocol; those of dead send no vector, those of silent do not open.
func round(t *testing.T, parties []*Party, tag string, vectors [][]uint64, dead,
	silent []int) ([]uint64, error) {
	t.Helper()
	n := len(parties)
	peers := make([]Peer, n)
	for i, p := range parties {
		peers[i] = Peer{p.name, p.Public(tag)}
	}
	sealed := make([][][]byte, n)
	for i, p := range parties {
		var err error
		if sealed[i], err = p.Shares(tag, peers, Threshold(n)); err != nil {
			t.Fatal(err)
		}
	}
	alive := make([]bool, n)
	sum := make([]uint64, len(vectors[0]))
	for i, p := range parties {
		if alive[i] = !slices.Contains(dead, i); !alive[i] {
			continue
		}
		v := slices.Clone(vectors[i])
		if err := p.Mask(tag, peers, v); err != nil {
			t.Fatal(err)
		}
		for j := range sum {
			sum[j] += v[j]
		}
	}
	opened := make([][][]byte, n)
	for i, p := range parties {
		if !alive[i] || slices.Contains(silent, i) {
			continue
		}
		to := make([][]byte, n)
		for j := range to {
			to[j] = sealed[j][i]
		}
		var err error
		if opened[i], err = p.Open(tag, peers, to, alive); err != nil {
			return nil, err
		}
	}
	return sum, Unmask(tag, peers, alive, opened, sum)
}

func some(n int) []*Party {
	var out []*Party
	for i := range n {
		secret := sha256.Sum256([]byte{byte(i)})
		p, _ := NewParty(fmt.Sprintf("p%03d", i), secret[:])
		out = append(out, p)
	}
	return out
}

// Sums are exact for any dropouts, as long as a majority opens its shares.
func TestSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, c := range []struct {
		n            int
		dead, silent []int
		fails        bool
	}{{n: 2}, {n: 3}, {n: 5, dead: []int{1}}, {n: 8, dead: []int{0, 7}},
		{n: 9, dead: []int{3}, silent: []int{0, 5, 8}},
		{n: 4, dead: []int{0, 1}, fails: true}, {n: 5, dead: []int{0}, silent: []int{1, 2}, fails: true}} {
		vectors := make([][]uint64, c.n)
		want := make([]uint64, 70)
		for i := range vectors {
			for j := range want {
				v := uint64(int64(rng.IntN(1<<30)) - 1<<29) // negative ones too
				vectors[i] = append(vectors[i], v)
				if !slices.Contains(c.dead, i) {
					want[j] += v
				}
			}
		}
		parties := some(c.n)
		for tag := range 2 {
			got, err := round(t, parties, fmt.Sprint(tag), vectors, c.dead, c.silent)
			if (err != nil) != c.fails {
				t.Fatalf("%+v: %v", c, err)
			}
			if err == nil && !slices.Equal(got, want) {
				t.Errorf("%+v: the sum is not exact", c)
			}
		}
	}
}

// What the server sees of one party is uniform: over many rounds with the same vector, bytes
// are as frequent as chance has them, and those of two vectors cannot be told apart. Two
// parties' views add up to what hides neither: the masks between them cancel.
func TestViewIsUniform(t *testing.T) {
	parties := some(3)
	const rounds, width = 400, 40
	var count [256]float64
	correlation := 0.0
	for r := range rounds {
		tag := fmt.Sprint("round ", r)
		var peers []Peer
		for _, p := range parties {
			peers = append(peers, Peer{p.name, p.Public(tag)})
		}
		v := make([]uint64, width) // all zero: what is seen is the mask
		if err := parties[1].Mask(tag, peers, v); err != nil {
			t.Fatal(err)
		}
		for j, x := range v {
			for b := range 8 {
				count[byte(x>>(8*b))]++
			}
			if j > 0 {
				correlation += (float64(x)/math.MaxUint64 - 0.5) * (float64(v[j-1])/math.MaxUint64 - 0.5) * 12
			}
		}
	}
	total := float64(rounds * width * 8)
	square := 0.0
	for _, c := range count {
		square += (c - total/256) * (c - total/256) / (total / 256)
	}
	// Chi-square of 255 degrees of freedom: 4.9 deviations of 22.6 above or below the mean.
	if square > 366 || square < 144 {
		t.Errorf("chi-square %v of 255 degrees of freedom", square)
	}
	if z := correlation / math.Sqrt(rounds*(width-1)); math.Abs(z) > 4.9 {
		t.Errorf("neighbours correlate: %v deviations", z)
	}
}

// A party opens a round for one set of parties alone: both halves would unmask a peer.
func TestOpensOnce(t *testing.T) {
	parties := some(5)
	vectors := make([][]uint64, 5)
	for i := range vectors {
		vectors[i] = []uint64{uint64(i)}
	}
	if _, err := round(t, parties, "t", vectors, nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := round(t, parties, "t", vectors, nil, nil); err != nil {
		t.Errorf("the same request again: %v", err)
	}
	if _, err := round(t, parties, "t", vectors, []int{2}, nil); err == nil {
		t.Error("a round was opened for two sets of parties")
	}
}

func TestRefused(t *testing.T) {
	parties := some(3)
	var peers []Peer
	for _, p := range parties {
		peers = append(peers, Peer{p.name, p.Public("t")})
	}
	p := parties[0]
	if _, err := NewParty("x", make([]byte, 31)); err == nil {
		t.Error("short secret")
	}
	if _, err := p.Shares("t", peers, 1); err == nil {
		t.Error("a threshold below a majority")
	}
	if err := p.Mask("t", peers[1:], []uint64{1}); err == nil {
		t.Error("not among the parties")
	}
	if err := p.Mask("t", []Peer{peers[1], peers[0]}, []uint64{1}); err == nil {
		t.Error("unsorted")
	}
	if err := p.Mask("t", []Peer{peers[0], {"z", []byte{1}}}, []uint64{1}); err == nil {
		t.Error("short key")
	}
	zero := Peer{"z", make([]byte, PublicBytes)} // the point of low order
	if err := p.Mask("t", []Peer{peers[0], zero}, []uint64{1}); err == nil {
		t.Error("a key of low order")
	}
	sealed, _ := parties[1].Shares("t", peers, 2)
	third, _ := parties[2].Shares("t", peers, 2)
	sealed[0][3] ^= 1
	if _, err := p.Open("t", peers, [][]byte{nil, sealed[0], third[0]},
		[]bool{true, true, true}); err == nil {
		t.Error("a changed share")
	}
}
