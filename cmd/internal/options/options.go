// Package options makes flags of the options that learners declare under the contract of package
// learner, for every command that trains them.
package options

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/learner"
)

// Define defines a flag for every option of the struct that o points to. Parsing sets its fields;
// values that they have before are the defaults that help shows.
func Define(fs *flags.Set, o any) {
	for _, p := range learner.Options(o) {
		usage := p.Help
		if r := p.Range(); r != "finite" {
			usage += "; " + r
		}
		if p.Values != nil {
			usage += ": " + strings.Join(p.Values, ", ")
		}
		def := p.Text()
		if def == "" {
			def = map[string]string{"bool": "false", "int": "0", "number": "0"}[p.Type]
		}
		typ := map[string]string{"int": "int64", "number": "double", "text": "string", "names": "string", "numbers": "string", "integers": "string"}[p.Type]
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
}

// trimName takes the option's name off an error that stands behind it anyway.
func trimName(err error, name string) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.TrimPrefix(err.Error(), name+": "))
}
