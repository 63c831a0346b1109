package fst

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/semiring"
)

// A machine that does not fit its type leaves no trace in an archive.
func TestArchiveAfterMachineThatDoesNotFit(t *testing.T) {
	type W = semiring.Tropical
	acceptor, transducer := FromLabels[W]([]Label{1, 2}), FromLabels[W]([]Label{1, 2})
	transducer.MutableArcs(0)[0].OLabel = 3
	transducer.SetProperties(0, AllProperties)
	compact := &WriteOptions{Type: "compact_acceptor", Align: true}
	for _, typ := range []ArchiveType{ArchiveTable, ArchiveList, ArchiveSingle} {
		var b bytes.Buffer
		a, err := NewArchiveWriter(&b, typ)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, key := range []string{"a", "b", "c"} {
			size := b.Len()
			if err := AddToArchive[W](a, key+"z", transducer, compact); !errors.Is(err, ErrCompact) && !errors.Is(err, ErrArchive) || b.Len() != size {
				t.Fatalf("%s: a transducer as an acceptor: %v, %d bytes", typ, err, b.Len()-size)
			}
			err := AddToArchive[W](a, key, acceptor, compact) // also a key before that of what failed
			if typ == ArchiveSingle && len(want) > 0 {
				if !errors.Is(err, ErrArchive) {
					t.Errorf("%s: another machine: %v", typ, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: key %s: %v", typ, key, err)
			}
			want = append(want, key)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		keys, fs, err := readArchive(&b)
		if typ == ArchiveSingle {
			keys = want
		}
		if err != nil || !slices.Equal(keys, want) || len(fs) != len(want) {
			t.Errorf("%s: keys %q, %d machines, %v", typ, keys, len(fs), err)
		}
		for _, f := range fs {
			if f.NumStates() != 3 || len(f.Arcs(0)) != 1 || f.Arcs(0)[0].OLabel != 1 {
				t.Errorf("%s: another machine than was written", typ)
			}
		}
	}
}

// Where the writer below fails, in the midst of a machine, an archive takes no more.
func TestArchiveAfterWriterFails(t *testing.T) {
	type W = semiring.Tropical
	g := FromLabels[W](make([]Label, 10_000)) // more than is written at once
	left := 150_000
	full := errors.New("the disk is full")
	a := &ArchiveWriter{t: ArchiveList, w: writerFunc(func(p []byte) (int, error) {
		if n := min(len(p), left); n < len(p) {
			left = 0
			return n, full
		}
		left -= len(p)
		return len(p), nil
	})}
	for range 2 {
		if err := AddToArchive[W](a, "k", g, &WriteOptions{Type: "const"}); !errors.Is(err, full) {
			t.Errorf("AddToArchive where nothing can be written: %v", err)
		}
	}
	if err := a.Close(); !errors.Is(err, full) {
		t.Errorf("Close where nothing can be written: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
