package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
)

var linksTool = &tool{name: "links", args: "DIR", min: 1, max: 1,
	summary: "Links this program under the names of OpenFst's tools.", about: `
Scripts that call fstcompose and the like then run unchanged with DIR first in PATH. Links
that point here already stay; other files of these names stay as they are, and are an error after
the links that can be made, unless --force. DIR is made if it is not there.

  fst links /usr/local/bin

Time O(tools).`,
	setup: func(fs *flags.Set) func(*call) error {
		force := fs.Bool("force", false, "Replace files that have one of the names")
		return func(c *call) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			if real, err := filepath.EvalSymlinks(self); err == nil {
				self = real
			}
			dir := c.args[0]
			if err := os.MkdirAll(dir, 0o777); err != nil { // no error where it is there
				return err
			}
			if info, err := os.Stat(dir); err != nil {
				return err
			} else if !info.IsDir() {
				return fmt.Errorf("%s: not a directory", dir)
			}
			var taken []string
			for _, t := range linked() {
				link := filepath.Join(dir, t.prog())
				if info, err := os.Lstat(link); err == nil {
					if to, err := os.Readlink(link); err == nil && to == self {
						continue
					}
					if !*force || info.IsDir() {
						taken = append(taken, link)
						continue
					}
				}
				// Made aside and renamed: no moment without the name.
				aside := filepath.Join(dir, fmt.Sprintf(".%s.%d", t.prog(), os.Getpid()))
				if err := os.Symlink(self, aside); err != nil {
					return err
				}
				if err := os.Rename(aside, link); err != nil {
					os.Remove(aside)
					return err
				}
			}
			if len(taken) > 0 {
				return fmt.Errorf("%d files are there already, and stay: %s (--force replaces files, but no directories)", len(taken), strings.Join(taken, ", "))
			}
			return nil
		}
	}}

// linked returns the tools that OpenFst has too.
func linked() []*tool {
	var out []*tool
	for _, t := range tools {
		switch t.name {
		case "links", "completion", "explain", "loss", "bench", "check", "run":
		default:
			out = append(out, t)
		}
	}
	return out
}

var completionTool = &tool{name: "completion", args: "bash|zsh|fish", min: 1, max: 1,
	summary: "Prints a script that completes tools and flags in a shell.", about: `
  source <(fst completion bash)
  fst completion fish > ~/.config/fish/completions/fst.fish

Time O(tools · flags).`,
	setup: func(fs *flags.Set) func(*call) error {
		return func(c *call) error {
			var print func(io.Writer)
			c.flags = flags.New() // with those that other tools take
			new(library).define(c.flags, printTool)
			switch c.args[0] {
			case "bash":
				print = func(w io.Writer) { completeBash(w, c) }
			case "zsh":
				print = func(w io.Writer) {
					fmt.Fprintln(w, "autoload -U +X bashcompinit && bashcompinit")
					completeBash(w, c)
				}
			case "fish":
				print = func(w io.Writer) { completeFish(w, c) }
			default:
				return errors.New("known shells are bash, zsh and fish")
			}
			return c.Output("", func(w io.Writer) error { print(w); return nil })
		}
	}}

// eachTool yields the tools with their own flags.
func eachTool(c *call, yield func(t *tool, own []*flags.Flag)) {
	for _, t := range tools {
		x := t.newCall(c.Streams)
		t.setup(x.flags)
		var own []*flags.Flag
		for _, f := range x.flags.Flags() {
			if !f.Library {
				own = append(own, f)
			}
		}
		yield(t, own)
	}
}

