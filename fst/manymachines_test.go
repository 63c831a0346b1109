package fst_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// writeMany writes n machines of one string to an archive.
func writeMany(w io.Writer, typ fst.ArchiveType, n int) error {
	const states = 12
	v := fst.NewVector[semiring.Tropical](states)
	v.AddStates(states)
	v.SetStart(0)
	for q := range fst.StateID(states - 1) {
		v.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 2, Weight: 0.5, NextState: q + 1})
	}
	v.SetFinal(states-1, 0)
	a, err := fst.NewArchiveWriter(w, typ)
	for i := 0; i < n && err == nil; i++ {
		err = fst.AddToArchive[semiring.Tropical](a, fmt.Sprintf("%09d", i), v, nil)
	}
	if err != nil {
		return err
	}
	return a.Close()
}

// readMany reads the machines of an archive, one after the other, and returns how many.
func readMany(r io.Reader) (n int, err error) {
	a, err := fst.NewArchiveReader(r, nil)
	for ; err == nil; n++ {
		var h *fst.Header
		if _, h, err = a.Next(); err == nil {
			_, err = fst.ReadBody[semiring.Tropical](a.Stream(), h)
		}
		if err == io.EOF {
			return n, nil
		}
	}
	return n, err
}

// Machines that come one behind the other take memory, and so time, by their own sizes, to be written and to
// be read: not by what is left of the file, as it was once, nor a buffer each.
func TestManyMachinesTakeWhatTheyHold(t *testing.T) {
	if fsttest.RaceDetector {
		t.Skip("the race detector empties pools at random")
	}
	const machines = 2000
	for _, typ := range []fst.ArchiveType{fst.ArchiveTable, fst.ArchiveList} {
		var b bytes.Buffer
		if err := writeMany(&b, typ, machines); err != nil { // for the room in b
			t.Fatal(err)
		}
		b.Reset()
		written := float64(allocated(func() {
			if err := writeMany(&b, typ, machines); err != nil {
				t.Fatal(err)
			}
		})) / machines
		read := float64(allocated(func() {
			if n, err := readMany(bytes.NewReader(b.Bytes())); err != nil || n != machines {
				t.Fatal(n, err)
			}
		})) / machines
		size := float64(b.Len()) / machines
		t.Logf("%s: a machine is %.0f bytes; to write it takes %.0f, to read it %.0f", typ, size, written, read)
		if written > 8*size || read > 8*size {
			t.Errorf("%s: a machine is %.0f bytes; to write it takes %.0f, to read it %.0f", typ, size, written, read)
		}
	}
}

// An archive of many small machines, as strings and lattices come: b.N machines are written and read.
func BenchmarkArchive(b *testing.B) {
	var file bytes.Buffer
	b.Run("op=write", func(b *testing.B) {
		b.ReportAllocs()
		file.Reset()
		if err := writeMany(&file, fst.ArchiveTable, b.N); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("op=read", func(b *testing.B) {
		b.ReportAllocs()
		file.Reset()
		if err := writeMany(&file, fst.ArchiveTable, b.N); err != nil {
			b.Fatal(err)
		}
		b.ResetTimer()
		if n, err := readMany(&file); err != nil || n != b.N {
			b.Fatal(n, err)
		}
	})
}
