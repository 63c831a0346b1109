package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// results is the checkpoint of an experiment: what it has found so far.
type results[T any] struct {
	name    string
	Format  string `json:"format"`
	Results []T    `json:"results"`
}

// open reads the file if it exists.
func (k *results[T]) open(name, format string) error {
	k.name, k.Format = name, format
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("flag --checkpoint: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err = d.Decode(k)
	if err == nil && d.More() {
		err = errors.New("there is more after its end")
	}
	if err == nil && k.Format != format {
		err = fmt.Errorf("its format is %q, not %q", k.Format, format)
	}
	if err != nil {
		return fmt.Errorf("flag --checkpoint: %s is no file of results, or damaged: %w; remove it to begin afresh", name, err)
	}
	return nil
}

// add keeps one more result. The file is replaced as a whole: a run that is killed
// leaves the old one or the new one.
func (k *results[T]) add(c *call, r T) error {
	k.Results = append(k.Results, r)
	return c.Output(k.name, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(k)
	})
}
