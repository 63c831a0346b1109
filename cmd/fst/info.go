package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/modelfile"
	"github.com/tropica-fst/tropica/fst"
	container "github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/ops"
)

var _ = offer(&tool{name: "info", args: "[in.fst]", max: 1,
	looks:   true,
	summary: "Prints facts about a machine: counts, connectivity, properties.", about: `
--arc_filter selects the arcs along which states count as reached and connected. The label
multiplicity is the average number of arcs of a state that share the label of an arc: 1 for a
deterministic machine. --info_type=fast prints the header of the file.

A file that the command learn wrote, such as a model, is told of as well: what it is, the settings of
its training, its arrays, and the commands that read it. Standard input has machines alone.

  fst info in.fst

Time O(states + arcs · log(arcs at a state)).`,
	setup: func(fs *flags.Set) func(*call) error {
		filter := fs.Enum("arc_filter", "any", []string{"any", "epsilon", "iepsilon", "oepsilon"},
			"Arcs by which states are connected")
		verify := fs.Bool("fst_verify", true, "Check that the machine is well formed")
		kind := fs.Enum("info_type", "auto", []string{"auto", "long", "short", "fast"}, "How much to print")
		test := fs.Bool("test_properties", true, "Find out properties that the machine does not know")
		return func(c *call) error {
			if m, err := c.learnerFile(c.arg(0)); m != nil || err != nil {
				if err != nil {
					return err
				}
				return c.Output("", func(w io.Writer) error { return modelfile.Describe(w, m) })
			}
			c.models = *kind == "auto" || *kind == "short" // a model is shown as it is
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			var d *ops.Description
			if *kind != "short" && t.m != nil {
				if *verify {
					if err := t.Verify(t.m); err != nil {
						return fmt.Errorf("%w (--fst_verify=false prints all the same)", err)
					}
				}
				along := map[string]ops.ArcFilter{"any": ops.AnyArc, "epsilon": ops.EpsilonArc,
					"iepsilon": ops.IEpsilonArc, "oepsilon": ops.OEpsilonArc}[*filter]
				d = t.Describe(t.m, &ops.DescribeOptions{Along: along, KnownOnly: !*test || *kind == "fast"})
				if t.model != nil { // the machine is computed from it on demand
					d.Properties &^= fst.Expandable | fst.Mutable
				}
			}
			return c.Output("", func(w io.Writer) error {
				if *kind == "fast" {
					printFastInfo(w, t, d)
				} else {
					printInfo(w, t, d, *filter)
				}
				return nil
			})
		}
	}})

// learnerFile reads the file of that name if it is one that learn wrote, else nothing. A pipe can
// be read only once: it is left alone.
func (c *call) learnerFile(name string) (*container.Container, error) {
	if c.pipe != nil || cli.IsStandard(name) {
		return nil, nil
	}
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil, nil // what reads machines says what is wrong
	}
	r, shown, err := c.Streams.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	m, err := modelfile.Read(r)
	if errors.Is(err, modelfile.ErrOther) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	return m, nil
}

// infoLine prints a label in 50 columns and a value.
func infoLine(w io.Writer, label string, value any) { fmt.Fprintf(w, "%-50s%v\n", label, value) }

func yesNo(b bool) string {
	if b {
		return "y"
	}
	return "n"
}

// yesNoUnknown tells which side of a property is known.
func yesNoUnknown(p, yes, no fst.Properties) string {
	switch {
	case p&yes != 0:
		return "y"
	case p&no != 0:
		return "n"
	}
	return "?"
}

