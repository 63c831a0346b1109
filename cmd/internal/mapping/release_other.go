//go:build !linux

package mapping

// Release does nothing on this system: what has been read of a mapping stays until the system wants
// the memory.
func (m *File) Release([]byte) {}
