package fst

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"math"

	"github.com/tropica-fst/tropica/semiring"
)

// ArchiveType is the format of a file of many machines, each under a key.
type ArchiveType string

const (
	ArchiveTable  ArchiveType = "sttable" // ends with an index; OpenFst's default
	ArchiveList   ArchiveType = "stlist"  // can be read from a pipe
	ArchiveSingle ArchiveType = "fst"     // one plain machine
)

const (
	tableMagic  = 2125656924
	listMagic   = 5656924
	archVersion = 1
)

// ErrArchive reports an archive used against its rules: keys out of order, or more
// machines than the type holds.
var ErrArchive = errors.New("no archive can have this")

// ArchiveReader reads an archive from its first machine to its last, and one with an index
// (ArchiveTable) from any key on that Seek is given.
type ArchiveReader struct {
	Type ArchiveType

	s     *Stream
	left  int64 // entries still to come of a table; -1 where the file tells at its end
	last  string
	any   bool
	index *archiveIndex // of a table
}

// NewArchiveReader begins to read an archive of any type. One with an index is read
// whole into memory first, unless r is a file, a bytes.Reader or another io.ReadSeeker: these are
// read where they stand, and must not be read, or set to another place, by anyone else
// meanwhile. Such an archive goes on to the end of r. Errors are BinaryErrors.
func NewArchiveReader(r io.Reader, opts *ReadOptions) (*ArchiveReader, error) {
	var o ReadOptions
	if opts != nil {
		o = *opts
	}
	s := NewStream(r, &o)
	a := &ArchiveReader{s: s, left: -1}
	if s.atEnd() {
		return nil, s.fail("empty input where an archive should be")
	}
	head, err := s.peek(4)
	if err != nil {
		return nil, err
	}
	switch binary.LittleEndian.Uint32(head) {
	case fstMagic:
		a.Type = ArchiveSingle
		return a, nil
	case listMagic:
		a.Type = ArchiveList
	case tableMagic:
		a.Type = ArchiveTable
		at, size, err := randomAccess(r, s)
		if err != nil {
			return nil, err
		}
		if a.left, err = a.count(at, size); err != nil {
			return nil, err
		}
		a.index = &archiveIndex{at: at, n: a.left, end: size - 16 - 8*a.left}
	default:
		start := binary.LittleEndian.Uint32(head)
		return nil, s.fail("not an archive: it starts with %#08x%s", start, s.otherFormat("of which farcompilestrings makes an archive of strings, and fstcompile a machine"))
	}
	if b, err := s.take(8); err != nil {
		return nil, err
	} else if v := binary.LittleEndian.Uint32(b[4:]); v != archVersion {
		return nil, s.fail("an archive of version %d, not %d", v, archVersion)
	}
	return a, nil
}

// randomAccess returns a way to read any part of the archive that s is at the start of, and how
// many bytes it has; s is made to read from memory where there is none.
func randomAccess(r io.Reader, s *Stream) (io.ReaderAt, int64, error) {
	if seeker, ok := r.(io.Seeker); ok {
		regular := true
		if f, ok := r.(interface{ Stat() (iofs.FileInfo, error) }); ok {
			info, err := f.Stat()
			regular = err == nil && info.Mode().IsRegular()
		}
		if here, err := seeker.Seek(0, io.SeekCurrent); regular && err == nil {
			start := here - int64(s.end-s.pos)
			size, err := seeker.Seek(0, io.SeekEnd)
			if err == nil {
				_, err = seeker.Seek(here, io.SeekStart)
			}
			if err != nil {
				return nil, 0, &BinaryError{s.opts.Name, s.offset(), err}
			}
			at, ok := r.(io.ReaderAt)
			if !ok {
				at = seekerAt{r.(io.ReadSeeker)}
			}
			part := io.NewSectionReader(at, start, max(0, size-start))
			if !ok { // whose place is moved by whoever reads the index
				part.Seek(here-start, io.SeekStart)
				s.r = part
			}
			s.size = s.opts.Offset + part.Size()
			return part, part.Size(), nil
		}
	}
	data := append([]byte(nil), s.buf[s.pos:s.end]...)
	if !s.eof {
		rest, err := io.ReadAll(r)
		if err != nil {
			return nil, 0, &BinaryError{s.opts.Name, s.offset(), err}
		}
		data = append(data, rest...)
	}
	b := bytes.NewReader(data)
	*s = *NewStream(b, &s.opts)
	return bytes.NewReader(data), int64(len(data)), nil
}

// seekerAt reads any part of what can only be set to a place.
type seekerAt struct{ r io.ReadSeeker }

func (s seekerAt) ReadAt(p []byte, at int64) (int, error) {
	if _, err := s.r.Seek(at, io.SeekStart); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(s.r, p)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return n, err
}

// count reads how many entries the index at the end of a table tells of.
func (a *ArchiveReader) count(at io.ReaderAt, size int64) (int64, error) {
	fail := func(err error) error { return &BinaryError{a.s.opts.Name, a.s.opts.Offset + max(0, size-8), err} }
	var b [8]byte
	if size < 24 {
		return 0, fail(errShort)
	}
	if _, err := at.ReadAt(b[:], size-8); err != nil {
		return 0, fail(err)
	}
	n := int64(binary.LittleEndian.Uint64(b[:]))
	if n < 0 || n > (size-24)/8 {
		return 0, fail(fmt.Errorf("an index of %d entries in %d bytes", n, size))
	}
	// The index is there, and all of the file belongs to it: else it was cut.
	var head [16]byte
	if n == 0 && size == 24 {
		return 0, nil
	}
	if n > 0 {
		if _, err := at.ReadAt(head[:], size-16-8*n); err != nil {
			return 0, fail(err)
		}
	}
	if le := binary.LittleEndian; n == 0 || int64(le.Uint64(head[:])) != n || le.Uint64(head[8:]) != 8 {
		return 0, fail(fmt.Errorf("no index at the end (is the file cut?)"))
	}
	return n, nil
}

