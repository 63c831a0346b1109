package federated

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/federated/mask"
)

// leastSecure is the least number of agents whose sum is asked for through masks.
const leastSecure = 3

// secureTries is how often a sum is begun afresh because agents left between its exchanges.
const secureTries = 3

// secureRun is one sum through masks: of every group that still is in it, the agents with
// their keys, all in the same order.
type secureRun struct {
	s     *server
	c     sumCall
	tag   string
	group map[string]int
	in    [][]string
	peers [][]mask.Peer
}

// secureSum makes the four exchanges of a sum through masks: keys, shares, masked vectors, and
// shares opened. Each group is summed by itself. One of which too few answer is left out.
func (s *server) secureSum(c sumCall) (*sums, error) {
	r := &secureRun{s: s, c: c, group: map[string]int{}, in: slices.Clone(c.groups)}
	for k, g := range c.groups {
		for _, n := range g {
			r.group[n] = k
		}
	}
	sealed, err := r.begin()
	if err != nil {
		return nil, err
	}
	total, alive, err := r.masked()
	if err != nil {
		return nil, err
	}
	opened, err := r.open(sealed, alive)
	if err != nil {
		return nil, err
	}
	out := &sums{total: make([][]float64, len(c.groups)), rows: make([]float64, len(c.groups))}
	for k, peers := range r.peers {
		if total[k] == nil || opened[k] == nil {
			if len(c.groups[k]) > 0 {
				s.warn("round %d: %s: too few agents of domain %d answered to open their sum; it is left out",
					c.round, c.phase, k+1)
			}
			continue
		}
		if err := mask.Unmask(r.tag, peers, alive[k], opened[k], total[k]); err != nil {
			return nil, &Error{Code: NoSecureSum, Msg: fmt.Sprintf("round %d, %s", c.round, c.phase),
				Err: err}
		}
		out.total[k] = make([]float64, len(total[k]))
		for i, x := range total[k] {
			if out.total[k][i] = float64(int64(x)); !c.whole {
				out.total[k][i] = float(int64(x), otherBits)
			}
		}
		for i, p := range peers {
			if alive[k][i] {
				out.rows[k] += float64(s.rows[p.Name])
			}
		}
	}
	return out, nil
}

// ask asks the agents that are in, and keeps those that answered. A group with fewer than
// leastSecure is out.
func (r *secureRun) ask(part string, limit int, request func(k int, agent string, have int) (*Message,
	error), accept func(k int, m *Message) error) ([][]*Message, error) {
	var to []string
	for _, g := range r.in {
		to = append(to, g...)
	}
	by := make([][]*Message, len(r.in))
	if to == nil {
		return by, nil
	}
	answers, err := r.s.ask(Call{Phase: r.c.phase + "/" + part, Round: r.c.round, To: to, Groups: r.in,
		Limit: int64(limit) + slack,
		Request: func(agent string, have int) (*Message, error) {
			m, err := request(r.group[agent], agent, have)
			if err != nil {
				return nil, err
			}
			put(m, "tag", []uint8(r.tag))
			return m, nil
		},
		Accept: func(m *Message) error { return accept(r.group[m.Agent], m) }})
	if err != nil {
		return nil, err
	}
	for _, m := range answers {
		by[r.group[m.Agent]] = append(by[r.group[m.Agent]], m)
	}
	for k := range r.in {
		r.in[k] = nil
		if len(by[k]) < leastSecure {
			by[k] = nil
		}
		for _, m := range by[k] {
			r.in[k] = append(r.in[k], m.Agent)
		}
	}
	return by, nil
}

