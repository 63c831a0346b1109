package fst

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/tropica-fst/tropica/semiring"
)

// readArchive reads an archive to its end.
func readArchive(r io.Reader) (keys []string, fs []Expanded[semiring.Tropical], err error) {
	a, err := NewArchiveReader(r, nil)
	if err != nil {
		return nil, nil, err
	}
	for {
		key, h, err := a.Next()
		if err == io.EOF {
			return keys, fs, nil
		}
		if err != nil {
			return keys, fs, err
		}
		f, err := ReadBody[semiring.Tropical](a.Stream(), h)
		if err != nil {
			return keys, fs, err
		}
		keys, fs = append(keys, key), append(fs, f)
	}
}

func archiveOf(t *testing.T, typ ArchiveType, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	a, err := NewArchiveWriter(&b, typ)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		f := NewVector[semiring.Tropical](i + 1)
		f.AddStates(i + 1)
		f.SetStart(0)
		f.SetFinal(StateID(i), semiring.Tropical(i))
		if err := AddToArchive[semiring.Tropical](a, fmt.Sprintf("key%d", i/2), f, &WriteOptions{Type: []string{"vector", "const"}[i%2], Align: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArchives(t *testing.T) {
	for _, typ := range []ArchiveType{ArchiveTable, ArchiveList, ArchiveSingle} {
		for n := range 5 {
			if typ == ArchiveSingle && n != 1 {
				continue
			}
			data := archiveOf(t, typ, n)
			for _, r := range []io.Reader{bytes.NewReader(data), io.MultiReader(bytes.NewReader(data))} { // with an end to look at, and without
				keys, fs, err := readArchive(r)
				if err != nil || len(fs) != n {
					t.Fatalf("%s of %d: %d machines, %v", typ, n, len(fs), err)
				}
				for i, f := range fs {
					if want := fmt.Sprintf("key%d", i/2); f.NumStates() != i+1 || f.Final(StateID(i)) != semiring.Tropical(i) || typ != ArchiveSingle && keys[i] != want {
						t.Errorf("%s: machine %d under %q: %d states", typ, i, keys[i], f.NumStates())
					}
				}
			}
			for cut := range len(data) {
				if _, _, err := readArchive(bytes.NewReader(data[:cut])); err == nil {
					t.Fatalf("%s of %d: cut at byte %d of %d it reads as whole", typ, n, cut, len(data))
				}
			}
		}
	}
	a, _ := NewArchiveWriter(io.Discard, ArchiveTable)
	f := NewVector[semiring.Tropical](0)
	if err := errors.Join(AddToArchive[semiring.Tropical](a, "b", f, nil)); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", ""} {
		if err := AddToArchive[semiring.Tropical](a, key, f, nil); !errors.Is(err, ErrArchive) {
			t.Errorf("key %q after b: %v", key, err)
		}
	}
}

// The index of a table of many entries, written a part at a time, has the place of each, and as many as there are.
func TestArchiveIndexOfManyEntries(t *testing.T) {
	const n = 3000
	var file bytes.Buffer
	a, err := NewArchiveWriter(&file, ArchiveTable)
	if err != nil {
		t.Fatal(err)
	}
	var places []uint64
	for i := range n {
		v := NewVector[semiring.Tropical](0)
		v.AddStates(1 + i%40)
		v.SetStart(0)
		places = append(places, uint64(file.Len()))
		if err := AddToArchive[semiring.Tropical](a, fmt.Sprintf("%04d", i), v, nil); err != nil {
			t.Fatal(err)
		}
	}
	end := file.Len()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	want := binary.LittleEndian.AppendUint64(nil, n)
	for _, at := range places {
		want = binary.LittleEndian.AppendUint64(want, at)
	}
	want = binary.LittleEndian.AppendUint64(want, n)
	if got := file.Bytes()[end:]; !bytes.Equal(got, want) {
		t.Errorf("an index of %d bytes that is not the one of %d entries, of %d bytes", len(got), n, len(want))
	}
}
