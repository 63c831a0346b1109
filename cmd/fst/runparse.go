package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A program of fst run uses the syntax of shells:
//
//	program   = statement { ( ";" | newline ) statement }
//	statement = [ name "=" ] [ "<" word ] stage { "|" stage } [ ">" word ]
//	stage     = word { word }
//
// Words are split at blanks; '...' keeps its content, "..." does except for \" and \\, a backslash
// the next character. A $name, or $1, $2, ... for the arguments of fst run, at the start of a word
// or of a flag's value stands for a value. A # where a word may begin starts a comment. A backslash
// at the end of a line joins the next.

// variable marks words, or what follows = in them, that name a variable: no file has
// such a name.
const variable = "\x00"

// shownWords undoes the mark, for messages.
func shownWords(s string) string { return strings.ReplaceAll(s, variable, "$") }

type runStage struct {
	words []string
	line  int
}

type runStatement struct {
	name   string // "" is no assignment
	in     string // "" is what the first stage reads itself
	out    string // "" is standard output
	stages []runStage
	before int // of what | divides, what comes before the stages: 1 where that is a file alone
	line   int
}

type runToken struct {
	text string
	op   bool // one of | < > ; and newline
	line int
}

// runTokens splits a program. args are $1, $2, ...
func runTokens(program string, args []string) ([]runToken, error) {
	var out []runToken
	line := 1
	for i := 0; i < len(program); {
		c := program[i]
		switch {
		case c == '\n' || c == ';':
			out = append(out, runToken{string(c), true, line})
			if c == '\n' {
				line++
			}
			i++
			continue
		case c == ' ' || c == '\t' || c == '\r':
			i++
			continue
		case (c == '<' || c == '>') && strings.HasPrefix(program[i+1:], "("):
			return nil, fmt.Errorf("line %d: fst run has no %c(...): keep what the tool puts out, name = print "+
				"a.fst, and give $name for the file", line, c)
		case c == '>' && i > 0 && (program[i-1] == '1' || program[i-1] == '2') &&
			(i == 1 || strings.IndexByte(" \t\n;|", program[i-2]) >= 0):
			return nil, fmt.Errorf("line %d: fst run has no %c>: > takes what the last stage puts out, and "+
				"messages go where those of fst run go", line, program[i-1])
		case c == '&' && !strings.HasPrefix(program[i:], "&&"):
			return nil, fmt.Errorf("line %d: fst run has no &: statements go one after another, each on its line "+
				"or behind ;", line)
		case slices.Contains(shellOnly, program[i:min(i+2, len(program))]):
			return nil, fmt.Errorf("line %d: fst run has no %s as a shell has: statements, between ; or lines, end "+
				"at the first error, and > writes a file anew", line, program[i:i+2])
		case c == '|' || c == '<' || c == '>':
			out = append(out, runToken{string(c), true, line})
			i++
			continue
		case c == '#':
			for i < len(program) && program[i] != '\n' {
				i++
			}
			continue
		case c == '\\' && strings.HasPrefix(program[i+1:], "\n"):
			line++
			i += 2
			continue
		}
		begin := line
		var word strings.Builder
	word:
		for i < len(program) {
			if sign := substitution(program[i:]); sign != "" {
				return nil, fmt.Errorf("line %d: fst run has no %s: let the shell put it in, between \"...\", or as "+
					"an argument behind the program, $1", line, sign)
			}
			switch c := program[i]; c {
			case ' ', '\t', '\r', '\n', ';', '|', '<', '>':
				break word
			case 0:
				return nil, fmt.Errorf("line %d: a zero byte", line)
			case '\'', '"':
				start := line
				for i++; ; i++ {
					if i >= len(program) {
						return nil, fmt.Errorf("line %d: the quote %c is not closed", start, c)
					}
					if program[i] == c {
						i++
						break
					}
					if program[i] == 0 {
						return nil, fmt.Errorf("line %d: a zero byte", line)
					}
					if c == '"' && program[i] == '\\' && i+1 < len(program) &&
						(program[i+1] == '"' || program[i+1] == '\\') {
						i++
					}
					if program[i] == '\n' {
						line++
					}
					word.WriteByte(program[i])
				}
			case '\\':
				if i+1 == len(program) {
					return nil, fmt.Errorf("line %d: nothing follows the backslash", line)
				}
				if program[i+1] == 0 { // else it would stand for a variable
					return nil, fmt.Errorf("line %d: a zero byte", line)
				}
				if program[i+1] == '\n' {
					line++
				} else {
					word.WriteByte(program[i+1])
				}
				i += 2
			case '$':
				so := word.String()
				if so != "" && !(strings.HasPrefix(so, "-") && strings.HasSuffix(so, "=")) {
					word.WriteByte('$')
					i++
					continue
				}
				n := 1
				for i+n < len(program) && isNameByte(program[i+n]) {
					n++
				}
				name := program[i+1 : i+n]
				if name == "" {
					return nil, fmt.Errorf(`line %d: $ without a name (\$ is the character)`, line)
				}
				if k, err := strconv.Atoi(name); err == nil {
					if k < 1 || k > len(args) {
						return nil, fmt.Errorf("line %d: $%s: %d arguments are given behind the program", line, name, len(args))
					}
					if strings.Contains(args[k-1], variable) {
						return nil, fmt.Errorf("line %d: $%s: a zero byte", line, name)
					}
					word.WriteString(args[k-1])
				} else {
					word.WriteString(variable + name)
				}
				i += n
				if i < len(program) && !strings.ContainsRune(" \t\r\n;|<>", rune(program[i])) {
					return nil, fmt.Errorf("line %d: $%s is followed by %q", line, name, program[i])
				}
			default:
				word.WriteByte(c)
				i++
			}
		}
		out = append(out, runToken{word.String(), false, begin})
	}
	return append(out, runToken{";", true, line}), nil
}