// begin asks for keys and shares, afresh where an agent left between the two: all that take
// part must have masks for the same list. It returns the shares by agent.
func (r *secureRun) begin() (map[string][]byte, error) {
	for try := range secureTries {
		r.tag = fmt.Sprintf("%s/%d", r.s.run, r.s.exchanges+1) // of no other sum
		keys, err := r.ask("keys", mask.PublicBytes, func(int, string, int) (*Message,
			error) {
			return newMessage(Head{}, nil), nil
		},
			func(_ int, m *Message) error { _, err := get[uint8](m, "public", mask.PublicBytes); return err })
		if err != nil {
			return nil, err
		}
		r.peers = make([][]mask.Peer, len(r.in))
		for k, list := range keys {
			for _, m := range list {
				b, err := get[uint8](m, "public")
				if err != nil {
					return nil, err
				}
				r.peers[k] = append(r.peers[k], mask.Peer{Name: m.Agent, Public: b})
			}
		}
		shares, err := r.ask("shares", mask.MostParties*mask.SealedBytes, r.withPeers,
			func(k int, m *Message) error {
				_, err := get[uint8](m, "sealed", len(r.peers[k]), mask.SealedBytes)
				return err
			})
		if err != nil {
			return nil, err
		}
		whole := true
		sealed := map[string][]byte{}
		for k, list := range shares {
			whole = whole && (len(list) == len(r.peers[k]) || len(list) == 0)
			if len(list) == 0 {
				r.peers[k] = nil
			}
			for _, m := range list {
				if sealed[m.Agent], err = get[uint8](m, "sealed"); err != nil {
					return nil, err
				}
			}
		}
		if whole {
			return sealed, nil
		}
		if try == secureTries-1 {
			break
		}
	}
	return nil, fail(NoSecureSum, "", "round %d, %s: agents left in %d tries", r.c.round, r.c.phase,
		secureTries)
}

func (r *secureRun) withPeers(k int, _ string, _ int) (*Message, error) {
	m := newMessage(Head{}, nil)
	return m, putPeers(m, r.peers[k])
}

// masked asks for the vectors, and returns their sums with the masks on, and who gave one.
func (r *secureRun) masked() (total [][]uint64, alive [][]bool, err error) {
	total, alive = make([][]uint64, len(r.in)), make([][]bool, len(r.in))
	most := 0
	for k := range r.in {
		alive[k] = make([]bool, len(r.peers[k]))
		most = max(most, r.c.dim(k))
	}
	answers, err := r.ask("masked", 8*most, func(k int, agent string, have int) (*Message, error) {
		m, err := r.c.request(agent, have)
		if err != nil {
			return nil, err
		}
		return m, putPeers(m, r.peers[k])
	}, func(k int, m *Message) error { _, err := get[uint64](m, "masked", r.c.dim(k)); return err })
	if err != nil {
		return nil, nil, err
	}
	for k, list := range answers {
		for _, m := range list {
			v, err := get[uint64](m, "masked")
			if err != nil {
				return nil, nil, err
			}
			if total[k] == nil {
				total[k] = make([]uint64, len(v))
			}
			for i, x := range v {
				total[k][i] += x
			}
			alive[k][placeOf(r.peers[k], m.Agent)] = true
		}
	}
	return total, alive, nil
}

// open asks those that are alive to open their shares, and returns them by place.
func (r *secureRun) open(sealed map[string][]byte, alive [][]bool) ([][][][]byte, error) {
	answers, err := r.ask("open", mask.MostParties*mask.OpenedBytes,
		func(k int, agent string, have int) (*Message, error) {
			m, err := r.withPeers(k, agent, have)
			if err != nil {
				return nil, err
			}
			at := placeOf(r.peers[k], agent)
			to, marks := make([]uint8, 0, len(r.peers[k])*mask.SealedBytes), make([]uint8, len(r.peers[k]))
			for i, p := range r.peers[k] {
				to = append(to, sealed[p.Name][at*mask.SealedBytes:(at+1)*mask.SealedBytes]...)
				if alive[k][i] {
					marks[i] = 1
				}
			}
			put(m, "sealed", to, len(marks), mask.SealedBytes)
			put(m, "alive", marks)
			return m, nil
		}, func(k int, m *Message) error {
			_, err := get[uint8](m, "opened", len(r.peers[k]), mask.OpenedBytes)
			return err
		})
	if err != nil {
		return nil, err
	}
	out := make([][][][]byte, len(r.in))
	for k, list := range answers {
		if len(list) < mask.Threshold(len(r.peers[k])) {
			continue
		}
		out[k] = make([][][]byte, len(r.peers[k]))
		for _, m := range list {
			b, err := get[uint8](m, "opened")
			if err != nil {
				return nil, err
			}
			at := placeOf(r.peers[k], m.Agent)
			for i := range r.peers[k] {
				out[k][at] = append(out[k][at], b[i*mask.OpenedBytes:(i+1)*mask.OpenedBytes])
			}
		}
	}
	return out, nil
}

