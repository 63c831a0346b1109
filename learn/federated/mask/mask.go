// Package mask adds up vectors of many parties so that the one who adds learns only the sum. It is
// secure aggregation by pairwise masks, and recovers the seeds of parties that dropped out.
//
//	p, _ := mask.NewParty("anna", secret)        // every party
//	keys := p.Public(tag)                         // 1. to all, by way of the server
//	sealed, _ := p.Shares(tag, peers, threshold)  // 2. a sealed share for every peer
//	_ = p.Mask(tag, peers, v)                     // 3. v may now be sent
//	opened, _ := p.Open(tag, peers, sealed, alive) // 4. what takes the masks off the sum
//
// The server forwards keys and sealed shares, adds the masked vectors of the parties that are
// alive, and removes the masks with Unmask.
//
// # What is given
//
// Sums are modulo 2⁶⁴, so that they are exact and a masked vector is uniform: by itself it reveals
// nothing. Each pair of parties agrees on a seed by X25519. One adds the output of a stream cipher
// with that seed, the other subtracts it. Each party also adds a stream of its own, so that a
// server that declares a late party dropped cannot read its vector. The seed of that stream and the
// party's key of the round are divided among the peers by Shamir's scheme. For each party the peers
// open one of the two, never both.
//
// The server is assumed to follow the protocol. Keys are not signed, so a server that forges keys,
// or tells parties different things, defeats it. Sums themselves can reveal a party's vector when
// few take part; the caller sets the least number.
//
// Reference: K. Bonawitz et al., "Practical secure aggregation for privacy-preserving machine
// learning", CCS 2017.
package mask

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	secretBytes = 32
	// PublicBytes is the length of a party's public keys.
	PublicBytes = 64
	// OpenedBytes is the length of an opened share.
	OpenedBytes = secretBytes
	// SealedBytes is the length of a sealed pair of shares.
	SealedBytes = 2*secretBytes + 16
	// MostParties is the largest number of parties: points of the field beside 0.
	MostParties = 255
)

// ErrOpened reports a second request to open a round, of other parties: answering both could
// give both halves of a party's masks away.
var ErrOpened = errors.New("the round was opened already, for other parties")

// Peer is a party as the others see it. All parties have the same list, in the same order.
type Peer struct {
	Name   string
	Public []byte
}

// Party is one that gives vectors. It is not for use by several goroutines.
type Party struct {
	name   string
	secret []byte
	opened map[string]string // by tag, which were alive
}

// NewParty makes a party of a secret of at least 32 bytes, which must be random and its own.
// Everything else is derived from it, so that repeating a request gives the same answer.
func NewParty(name string, secret []byte) (*Party, error) {
	if len(secret) < secretBytes {
		return nil, fmt.Errorf("mask: a secret of %d bytes; %d are needed", len(secret), secretBytes)
	}
	return &Party{name, secret, map[string]string{}}, nil
}

func derive(secret []byte, words ...string) []byte {
	info := ""
	for _, w := range words {
		info += fmt.Sprintf("%d:%s", len(w), w) // no two lists of words are the same
	}
	out, err := hkdf.Key(sha256.New, secret, nil, info, secretBytes)
	if err != nil {
		panic(err) // of lengths that are constant
	}
	return out
}

func privateKey(seed []byte) *ecdh.PrivateKey {
	k, err := ecdh.X25519().NewPrivateKey(seed)
	if err != nil {
		panic(err) // 32 bytes are always a key
	}
	return k
}

// channel is the key pair that shares are sealed with; it is that of all rounds.
func (p *Party) channel() *ecdh.PrivateKey { return privateKey(derive(p.secret, "channel")) }

// pairSeed is the private key of the round's pairwise seeds.
func (p *Party) pairSeed(tag string) []byte { return derive(p.secret, "pair", tag) }

// ownSeed is the seed of the party's own stream.
func (p *Party) ownSeed(tag string) []byte { return derive(p.secret, "own", tag) }

