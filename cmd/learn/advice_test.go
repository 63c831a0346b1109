package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/tables"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// What errors and warnings of tables advise, every command that reads one has; and some commands
// have every flag that there is.
func TestAdvisedFlagsExist(t *testing.T) {
	like, err := table.Read(strings.NewReader("a,b,y\n1,u,n\n2,v,m\n"), "like.csv", &table.Options{Target: "y"})
	if err != nil {
		t.Fatal(err)
	}
	many := func(value func(i int) string) string {
		var b strings.Builder
		b.WriteString("a,b,y\n")
		for i := range 40 {
			fmt.Fprintf(&b, "\"%s\",u%d,%d\n", value(i), i%2, i%3)
		}
		return b.String()
	}
	same := func(s string) string { return many(func(int) string { return s }) }
	var errs []error
	var warnings []table.Warning
	read := func(text string, o *table.Options) {
		x, err := table.Read(strings.NewReader(text), "x.csv", o)
		if err != nil {
			errs = append(errs, err)
		} else {
			warnings = append(warnings, x.Warnings...)
		}
	}
	for _, s := range []string{"1,5", "1,234", "1 234", "1'234", "$12", "45%", "$1,234.5", "31.12.2023",
		"12/31/23", "1/2/2024", "2023-12-31", "12:30"} {
		read(same(s), &table.Options{Target: "y"})
		read(strings.Replace(same(s), "a,b,y", "y,b,a", 1), &table.Options{Target: "y"})
		read(many(func(i int) string { return map[bool]string{true: s, false: "1"}[i == 7] }),
			&table.Options{Target: "y"})
		read(same(s), &table.Options{Like: like})
	}
	read(same("1.5"), &table.Options{Target: "y", Decimal: ","})
	read(many(func(i int) string { return fmt.Sprintf("%05d", i) }), &table.Options{Target: "y"})
	read(many(func(i int) string { return fmt.Sprintf("n%d", i) }), &table.Options{Target: "y"})
	read(many(func(i int) string { return fmt.Sprintf("n%d", i) }), &table.Options{Target: "y", MaxLevels: 5})
	read(same("1"), &table.Options{Target: "y", MaxCells: 5})
	read("1,2\n3,4\n", nil)
	read("a,b,c,y\n1,u,n,3\n", &table.Options{Like: like})
	read("a,y\n1,2.5\n2,3\n", &table.Options{Target: "y", Task: table.Classification})
	read("a,y\n1,2.5\n2,3.5\n3,x\n", &table.Options{Target: "y"})
	read("a,y\n1,2\n", &table.Options{Decimal: "x"})

	word := regexp.MustCompile(`--([a-z_0-9]+)`)
	named := map[string]bool{}
	commandsSeen := 0
	for _, c := range commands {
		fs := flags.New()
		c.setup(fs)
		has := map[string]bool{}
		for _, f := range fs.Flags() {
			has[f.Name] = true
		}
		if !has["format"] || !has["drop"] {
			continue // reads no tables of the user's
		}
		commandsSeen++
		for _, name := range tables.ReadingFlags {
			if !has[name] {
				t.Errorf("%s has no flag --%s", c.name, name)
			}
		}
		check := func(text string) {
			if strings.Contains(text, "Options.") {
				t.Errorf("%s speaks of the library: %s", c.name, text)
			}
			for _, m := range word.FindAllStringSubmatch(text, -1) {
				named[m[1]] = true
				if !has[m[1]] {
					t.Errorf("%s advises --%s, which it does not have: %s", c.name, m[1], text)
				}
			}
		}
		for _, err := range errs {
			check(tables.Advise(fs, err).Error())
		}
		for _, w := range warnings {
			check(tables.Warning(fs, w))
		}
	}
	if commandsSeen < 20 {
		t.Errorf("%d commands read tables", commandsSeen)
	}
	for _, name := range []string{"decimal", "thousands", "symbols", "dates", "missing", "categorical", "id",
		"drop", "task", "no_header"} {
		if !named[name] {
			t.Errorf("--%s is never advised", name)
		}
	}
}
