package fst

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
)

// BinaryError reports what is wrong in a binary file and where.
type BinaryError struct {
	Source string // the file's name as the caller gave it
	Offset int64  // of the byte at which reading could not go on
	Err    error
}

func (e *BinaryError) Error() string {
	src := e.Source
	if src == "" {
		src = "input"
	}
	return fmt.Sprintf("%s, byte %d: %v", src, e.Offset, e.Err)
}
func (e *BinaryError) Unwrap() error { return e.Err }

// ReadOptions adjusts the reading of binary machines; nil is the same as the
// zero value.
type ReadOptions struct {
	Name   string // of the source, for errors
	Offset int64  // of the reader's first byte in its file: aligned files count from there

	// Trust takes the property bits of a file's header as they are. By default
	// those that are not true of the machine are dropped, since operations
	// decide by them.
	Trust bool

	// Checked is called, for data in memory (ReadBytes), with each part that has been verified
	// and stays in use. Parts come in order, about a megabyte at a time. Who has mapped a file
	// can give the memory of the part back, to be had again when the machine is used: without
	// that, all of the file is resident once it has been read.
	Checked func(part []byte)
}

// Stream reads binary machines and symbol tables, any number of them one after
// the other. Its buffer grows with the data that arrive, never with what a file
// claims to hold.
type Stream struct {
	r        io.Reader
	opts     ReadOptions
	buf      []byte
	pos, end int
	base     int64 // offset of buf[0] in the file
	eof      bool
	err      error // of r, when not io.EOF
	depth    int   // of machines inside machines
	size     int64 // offset at which the file is known to end; -1 if not known
	alone    bool  // the machine being read begins where the input does: what is left of that is its own, as far as can be told
	scratch  any   // a slab, between machines
	recycled any   // a *Vector of which the next is to be made
	lasting  bool  // buf is all of the input, and stays
}

// NewStream returns a Stream over r. It reads ahead. If r tells its size, as
// files and bytes.Readers do, memory is reserved with that bound in mind.
func NewStream(r io.Reader, opts *ReadOptions) *Stream {
	s := &Stream{r: r, size: -1}
	if opts != nil {
		s.opts = *opts
	}
	s.base = s.opts.Offset
	switch g := r.(type) {
	case interface{ Len() int }:
		s.size = s.base + int64(g.Len())
	case interface{ Stat() (fs.FileInfo, error) }:
		if info, err := g.Stat(); err == nil && info.Mode().IsRegular() {
			s.size = info.Size()
		}
	}
	n := 64 << 10
	if s.size >= 0 {
		n = int(min(int64(n), max(s.size-s.base, 512)))
	}
	s.buf = make([]byte, n)
	return s
}

// Offset returns where in the file the next machine or table begins.
func (s *Stream) Offset() int64 { return s.offset() }

// offset returns where in the file the next byte is.
func (s *Stream) offset() int64 { return s.base + int64(s.pos) }

// fail returns a BinaryError at the present offset.
func (s *Stream) fail(format string, args ...any) error {
	return &BinaryError{s.opts.Name, s.offset(), fmt.Errorf(format, args...)}
}

// room bounds how many items of the given size in bytes may follow, by what is
// known of the file's size; a small number when that is not known. It is what
// may be reserved without having seen the data.
func (s *Stream) room(items int64, size int) int {
	most := int64(4096)
	if s.size >= 0 {
		most = max(0, s.size-s.offset()) / int64(size)
	}
	// An int and the memory may have 32 bits; n items have up to 64 bytes each, and n+1 is an
	// int.
	return int(max(0, min(items, most, math.MaxInt/64)))
}

// errShort is what the end of the input in the middle of something is.
var errShort = errors.New("the file ends here, in the middle of the data")

// takeItems takes n items of the given size in bytes. Sizes that a file claims may not fit an int
// of 32 bits when multiplied.
func (s *Stream) takeItems(n, size int) ([]byte, error) {
	if n > math.MaxInt/size {
		return nil, s.fail("%d items of %d bytes: more than memory can hold", n, size)
	}
	return s.take(n * size)
}

