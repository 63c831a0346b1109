package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
)

var _ = offer(&tool{name: "run", args: "'program' [argument ...]", max: -1,
	own:     true,
	summary: "Runs several tools in one process, without files between them.", about: `
A program is written as for a shell, and the tools are those of fst:

  fst run 'a.fst | compose - b.fst | determinize | minimize > out.fst'

Machines pass from stage to stage in memory. A first stage of one word that is not a tool is a
file to read; "< FILE" always is. Statements end with a newline or a semicolon. "name = ..." keeps
the output of a statement, and $name reads it, also as the value of a flag or where a tool takes a
file to write:

  fst run 'syms = < words.txt
           lm = compile --isymbols=$syms --acceptor lm.txt | arcsort
           compose $1 $lm | shortestpath | print --acceptor --isymbols=$syms' lattice.fst

$1, $2, ... are the arguments after the program; --file=PROGRAM reads the program from a file.
Quotes ('...', "..."), \ and # work as in a shell. Later statements can read files that the
program writes.

All outputs appear at the end, whole, or none does. An error, which names line and stage, a
comparison that finds a difference (status 2), or a limit leaves files unchanged. --limit_... apply
to each stage (if it makes no machine, to machines that it reads from files), --timeout to all
together; a stage's own flags take precedence. Results stay in memory until the end.

Time: that of the tools.`,
	setup: func(fs *flags.Set) func(*call) error {
		file := fs.String("file", "", "File with the program")
		return func(c *call) error {
			var program string
			args := c.args
			if *file != "" {
				r, shown, err := c.Open(*file)
				if err != nil {
					return err
				}
				b, err := io.ReadAll(io.LimitReader(r, runLongest+1))
				r.Close()
				if err != nil {
					return fmt.Errorf("%s: %w", shown, err)
				}
				program = string(b)
			} else {
				if len(args) == 0 {
					return errors.New("no program: fst run 'a.fst | determinize > out.fst' (fst help run)")
				}
				program, args = args[0], args[1:]
			}
			if len(program) > runLongest {
				return fmt.Errorf("a program of more than %d bytes", runLongest)
			}
			statements, err := parseRun(program, args)
			if err != nil {
				return err
			}
			s := &runState{std: c.Streams, variables: map[string]*value{}, files: map[string]*value{},
				several: len(statements) > 1}
			for i := range statements {
				if err := c.statement(s, &statements[i]); err != nil {
					return err
				}
			}
			if err := s.commit(c.lib.late); err != nil {
				return err
			}
			c.delivered += len(s.order) + len(s.printed)
			return nil
		}
	}})

const runLongest = 1 << 20

// notInRun are tools whose results are neither machines nor text.
var notInRun = []string{"run", "bench", "links", "completion", "man"}

func (c *call) statement(s *runState, st *runStatement) error {
	stages := st.stages
	in, source := (*value)(nil), ""
	if len(stages) > 0 && st.in == "" {
		if w := stages[0].words; len(w) == 1 && findTool(w[0]) == nil &&
			(w[0] == "-" || !strings.HasPrefix(w[0], "-")) {
			st.in, st.before, stages = w[0], 1, stages[1:]
		}
	}
	if st.in != "" {
		p := &pipe{runState: s}
		source = shownWords(st.in)
		v, err := p.find(st.in)
		if err != nil {
			return fmt.Errorf("line %d: %w", st.line, err)
		}
		switch {
		case v == nil && !cli.IsStandard(st.in):
			v = &value{file: st.in}
		case v == nil && len(stages) == 0: // nothing else reads it
			b, err := io.ReadAll(s.std.In)
			if err != nil {
				return fmt.Errorf("line %d: standard input: %w", st.line, err)
			}
			v = &value{b: b}
		}
		in = v
	}
	for i, stage := range stages {
		number := st.before + i + 1 // as one counts what | divides
		where := fmt.Sprintf("line %d, stage %d (%s)", stage.line, number, shownWords(stage.words[0]))
		p := &pipe{runState: s, in: in, source: source}
		if err := c.stage(p, &stage); err != nil {
			if errors.Is(err, errDifferent) {
				if s.several { // which of them it was, and that of the others nothing appears
					c.Warn(c.prog, "%s: the machines differ, and nothing is written", where)
				}
				return err
			}
			return fmt.Errorf("%s: %w", where, shownError{err})
		}
		if in != nil && !p.read {
			return fmt.Errorf("%s: does not read what %s put out (- is its name)", where, source)
		}
		v, err := p.result()
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if v == nil && (i+1 < len(stages) || st.name != "" || st.out != "") {
			return fmt.Errorf("%s: puts nothing out, but something is to be made of it", where)
		}
		in, source = v, fmt.Sprintf("stage %d (%s)", number, shownWords(stage.words[0]))
	}
	p := &pipe{runState: s}
	switch {
	case in == nil: // a tool that has written files, or a comparison
		return nil
	case st.name != "":
		return p.put(variable+st.name, in)
	case st.out != "" && !cli.IsStandard(st.out):
		return p.put(st.out, in)
	}
	s.printed = append(s.printed, in.share())
	return nil
}

// stage runs one tool.
func (c *call) stage(p *pipe, stage *runStage) error {
	t := findTool(shownWords(stage.words[0]))
	switch {
	case t == nil && stage.words[0] == "fst" && len(stage.words) > 1:
		return fmt.Errorf("the tools have their names alone here: %s, without fst", shownWords(stage.words[1]))
	case t == nil:
		return unknownTool(shownWords(stage.words[0]))
	case slices.Contains(notInRun, t.name):
		return fmt.Errorf("fst %s cannot be a stage", t.name)
	}
	x := t.newCall(c.Streams)
	x.pipe, x.said = p, c.said
	x.Streams.In, x.Streams.Out = strings.NewReader(""), io.Discard
	do := t.setup(x.flags)
	args, err := x.flags.Parse(stage.words[1:])
	if err != nil {
		return err
	}
	if len(args) < t.min || t.max >= 0 && len(args) > t.max {
		return fmt.Errorf("%d arguments given; usage: %s %s", len(args), t.name, t.args)
	}
	x.args = args
	x.lib.inherit(&c.lib, x.flags)
	if err := x.checkLibrary(); err != nil {
		return err
	}
	defer x.watch()()
	return x.finish(do(x))
}

// shownError is an error whose text names variables as the program does.
type shownError struct{ error }

func (e shownError) Error() string { return shownWords(e.error.Error()) }
func (e shownError) Unwrap() error { return e.error }
