package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// results is the checkpoint of an experiment: what it has found so far. Without a name it
// keeps nothing.
type results[T any] struct {
	name    string
	Format  string `json:"format"`
	Results []T    `json:"results"`
}

// open reads the file if it has a name and exists.
func (k *results[T]) open(name, format string) error {
	k.name, k.Format = name, format
	if name == "" {
		return nil
	}
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
		return fmt.Errorf("flag --checkpoint: %s is no file of results, or damaged: %w; remove it to begin afresh",
			name, err)
	}
	return nil
}

// keeper returns the results that are there, and what keeps one more; both nil without a file.
func (k *results[T]) keeper(c *call) (known []T, save func(*T) error) {
	if k.name == "" {
		return nil, nil
	}
	return slices.Clone(k.Results), func(r *T) error { return k.add(c, *r) }
}

// interrupted says what is left of a run that was stopped, and what its results are.
func (k *results[T]) interrupted(what string) error {
	if k.name == "" {
		return &stopped{fmt.Sprintf("the experiment keeps its %s only with --checkpoint", what)}
	}
	return &stopped{fmt.Sprintf("%d %s are in %s. To go on, give the same command",
		len(k.Results), what, k.name)}
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
