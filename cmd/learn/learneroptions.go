package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/learner"
)

// learnerFlags defines a flag for every option of a learner, and returns what gives the
// options that were set on the command line. fresh makes an options struct.
func learnerFlags(fs *flags.Set, fresh func() any) func() any {
	o := fresh()
	for _, p := range learner.Options(o) {
		usage := p.Help
		if r := p.Range(); r != "finite" {
			usage += "; " + r
		}
		if p.Values != nil {
			usage += ": " + strings.Join(p.Values, ", ")
		}
		def := p.Default
		if def == "" {
			def = map[string]string{"bool": "false", "int": "0", "number": "0"}[p.Type]
		}
		typ := map[string]string{"int": "int64", "number": "double", "text": "string", "names": "string",
			"numbers": "string", "integers": "string"}[p.Type]
		if typ == "" {
			typ = p.Type
		}
		if typ == "string" {
			def = fmt.Sprintf("%q", def)
		}
		fs.Func(p.Name, typ, def, usage, p.Values, func(text string) error {
			return trimName(p.Set(text), p.Name)
		})
	}
	return func() any { return o }
}

// trimName takes the option's name off an error that stands behind it anyway.
func trimName(err error, name string) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.TrimPrefix(err.Error(), name+": "))
}

// optionNames lists the options of a learner.
func optionNames(fresh func() any) []string {
	var names []string
	for _, p := range learner.Options(fresh()) {
		names = append(names, p.Name)
	}
	return names
}

// optionGrid makes options of every combination of a grid's values, beside those of base, a
// list of words name=value. given are the flags of the command line, nil for none: one that
// stands in the grid too would be overruled.
func optionGrid(fresh func() any, base []string, text string, given *flags.Set) ([]learnerSetting, error) {
	names := optionNames(fresh)
	grid, err := gridSettings(text, func(name string) error {
		if !slices.Contains(names, name) {
			if near := flags.Nearest(name, names); near != "" {
				return fmt.Errorf("there is no option %s (did you mean %s?)", name, near)
			}
			return fmt.Errorf("there is no option %s; there are %s", name, strings.Join(names, ", "))
		}
		return nil
	}, given)
	if err != nil {
		return nil, err
	}
	var out []learnerSetting
	for _, g := range grid {
		o := fresh()
		for _, word := range slices.Concat(base, g.words) {
			name, value, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
			for _, p := range learner.Options(o) {
				if p.Name == name {
					if err := p.Set(value); err != nil {
						return nil, err
					}
				}
			}
		}
		out = append(out, learnerSetting{g.name, o})
	}
	return out, nil
}

// learnerSetting is one setting of a grid.
type learnerSetting struct {
	name    string
	options any
}
