package tables_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/tables"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.csv")
	if err := os.WriteFile(name, []byte("p,y\n1,a\n2,b\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	got, err := tables.Open(name, nil, &table.Options{Target: "y"})
	if err != nil || got.Rows != 2 || got.Name != filepath.ToSlash(name) {
		t.Error(got, err)
	}
	if _, err := tables.Open(name, nil, &table.Options{Target: "z"}); err == nil ||
		!strings.HasPrefix(err.Error(), filepath.ToSlash(name)+": target") {
		t.Error(err)
	}
	if _, err := tables.Open(name+"x", nil, nil); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "a.csvx") {
		t.Error(err)
	}
	if _, err := tables.Open(dir, nil, nil); err == nil {
		t.Error("a folder was read as a table")
	}
	if got, err := tables.Open("-", strings.NewReader("p\n1\n2\n"), nil); err != nil || got.Rows != 2 {
		t.Error(err)
	}
	// Labels are found beside the images.
	images := filepath.Join("..", "..", "..", "testdata", "tables", "mnist", "t10k-images-idx3-ubyte.gz")
	if got, err := tables.Open(images, nil, nil); err != nil || got.Rows != 1000 || len(got.Classes) != 10 {
		t.Error(err)
	}
	if _, err := tables.Folder(name); err == nil {
		t.Error("a file was taken for a folder")
	}
	if f, err := tables.Folder(dir); err != nil {
		t.Error(err)
	} else if _, err := fs.Stat(f, "a.csv"); err != nil {
		t.Error(err)
	}
}

func TestFlags(t *testing.T) {
	parse := func(words ...string) (*table.Options, error) {
		fs := flags.New()
		options := tables.Flags(fs)
		if _, err := fs.Parse(words); err != nil {
			return nil, err
		}
		return options()
	}
	got, err := parse("--target=y", "--drop", "a, #-1", "--categorical=c", "--task=regression",
		"--noheader", "--format=tsv", `--separator=\t`, "--missing=,x", "--source=s",
		"--keep_source", "--weight", "w")
	want := &table.Options{Target: "y", Drop: []string{"a", "#-1"}, Categorical: []string{"c"},
		Task: table.Regression, NoHeader: true, Format: table.TSV, Separator: '\t',
		Missing: append(slices.Clone(table.DefaultMissing), "", "x"), Source: "s", KeepSource: true, Weight: "w"}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	if got, err := parse(); err != nil || !cmp.Equal(got, &table.Options{}) {
		t.Error(got, err)
	}
	for _, words := range [][]string{{"--drop=a,,b"}, {"--keep_source"}, {"--separator=ab"}, {"--format=xml"}} {
		if _, err := parse(words...); err == nil {
			t.Error(words, "was taken")
		}
	}
}