// printInfo prints what fstinfo prints, the long form if d is not nil.
func printInfo(w io.Writer, t *typed, d *ops.Description, filter string) {
	name := func(s *fst.SymbolTable) string {
		if s == nil {
			return "none"
		}
		return s.Name()
	}
	infoLine(w, "fst type", t.fstType)
	infoLine(w, "arc type", t.ArcType())
	in, out := fst.InputSymbols(t.m), fst.OutputSymbols(t.m)
	if t.m == nil {
		in, out = fst.InputSymbols(t.model), fst.OutputSymbols(t.model)
	}
	infoLine(w, "input symbol table", name(in))
	infoLine(w, "output symbol table", name(out))
	if d == nil {
		return
	}
	ratio := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	infoLine(w, "# of states", d.States)
	infoLine(w, "# of arcs", d.Arcs)
	infoLine(w, "initial state", d.Start)
	infoLine(w, "# of final states", d.Finals)
	infoLine(w, "# of input/output epsilons", d.Epsilons)
	infoLine(w, "# of input epsilons", d.IEpsilons)
	infoLine(w, "# of output epsilons", d.OEpsilons)
	infoLine(w, "input label multiplicity", ratio(d.IMultiplicity))
	infoLine(w, "output label multiplicity", ratio(d.OMultiplicity))
	by := map[string]string{"any": "", "epsilon": "epsilon ", "iepsilon": "input-epsilon ",
		"oepsilon": "output-epsilon "}[filter]
	infoLine(w, "# of "+by+"accessible states", d.Accessible)
	infoLine(w, "# of "+by+"coaccessible states", d.CoAccessible)
	infoLine(w, "# of "+by+"connected states", d.Useful)
	infoLine(w, "# of "+by+"connected components", d.Components)
	infoLine(w, "# of "+by+"strongly conn components", d.StrongComponents)
	p := d.Properties
	if t.model != nil { // which makes arcs as an input asks for them
		infoLine(w, "input matcher", "y")
		infoLine(w, "output matcher", "n")
	} else {
		infoLine(w, "input matcher", yesNoUnknown(p, fst.ILabelSorted, fst.NotILabelSorted))
		infoLine(w, "output matcher", yesNoUnknown(p, fst.OLabelSorted, fst.NotOLabelSorted))
	}
	inAhead, outAhead := "n", "n"
	if g, ok := t.m.(interface{ AddOn() *fst.AddOn }); ok && g.AddOn() != nil {
		arcs := g.AddOn().Type == "arc_lookahead"
		if a := g.AddOn().Input; arcs || a != nil && a.Reach != nil {
			inAhead = "y"
		}
		if a := g.AddOn().Output; arcs || a != nil && a.Reach != nil {
			outAhead = "y"
		}
	}
	infoLine(w, "input lookahead", inAhead)
	infoLine(w, "output lookahead", outAhead)
	printProperties(w, p)
}

// printProperties prints the properties in the order of their bits.
func printProperties(w io.Writer, p fst.Properties) {
	infoLine(w, "expanded", yesNo(p&fst.Expandable != 0))
	infoLine(w, "mutable", yesNo(p&fst.Mutable != 0))
	infoLine(w, "error", yesNo(p&fst.Error != 0))
	for i, name := range []string{"acceptor", "input deterministic", "output deterministic",
		"input/output epsilons", "input epsilons", "output epsilons", "input label sorted", "output label sorted",
		"weighted", "cyclic", "cyclic at initial state", "top sorted", "accessible", "coaccessible", "string",
		"weighted cycles"} {
		infoLine(w, name, yesNoUnknown(p, fst.Acceptor<<(2*i), fst.NotAcceptor<<(2*i)))
	}
}

// printFastInfo prints the form that newer releases know as fast.
func printFastInfo(w io.Writer, t *typed, d *ops.Description) {
	infoLine(w, "fst type", t.fstType)
	infoLine(w, "arc type", t.ArcType())
	infoLine(w, "version", t.header.Version)
	infoLine(w, "input symbol table", yesNo(fst.InputSymbols(t.m) != nil))
	infoLine(w, "output symbol table", yesNo(fst.OutputSymbols(t.m) != nil))
	infoLine(w, "aligned", yesNo(t.header.Flags&fst.IsAligned != 0))
	infoLine(w, "initial state", d.Start)
	infoLine(w, "# of states", d.States)
	infoLine(w, "# of arcs", d.Arcs)
	printProperties(w, t.header.Properties)
}
