// Package flags parses command lines as both generations of OpenFst's tools do. Go's flag package
// cannot: it stops at the first argument and exits with status 2.
//
// Accepted are -f, --f (or, as in OpenFst 1.7.9, any number of hyphens), --f=v, --f v and, for
// booleans, --nof, before and after arguments. In a name a hyphen is equivalent to an underscore:
// --arc-type is --arc_type. A boolean takes the next word as its value only if that is true or
// false, since files may follow (write ./true for a file of that name). After -- all words are
// arguments. So is - (standard input or output), a negative number unless a flag has that name, and
// a word with a blank or | after the hyphen. --flagfile and --undefok are those of the newer
// generation.
package flags

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Set is the flags of one command.
type Set struct {
	flags    map[string]*Flag
	names    []string // in order of definition
	synonyms Synonyms
}

// Flag is one flag of a Set.
type Flag struct {
	Name    string
	Type    string // as shown in help: bool, int32, int64, double, string, duration
	Default string // as shown in help
	Usage   string
	Library bool     // common to all commands: shown by --help apart, not by --helpshort
	Given   bool     // set on the command line
	Text    string   // as it was given; "" where it was not
	Values  []string // to choose from; nil is any
	set     func(string) error
}

// New returns an empty Set.
func New() *Set { return &Set{flags: map[string]*Flag{}} }

func (s *Set) add(f *Flag) {
	if s.flags[f.Name] != nil {
		panic("flags: --" + f.Name + " defined twice")
	}
	s.flags[f.Name] = f
	s.names = append(s.names, f.Name)
}

// Bool defines a boolean flag.
func (s *Set) Bool(name string, def bool, usage string) *bool {
	p := &def
	s.add(&Flag{Name: name, Type: "bool", Default: strconv.FormatBool(def), Usage: usage,
		set: func(v string) error {
			switch strings.ToLower(v) {
			case "true", "1", "t", "yes", "y", "": // --f= is --f in OpenFst 1.7.9
				*p = true
			case "false", "0", "f", "no", "n":
				*p = false
			default:
				return fmt.Errorf("%q is not true or false, and the flag takes no other value", v)
			}
			return nil
		}})
	return p
}

// Int defines an integer flag of the given width in bits, 32 or 64.
func (s *Set) Int(name string, bits int, def int64, usage string) *int64 {
	p := &def
	s.add(&Flag{Name: name, Type: "int" + strconv.Itoa(bits), Default: strconv.FormatInt(def, 10), Usage: usage,
		set: func(v string) error {
			n, err := integer(v)
			if err != nil || bits == 32 && n != int64(int32(n)) {
				return fmt.Errorf("%q is not an integer of %d bits", v, bits)
			}
			*p = n
			return nil
		}})
	return p
}

// Bytes defines a flag for an amount of memory: an integer as for Int, with 64 bits, optionally
// followed by K, M, G or T for 1024, 1024² and so on.
func (s *Set) Bytes(name string, def int64, usage string) *int64 {
	p := &def
	s.add(&Flag{Name: name, Type: "int64", Default: strconv.FormatInt(def, 10), Usage: usage,
		set: func(v string) error {
			digits, shift := v, 0
			if k := len(v) - 1; k > 0 {
				if i := strings.IndexByte("KMGT", v[k]&^('a'-'A')); i >= 0 {
					digits, shift = v[:k], 10*(i+1)
				}
			}
			n, err := integer(digits)
			if err != nil || n<<shift>>shift != n {
				return fmt.Errorf("%q is not a number of bytes such as 500000000, 500M or 2G", v)
			}
			*p = n << shift
			return nil
		}})
	return p
}

// C's functions that read numbers skip this before them, and nothing after them.
const space = " \t\n\v\f\r"

// split returns the sign of a number as C has it, the digits, and their base.
func split(v string) (negative bool, digits string, base int, err error) {
	v = strings.TrimLeft(v, space)
	if v != "" && (v[0] == '+' || v[0] == '-') {
		negative, v = v[0] == '-', v[1:]
	}
	switch {
	case v == "" || strings.ContainsAny(v, "_+-"):
		return negative, "", 0, strconv.ErrSyntax
	case strings.HasPrefix(v, "0x") || strings.HasPrefix(v, "0X"):
		return negative, v[2:], 16, nil
	case v[0] == '0':
		return negative, v, 8, nil
	}
	return negative, v, 10, nil
}

