package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/output"
	"github.com/tropica-fst/tropica/fst"
)

// value is what a stage of fst run put out: a machine, which then never becomes a file on
// its way, or bytes.
type value struct {
	t      *typed
	align  bool
	b      []byte
	file   string // to be read where it is needed; "" is b
	frozen bool   // others may read it, so it must not be changed
}

// write writes the value as a file has it.
func (v *value) write(w io.Writer) error {
	switch {
	case v.file != "":
		r, err := v.reader()
		if err != nil {
			return err
		}
		defer r.Close()
		_, err = io.Copy(w, r)
		return err
	case v.t == nil:
		_, err := w.Write(v.b)
		return err
	}
	return v.t.Write(w, v.t.m, &fst.WriteOptions{Type: v.t.fstType, Align: v.align})
}

func (v *value) reader() (io.ReadCloser, error) {
	switch {
	case v.file != "":
		r, _, err := cli.Streams{}.Open(v.file)
		return r, err
	case v.t == nil:
		return io.NopCloser(bytes.NewReader(v.b)), nil
	}
	var b bytes.Buffer
	if err := v.write(&b); err != nil {
		return nil, err
	}
	return io.NopCloser(&b), nil
}

// share has several read the value.
func (v *value) share() *value {
	if v.t != nil && !v.frozen {
		v.t.m, v.frozen = v.t.Frozen(v.t.m), true
	}
	return v
}

// runState is what a program of fst run has made. Nothing of it is in files before the
// program has come to its end.
type runState struct {
	std       cli.Streams
	variables map[string]*value
	files     map[string]*value // by clean name
	order     []string          // of files, as they are to be written
	printed   []*value          // to standard output
	several   bool              // there are several statements
}

// pipe is one stage's view: what its standard streams and files are. All its methods may
// be called on nil, outside of fst run, where they make sense.
type pipe struct {
	*runState
	in     *value // nil is standard input itself
	source string // who made in, for messages
	read   bool
	out    []*value
}

// find returns the value that a name stands for, nil where it is a file or standard input.
func (p *pipe) find(name string) (*value, error) {
	switch {
	case cli.IsStandard(name):
		if p.in == nil {
			return nil, nil
		}
		if p.read {
			return nil, fmt.Errorf("what %s put out was read already (name it: x = ..., then $x)", p.source)
		}
		p.read = true
		return p.in, nil
	case name[0] == variable[0]:
		v := p.variables[name[1:]]
		if v == nil {
			return nil, fmt.Errorf("variable $%s has no value here: a statement before, `%s = ...` with blanks, "+
				"gives it one; what the shell has comes as an argument behind the program, $1", name[1:], name[1:])
		}
		return v, nil
	}
	return p.files[filepath.Clean(name)], nil
}

// machine returns the machine that a name stands for, nil if it has to be read.
func (p *pipe) machine(name string) (*typed, error) {
	if p == nil {
		return nil, nil
	}
	read := p.read
	v, err := p.find(name)
	if err != nil || v == nil {
		return nil, err
	}
	if v.t == nil {
		p.read = read
		return nil, nil
	}
	t := *v.t
	t.header = &fst.Header{FstType: t.fstType, ArcType: t.ArcType(), Version: 2}
	if m, ok := t.m.(fst.Propertied); ok {
		t.header.Properties = m.KnownProperties()
	}
	return &t, nil
}

func (p *pipe) open(name string) (io.ReadCloser, string, error) {
	v, err := p.find(name)
	if err != nil {
		return nil, shownWords(name), err
	}
	if v == nil {
		return p.std.Open(name)
	}
	shown := shownWords(name)
	if v.file != "" {
		shown = v.file
	} else if cli.IsStandard(name) {
		shown = "what " + p.source + " put out"
	}
	r, err := v.reader()
	return r, shown, err
}

func (p *pipe) put(name string, v *value) error {
	switch {
	case cli.IsStandard(name):
		p.out = append(p.out, v)
	case name[0] == variable[0]:
		p.variables[name[1:]] = v.share()
	default:
		clean := filepath.Clean(name)
		if p.files[clean] == nil {
			p.order = append(p.order, clean)
		}
		p.files[clean] = v.share()
	}
	return nil
}

func (p *pipe) putMachine(name string, t *typed, align bool) error {
	return p.put(name, &value{t: t, align: align})
}

func (p *pipe) output(name string, f func(io.Writer) error) error {
	var b bytes.Buffer
	if err := f(&b); err != nil {
		return err
	}
	return p.put(name, &value{b: b.Bytes()})
}

// result is what the stage put out, as one value; nil is nothing.
func (p *pipe) result() (*value, error) {
	switch len(p.out) {
	case 0:
		return nil, nil
	case 1:
		return p.out[0], nil
	}
	var b bytes.Buffer
	for _, v := range p.out {
		if err := v.write(&b); err != nil {
			return nil, err
		}
	}
	return &value{b: b.Bytes()}, nil
}

// commit writes files and standard output: all are written before the first appears, and
// ready says that it may.
func (s *runState) commit(ready func() error) error {
	var outs []*output.File
	defer func() {
		for _, out := range outs {
			out.Abort()
		}
	}()
	for _, name := range s.order {
		out, err := output.Create(name, s.std.Out)
		if err != nil {
			return err
		}
		outs = append(outs, out)
		if err := s.files[name].write(out); err != nil {
			return err
		}
	}
	if err := ready(); err != nil {
		return err
	}
	if len(s.printed) > 0 {
		out, err := output.Create("", s.std.Out)
		if err != nil {
			return err
		}
		for _, v := range s.printed {
			if err := v.write(out); err != nil {
				return err
			}
		}
		// What a closed pipe refuses must not come after files that are there already.
		if err := out.Commit(); err != nil {
			return err
		}
	}
	var err error
	for _, out := range outs {
		err = errors.Join(err, out.Commit())
	}
	return err
}