// substitution is the sign of what only a shell puts in, where s begins with one.
func substitution(s string) string {
	for _, sign := range []string{"$(", "${", "`"} {
		if strings.HasPrefix(s, sign) {
			if sign == "$(" {
				return "$(...)"
			}
			return map[string]string{"${": "${...}, but $name", "`": "`...`"}[sign]
		}
	}
	return ""
}

// shellOnly are signs of a shell that would otherwise be read as others.
var shellOnly = []string{"&&", "||", ">>", "<<"}

func isNameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// isRunName reports whether s is a name: letters, digits and _, no digit first.
func isRunName(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return s != "" && (s[0] < '0' || s[0] > '9')
}

// parseRun reads a program.
func parseRun(program string, args []string) ([]runStatement, error) {
	tokens, err := runTokens(program, args)
	if err != nil {
		return nil, err
	}
	var out []runStatement
	var s runStatement
	var words []string
	begun, piped := false, false // within a statement; | was the last that came
	begin := 0                   // the line of the stage
	endStage := func(line int) error {
		if len(words) == 0 {
			return fmt.Errorf("line %d: a stage without a tool", line)
		}
		s.stages = append(s.stages, runStage{words, begin})
		words = nil
		return nil
	}
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if !begun && !(t.op && (t.text == ";" || t.text == "\n")) {
			begun = true
			s = runStatement{line: t.line}
			if i+1 < len(tokens) && !t.op && !tokens[i+1].op && tokens[i+1].text == "=" {
				if !isRunName(t.text) {
					return nil, fmt.Errorf("line %d: %q is no name for a variable (letters, digits and _, not a digit first)", t.line, shownWords(t.text))
				}
				s.name = t.text
				i++
				continue
			}
		}
		if !t.op {
			if s.out != "" {
				return nil, fmt.Errorf("line %d: %q after the output file (> FILE ends a statement)", t.line,
					shownWords(t.text))
			}
			if len(words) == 0 {
				begin = t.line
			}
			words, piped = append(words, t.text), false
			continue
		}
		switch t.text {
		case "|":
			if s.out != "" {
				return nil, fmt.Errorf("line %d: | after the output file", t.line)
			}
			if len(words) == 0 && s.in != "" && len(s.stages) == 0 { // < file | tool
				piped, s.before = true, 1
				continue
			}
			if err := endStage(t.line); err != nil {
				return nil, err
			}
			piped = true
		case "<", ">":
			if i+1 == len(tokens) || tokens[i+1].op || tokens[i+1].text == "" {
				return nil, fmt.Errorf("line %d: %s without a file", t.line, t.text)
			}
			i++
			if t.text == "<" {
				if len(s.stages) > 0 || s.in != "" {
					return nil, fmt.Errorf("line %d: < belongs to the first stage, once", t.line)
				}
				s.in = tokens[i].text
			} else {
				if s.name != "" || s.out != "" {
					return nil, fmt.Errorf("line %d: a second output", t.line)
				}
				s.out = tokens[i].text
			}
		case ";", "\n":
			if !begun || t.text == "\n" && piped {
				continue // an empty line, or one that ends in |
			}
			if len(words) > 0 || s.in == "" || len(s.stages) > 0 { // else < FILE alone
				if err := endStage(t.line); err != nil {
					return nil, err
				}
			}
			out = append(out, s)
			begun, piped = false, false
		}
	}
	return out, nil
}