// integer reads a number as C's strtoll does with base 0: 0x10 and 020 are 16, and a value beyond
// 64 bits becomes the nearest one within.
func integer(v string) (int64, error) {
	negative, digits, base, err := split(v)
	if err != nil {
		return 0, err
	}
	if negative {
		digits = "-" + digits
	}
	n, err := strconv.ParseInt(digits, base, 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil
	}
	return n, err
}

// unsigned reads a number as C's strtoull does with base 0: -1 is the greatest one, and so
// is what is beyond 64 bits.
func unsigned(v string) (uint64, error) {
	negative, digits, base, err := split(v)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if errors.Is(err, strconv.ErrRange) {
		return n, nil
	}
	if negative {
		n = -n
	}
	return n, err
}

// real reads a number as C's strtod does, where hexadecimal digits need no exponent.
func real(v string) (float64, error) {
	v = strings.TrimLeft(v, space)
	if strings.Contains(v, "_") {
		return 0, strconv.ErrSyntax
	}
	if digits := strings.ToLower(strings.TrimLeft(v, "+-")); strings.HasPrefix(digits, "0x") &&
		!strings.Contains(digits, "p") {
		v += "p0"
	}
	x, err := strconv.ParseFloat(v, 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil // ±Inf, as in C
	}
	return x, err
}

// Uint defines an unsigned 64-bit flag.
func (s *Set) Uint(name string, def uint64, usage string) *uint64 {
	p := &def
	s.add(&Flag{Name: name, Type: "uint64", Default: strconv.FormatUint(def, 10), Usage: usage,
		set: func(v string) error {
			n, err := unsigned(v)
			if err != nil {
				return fmt.Errorf("%q is not an unsigned integer", v)
			}
			*p = n
			return nil
		}})
	return p
}

// Float defines a floating-point flag.
func (s *Set) Float(name string, def float64, usage string) *float64 {
	p := &def
	s.add(&Flag{Name: name, Type: "double", Default: strconv.FormatFloat(def, 'g', -1, 64), Usage: usage,
		set: func(v string) error {
			x, err := real(v)
			if err != nil || x != x {
				return fmt.Errorf("%q is not a number", v)
			}
			*p = x
			return nil
		}})
	return p
}

// Float32 is Float rounded to float32. The operations behind OpenFst's tools take their deltas as
// float32, though its flags are float64: they round a weight to multiples of float32(0.01).
func (s *Set) Float32(name string, def float64, usage string) *float64 {
	p := s.Float(name, def, usage)
	*p = float64(float32(def))
	f := s.flags[name]
	set := f.set
	f.set = func(v string) error {
		err := set(v)
		*p = float64(float32(*p))
		return err
	}
	return p
}

// String defines a string flag.
func (s *Set) String(name, def, usage string) *string {
	p := &def
	s.add(&Flag{Name: name, Type: "string", Default: strconv.Quote(def), Usage: usage,
		set: func(v string) error {
			*p = v
			return nil
		}})
	return p
}

// Enum defines a string flag that takes one of the given values; the hyphens of a value may be left
// out.
func (s *Set) Enum(name, def string, values []string, usage string) *string {
	p := &def
	named := strings.TrimPrefix(strings.Join(values, ", "), ", ") // the empty value is for the default to say
	s.add(&Flag{Name: name, Type: "string", Default: strconv.Quote(def), Usage: usage + ": " + named,
		Values: values, set: func(v string) error {
			i := slices.Index(values, v)
			if i < 0 {
				i = slices.IndexFunc(values, func(s string) bool { return strings.ReplaceAll(s, "-", "") == v })
			}
			if i < 0 {
				return fmt.Errorf("%q is none of %s", v, named)
			}
			*p = values[i]
			return nil
		}})
	return p
}

// Func defines a flag of another kind: set reads its value. typ and def are for help.
func (s *Set) Func(name, typ, def, usage string, values []string, set func(string) error) {
	s.add(&Flag{Name: name, Type: typ, Default: def, Usage: usage, Values: values, set: set})
}

// Choose says what values a flag that was defined has to choose from, where it is the caller who
// refuses others.
func (s *Set) Choose(name string, values ...string) { s.flags[name].Values = values }

// Duration defines a flag that takes a duration such as 90s or 5m; a bare
// number is seconds.
func (s *Set) Duration(name string, def time.Duration, usage string) *time.Duration {
	p := &def
	s.add(&Flag{Name: name, Type: "duration", Default: def.String(), Usage: usage, set: func(v string) error {
		if x, err := strconv.ParseFloat(v, 64); err == nil && x >= 0 && x < 1e9 {
			*p = time.Duration(x * float64(time.Second))
			return nil
		}
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 {
			return fmt.Errorf("%q is not a duration such as 90s or 5m", v)
		}
		*p = d
		return nil
	}})
	return p
}

