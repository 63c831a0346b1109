package fst_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Text with a weight that is none of the semiring is refused, with its line and field, but for the -Infinity
// that OpenFst's compiler takes for its own arc types.
func TestReadTextMembers(t *testing.T) {
	type read func(text string) error
	over := map[string]read{
		"standard":                  readError[semiring.Tropical],
		"log":                       readError[semiring.Log],
		"log64":                     readError[semiring.Log64],
		"tropical64":                readError[semiring.Tropical64],
		"real64":                    readError[semiring.Probability],
		"minmax":                    readError[semiring.MinMax],
		"expectation_real64_real64": readError[semiring.Expectation],
	}
	for _, c := range []struct {
		arcType, weight string
		ok              bool
	}{
		{"standard", "-Infinity", true}, {"log", "-inf", true}, {"log64", "-1e999", true}, {"standard", "Infinity", true},
		{"tropical64", "-Infinity", false}, {"tropical64", "Infinity", true}, {"minmax", "-Infinity", true},
		{"real64", "Infinity", false}, {"real64", "-Infinity", false}, {"real64", "1e999", false}, {"real64", "-1", false},
		{"real64", "-0.5e-3", false}, {"real64", "0", true}, {"real64", "-0", true}, {"real64", "1e308", true}, {"real64", "1e-999", true},
		{"expectation_real64_real64", "1,-2", true}, {"expectation_real64_real64", "-1,2", false}, {"expectation_real64_real64", "1,Infinity", false},
	} {
		for _, text := range []string{"0 1 1 1 " + c.weight + "\n1\n", "0 1 1 1\n1 " + c.weight + "\n"} {
			err := over[c.arcType](text)
			if c.ok {
				if err != nil {
					t.Errorf("%s, %q: %v", c.arcType, text, err)
				}
				continue
			}
			var at *fst.TextError
			line, field := 1, 5
			if strings.HasPrefix(text, "0 1 1 1\n") {
				line, field = 2, 2
			}
			if !errors.As(err, &at) || at.Line != line || at.Field != field || !strings.Contains(err.Error(), c.weight+" is not a weight of arc type "+c.arcType) {
				t.Errorf("%s, %q: %v", c.arcType, text, err)
			}
		}
	}
}

func readError[W semiring.Codec[W]](text string) error {
	_, err := fst.ReadText[W](strings.NewReader(text), nil)
	return err
}
