package shell

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
)

// Man writes the manual page of the program, in the macros of man(7). version stands at its foot.
func (p *Program) Man(w io.Writer, version string) error {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s %s\n", strings.ToUpper(p.Name), quoted(version), quoted("Tropica"))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(p.Name), roff(strings.TrimSuffix(p.Summary, ".")))
	command := "COMMAND"
	if slices.ContainsFunc(p.Commands, func(c Command) bool { return len(c.Words) > 1 }) {
		command = "GROUP VERB"
	}
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n%s [flags] [arguments]\n.br\n.B %[1]s help\n%[2]s\n",
		roff(p.Name), command)
	b.WriteString(".SH DESCRIPTION\n")
	paragraphs(&b, p.About)
	if len(p.Library) > 0 {
		b.WriteString(".SH FLAGS OF ALL COMMANDS\n")
		listFlags(&b, p.Library)
	}
	b.WriteString(".SH COMMANDS\n")
	for _, c := range p.Commands {
		fmt.Fprintf(&b, ".SS %s\n", quoted(strings.TrimSpace(strings.Join(c.Words, " ")+" "+c.Args)))
		paragraphs(&b, c.Summary+"\n\n"+c.About)
		listFlags(&b, c.Flags)
	}
	b.WriteString(".SH EXIT STATUS\n")
	paragraphs(&b, p.Status)
	_, err := io.WriteString(w, b.String())
	return err
}

func listFlags(b *strings.Builder, list []*flags.Flag) {
	for _, f := range list {
		fmt.Fprintf(b, ".TP\n.BR \\-\\-%s \" (%s, default %s)\"\n%s.\n", roff(f.Name), f.Type,
			strings.ReplaceAll(roff(f.Default), `"`, `""`), roff(strings.TrimSuffix(f.Usage, ".")))
	}
}

// paragraphs sets text whose paragraphs have blank lines between them. Indented lines stay as they
// are.
func paragraphs(b *strings.Builder, text string) {
	filled, open := true, false // whether lines are filled; whether a paragraph has begun
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		line = strings.TrimRight(line, " \n")
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		switch {
		case line == "":
			if filled {
				open = false
			} else {
				b.WriteString("\n")
			}
			continue
		case indented && filled:
			b.WriteString(".PP\n.nf\n")
			filled, open = false, true
		case !indented && !filled:
			b.WriteString(".fi\n.PP\n")
			filled, open = true, true
		case !open:
			b.WriteString(".PP\n")
			open = true
		}
		b.WriteString(roff(line) + "\n")
	}
	if !filled {
		b.WriteString(".fi\n")
	}
}

// roff escapes text: what begins a request or an escape stands for itself, and a hyphen is one that
// can be copied.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

// quoted is text as one argument of a macro.
func quoted(s string) string { return `"` + strings.ReplaceAll(roff(s), `"`, `""`) + `"` }