// peek returns the next n bytes without taking them; valid until the next call.
func (s *Stream) peek(n int) ([]byte, error) {
	for s.end-s.pos < n {
		if s.eof {
			err := s.err
			if err == nil {
				err = errShort
			}
			return nil, &BinaryError{s.opts.Name, s.base + int64(s.end), err}
		}
		s.fill()
	}
	return s.buf[s.pos : s.pos+n], nil
}

// fill reads more behind what is in the buffer, which is doubled when full.
func (s *Stream) fill() {
	if s.pos > 0 {
		s.base += int64(s.pos)
		s.end = copy(s.buf, s.buf[s.pos:s.end])
		s.pos = 0
	}
	if s.end == len(s.buf) {
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	s.end += s.readSome(s.buf[s.end:])
}

// readSome reads at least one byte into dst unless the input has ended.
func (s *Stream) readSome(dst []byte) int {
	for range 100 {
		n, err := s.r.Read(dst)
		if err != nil {
			s.eof = true
			if err != io.EOF {
				s.err = err
			}
			return n
		}
		if n > 0 {
			return n
		}
	}
	s.eof, s.err = true, io.ErrNoProgress
	return 0
}

// take is peek that also moves on.
func (s *Stream) take(n int) ([]byte, error) {
	b, err := s.peek(n)
	if err == nil {
		s.pos += n
	}
	return b, err
}

// full fills dst, past the buffer when it is large.
func (s *Stream) full(dst []byte) error {
	n := copy(dst, s.buf[s.pos:s.end])
	s.pos += n
	for n < len(dst) {
		if s.eof {
			err := s.err
			if err == nil {
				err = errShort
			}
			return &BinaryError{s.opts.Name, s.offset(), err}
		}
		var k int
		if len(dst)-n >= len(s.buf) { // the buffer is empty: read where it shall go
			k = s.readSome(dst[n:])
			s.base += int64(k)
		} else {
			s.fill()
			k = copy(dst[n:], s.buf[s.pos:s.end])
			s.pos += k
		}
		n += k
	}
	return nil
}

// skip moves on by n bytes. What is far off in a file is not read.
func (s *Stream) skip(n int64) error {
	if n <= int64(s.end-s.pos) {
		s.pos += int(n)
		return nil
	}
	if s.size >= 0 && n > s.size-s.offset() {
		return &BinaryError{s.opts.Name, s.size, errShort}
	}
	if r, ok := s.r.(io.Seeker); ok && s.size >= 0 && n-int64(s.end-s.pos) > int64(len(s.buf)) {
		if _, err := r.Seek(n-int64(s.end-s.pos), io.SeekCurrent); err == nil {
			s.base, s.pos, s.end = s.offset()+n, 0, 0
			return nil
		}
	}
	for n > int64(s.end-s.pos) {
		n -= int64(s.end - s.pos)
		s.pos = s.end
		if _, err := s.peek(1); err != nil {
			return err
		}
	}
	s.pos += int(n)
	return nil
}

// atEnd reports whether no byte is left.
func (s *Stream) atEnd() bool {
	for s.pos == s.end && !s.eof {
		s.fill()
	}
	return s.pos == s.end && s.err == nil
}

// More reports whether another machine or table follows. An error of the reader
// comes up when what it cut short is read.
func (s *Stream) More() bool { return !s.atEnd() }

func (s *Stream) int32() (int32, error) {
	b, err := s.take(4)
	if err != nil {
		return 0, err
	}
	return int32(binary.LittleEndian.Uint32(b)), nil
}

func (s *Stream) int64() (int64, error) {
	b, err := s.take(8)
	if err != nil {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint64(b)), nil
}

// str reads a length and that many bytes, at most most. OpenFst reads a
// negative length as an empty string.
func (s *Stream) str(most int) (string, error) {
	n, err := s.int32()
	if err != nil {
		return "", err
	}
	if n <= 0 {
		return "", nil
	}
	if int(n) > most {
		s.pos -= 4
		return "", s.fail("a string of %d bytes where at most %d make sense", n, most)
	}
	b, err := s.take(int(n))
	return string(b), err
}

// align skips to the next multiple of 16 in the file.
func (s *Stream) align() error {
	if k := int(s.offset() & 15); k != 0 {
		_, err := s.take(16 - k)
		return err
	}
	return nil
}

const (
	fstMagic    = 2125659606
	symbolMagic = 2125658996
)

// Header is what stands before a machine in a binary file.
type Header struct {
	FstType    string // "vector", "const", ...
	ArcType    string // "standard", "log", ...: semiring.Codec's ArcType
	Version    int32
	Flags      int32
	Properties Properties
	Start      int64 // NoState if there is none
	NumStates  int64 // -1 if the writer could not tell: the states then go on to the end of the file
	NumArcs    int64 // zero in vector files

	InputSymbols, OutputSymbols *SymbolTable // nil if the file has none
}

// Bits of Header.Flags.
const (
	HasInputSymbols  = 1
	HasOutputSymbols = 2
	IsAligned        = 4
)

// ReadHeader reads a header and the symbol tables that follow it. ReadBody,
// called next, reads the machine.
func (s *Stream) ReadHeader() (*Header, error) { return s.readHeader(false) }

// otherFormat says what an input that does not start as it should may be, and what to do; "" is
// unknown. text is what to do with text.
func (s *Stream) otherFormat(text string) string {
	if key, ok := s.kaldiKey(); ok {
		return fmt.Sprintf("; it is an archive of Kaldi's, with a binary machine behind the key %q: tail -c +%d gives the first machine, and Kaldi's fstcopy ark:FILE ark,t:- all of them as text",
			clip([]byte(key)), s.offset()+int64(len(key))+2)
	}
	start := s.buf[s.pos:min(s.pos+4, s.end)]
	if bytes.HasPrefix(start, []byte{0x1f, 0x8b}) {
		return "; it is compressed (gzip -d)"
	}
	for _, c := range start {
		if (c < ' ' || c > '~') && c != '\t' && c != '\n' && c != '\r' {
			return ""
		}
	}
	return "; it looks like text, " + text
}

// kaldiKey returns the key that an archive of Kaldi's has before its first machine, with a blank
// between. It reads no more than it takes to tell.
func (s *Stream) kaldiKey() (key string, ok bool) {
	const most = 1 << 10 // bytes of a key
	for n := 0; n < most; n++ {
		b, err := s.peek(n + 1)
		if err != nil || b[n] < ' ' || b[n] == 0x7f {
			return "", false
		}
		if b[n] != ' ' {
			continue
		}
		if b, err = s.peek(n + 5); err != nil || n == 0 {
			return "", false
		}
		return string(b[:n]), binary.LittleEndian.Uint32(b[n+1:]) == fstMagic
	}
	return "", false
}

// readHeader is ReadHeader; with anyStart the start may be a state of another machine.
func (s *Stream) readHeader(anyStart bool) (*Header, error) {
	if s.atEnd() {
		return nil, s.fail("empty input where a binary machine should be")
	}
	s.alone = s.offset() == s.opts.Offset
	magic, err := s.int32()
	if err != nil {
		return nil, err
	}
	if magic != fstMagic {
		s.pos -= 4
		return nil, s.fail("not a binary machine: it starts with %#08x, not with %#08x%s", uint32(magic), uint32(fstMagic), s.otherFormat("of which fstcompile makes a machine"))
	}
	h := &Header{}
	if h.FstType, err = s.str(255); err != nil {
		return nil, err
	}
	if h.ArcType, err = s.str(1 << 12); err != nil {
		return nil, err
	}
	b, err := s.take(4 + 4 + 4*8)
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	h.Version, h.Flags = int32(le.Uint32(b)), int32(le.Uint32(b[4:]))
	h.Properties = Properties(le.Uint64(b[8:]))
	h.Start, h.NumStates, h.NumArcs = int64(le.Uint64(b[16:])), int64(le.Uint64(b[24:])), int64(le.Uint64(b[32:]))
	s.pos -= 24 // errors point at the fields
	switch {
	case h.NumStates < -1 || h.NumStates > maxState+1:
		s.pos += 8
		return nil, s.fail("%d states", h.NumStates)
	case h.Start < -1 || h.NumStates >= 0 && h.Start >= h.NumStates && !anyStart:
		return nil, s.fail("start state %d of %d", h.Start, h.NumStates)
	case h.NumArcs < 0 || h.NumArcs > math.MaxInt: // where an int has 32 bits, no memory holds as many
		s.pos += 16
		return nil, s.fail("%d arcs", h.NumArcs)
	}
	s.pos += 24
	if h.Flags&HasInputSymbols != 0 {
		if h.InputSymbols, err = s.ReadSymbols(); err != nil {
			return nil, err
		}
	}
	if h.Flags&HasOutputSymbols != 0 {
		if h.OutputSymbols, err = s.ReadSymbols(); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// ReadSymbols reads a binary symbol table.
func (s *Stream) ReadSymbols() (*SymbolTable, error) {
	magic, err := s.int32()
	if err != nil {
		return nil, err
	}
	if magic != symbolMagic {
		s.pos -= 4
		return nil, s.fail("not a binary symbol table: it starts with %#08x, not with %#08x", uint32(magic), uint32(symbolMagic))
	}
	t := &SymbolTable{}
	if t.name, err = s.str(1 << 20); err != nil {
		return nil, err
	}
	next, err := s.int64()
	if err != nil {
		return nil, err
	}
	size, err := s.int64()
	if err != nil {
		return nil, err
	}
	if size < 0 {
		s.pos -= 8
		return nil, s.fail("a symbol table of %d symbols", size)
	}
	t.reserve(s.room(size, 12))
	for range size {
		n, err := s.int32()
		if err != nil {
			return nil, err
		}
		n = max(n, 0) // as str has it
		both := int(n) + 8
		if both < 0 { // where an int has 32 bits
			s.pos -= 4
			return nil, s.fail("a symbol of %d bytes", n)
		}
		b, err := s.take(both)
		if err != nil {
			return nil, err
		}
		symbol := viewString(b[:n])
		t.AddKey(symbol, int64(binary.LittleEndian.Uint64(b[n:])))
	}
	t.next = max(t.next, next)
	return t, nil
}

// ReadSymbolsBinary reads a file that holds one binary symbol table.
func ReadSymbolsBinary(r io.Reader, opts *ReadOptions) (*SymbolTable, error) {
	return NewStream(r, opts).ReadSymbols()
}

// AppendBinary appends the table's binary form, OpenFst's byte for byte.
func (t *SymbolTable) AppendBinary(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, symbolMagic)
	dst = appendString(dst, t.name)
	dst = le.AppendUint64(dst, uint64(t.next))
	dst = le.AppendUint64(dst, uint64(t.Len()))
	for _, i := range t.inBinaryOrder() {
		s, key := t.KeyAt(int(i))
		dst = appendString(dst, s)
		dst = le.AppendUint64(dst, uint64(key))
	}
	return dst
}

// WriteBinary writes the table's binary form.
func (t *SymbolTable) WriteBinary(w io.Writer) error {
	_, err := w.Write(t.AppendBinary(nil))
	return err
}

func appendString(dst []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(s))), s...)
}

func (h *Header) appendBinary(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, fstMagic)
	dst = appendString(dst, h.FstType)
	dst = appendString(dst, h.ArcType)
	dst = le.AppendUint32(dst, uint32(h.Version))
	dst = le.AppendUint32(dst, uint32(h.Flags))
	dst = le.AppendUint64(dst, uint64(h.Properties))
	dst = le.AppendUint64(dst, uint64(h.Start))
	dst = le.AppendUint64(dst, uint64(h.NumStates))
	dst = le.AppendUint64(dst, uint64(h.NumArcs))
	if h.Flags&HasInputSymbols != 0 {
		dst = h.InputSymbols.AppendBinary(dst)
	}
	if h.Flags&HasOutputSymbols != 0 {
		dst = h.OutputSymbols.AppendBinary(dst)
	}
	return dst
}