// completeBash prints one function for all tools. Bash takes --flag=value for three words, and zsh for
// one, to which the answer must then give the flag again.
func completeBash(w io.Writer, c *call) {
	var names, tooled, flagged strings.Builder
	for _, t := range tools {
		fmt.Fprintf(&names, "%s ", t.name)
	}
	values := func(of string, f *flags.Flag) {
		if f.Values != nil {
			fmt.Fprintf(&flagged, "    %s%s) values='%s' ;;\n", of, f.Name, strings.TrimSpace(strings.Join(f.Values, " ")))
		}
	}
	eachTool(c, func(t *tool, own []*flags.Flag) {
		fmt.Fprintf(&tooled, "    %s", t.name)
		if t.prog() != t.name {
			fmt.Fprintf(&tooled, "|%s", t.prog())
		}
		fmt.Fprint(&tooled, ") words='")
		for _, f := range own {
			fmt.Fprintf(&tooled, "--%s ", f.Name)
			values(t.name+":", f)
		}
		fmt.Fprint(&tooled, "' ;;\n")
	})
	var library strings.Builder
	for _, f := range c.flags.Flags() {
		if f.Library {
			fmt.Fprintf(&library, " --%s", f.Name)
			values("*:", f)
		}
	}
	fmt.Fprintf(w, `_fst() {
  local cur="${COMP_WORDS[COMP_CWORD]}" last= tool="${1##*/}" first=1 words= flag= values= prefix=
  (( COMP_CWORD > 0 )) && last="${COMP_WORDS[COMP_CWORD-1]}"
  COMPREPLY=()
  if [[ $tool == fst ]]; then
    if (( COMP_CWORD == 1 )); then
      COMPREPLY=( $(compgen -W '%[1]shelp' -- "$cur") )
      return
    fi
    tool="${COMP_WORDS[1]}" first=2
  fi
  if (( COMP_CWORD == first )); then
    case $tool in
      help) values='%[1]s' ;;
      completion) values='bash zsh fish' ;;
    esac
    if [[ -n $values ]]; then
      COMPREPLY=( $(compgen -W "$values" -- "$cur") )
      return
    fi
  fi
  if [[ $cur == = ]]; then flag="$last" cur=
  elif [[ $last == = ]] && (( COMP_CWORD > 1 )); then flag="${COMP_WORDS[COMP_CWORD-2]}"
  elif [[ $cur == -*=* ]]; then flag="${cur%%%%=*}" prefix="${cur%%%%=*}=" cur="${cur#*=}"
  elif [[ $last == -?* && $cur != -* ]]; then flag="$last"
  fi
  flag="${flag#-}" flag="${flag#-}" tool="${tool#fst}"
  case $tool:$flag in
%[3]s  esac
  if [[ -n $values ]]; then
    COMPREPLY=( $(compgen -P "$prefix" -W "$values" -- "$cur") )
    return
  elif [[ -n $flag ]]; then
    COMPREPLY=( $(compgen -P "$prefix" -f -- "$cur") )
    return
  fi
  case $tool in
%[2]s  esac
  words+='%[4]s --flagfile --undefok --help --helpshort --version'
  if [[ $cur == -* ]]; then COMPREPLY=( $(compgen -W "$words" -- "$cur") )
  else COMPREPLY=( $(compgen -f -- "$cur") ); fi
}
complete -o filenames -F _fst fst`, names.String(), tooled.String(), flagged.String(), library.String())
	for _, t := range linked() {
		fmt.Fprintf(w, " %s", t.prog())
	}
	fmt.Fprintln(w)
}

func completeFish(w io.Writer, c *call) {
	eachTool(c, func(t *tool, own []*flags.Flag) {
		fmt.Fprintf(w, "complete -c fst -n __fish_use_subcommand -a %s -d %s\n", t.name, fishQuote(t.summary))
		for _, f := range own {
			fmt.Fprintf(w, "complete -c fst -n '__fish_seen_subcommand_from %s' -l %s -d %s%s\n", t.name, f.Name, fishQuote(f.Usage), fishValues(f))
		}
	})
	for _, f := range c.flags.Flags() {
		if f.Library {
			fmt.Fprintf(w, "complete -c fst -l %s -d %s%s\n", f.Name, fishQuote(f.Usage), fishValues(f))
		}
	}
	var names []string
	for _, t := range tools {
		names = append(names, t.name)
	}
	fmt.Fprintf(w, "complete -c fst -n __fish_use_subcommand -a help -d 'Tells more of a tool.'\n"+
		"complete -c fst -n '__fish_seen_subcommand_from help' -a %s\n"+
		"complete -c fst -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n", fishQuote(strings.Join(names, " ")))
}

// fishValues is what follows in fish where a flag has values to choose from.
func fishValues(f *flags.Flag) string {
	if f.Values == nil {
		return ""
	}
	return " -x -a " + fishQuote(strings.TrimSpace(strings.Join(f.Values, " ")))
}

// fishQuote quotes s for fish.
func fishQuote(s string) string {
	b := []byte{'\''}
	for i := range len(s) {
		if s[i] == '\'' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return string(append(b, '\''))
}
