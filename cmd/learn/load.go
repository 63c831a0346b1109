package main

import (
	"fmt"
	"io"
	"slices"
)

// load reads the model that the flag --model names, with what reads its kind; command is one
// that writes such files. shown is the file's name in messages.
func load[M any](c *call, name, command string, read func(io.Reader) (M, error)) (m M,
	shown string, err error) {
	if name == "" {
		return m, "", fmt.Errorf("flag --model is needed: a file that `learn %s` wrote", command)
	}
	f, shown, err := c.Open(name)
	if err != nil {
		return m, shown, fmt.Errorf("flag --model: %w", err)
	}
	defer f.Close()
	if m, err = read(f); err != nil {
		return m, shown, fmt.Errorf("%s: %w", shown, err)
	}
	return m, shown, nil
}

// loadAll reads the models that an evaluation compares, whose names stand between commas in
// the flag --model. The table that it writes may be none of them, and none of the data.
func loadAll[M any](c *call, models, table string, read func(name string) (M, error)) (names []string,
	list []M, err error) {
	if names, err = modelNames(models); err != nil {
		return nil, nil, err
	}
	if err := apart(slices.Concat(places("the data", c.args...), places("the model", names...)),
		places("the table", table)); err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		m, err := read(name)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, m)
	}
	return names, list, nil
}
