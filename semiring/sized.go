package semiring

import "unsafe"

// Sized is implemented by weights that hold memory outside of themselves: strings, and sets of
// them. Operations that are to keep within a bound on memory ask for it, since the size of the type
// says little there.
type Sized interface {
	// HeapBytes is how many bytes the weight refers to. What several weights share, such as
	// a string and its suffix, counts for each.
	HeapBytes() int64
}

func (a labels) heapBytes() int64 { return int64(len(a)) }

// HeapBytes is four bytes a label.
func (a StringLeft) HeapBytes() int64 { return a.labels.heapBytes() }

// HeapBytes is four bytes a label.
func (a StringRight) HeapBytes() int64 { return a.labels.heapBytes() }

// HeapBytes is four bytes a label.
func (a StringRestricted) HeapBytes() int64 { return a.labels.heapBytes() }

// HeapBytes is that of the string.
func (a GallicLeft[W]) HeapBytes() int64 { return a.String.HeapBytes() }

// HeapBytes is that of the string.
func (a GallicRight[W]) HeapBytes() int64 { return a.String.HeapBytes() }

// HeapBytes is that of the string.
func (a GallicRestricted[W]) HeapBytes() int64 { return a.String.HeapBytes() }

// HeapBytes is that of the string.
func (a GallicMin[W]) HeapBytes() int64 { return a.String.HeapBytes() }

// HeapBytes is that of all elements but the first, which is in the set itself, and of all
// strings. It takes time linear in the number of elements.
func (a GallicUnion[W]) HeapBytes() int64 {
	n := a.first().HeapBytes()
	if a.rest == nil {
		return n
	}
	n += int64(unsafe.Sizeof(*a.rest)) + int64(cap(*a.rest))*int64(unsafe.Sizeof(a.first()))
	for _, w := range *a.rest {
		n += w.HeapBytes()
	}
	return n
}

// ProductBytes bounds what a⊗b refers to, and what is allocated on the way, from the sizes of
// the two alone: an element for each pair, whose string is as long as both.
func (a GallicUnion[W]) ProductBytes(b GallicUnion[W]) int64 {
	n, m := int64(a.n), int64(b.n)
	if n == 0 || m == 0 {
		return 0
	}
	return n*m*int64(unsafe.Sizeof(a.first())) + m*a.HeapBytes() + n*b.HeapBytes()
}

var (
	_ Sized = StringLeft{}
	_ Sized = GallicLeft[Log]{}
	_ Sized = GallicRight[Log]{}
	_ Sized = GallicMin[Tropical]{}
	_ Sized = GallicUnion[Log]{}
)
