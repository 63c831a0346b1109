package main

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
)

var flagLine = regexp.MustCompile(`(?m)^  --([a-z0-9_]+): type`)

func listed(t *testing.T, words ...string) []string {
	t.Helper()
	var out, errs bytes.Buffer
	if execute(context.Background(), words, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}) != 0 {
		t.Fatalf("%v: %s", words, errs.String())
	}
	var names []string
	for _, m := range flagLine.FindAllStringSubmatch(out.String(), -1) {
		names = append(names, m[1])
	}
	return names
}

// Help of a training verb lists about ten flags, and each exists; --help-all has every flag once.
func TestHelpListsWhatMatters(t *testing.T) {
	for _, c := range commands {
		shown := c.shown()
		if shown == nil {
			continue
		}
		fs := newFlags()
		c.setup(fs)
		var all []string
		for _, f := range fs.Flags() {
			all = append(all, f.Name)
		}
		words := strings.Fields(c.name)
		short, long := listed(t, append(words, "--help")...), listed(t, append(words, "--help-all")...)
		for _, name := range shown {
			if !slices.Contains(all, name) {
				t.Errorf("%s: there is no flag --%s to show", c.name, name)
			}
		}
		if len(short) != len(shown) || len(short) > 12 {
			t.Errorf("%s --help lists %d flags of %d: %v", c.name, len(short), len(shown), short)
		}
		slices.Sort(long)
		if !slices.Equal(all, long) {
			t.Errorf("%s --help-all lists %v, there are %v", c.name, long, all)
		}
	}
}