func placeOf(peers []mask.Peer, name string) int {
	return slices.IndexFunc(peers, func(p mask.Peer) bool { return p.Name == name })
}

func putPeers(m *Message, peers []mask.Peer) error {
	names, keys := make([]string, len(peers)), []uint8{}
	for i, p := range peers {
		names[i] = p.Name
		keys = append(keys, p.Public...)
	}
	put(m, "peer/public", keys, len(peers), mask.PublicBytes)
	return m.c.PutStrings("peer/name", names)
}

func getPeers(m *Message) ([]mask.Peer, error) {
	names, err := m.c.Strings("peer/name")
	if err != nil {
		return nil, &Error{Code: WrongShape, Err: err}
	}
	keys, err := get[uint8](m, "peer/public", len(names), mask.PublicBytes)
	if err != nil {
		return nil, err
	}
	out := make([]mask.Peer, len(names))
	for i, n := range names {
		out[i] = mask.Peer{Name: n, Public: keys[i*mask.PublicBytes : (i+1)*mask.PublicBytes]}
	}
	if len(out) < leastSecure {
		return nil, fail(NoSecureSum, "", "a sum of %d agents says too much of one; %d are the least",
			len(out), leastSecure)
	}
	return out, nil
}

// secure answers the exchanges of a sum through masks. An agent of a run that is secure gives
// no vector without masks.
func (a *Agent) secure(ctx context.Context, m *Message, h Head, phase, part string) (*Message, error) {
	if a.party == nil {
		return nil, fail(Malformed, "", "the request %q is for runs that are secure", m.Phase)
	}
	b, err := get[uint8](m, "tag")
	if err != nil {
		return nil, err
	}
	tag := string(b)
	out := newMessage(h, nil)
	if part == "keys" {
		put(out, "public", a.party.Public(tag))
		return out, nil
	}
	peers, err := getPeers(m)
	if err != nil {
		return nil, err
	}
	masked := func(err error) error { return &Error{Code: NoSecureSum, Err: err} }
	switch part {
	case "shares":
		shares, err := a.party.Shares(tag, peers, mask.Threshold(len(peers)))
		if err != nil {
			return nil, masked(err)
		}
		var all []uint8
		for _, s := range shares {
			if s == nil {
				s = make([]byte, mask.SealedBytes)
			}
			all = append(all, s...)
		}
		put(out, "sealed", all, len(peers), mask.SealedBytes)
	case "masked":
		if err := a.take(m); err != nil {
			return nil, err
		}
		ints, numbers, err := a.sum(phase, m)
		if err != nil {
			return nil, err
		}
		if ints == nil {
			if ints, err = toFixed(numbers, otherBits); err != nil {
				return nil, err
			}
		}
		v := make([]uint64, len(ints))
		for i, x := range ints {
			v[i] = uint64(x)
		}
		if err := a.party.Mask(tag, peers, v); err != nil {
			return nil, masked(err)
		}
		put(out, "masked", v)
	case "open":
		sealed, err := get[uint8](m, "sealed", len(peers), mask.SealedBytes)
		if err != nil {
			return nil, err
		}
		marks, err := get[uint8](m, "alive", len(peers))
		if err != nil {
			return nil, err
		}
		by, alive := make([][]byte, len(peers)), make([]bool, len(peers))
		for i := range peers {
			by[i], alive[i] = sealed[i*mask.SealedBytes:(i+1)*mask.SealedBytes], marks[i] == 1
		}
		opened, err := a.party.Open(tag, peers, by, alive)
		if err != nil {
			return nil, masked(err)
		}
		put(out, "opened", slices.Concat(opened...), len(peers), mask.OpenedBytes)
	default:
		return nil, fail(Malformed, "", "the request %q is none that this program knows", m.Phase)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return out, nil
}

func float(v int64, bits int) float64 { return math.Ldexp(float64(v), -bits) }