// Public returns the party's public keys of a round: of the channel, and of the masks. A tag
// names one sum, and must never be used for another.
func (p *Party) Public(tag string) []byte {
	return append(p.channel().PublicKey().Bytes(), privateKey(p.pairSeed(tag)).PublicKey().Bytes()...)
}

// agree is the secret that a private key has with one half of a peer's public keys.
func agree(k *ecdh.PrivateKey, public []byte, what, tag string) ([]byte, error) {
	pub, err := ecdh.X25519().NewPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("mask: public key: %w", err)
	}
	shared, err := k.ECDH(pub)
	if err != nil {
		return nil, fmt.Errorf("mask: public key: %w", err)
	}
	return derive(shared, what, tag), nil
}

// place returns the party's place among peers, which must be a possible list.
func (p *Party) place(peers []Peer) (int, error) {
	at := -1
	for i, q := range peers {
		if len(q.Public) != PublicBytes {
			return 0, fmt.Errorf("mask: party %q has public keys of %d bytes, not %d", q.Name,
				len(q.Public), PublicBytes)
		}
		if i > 0 && peers[i-1].Name >= q.Name {
			return 0, fmt.Errorf("mask: parties are not sorted by name: %q before %q", peers[i-1].Name,
				q.Name)
		}
		if q.Name == p.name {
			at = i
		}
	}
	if at < 0 {
		return 0, fmt.Errorf("mask: %q is not among the %d parties", p.name, len(peers))
	}
	if len(peers) > MostParties {
		return 0, fmt.Errorf("mask: %d parties, more than %d", len(peers), MostParties)
	}
	return at, nil
}

// Threshold is the number of parties that must answer to open a sum of n: a majority.
func Threshold(n int) int { return n/2 + 1 }

// Shares divides the party's two seeds among the peers; threshold of the peers can reconstruct
// them. The result has SealedBytes for every peer but itself, nil there.
func (p *Party) Shares(tag string, peers []Peer, threshold int) ([][]byte, error) {
	at, err := p.place(peers)
	if err != nil {
		return nil, err
	}
	if threshold < Threshold(len(peers)) || threshold > len(peers) {
		return nil, fmt.Errorf("mask: a threshold of %d for %d parties; it must be a majority", threshold,
			len(peers))
	}
	own, pair := p.split(tag, len(peers), threshold)
	out := make([][]byte, len(peers))
	for i, q := range peers {
		if i == at {
			continue
		}
		box, err := p.box(tag, q.Public[:secretBytes])
		if err != nil {
			return nil, err
		}
		out[i] = box.Seal(nil, nonce(p.name, q.Name), append(own[i], pair[i]...), nil)
	}
	return out, nil
}

// split are the shares of both seeds.
func (p *Party) split(tag string, n, threshold int) (own, pair [][]byte) {
	return split(p.ownSeed(tag), n, threshold, derive(p.secret, "polynomial own", tag)),
		split(p.pairSeed(tag), n, threshold, derive(p.secret, "polynomial pair", tag))
}

