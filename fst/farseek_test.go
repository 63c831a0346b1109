package fst

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/semiring"
)

// onlySeeks hides that a reader can read from any place.
type onlySeeks struct{ io.ReadSeeker }

// keysFrom seeks a key and reads on to the end.
func keysFrom(a *ArchiveReader, key string) (keys []string, err error) {
	if err := a.Seek(key); err != nil {
		return nil, err
	}
	for {
		k, h, err := a.Next()
		if err == io.EOF {
			return keys, nil
		}
		if err != nil {
			return keys, err
		}
		f, err := ReadBody[semiring.Tropical](a.Stream(), h)
		if err != nil {
			return keys, err
		}
		keys = append(keys, fmt.Sprint(k, "/", f.NumStates()))
	}
}

// Whatever key is sought, and from wherever, what follows is what the whole of the archive has from there on.
func TestArchiveSeek(t *testing.T) {
	for n := range 12 {
		data := archiveOf(t, ArchiveTable, n)
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("key%d/%d", i/2, i+1))
		}
		for name, r := range map[string]io.Reader{"bytes": bytes.NewReader(data), "text": strings.NewReader(string(data)),
			"seeker": onlySeeks{bytes.NewReader(data)}, "pipe": io.MultiReader(bytes.NewReader(data))} {
			a, err := NewArchiveReader(r, &ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"key3", "", "key0", "key1", "key2", "key27", "key5", "key9", "a", "key", "zz", strings.Repeat("key3", 100)} {
				want := all
				for len(want) > 0 && want[0][:4] < key {
					want = want[1:]
				}
				got, err := keysFrom(a, key)
				if err != nil || !slices.Equal(got, want) {
					t.Fatalf("%s of %d: from %q on %v, not %v (%v)", name, n, key, got, want, err)
				}
				// From the midst of a machine, too.
				if err := a.Seek(""); err != nil {
					t.Fatal(err)
				}
				a.Next()
			}
		}
	}
	for _, typ := range []ArchiveType{ArchiveList, ArchiveSingle} {
		a, err := NewArchiveReader(bytes.NewReader(archiveOf(t, typ, 1)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Seek("key0"); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", typ, err)
		}
		if _, h, err := a.Next(); err != nil || h.NumStates != 1 {
			t.Errorf("%s: after Seek %v", typ, err)
		}
	}
}

// An archive that does not begin with its file, and one cut anywhere.
func TestArchiveSeekInPart(t *testing.T) {
	data := archiveOf(t, ArchiveTable, 9)
	r := bytes.NewReader(append(make([]byte, 64), data...))
	r.Seek(64, io.SeekStart)
	a, err := NewArchiveReader(r, &ReadOptions{Offset: 0})
	if err != nil {
		t.Fatal(err)
	}
	if keys, err := keysFrom(a, "key3"); err != nil || len(keys) != 3 {
		t.Errorf("%v, %v", keys, err)
	}
	for cut := range len(data) {
		for _, key := range []string{"key0", "key2", "key4", "nokey"} {
			if a, err := NewArchiveReader(bytes.NewReader(data[:cut]), nil); err == nil {
				if keys, err := keysFrom(a, key); err == nil {
					t.Fatalf("cut at byte %d of %d it has from %q on %v", cut, len(data), key, keys)
				}
			}
		}
	}
}

