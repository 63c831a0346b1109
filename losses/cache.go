package losses

import (
	"container/list"
	"sync"
)

// Cache keeps machines by loss, reference, alphabet and length: what depends on
// these alone is built once and serves every epoch. It holds at most as many
// bytes as it was made for, least recently used first out; a machine larger
// than that is built again each time. Safe for several goroutines, which may
// build one machine twice at the same moment but get the same one afterwards.
type Cache struct {
	mu     sync.Mutex
	limit  int64
	bytes  int64
	byKey  map[string]*list.Element
	recent *list.List // of *cached, most recent first
	key    []byte

	hits, misses int64
}

type cached struct {
	key     string
	machine *Machine
	bytes   int64 // as counted in Cache.bytes
}

// NewCache returns a cache of at most limit bytes; 0 stands for DefaultBytes.
func NewCache(limit int64) *Cache {
	if limit <= 0 {
		limit = DefaultBytes
	}
	return &Cache{limit: limit, byKey: map[string]*list.Element{}, recent: list.New()}
}

// Machine returns loss.Machine(ref, alphabet, l), kept or built.
func (c *Cache) Machine(loss Loss, ref []int, alphabet, l int) (*Machine, error) {
	c.mu.Lock()
	c.key = loss.AppendKey(c.key[:0])
	c.key = appendInts(c.key, alphabet, l, len(ref))
	c.key = appendInts(c.key, ref...)
	if e := c.byKey[string(c.key)]; e != nil {
		c.hits++
		c.recent.MoveToFront(e)
		m := e.Value.(*cached).machine
		c.recount(e)
		c.mu.Unlock()
		return m, nil
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
	if e := c.byKey[key]; e != nil { // another goroutine was first
		c.recent.MoveToFront(e)
		return e.Value.(*cached).machine, nil
	}
	e := c.recent.PushFront(&cached{key: key, machine: m})
	c.byKey[key] = e
	c.recount(e)
	return m, nil
}

// recount brings the books up to date with a machine, which grows when an
// evaluation lays out its graph, and drops what exceeds the limit.
func (c *Cache) recount(e *list.Element) {
	x := e.Value.(*cached)
	n := x.machine.Bytes() + int64(len(x.key)) + 200
	c.bytes += n - x.bytes
	x.bytes = n
	for c.bytes > c.limit {
		last := c.recent.Back()
		if last == nil {
			break
		}
		y := c.recent.Remove(last).(*cached)
		delete(c.byKey, y.key)
		c.bytes -= y.bytes
	}
}

// CacheStats says what a cache holds and how it served.
type CacheStats struct {
	Machines     int
	Bytes        int64
	Hits, Misses int64
}

// Stats returns the numbers of the moment. Machines that grew since they were
// last asked for are counted anew.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.recent.Back(); e != nil; {
		prev := e.Prev()
		c.recount(e)
		e = prev
	}
	return CacheStats{Machines: c.recent.Len(), Bytes: c.bytes, Hits: c.hits, Misses: c.misses}
}
