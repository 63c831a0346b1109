package main

import (
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/g2p"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/sequence"
)

// Options under the contract of package learner are flags of the same names and defaults here:
// programs that share them take the same words.
func TestSettingsAreFlags(t *testing.T) {
	for _, x := range []struct {
		c *command
		o any
	}{{sequenceTrain, &sequence.Settings{}}, {g2pTrain, &g2p.Settings{}}} {
		fs := flags.New()
		x.c.setup(fs)
		have := map[string]*flags.Flag{}
		for _, f := range fs.Flags() {
			have[f.Name] = f
		}
		for _, p := range learner.Options(x.o) {
			f := have[p.Name]
			if f == nil {
				t.Errorf("%s has no flag --%s", x.c.name, p.Name)
				continue
			}
			def := p.Default
			if def == "" {
				def = map[string]string{"bool": "false", "int": "0", "number": "0"}[p.Type]
			}
			if got := strings.Trim(f.Default, `"`); got != def {
				t.Errorf("%s --%s: the default is %s, and of the options %s", x.c.name, p.Name, got, def)
			}
			for _, v := range p.Values {
				if f.Values != nil && !strings.Contains(" "+strings.Join(f.Values, " ")+" ", " "+v+" ") {
					t.Errorf("%s --%s does not take %s", x.c.name, p.Name, v)
				}
			}
		}
	}
}