// Where the index says what is not so, whoever goes by it is told; what is read all the same is in order.
func TestArchiveSeekHostile(t *testing.T) {
	const n = 9
	data := archiveOf(t, ArchiveTable, n)
	index := len(data) - 8 - 8*n
	positions := func() (p []int64) {
		for i := range n {
			p = append(p, int64(binary.LittleEndian.Uint64(data[index+8*i:])))
		}
		return p
	}()
	for i := 1; i < n; i++ { // the first one is looked at by NewArchiveReader
		for _, to := range []int64{0, -1, 7, 8, positions[i] - 1, positions[i] + 1, positions[i] + 4, positions[i-1], positions[(i+1)%n], int64(index), int64(len(data)), 1 << 40, -1 << 63, 1<<63 - 1} {
			bad := slices.Clone(data)
			binary.LittleEndian.PutUint64(bad[index+8*i:], uint64(to))
			told := false
			for _, key := range []string{"", "key0", "key1", "key2", "key3", "key4", "zz"} {
				a, err := NewArchiveReader(bytes.NewReader(bad), &ReadOptions{Name: "bad.far"})
				if err != nil {
					t.Fatal(err)
				}
				keys, err := keysFrom(a, key)
				if !slices.IsSorted(keys) {
					t.Fatalf("entry %d at %d: %v", i, to, keys)
				}
				if err == nil {
					continue
				}
				told = true
				var b *BinaryError
				if !errors.As(err, &b) || b.Source != "bad.far" || b.Offset < 8 || b.Offset > int64(len(data)) {
					t.Fatalf("entry %d at %d: %v", i, to, err)
				}
			}
			if !told {
				t.Errorf("entry %d at %d instead of %d: nobody says so", i, to, positions[i])
			}
		}
	}
	for _, count := range []int64{-1, 0, n - 1, n + 1, 1 << 40, 1<<63 - 1, 1 << 61, 1<<61 + n} {
		bad := slices.Clone(data)
		binary.LittleEndian.PutUint64(bad[len(bad)-8:], uint64(count))
		if _, err := NewArchiveReader(bytes.NewReader(bad), nil); err == nil {
			t.Errorf("an index of %d entries is taken", count)
		}
	}
	// A key of a length that is not there takes no room.
	bad := slices.Clone(data)
	binary.LittleEndian.PutUint32(bad[positions[4]:], 1<<31-1)
	a, err := NewArchiveReader(bytes.NewReader(bad), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Seek("key3"); err == nil || !strings.Contains(err.Error(), "no entry") {
		t.Errorf("a key of 2 GB: %v", err)
	}
}

// SkipBody goes just as far as ReadBody does, in all types of files and over weights of any size.
func TestSkipBody(t *testing.T) {
	skipBodies[semiring.Tropical](t, 1)
	skipBodies[semiring.Log64](t, 0.5)
}

func skipBodies[W semiring.Codec[W]](t *testing.T, w W) {
	f := NewVector[W](3)
	f.AddStates(4000)
	f.SetStart(0)
	for q := range StateID(3999) {
		for range q % 3 {
			f.AddArc(q, Arc[W]{1, 2, w, q + 1})
		}
	}
	f.SetFinal(3999, w)
	for _, typ := range []string{"vector", "const", "const8", "const16", "const64", "edit"} {
		for _, align := range []bool{false, true} {
			var b bytes.Buffer
			if err := Write[W](&b, f, &WriteOptions{Type: typ, Align: align}); err != nil {
				if typ == "const8" { // which cannot count so many
					continue
				}
				t.Fatal(err)
			}
			data := b.Bytes()
			whole := append(slices.Clone(data), "more"...)
			for name, r := range map[string]io.Reader{"bytes": bytes.NewReader(whole), "pipe": io.MultiReader(bytes.NewReader(whole))} {
				s := NewStream(r, nil)
				h, err := s.ReadHeader()
				if err == nil {
					err = SkipBody[W](s, h)
				}
				if err != nil || s.Offset() != int64(len(data)) {
					t.Fatalf("%s, %s: at %d of %d: %v", typ, name, s.Offset(), len(data), err)
				}
			}
			for cut := 60; cut < len(data); cut += 1 + len(data)/300 {
				s := NewStream(bytes.NewReader(data[:cut]), nil)
				h, err := s.ReadHeader()
				if err == nil {
					err = SkipBody[W](s, h)
				}
				if err == nil {
					t.Fatalf("%s: cut at %d of %d it is passed over as whole", typ, cut, len(data))
				}
			}
		}
	}
}
