package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
)

// Every command and each of its flags is completed by every shell, and has its place in the manual
// page.
func TestShells(t *testing.T) {
	texts := map[string]string{}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		var b strings.Builder
		if err := program().Completion(&b, shell); err != nil {
			t.Fatal(err)
		}
		texts[shell] = b.String()
	}
	var page strings.Builder
	if err := program().Man(&page, "version"); err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(page.String(), "\n.SS ")
	for _, c := range commands {
		fs := newFlags()
		c.setup(fs)
		words := strings.Fields(c.name)
		inBash := "\n    '" + c.name + "') words='"
		section := ""
		title := `"` + strings.ReplaceAll(c.name, "-", `\-`)
		if i := slices.IndexFunc(sections, func(s string) bool { return strings.HasPrefix(s, title) }); i >= 0 {
			section = sections[i]
		}
		if !strings.Contains(section, strings.ReplaceAll(strings.TrimSuffix(c.summary, "."), "-", `\-`)) {
			t.Errorf("%s is not in the manual page, with what it does", c.name)
		}
		for _, f := range fs.Flags() {
			for _, shell := range []string{"bash", "zsh"} {
				_, own, _ := strings.Cut(texts[shell], inBash)
				own, _, _ = strings.Cut(own, "\n")
				if !slices.Contains(strings.Fields(own), "--"+f.Name) {
					t.Errorf("%s does not complete --%s of %s", shell, f.Name, c.name)
				}
			}
			var seen []string
			for _, w := range words {
				seen = append(seen, "__fish_seen_subcommand_from "+w)
			}
			if !strings.Contains(texts["fish"], "complete -c learn -n '"+strings.Join(
				seen, "; and ")+"' -l "+f.Name+" ") {
				t.Errorf("fish does not complete --%s of %s", f.Name, c.name)
			}
			if !strings.Contains(section, `\-\-`+f.Name+" ") {
				t.Errorf("the manual page lacks --%s of %s", f.Name, c.name)
			}
		}
	}
}

// What is suggested for a word of another program is there, somewhere.
func TestSynonymsLead(t *testing.T) {
	var names, groups, verbs []string
	for _, c := range commands {
		fs := newFlags()
		c.setup(fs)
		for _, f := range fs.Flags() {
			names = append(names, f.Name)
		}
		group, verb, _ := strings.Cut(c.name, " ")
		groups, verbs = append(groups, group), append(verbs, verb)
	}
	for _, x := range []struct {
		words flags.Synonyms
		names []string
	}{{flagWords, names}, {groupWords, groups}, {verbWords, verbs}} {
		for word, meant := range x.words {
			if word != flags.Underscores(word) {
				t.Errorf("%s is never looked up: hyphens are underscores by then", word)
			}
			for _, m := range meant {
				if !slices.Contains(x.names, m) {
					t.Errorf("%s leads to %s, which nothing has", word, m)
				}
			}
		}
	}
}
