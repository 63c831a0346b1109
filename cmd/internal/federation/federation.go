// Package federation opens the files of federated runs for the commands learn and fed: the
// configuration, the agents' tables, and the journal.
package federation

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/tables"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/federated"
)

// Load reads a configuration. dir is what its files are relative to.
func Load(name string) (c *federated.Config, dir string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	if c, err = federated.ReadConfig(f); err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, err)
	}
	return c, filepath.Dir(name), nil
}

// Path is a file of a configuration in dir.
func Path(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

// Agents reads the tables of agents, each file once, and makes them. data, if not "", is the
// file of all of them, in place of the configuration's.
func Agents(c *federated.Config, dir string, names []string,
	data string) (map[string]*federated.Agent, error) {
	type file struct{ path, column string }
	read := map[file]*table.Table{}
	out := map[string]*federated.Agent{}
	for _, name := range names {
		m, ok := c.Member(name)
		if !ok {
			return nil, &federated.Error{Code: federated.UnknownAgent, Agent: name,
				Msg: "the configuration does not list it"}
		}
		path := data
		if path == "" {
			if m.Data == "" {
				return nil, &federated.Error{Code: federated.BadConfig, Agent: name,
					Msg: "the configuration names no file for it; --data does"}
			}
			path = Path(dir, m.Data)
		}
		column, _, _ := strings.Cut(m.Where, "=")
		t := read[file{path, column}]
		if t == nil {
			var err error
			if t, err = tables.Open(path, nil, c.TableOptions(m)); err != nil {
				return nil, &federated.Error{Code: federated.BadTable, Agent: name, Err: err}
			}
			read[file{path, column}] = t
		}
		rows, err := c.Rows(m, t)
		if err != nil {
			return nil, err
		}
		if out[name], err = federated.NewAgent(c, name, rows); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Inputs lists the files that a run reads: the configuration, and the tables of its agents or
// the one in their place. No output must overwrite them.
func Inputs(file string, c *federated.Config, dir, data string) []cli.Place {
	out := []cli.Place{{What: "the configuration", Name: file}}
	if data != "" {
		return append(out, cli.Place{What: "the data", Name: data})
	}
	seen := map[string]bool{}
	for _, m := range c.Agents {
		if m.Data != "" && !seen[m.Data] {
			seen[m.Data] = true
			out = append(out, cli.Place{What: "the data of agent " + m.Name + ",", Name: Path(dir, m.Data)})
		}
	}
	return out
}

// Names lists the agents of a configuration.
func Names(c *federated.Config) []string {
	var out []string
	for _, a := range c.Agents {
		out = append(out, a.Name)
	}
	return out
}

// Journal is a file that keeps exchanges, each safely on disk before the run continues.
type Journal struct {
	Old  []federated.Record
	file *os.File
}

// OpenJournal opens or begins a journal. What was written last and is not whole is cut off.
// "" is none. A journal that another process has open is an error.
func OpenJournal(name string) (*Journal, error) {
	if name == "" {
		return &Journal{}, nil
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{file: f}
	if err := j.open(); err != nil {
		f.Close()
		return nil, fmt.Errorf("journal %s: %w", name, err)
	}
	return j, nil
}

func (j *Journal) open() error {
	if err := lock(j.file); err != nil {
		return err
	}
	var whole int64
	var err error
	if j.Old, whole, err = federated.ReadJournal(j.file); err != nil {
		return err
	}
	size, err := j.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if whole == 0 && size >= 16 {
		head := make([]byte, 16)
		if _, err := j.file.ReadAt(head, 0); err != nil {
			return err
		}
		if string(head[8:]) != "TROPICA\n" {
			return errors.New("it is no journal of a federated run: name another file")
		}
	}
	if err := j.file.Truncate(whole); err != nil {
		return err
	}
	_, err = j.file.Seek(whole, io.SeekStart)
	return err
}

// Append writes a record and waits until it is on the disk.
func (j *Journal) Append(r *federated.Record) error {
	if j.file == nil {
		return nil
	}
	b, err := r.Encode()
	if err != nil {
		return err
	}
	if _, err := j.file.Write(b); err != nil {
		return err
	}
	return j.file.Sync()
}

// Over makes the journal of the library over an exchange.
func (j *Journal) Over(x federated.Exchange) *federated.Journal {
	return &federated.Journal{Exchange: x, Old: j.Old, Append: j.Append}
}

// Close closes the file.
func (j *Journal) Close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}