// Next returns the key and the header of the next machine, io.EOF after the last. The machine must
// be read by ReadBody(a.Stream(), h), or passed over by SkipBody, before the next call, unless that
// is one of Seek.
func (a *ArchiveReader) Next() (key string, h *Header, err error) {
	switch {
	case a.Type == ArchiveSingle:
		if a.any {
			return "", nil, io.EOF
		}
	case a.left == 0:
		if err = a.inPlace(); err != nil {
			return "", nil, err
		}
		return "", nil, io.EOF
	default:
		if err = a.inPlace(); err != nil {
			return "", nil, err
		}
		if key, err = a.s.str(math.MaxInt32); err != nil {
			return "", nil, err
		}
		if a.left < 0 && key == "" {
			return "", nil, io.EOF
		}
		if a.any && key < a.last {
			return "", nil, a.s.fail("key %q after %q: keys must be in order: %w", clip([]byte(key)), clip([]byte(a.last)), ErrArchive)
		}
		a.left = max(a.left-1, -1)
	}
	a.last, a.any = key, true
	h, err = a.s.ReadHeader()
	return key, h, err
}

// Stream returns what ReadBody reads from.
func (a *ArchiveReader) Stream() *Stream { return a.s }

// ArchiveWriter writes an archive; AddToArchive adds machines, and Close ends it.
type ArchiveWriter struct {
	t      ArchiveType
	w      io.Writer
	at     int64
	starts []byte // of the entries of a table: how far each is from the one before, as uvarints, which take a quarter of int64s
	start  int64  // of the entry before
	last   string
	n      int
	begin  []byte // of the entry at hand, not yet written: it goes with the first bytes of its machine
	err    error
}

// NewArchiveWriter begins an archive.
func NewArchiveWriter(w io.Writer, t ArchiveType) (*ArchiveWriter, error) {
	a := &ArchiveWriter{t: t, w: w}
	magic := uint32(tableMagic)
	switch t {
	case ArchiveSingle:
		return a, nil
	case ArchiveList:
		magic = listMagic
	case ArchiveTable:
	default:
		return nil, fmt.Errorf("fst: unknown archive type %q (known are sttable, stlist, fst)", t)
	}
	b := binary.LittleEndian.AppendUint32(nil, magic)
	_, err := a.Write(binary.LittleEndian.AppendUint32(b, archVersion))
	return a, err
}

// Write implements io.Writer for AddToArchive.
func (a *ArchiveWriter) Write(p []byte) (int, error) {
	if begin := a.begin; begin != nil {
		a.begin = nil
		if _, err := a.Write(begin); err != nil {
			return 0, err
		}
	}
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.w.Write(p)
	a.at += int64(n)
	a.err = err
	return n, err
}

// AddToArchive writes f under a key. Keys must not be empty, and come in order; one
// may come several times.
//
// After an error of a key, or of a machine that does not fit opts, the archive is unchanged and
// others can be added. Where a part of the machine has gone out already, or the underlying writer
// fails, the archive is lost: all further calls, and Close, return an error.
func AddToArchive[W semiring.Codec[W]](a *ArchiveWriter, key string, f Expanded[W], opts *WriteOptions) error {
	switch {
	case a.t == ArchiveSingle && a.n > 0:
		return fmt.Errorf("fst: key %q: an archive of type fst holds one machine: %w", key, ErrArchive)
	case a.t != ArchiveSingle && key == "":
		return fmt.Errorf("fst: an empty key: %w", ErrArchive)
	case a.n > 0 && key < a.last:
		return fmt.Errorf("fst: key %q after %q: keys must be in order: %w", key, a.last, ErrArchive)
	}
	if a.err != nil {
		return a.err
	}
	var o WriteOptions
	if opts != nil {
		o = *opts
	}
	at := a.at
	if a.begin = nil; a.t != ArchiveSingle {
		a.begin = appendString(nil, key)
	}
	o.Offset = at + int64(len(a.begin))
	err := Write(a, f, &o)
	if err != nil {
		a.begin = nil
		if a.at != at && a.err == nil {
			a.err = fmt.Errorf("fst: an archive with a part of the machine of key %q: %w", key, err)
		}
		return err
	}
	a.n++
	a.last = key
	if a.t == ArchiveTable {
		a.starts = binary.AppendUvarint(a.starts, uint64(at-a.start))
		a.start = at
	}
	return nil
}

// Close writes what stands at the end. It does not close the underlying writer.
func (a *ArchiveWriter) Close() error {
	var b []byte
	switch a.t {
	case ArchiveList:
		b = make([]byte, 4)
	case ArchiveTable:
		const block = 4 << 10 // bytes of the index that are written at once
		le := binary.LittleEndian
		b = le.AppendUint64(make([]byte, 0, block+16), uint64(a.n))
		at := uint64(0)
		for left := a.starts; len(left) > 0; {
			more, k := binary.Uvarint(left)
			left, at = left[k:], at+more
			if b = le.AppendUint64(b, at); len(b) >= block {
				if _, err := a.Write(b); err != nil {
					return err
				}
				b = b[:0]
			}
		}
		b = le.AppendUint64(b, uint64(a.n))
	}
	_, err := a.Write(b)
	return err
}
