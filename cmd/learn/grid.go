package main

import (
	"fmt"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
)

// maxGrid bounds the settings of one grid.
const maxGrid = 4096

// setting is one combination of a grid's values.
type setting struct {
	name  string   // flag=value of each axis
	words []string // the flags as a command line has them
}

// gridSettings returns every combination of the values of a grid, which is words
// flag=value,value,...; the first flag varies fastest. A + in a value stands for a comma. refuse
// returns why a flag may not be part of the grid, nil if it may. Flags given both in the grid and
// beside it (nil: none are) would be overruled in every setting, and are errors.
func gridSettings(text string, refuse func(flag string) error, given *flags.Set) ([]setting, error) {
	type axis struct {
		flag   string
		values []string
	}
	var axes []axis
	total := 1
	for _, word := range strings.Fields(text) {
		flag, values, ok := strings.Cut(word, "=")
		flag = flags.Underscores(strings.TrimLeft(flag, "-"))
		if !ok || values == "" {
			return nil, fmt.Errorf("%q is not a flag, =, and values", word)
		}
		if err := refuse(flag); err != nil {
			return nil, err
		}
		if given != nil && given.Given(flag) {
			return nil, overruled(flag)
		}
		for _, a := range axes {
			if a.flag == flag {
				return nil, fmt.Errorf("%s is named twice: put its values behind one =, with commas between them", flag)
			}
		}
		a := axis{flag, list(values)}
		if total *= len(a.values); total > maxGrid {
			return nil, fmt.Errorf("there are more than %d combinations", maxGrid)
		}
		axes = append(axes, a)
	}
	out := make([]setting, total)
	for i := range out {
		var names []string
		for n, a := i, axes; len(a) > 0; a = a[1:] {
			v := a[0].values[n%len(a[0].values)]
			n /= len(a[0].values)
			out[i].words = append(out[i].words, "--"+a[0].flag+"="+strings.ReplaceAll(v, "+", ","))
			names = append(names, a[0].flag+"="+v)
		}
		if out[i].name = strings.Join(names, " "); out[i].name == "" {
			out[i].name = "default"
		}
	}
	return out, nil
}

// overruled is the error of a flag that stands in the grid as well.
func overruled(flag string) error {
	return fmt.Errorf("--%s is given outside the grid too, and would have no effect there; leave one of them out", flag)
}
