// Package tables opens the tables that a command line names.
package tables

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Open reads the table in a file; "-" and "" are stdin. See table.Open: the labels
// of IDX images are found beside them.
func Open(path string, stdin io.Reader, o *table.Options) (*table.Table, error) {
	if path == "" || path == "-" {
		return table.Read(stdin, "standard input", o)
	}
	return table.Open(system{}, filepath.ToSlash(path), o)
}

// system opens any name that the operating system knows, also absolute ones, which
// os.DirFS would not. So messages have the name that the caller gave.
type system struct{}

func (system) Open(name string) (fs.File, error) { return os.Open(name) }

// Folder returns a folder of data sets for cmd/learn/internal/experiment.
func Folder(path string) (fs.FS, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s: is not a folder", path)
	}
	return os.DirFS(path), nil
}
