package losses

import (
	"encoding/binary"
	"errors"
	"math"
	"sync"

	"github.com/emirpasic/gods/v2/maps/treemap"
)

// Cache keeps machines by loss, reference, alphabet and length. What depends only on these is built
// once and serves every epoch. It holds at most the bytes it was made for, and drops the least
// recently used machine first. A larger machine is built again each time. Safe for several
// goroutines, which may build one machine twice at the same moment but get the same one afterwards.
// The zero value is a cache of DefaultBytes.
type Cache struct {
	mu     sync.Mutex
	limit  int64
	bytes  int64
	byKey  map[string]*cached
	recent *treemap.Map[int64, *cached] // by the time of the last use
	now    int64                        // ticks at each use
	key    []byte

	hits, misses int64
}

type cached struct {
	key     string
	machine *Machine
	bytes   int64 // as counted in Cache.bytes
	used    int64 // its key in Cache.recent
}

// NewCache returns a cache of at most limit bytes; 0 stands for DefaultBytes.
func NewCache(limit int64) *Cache {
	c := &Cache{}
	c.setup(limit)
	return c
}

func (c *Cache) setup(limit int64) {
	if limit <= 0 {
		limit = DefaultBytes
	}
	c.limit, c.byKey, c.recent = limit, map[string]*cached{}, treemap.New[int64, *cached]()
}

// Machine returns loss.Machine(ref, alphabet, l), kept or built.
//
// Errors: those of loss, and a nil loss.
func (c *Cache) Machine(loss Loss, ref []int, alphabet, l int) (*Machine, error) {
	if loss == nil {
		return nil, errors.New("losses: Cache.Machine: the loss is nil; the loss 0 needs no machine, see " +
			"Evaluator.Eval")
	}
	c.mu.Lock()
	if c.byKey == nil { // made without NewCache
		c.setup(0)
	}
	c.key = loss.AppendKey(c.key[:0])
	c.key = appendInts(c.key, alphabet, l, len(ref))
	c.key = appendInts(c.key, ref...)
	if x := c.byKey[string(c.key)]; x != nil {
		c.hits++
		c.touch(x)
		c.recount(x)
		c.mu.Unlock()
		return x.machine, nil
	}
	c.misses++
	key := string(c.key)
	c.mu.Unlock()

	m, err := loss.Machine(ref, alphabet, l)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.byKey[key]
	if x == nil { // else another goroutine was first
		x = &cached{key: key, machine: m}
		c.byKey[key] = x
	}
	c.touch(x)
	c.recount(x)
	return x.machine, nil
}

// touch makes x the one that was used last.
func (c *Cache) touch(x *cached) {
	c.recent.Remove(x.used) // 0, the time of what is new, is no key
	c.now++
	x.used = c.now
	c.recent.Put(x.used, x)
}

// recount brings the books up to date with a machine, which grows when an
// evaluation lays out its graph, and drops what exceeds the limit.
func (c *Cache) recount(x *cached) {
	n := x.machine.Bytes() + int64(len(x.key)) + 200
	c.bytes += n - x.bytes
	x.bytes = n
	if n > c.limit { // alone too large: others would go in vain
		c.drop(x)
		return
	}
	for c.bytes > c.limit {
		_, y, ok := c.recent.Min()
		if !ok {
			break
		}
		c.drop(y)
	}
}

// drop forgets x, which callers may go on using.
func (c *Cache) drop(x *cached) {
	c.recent.Remove(x.used)
	delete(c.byKey, x.key)
	c.bytes -= x.bytes
}

// CacheStats says what a cache holds and how it served.
type CacheStats struct {
	Machines     int
	Bytes        int64
	Hits, Misses int64
}

// Stats returns the numbers of the moment. Machines that have grown since their last use are
// counted anew.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		return CacheStats{}
	}
	for _, x := range c.recent.Values() { // a copy: recount may drop some
		if c.byKey[x.key] == x {
			c.recount(x)
		}
	}
	return CacheStats{Machines: c.recent.Size(), Bytes: c.bytes, Hits: c.hits, Misses: c.misses}
}

// appendFloats appends the bits of numbers to a key; -0 is 0.
func appendFloats(dst []byte, xs ...float64) []byte {
	for _, x := range xs {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x+0))
	}
	return dst
}

// appendInts appends integers to a key.
func appendInts[T int | int64](dst []byte, xs ...T) []byte {
	for _, x := range xs {
		dst = binary.AppendVarint(dst, int64(x))
	}
	return dst
}
