package run

import (
	"reflect"
	"sync"
)

// Scratch keeps work space of type T between operations. Without it, running an operation on each
// machine of a corpus would throw away as much as the results hold. The collector lets that lie up
// to a share of the heap.
//
// Work space goes back when an operation is done with it, and never by a deferred call. That also
// runs while a panic of the weights or of a machine passes, and would hand what is half done to the
// next operation.
func Scratch[T any]() *sync.Pool {
	key := reflect.TypeFor[T]()
	if p, ok := scratchPools.Load(key); ok {
		return p.(*sync.Pool)
	}
	p, _ := scratchPools.LoadOrStore(key, &sync.Pool{New: func() any { return new(T) }})
	return p.(*sync.Pool)
}

var scratchPools sync.Map // from reflect.Type to *sync.Pool

// KeptScratch is how many elements, or slots, of a subset table are kept for the next. More would
// have to be cleared for machines that need few.
const KeptScratch = 1 << 14
