package fst_test

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// What is read as label pairs is written, and read back, as the same.
func FuzzReadLabelPairs(f *testing.F) {
	f.Add([]byte("1 2\n3\t4\n"), false)
	f.Add([]byte("# old new\n\n-1 2147483647\r\n 0  0 \n"), true)
	f.Add([]byte("1 2 3\n"), false)
	f.Add([]byte("99999999999 1"), true)
	f.Fuzz(func(t *testing.T, in []byte, negative bool) {
		o := &fst.LabelPairOptions{Negative: negative}
		pairs, err := fst.ReadLabelPairs(bytes.NewReader(in), o)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := fst.WriteLabelPairs(&b, pairs); err != nil {
			t.Fatal(err)
		}
		again, err := fst.ReadLabelPairs(bytes.NewReader(b.Bytes()), o)
		if err != nil || !slices.Equal(again, pairs) {
			t.Fatalf("%q reads back as %v, not %v: %v", b.Bytes(), again, pairs, err)
		}
	})
}

// What is read as potentials has a weight for each state up to the bound, and
// reads back from what is written.
func FuzzReadPotentials(f *testing.F) {
	f.Add([]byte("0 0.5\n1 Infinity\n"), 0)
	f.Add([]byte("3\t-1e-3\n\n0 2\r\n3 4\n"), 4)
	f.Add([]byte("7 1,2\n0 .5,Infinity\n"), 9)
	f.Add([]byte("2000000000 1\n"), 0)
	f.Add([]byte("0 NaN\n"), 1)
	f.Fuzz(func(t *testing.T, in []byte, states int) {
		fuzzPotentials[semiring.Tropical](t, in, states)
		fuzzPotentials[semiring.Log64](t, in, states)
		fuzzPotentials[semiring.Product[semiring.Tropical, semiring.Log]](t, in, states)
	})
}

func fuzzPotentials[W semiring.FormatCodec[W]](t *testing.T, in []byte, states int) {
	v, err := fst.ReadPotentials[W](bytes.NewReader(in), &fst.PotentialOptions{States: states})
	if err != nil {
		return
	}
	if states > 0 && len(v) > states || states <= 0 && len(v) > len(in)+1<<20 {
		t.Fatalf("%d weights from %d bytes for %d states", len(v), len(in), states)
	}
	if len(v) > 10_000 {
		return
	}
	for q, w := range v {
		if !w.Member() {
			t.Fatalf("state %d: weight %v", q, w)
		}
	}
	o := &fst.PotentialOptions{States: len(v), Format: semiring.TextFormat{Digits: 17}}
	var b bytes.Buffer
	if err := fst.WritePotentials(&b, v, o); err != nil {
		t.Fatal(err)
	}
	again, err := fst.ReadPotentials[W](bytes.NewReader(b.Bytes()), o)
	if err != nil || !slices.EqualFunc(again, v, func(a, b W) bool { return a.Equal(b) }) {
		t.Fatalf("%q reads back as %v, not %v: %v", b.Bytes(), again, v, err)
	}
}

// An archive gives well-formed machines under keys in order, or an error; from a
// pipe the same as from memory.
func FuzzArchiveReader(f *testing.F) {
	m := readText[semiring.Tropical](f, "0 1 1 2 .5\n0 1 3 3\n1 2\n", nil)
	for _, typ := range []fst.ArchiveType{fst.ArchiveTable, fst.ArchiveList, fst.ArchiveSingle} {
		for n := range 3 {
			if typ == fst.ArchiveSingle && n != 1 {
				continue
			}
			var b bytes.Buffer
			a, err := fst.NewArchiveWriter(&b, typ)
			if err != nil {
				f.Fatal(err)
			}
			for i := range n {
				o := &fst.WriteOptions{Type: []string{"vector", "const"}[i%2]}
				if err := fst.AddToArchive[semiring.Tropical](a, string(rune('a'+i)), m, o); err != nil {
					f.Fatal(err)
				}
			}
			if err := a.Close(); err != nil {
				f.Fatal(err)
			}
			f.Add(b.Bytes())
			f.Add(b.Bytes()[:b.Len()*2/3])
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		keys, err := archiveKeys(t, bytes.NewReader(in))
		piped, err2 := archiveKeys(t, struct{ io.Reader }{bytes.NewReader(in)})
		if !slices.Equal(keys, piped) || (err == nil) != (err2 == nil) {
			t.Fatalf("from memory %q, %v; from a pipe %q, %v", keys, err, piped, err2)
		}
		if !slices.IsSorted(keys) {
			t.Fatalf("keys %q", keys)
		}
	})
}

func archiveKeys(t *testing.T, r io.Reader) (keys []string, err error) {
	a, err := fst.NewArchiveReader(r, nil)
	if err != nil {
		return nil, err
	}
	for {
		key, h, err := a.Next()
		if err == io.EOF {
			return keys, nil
		}
		if err != nil || h.ArcType != "standard" {
			return keys, err
		}
		g, err := fst.ReadBody[semiring.Tropical](a.Stream(), h)
		if err != nil {
			return keys, err
		}
		wellFormed(t, g)
		keys = append(keys, key)
	}
}
