package calls

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/semiring"
)

// The C header lists the operations of the table, and the Python package has a function for each.
func TestOperationsAreListed(t *testing.T) {
	names := slices.Sorted(maps.Keys(operations[semiring.Tropical]()))
	header, err := os.ReadFile("../../capi/tropica.h")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(header), "/* Operations: ")
	list, _, _ = strings.Cut(list, ". */")
	list = strings.Replace(list, "; with a number as answer:", "", 1)
	listed := slices.DeleteFunc(strings.Fields(list), func(s string) bool { return s == "*" })
	if slices.Sort(listed); !slices.Equal(listed, names) {
		t.Errorf("tropica.h lists %q, offered are %q", listed, names)
	}
	python, err := os.ReadFile("../../capi/python/tropica/fst.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !regexp.MustCompile(`(?m)^def ` + name + `\(`).Match(python) {
			t.Errorf("fst.py has no function %s", name)
		}
	}
}