// Library marks flags as common to all commands.
func (s *Set) Library(names ...string) {
	for _, n := range names {
		s.flags[n].Library = true
	}
}

// Without takes back flags that mean nothing to a command: they are unknown to it.
func (s *Set) Without(names ...string) {
	for _, n := range names {
		delete(s.flags, n)
	}
	s.names = slices.DeleteFunc(s.names, func(n string) bool { return slices.Contains(names, n) })
}

// Given reports whether the flag was set on the command line.
func (s *Set) Given(name string) bool { f := s.lookup(name); return f != nil && f.Given }

// lookup returns the flag of a name as it may be written, nil if there is none.
func (s *Set) lookup(name string) *Flag {
	if f := s.flags[name]; f != nil {
		return f
	}
	return s.flags[Underscores(name)]
}

// Underscores returns the name of a flag with the hyphens as the underscores that they stand for.
func Underscores(name string) string { return strings.ReplaceAll(name, "-", "_") }

// Value returns the text that a flag was given, "" where it was not.
func (s *Set) Value(name string) string {
	if f := s.flags[name]; f != nil {
		return f.Text
	}
	return ""
}

// Flags returns the flags in alphabetical order.
func (s *Set) Flags() []*Flag {
	names := slices.Sorted(slices.Values(s.names))
	out := make([]*Flag, len(names))
	for i, n := range names {
		out[i] = s.flags[n]
	}
	return out
}

// Parse reads a command line without the command's own name, sets flags and
// returns the arguments among them. The error of an unknown flag names the
// nearest known one.
func (s *Set) Parse(words []string) (args []string, err error) {
	words, undefined, err := expand(words)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" {
			return append(args, words[i+1:]...), nil
		}
		// a program of fst run may begin with standard input
		if len(w) < 2 || w[0] != '-' || strings.ContainsRune(" \t\n|>;", rune(w[1])) {
			args = append(args, w)
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimLeft(w, "-"), "=")
		f := s.lookup(name)
		if f == nil && !hasValue && strings.HasPrefix(name, "no") {
			if g := s.lookup(strings.TrimPrefix(name[2:], "-")); g != nil && g.Type == "bool" {
				f, value, hasValue = g, "false", true
			}
		}
		if f == nil {
			if _, err := strconv.ParseFloat(w, 64); err == nil && !hasValue {
				args = append(args, w)
				continue
			}
			if passedOver(undefined, name) {
				continue
			}
			return nil, s.unknown(w, name)
		}
		switch {
		case hasValue:
		case f.Type == "bool":
			if value = "true"; i+1 < len(words) && (words[i+1] == "true" || words[i+1] == "false") {
				i++
				value = words[i]
			}
		case i+1 < len(words):
			i++
			value = words[i]
		default:
			return nil, fmt.Errorf("flag --%s needs a value (%s)", f.Name, f.Type)
		}
		if err := f.set(value); err != nil {
			return nil, fmt.Errorf("flag --%s: %w", f.Name, err)
		}
		f.Given, f.Text = true, value
	}
	return args, nil
}

// unknown is the error of a flag that there is not, with the one that may be meant.
func (s *Set) unknown(word, name string) error {
	word, _, _ = strings.Cut(word, "=")
	if best := s.synonyms.Suggest(Underscores(name), s.names); best != "" {
		return fmt.Errorf("unknown flag %s (did you mean --%s?)", word, best)
	}
	return fmt.Errorf("unknown flag %s (--help lists them)", word)
}

// PrintHelp lists the flags, the common ones too when library is set; a section without
// flags is left out.
func (s *Set) PrintHelp(w io.Writer, library bool) {
	for _, group := range []bool{false, true} {
		if group && !library || !slices.ContainsFunc(s.Flags(), func(f *Flag) bool { return f.Library == group }) {
			continue
		}
		title := "PROGRAM FLAGS:"
		if group {
			title = "LIBRARY FLAGS:"
		}
		fmt.Fprintf(w, "%s\n\n", title)
		for _, f := range s.Flags() {
			if f.Library == group {
				fmt.Fprintf(w, "  --%s: type = %s, default = %s\n  %s\n", f.Name, f.Type, f.Default, f.Usage)
			}
		}
		fmt.Fprintln(w)
	}
}
