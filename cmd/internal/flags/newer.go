package flags

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// The newer releases of OpenFst read their flags with a library that has flags of its own. Among
// these, --flagfile=FILE,... stands for the flags in files, one a line, with blank lines and
// comments that begin with #. --undefok=NAME,... ignores flags of these names that the command does
// not have.

// expand puts the flags of files in the place of the flags that name these, and takes the names of
// --undefok away.
func expand(words []string) (out, undefined []string, err error) {
	const most = 100
	files := 0
	for len(words) > 0 {
		w := words[0]
		words = words[1:]
		if w == "--" {
			return append(append(out, w), words...), undefined, nil
		}
		name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(w, "-"), "-"), "=")
		if !strings.HasPrefix(w, "-") || name != "flagfile" && name != "undefok" {
			out = append(out, w)
			continue
		}
		if !hasValue {
			if len(words) == 0 {
				return nil, nil, fmt.Errorf("flag --%s needs a value (string)", name)
			}
			value, words = words[0], words[1:]
		}
		list := strings.Split(value, ",")
		if name == "undefok" {
			undefined = append(undefined, list...)
			continue
		}
		if files += len(list); files > most {
			return nil, nil, fmt.Errorf("flag --flagfile=%s: more than %d files: do they name one another?",
				value, most)
		}
		var lines []string
		for _, file := range list {
			more, err := readFlagFile(file)
			if err != nil {
				return nil, nil, fmt.Errorf("flag --flagfile: %w", err)
			}
			lines = append(lines, more...)
		}
		words = append(lines, words...)
	}
	return out, undefined, nil
}

// readFlagFile returns the flags in a file of at most a megabyte.
func readFlagFile(name string) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 1 << 20
	in := &io.LimitedReader{R: f, N: most + 1}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, most)
	var words []string
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimLeft(strings.TrimSuffix(lines.Text(), "\r"), space)
		switch {
		case line == "" || line[0] == '#':
		case line[0] != '-' || line == "-" || line == "--":
			return nil, fmt.Errorf("%s, line %d: %q is no flag", name, n, line)
		default:
			words = append(words, line)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if in.N == 0 {
		return nil, fmt.Errorf("%s: longer than a megabyte", name)
	}
	return words, nil
}

// passedOver reports whether a flag that the command does not have is one of those that --undefok
// names.
func passedOver(undefined []string, name string) bool {
	name = Underscores(name)
	positive := strings.TrimPrefix(strings.TrimPrefix(name, "no"), "_")
	return slices.ContainsFunc(undefined, func(u string) bool {
		u = Underscores(u)
		return u == name || u == positive
	})
}
