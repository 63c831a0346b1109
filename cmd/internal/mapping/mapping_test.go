package mapping_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/mapping"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

func TestMap(t *testing.T) {
	v := fst.NewVector[semiring.Tropical](0)
	v.SetStart(v.AddState())
	v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 2, Weight: 3, NextState: v.AddState()})
	v.SetFinal(1, 4)
	var file bytes.Buffer
	if err := fst.Write(&file, fst.NewConst[semiring.Tropical](v),
		&fst.WriteOptions{Type: "const"}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "m.fst")
	if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	m := mapped(t, name)
	if !bytes.Equal(m.Bytes(), file.Bytes()) {
		t.Fatal("the mapping differs from the file")
	}
	f, err := fst.ReadBytes[semiring.Tropical](m.Bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.NumStates() != 2 || len(f.Arcs(0)) != 1 || f.Arcs(0)[0] != v.Arcs(0)[0] || f.Final(1) != 4 {
		t.Errorf("%d states, arcs %v, final %v", f.NumStates(), f.Arcs(0), f.Final(1))
	}
	testRelease(t, v)
	for range 2 {
		if err := m.Close(); err != nil || m.Bytes() != nil {
			t.Fatalf("after Close: %v, %d bytes", err, len(m.Bytes()))
		}
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if n := len(mapped(t, name).Bytes()); n != 0 {
		t.Errorf("%d bytes of an empty file", n)
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if _, err := mapping.Map(dir); err == nil {
		t.Error("a directory was mapped")
	}
}

// What has been released is read as before, of a file of many pages; what is no part of the mapping
// stays.
func testRelease(t *testing.T, v *fst.Vector[semiring.Tropical]) {
	for q := range fst.StateID(100_000) {
		v.AddArc(v.AddState()-1, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: fst.Label(q), NextState: q})
	}
	var file bytes.Buffer
	if err := fst.Write(&file, fst.NewConst[semiring.Tropical](v),
		&fst.WriteOptions{Type: "const"}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "large.fst")
	if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	m := mapped(t, name)
	for _, trust := range []bool{true, false} {
		f, err := fst.ReadBytes[semiring.Tropical](m.Bytes(), &fst.ReadOptions{Trust: trust, Checked: m.Release})
		if err != nil {
			t.Fatal(err)
		}
		for q := range fst.StateID(v.NumStates()) {
			if f.Final(q) != v.Final(q) || !slices.Equal(f.Arcs(q), v.Arcs(q)) {
				t.Fatalf("state %d differs behind Release", q)
			}
		}
	}
	own := bytes.Clone(file.Bytes())
	m.Release(own)
	m.Release(nil)
	if !bytes.Equal(own, m.Bytes()) {
		t.Error("Release changed what is not of the mapping, or the mapping")
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m.Release(own)
}

func mapped(t *testing.T, name string) *mapping.File {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := mapping.Map(f)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