// box is the cipher of what two parties tell one another about a round.
func (p *Party) box(tag string, public []byte) (cipher.AEAD, error) {
	key, err := agree(p.channel(), public, "seal", tag)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// nonce is another one for each direction; keys are of one tag and pair.
func nonce(from, to string) []byte {
	out := make([]byte, 12)
	if from < to {
		out[0] = 1
	}
	return out
}

// Mask adds the party's masks to v, modulo 2⁶⁴. peers are those whose shares were handed out:
// the same list for all. O(len(peers)·len(v)).
func (p *Party) Mask(tag string, peers []Peer, v []uint64) error {
	at, err := p.place(peers)
	if err != nil {
		return err
	}
	add(v, p.ownSeed(tag), false)
	k := privateKey(p.pairSeed(tag))
	for i, q := range peers {
		if i == at {
			continue
		}
		seed, err := agree(k, q.Public[secretBytes:], "mask", tag)
		if err != nil {
			return err
		}
		add(v, seed, at > i)
	}
	return nil
}

// add adds the stream of a seed to v, or subtracts it.
func add(v []uint64, seed []byte, minus bool) {
	block, err := aes.NewCipher(seed)
	if err != nil {
		panic(err) // of a length that is constant
	}
	stream := cipher.NewCTR(block, make([]byte, aes.BlockSize))
	var b [512]byte
	for len(v) > 0 {
		n := min(len(v), len(b)/8)
		clear(b[:])
		stream.XORKeyStream(b[:8*n], b[:8*n])
		for i := range n {
			m := binary.LittleEndian.Uint64(b[8*i:])
			if minus {
				m = -m
			}
			v[i] += m
		}
		v = v[n:]
	}
}

// Open returns the party's share of each peer. For peers that are alive, whose vectors were added,
// it is a share of their own seed; for the others it is a share of their key. sealed are what the
// peers had sealed for this party; the result includes what the party has of itself.
//
// Errors: fewer alive than a majority, ErrOpened, and shares that were not sealed by the peer.
func (p *Party) Open(tag string, peers []Peer, sealed [][]byte, alive []bool) ([][]byte, error) {
	at, err := p.place(peers)
	if err != nil {
		return nil, err
	}
	if len(sealed) != len(peers) || len(alive) != len(peers) {
		return nil, fmt.Errorf("mask: %d sealed shares and %d marks for %d parties", len(sealed),
			len(alive), len(peers))
	}
	n, key := 0, ""
	for i, a := range alive {
		key += peers[i].Name + "\x00"
		if a {
			n++
			key += "+"
		}
	}
	if n < Threshold(len(peers)) || !alive[at] {
		return nil, fmt.Errorf("mask: %d of %d parties are alive; a majority and this one must be", n,
			len(peers))
	}
	if before, ok := p.opened[tag]; ok && before != key {
		return nil, fmt.Errorf("mask: %w", ErrOpened)
	}
	p.opened[tag] = key
	own, pair := p.split(tag, len(peers), Threshold(len(peers)))
	out := make([][]byte, len(peers))
	for i, q := range peers {
		both := append(own[i], pair[i]...)
		if i != at {
			box, err := p.box(tag, q.Public[:secretBytes])
			if err != nil {
				return nil, err
			}
			if both, err = box.Open(nil, nonce(q.Name, p.name), sealed[i], nil); err != nil ||
				len(both) != 2*secretBytes {
				return nil,
					fmt.Errorf("mask: the share that %q sealed cannot be opened: it restarted, or the share was changed",
						q.Name)
			}
		}
		out[i] = both[secretBytes:]
		if alive[i] {
			out[i] = both[:secretBytes]
		}
	}
	return out, nil
}

// Unmask takes the masks off sum, the sum of the masked vectors of the parties that are alive.
// opened has, by party, what that one's Open returned, nil for those that did not answer.
// O(alive·(dropped+1)·len(sum)) beside putting the seeds together.
func Unmask(tag string, peers []Peer, alive []bool, opened [][][]byte, sum []uint64) error {
	threshold := Threshold(len(peers))
	for i, q := range peers {
		var xs []byte
		var shares [][]byte
		for j, o := range opened {
			if o != nil && len(shares) < threshold {
				if len(o) != len(peers) || len(o[i]) != secretBytes {
					return fmt.Errorf("mask: party %q opened %d shares for %d parties", peers[j].Name,
						len(o), len(peers))
				}
				xs, shares = append(xs, byte(j+1)), append(shares, o[i])
			}
		}
		if len(shares) < threshold {
			return fmt.Errorf("mask: %d parties opened their shares; %d are needed", len(shares), threshold)
		}
		seed := join(xs, shares)
		if alive[i] {
			add(sum, seed, true)
			continue
		}
		k := privateKey(seed)
		if string(k.PublicKey().Bytes()) != string(q.Public[secretBytes:]) {
			return fmt.Errorf("mask: the shares of the key of %q do not fit its public key", q.Name)
		}
		for j, r := range peers {
			if !alive[j] || j == i {
				continue
			}
			m, err := agree(k, r.Public[secretBytes:], "mask", tag)
			if err != nil {
				return err
			}
			add(sum, m, j < i) // what r had added, taken off
		}
	}
	return nil
}
