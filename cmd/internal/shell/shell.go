// Package shell describes a program to shells: it writes scripts that complete its command lines in
// bash, zsh and fish, and a manual page. Both are made from the commands and flags themselves.
//
//	p := &shell.Program{Name: "learn", Commands: []shell.Command{{Words: []string{"g2p", "train"}, Flags: fs.Flags()}}}
//	err := p.Completion(os.Stdout, "bash")
package shell

import (
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
)

// Program is a program of several commands.
type Program struct {
	Name     string
	Summary  string // one line
	About    string // of the program: paragraphs, and examples that are indented
	Status   string // what the exit status means
	Commands []Command
	Library  []*flags.Flag // flags that all commands take
	Extra    []string      // names of flags that all commands take beside, such as help
	// commands that are programs, too, by the name of the program with the command's behind it, or by
	// the command's
	Own []string
}

// Command is one command of a program.
type Command struct {
	Words   []string // "g2p", "train"
	Args    string   // arguments, as in usage
	Values  []string // to choose the first argument from; nil is any
	Summary string   // one line
	About   string   // paragraphs, and examples that are indented
	Flags   []*flags.Flag
}

// next returns what may stand behind the words of path: words of commands and values of a first
// argument.
func (p *Program) next(path []string) []string {
	var out []string
	for _, c := range p.Commands {
		words := c.Words
		if c.Values != nil && slices.Equal(words, path) {
			out = append(out, c.Values...)
		}
		if len(words) > len(path) && slices.Equal(words[:len(path)], path) &&
			!slices.Contains(out, words[len(path)]) {
			out = append(out, words[len(path)])
		}
	}
	return out
}

// paths returns the beginnings of commands behind which next has something to say, that of the
// empty path first.
func (p *Program) paths() [][]string {
	out := [][]string{{}}
	for _, c := range p.Commands {
		for n := 1; n < len(c.Words) || n == len(c.Words) && c.Values != nil; n++ {
			if !slices.ContainsFunc(out, func(q []string) bool { return slices.Equal(q, c.Words[:n]) }) {
				out = append(out, c.Words[:n])
			}
		}
	}
	return out
}

// values returns the values of a flag to choose from, as words of a list. It omits those that a
// shell would split, such as a quote.
func values(f *flags.Flag) string {
	var words []string
	for _, v := range f.Values {
		if v != "" && !strings.ContainsAny(v, " \t\n'\"\\$`&|;<>()*?[]#~") {
			words = append(words, v)
		}
	}
	return strings.Join(words, " ")
}
