package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/options"
	"github.com/tropica-fst/tropica/learn/learner"
)

// learnerFlags defines a flag for every option of a learner, and returns what gives the
// options that were set on the command line. fresh makes an options struct.
func learnerFlags(fs *flags.Set, fresh func() any) func() any {
	o := fresh()
	options.Define(fs, o)
	return func() any { return o }
}

// chosenOptions is learnerFlags for learners whose options may have presets, or be idle.
func chosenOptions(fs *flags.Set, fresh func() any) func() (any, error) {
	all := learnerFlags(fs, fresh)
	return func() (any, error) {
		o := all()
		if p, ok := fresh().(learner.Presetter); ok && fs.Given("preset") {
			p.Preset(fs.Value("preset"))
			o = p
			if err := overwrite(fs, o); err != nil {
				return nil, err
			}
		}
		if i, ok := o.(learner.Idler); ok {
			if err := i.Idle(fs.Given); err != nil {
				return nil, fmt.Errorf("flag --%w", err)
			}
		}
		return o, nil
	}
}

// overwrite sets those options of the struct that o points to whose flags are given.
func overwrite(fs *flags.Set, o any) error {
	for _, p := range learner.Options(o) {
		if !fs.Given(p.Name) {
			continue
		}
		if err := p.Set(fs.Value(p.Name)); err != nil {
			return fmt.Errorf("flag --%w", err)
		}
	}
	return nil
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
			if near := flagWords.Suggest(name, names); near != "" {
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
		words := map[string]string{}
		for _, word := range slices.Concat(base, g.words) {
			name, value, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
			words[name] = value
		}
		if p, ok := o.(learner.Presetter); ok && words["preset"] != "" {
			p.Preset(words["preset"])
		}
		for _, p := range learner.Options(o) {
			if value, ok := words[p.Name]; ok {
				if err := p.Set(value); err != nil {
					return nil, err
				}
			}
		}
		if i, ok := o.(learner.Idler); ok {
			if err := i.Idle(func(name string) bool { _, ok := words[name]; return ok }); err != nil {
				return nil, err
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
