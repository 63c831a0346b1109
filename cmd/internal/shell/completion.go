package shell

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
)

// Shells are those that Completion knows.
var Shells = []string{"bash", "zsh", "fish"}

// Completion writes the script of a shell.
func (p *Program) Completion(w io.Writer, shell string) error {
	var b strings.Builder
	switch shell {
	case "bash":
		p.bash(&b)
	case "zsh":
		b.WriteString("autoload -U +X bashcompinit && bashcompinit\n")
		p.bash(&b)
	case "fish":
		p.fish(&b)
	default:
		return errors.New("known shells are bash, zsh and fish")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// bash writes one function for all commands. Bash takes --flag=value for three words, and zsh for
// one, to which the answer must then give the flag again.
func (p *Program) bash(w io.Writer) {
	var next, own, flagged strings.Builder
	for _, path := range p.paths() {
		words := p.next(path)
		if len(path) == 0 {
			words = append(words, "help")
		}
		fmt.Fprintf(&next, "      '%s') next='%s' ;;\n", strings.Join(path, " "), strings.Join(words, " "))
	}
	choose := func(of string, f *flags.Flag) {
		if f.Values != nil {
			fmt.Fprintf(&flagged, "    %s%s) values='%s' ;;\n", of, f.Name, values(f))
		}
	}
	for _, c := range p.Commands {
		name := strings.Join(c.Words, " ")
		fmt.Fprintf(&own, "    '%s') words='", name)
		for _, f := range c.Flags {
			fmt.Fprintf(&own, "--%s ", f.Name)
			choose("'"+name+":'", f)
		}
		fmt.Fprint(&own, "' ;;\n")
	}
	var library strings.Builder
	for _, f := range p.Library {
		fmt.Fprintf(&library, " --%s", f.Name)
		choose("*:", f)
	}
	for _, name := range p.Extra {
		fmt.Fprintf(&library, " --%s", name)
	}
	fmt.Fprintf(w, `_%[1]s() {
  local cur="${COMP_WORDS[COMP_CWORD]}" last= path= i=1 next= words= flag= values= prefix=
  (( COMP_CWORD > 0 )) && last="${COMP_WORDS[COMP_CWORD-1]}"
  COMPREPLY=()
  path="${1##*/}" path="${path#%[1]s}"
  [[ -z $path && ${COMP_WORDS[1]} == help ]] && (( COMP_CWORD > 1 )) && i=2
  while (( i <= COMP_CWORD )); do
    next=
    case $path in
%[2]s    esac
    [[ -z $next ]] && break
    if (( i == COMP_CWORD )); then
      COMPREPLY=( $(compgen -W "$next" -- "$cur") )
      return
    fi
    path="${path:+$path }${COMP_WORDS[i]}"
    (( i++ ))
  done
  if [[ $cur == = ]]; then flag="$last" cur=
  elif [[ $last == = ]] && (( COMP_CWORD > 1 )); then flag="${COMP_WORDS[COMP_CWORD-2]}"
  elif [[ $cur == -*=* ]]; then flag="${cur%%%%=*}" prefix="${cur%%%%=*}=" cur="${cur#*=}"
  elif [[ $last == -?* && $cur != -* ]]; then flag="$last"
  fi
  flag="${flag#-}" flag="${flag#-}" flag="${flag//-/_}"
  case $path:$flag in
%[4]s  esac
  if [[ -n $values ]]; then
    COMPREPLY=( $(compgen -P "$prefix" -W "$values" -- "$cur") )
    return
  elif [[ -n $flag ]]; then
    COMPREPLY=( $(compgen -P "$prefix" -f -- "$cur") )
    return
  fi
  case $path in
%[3]s  esac
  words+='%[5]s'
  if [[ $cur == -* ]]; then COMPREPLY=( $(compgen -W "$words" -- "$cur") )
  else COMPREPLY=( $(compgen -f -- "$cur") ); fi
}
complete -o filenames -F _%[1]s %[1]s`, p.Name, next.String(), own.String(), flagged.String(), library.String())
	for _, name := range p.Own {
		fmt.Fprintf(w, " %s", name)
	}
	fmt.Fprintln(w)
}

// fish writes one line for each word and flag, with the condition under which it is asked for.
func (p *Program) fish(w io.Writer) {
	seen := func(path []string) string {
		if len(path) == 0 {
			return "__fish_use_subcommand"
		}
		var all []string
		for _, word := range path {
			all = append(all, "__fish_seen_subcommand_from "+word)
		}
		return "'" + strings.Join(all, "; and ") + "'"
	}
	choose := func(f *flags.Flag) string {
		if f.Values == nil {
			return ""
		}
		return " -x -a " + fishQuote(values(f))
	}
	for _, path := range p.paths() {
		for _, word := range p.next(path) {
			fmt.Fprintf(w, "complete -c %s -n %s -a %s -d %s\n", p.Name, seen(path), word,
				fishQuote(p.tell(append(path[:len(path):len(path)], word))))
		}
	}
	for _, c := range p.Commands {
		for _, f := range c.Flags {
			fmt.Fprintf(w, "complete -c %s -n %s -l %s -d %s%s\n", p.Name, seen(c.Words), f.Name,
				fishQuote(f.Usage), choose(f))
		}
	}
	for _, f := range p.Library {
		fmt.Fprintf(w, "complete -c %s -l %s -d %s%s\n", p.Name, f.Name, fishQuote(f.Usage), choose(f))
	}
	fmt.Fprintf(w, "complete -c %s -n __fish_use_subcommand -a help -d 'Tells more of a command.'\n", p.Name)
	fmt.Fprintf(w, "complete -c %s -n '__fish_seen_subcommand_from help' -a %s\n", p.Name,
		fishQuote(strings.Join(p.next(nil), " ")))
}

// tell is what is known of a command, or of those that begin so.
func (p *Program) tell(path []string) string {
	name, more := strings.Join(path, " "), 0
	for _, c := range p.Commands {
		switch full := strings.Join(c.Words, " "); {
		case full == name:
			return c.Summary
		case strings.HasPrefix(full, name+" "):
			more++
		}
	}
	if more == 0 {
		return ""
	}
	return fmt.Sprintf("%d commands", more)
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
