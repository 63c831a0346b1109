package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/cmd/fst/internal/arctypes"
	"github.com/tropica-fst/tropica/cmd/fst/internal/suite"
	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/fst"
)

// stringFlags are the flags of the tools that turn strings into machines and back.
type stringFlags struct{ entries, tokens, symbols *string }

func defineStringFlags(fs *flags.Set) stringFlags {
	return stringFlags{
		fs.Enum("entry_type", "line", []string{"line", "file"}, "What a string is: a line, or a whole file"),
		fs.Enum("token_type", "symbol", []string{"symbol", "byte", "utf8"}, "What a label stands for"),
		fs.String("symbols", "", "File with the symbols"),
	}
}

// options reads the symbols.
func (f *stringFlags) options(c *call, negative bool) (*fst.StringOptions, error) {
	tokens, err := fst.ParseTokenType(*f.tokens)
	if err != nil {
		return nil, err
	}
	o := &fst.StringOptions{Tokens: tokens, Separators: *c.lib.fieldSeparator, Negative: negative,
		KeepEpsilon: true}
	o.Symbols, err = c.symbols(*f.symbols, negative)
	return o, err
}

// inputsAndOutput splits the arguments: the last of several is the output.
func (c *call) inputsAndOutput(lists bool) (inputs []string, out string, err error) {
	inputs = c.args
	if n := len(inputs); n > 1 {
		inputs, out = inputs[:n-1], inputs[n-1]
	} else if n == 0 {
		inputs = []string{""}
	}
	if lists {
		inputs, err = c.listed(inputs)
	}
	return inputs, out, err
}

var _ = offer(&tool{name: "farcompilestrings", args: "[in1.txt [in2.txt ...] out.far]", max: -1,
	looks:   true,
	summary: "Makes an archive of machines, one for each string.", about: `
A string is a line, or with --entry_type=file a whole file. Its labels are symbols between
separators, bytes or characters. A key is the name of the file, without its directory, and the
number of the line, or with --generate_keys=N a number of N digits.

  farcompilestrings --symbols=words.txt sentences.txt out.far
  farcompilestrings --token_type=utf8 --generate_keys=6 words.txt out.far

Time and memory in proportion to the longest string, and to the archive.`,
	setup: func(fs *flags.Set) func(*call) error {
		farFlags(fs)
		negative := fs.Bool("allow_negative_labels", false, "Allow negative labels")
		arcType := fs.String("arc_type", "standard", "Type of weights")
		fs.Choose("arc_type", arctypes.Names()...)
		typ := farTypeFlag(fs, newFarType)
		lists := fs.Bool("file_list_input", false, "Inputs are lists of files, one a line")
		fstType := fs.Enum("fst_type", "vector", []string{"", "vector", "compact"}, "Type of the machines")
		generate := fs.Int("generate_keys", 32, 0, "Number keys with this many digits")
		initial := fs.Bool("initial_symbols", true, "With --keep_symbols, store them with the first machine of "+
			"each input alone")
		keep := fs.Bool("keep_symbols", false, "Store the symbols in the machines")
		prefix := fs.String("key_prefix", "", "What all keys begin with")
		suffix := fs.String("key_suffix", "", "What all keys end with")
		unknown := fs.String("unknown_symbol", "", "Symbol for those that are not in the table")
		of := defineStringFlags(fs)
		return func(c *call) error {
			s, err := arctypes.Of(*arcType)
			if err != nil {
				return err
			}
			o, err := of.options(c, *negative)
			if err != nil {
				return err
			}
			if o.Symbols != nil {
				o.Unknown = *unknown
				if _, ok := o.Symbols.Find(*unknown); !ok && *unknown != "" {
					return fmt.Errorf("flag --unknown_symbol: %q is not in the symbol table %s", *unknown, *of.symbols)
				}
			}
			inputs, out, err := c.inputsAndOutput(*lists)
			if err != nil {
				return err
			}
			wo := &fst.WriteOptions{Type: "vector", Align: *c.lib.align}
			if *fstType == "compact" {
				wo.Type = "compact_string"
			}
			// No machine outlives its string: without the ballast of tuneMemory the peak is half,
			// in the same time.
			if ballast != nil {
				ballast = nil
				runtime.GC() // else it counts until the next collection
			}
			return c.Output(out, func(w io.Writer) error {
				a, err := c.newArchive(w, archiveType(*typ, out))
				if err != nil {
					return err
				}
				n := 0
				for _, name := range inputs {
					if *generate <= 0 {
						n = 0
					}
					digits := int(*generate)
					if digits <= 0 {
						if cli.IsStandard(name) {
							return errors.New("standard input has no name for keys: --generate_keys numbers them")
						}
						if digits = 1; *of.entries == "line" {
							if digits, err = c.lineDigits(name); err != nil {
								return err
							}
						}
					}
					symbols := o.Symbols
					if !*keep {
						symbols = nil
					}
					err := c.eachString(name, *of.entries == "file", func(line int, text string) error {
						n++
						if o.Tokens == fst.TokenSymbol {
							text = strings.TrimSuffix(text, "\r")
						}
						labels, err := fst.AppendLabels(nil, text, o)
						var unknown *fst.UnknownSymbolError
						switch {
						case errors.As(err, &unknown):
							return fmt.Errorf("%s, line %d: %w (--unknown_symbol=SYMBOL puts a symbol of the table in the "+
								"place of such)", name, line, err)
						case err != nil:
							return fmt.Errorf("%s, line %d: %w", name, line, err)
						}
						m := s.FromLabels(labels)
						if err := c.examine(&typed{Suite: s, m: m}, fmt.Sprintf("%s, line %d", name, line)); err != nil {
							return err
						}
						s.SetSymbols(m, symbols, symbols)
						if *initial {
							symbols = nil
						}
						key := padded(n, digits)
						if *generate <= 0 {
							key = keyOf(name)
							if *of.entries == "line" {
								key += "-" + padded(n, digits)
							}
						}
						return a.add(s, *prefix+key+*suffix, m, wo)
					})
					if err != nil {
						return err
					}
				}
				return a.Close()
			})
		}
	}})

// lineDigits is the number of digits of the number of a file's lines.
func (c *call) lineDigits(name string) (int, error) {
	f, shown, err := c.Open(name) // not standard input
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if f, ok := f.(*os.File); ok {
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return 0, fmt.Errorf("%s is read once only, so that its lines cannot be counted: --generate_keys "+
				"numbers the keys", shown)
		}
	}
	in := bufio.NewReaderSize(f, 64<<10)
	lines, some := 0, false
	for {
		b, err := in.ReadSlice('\n')
		some = len(b) > 0
		switch {
		case err == nil:
			lines++
		case err == io.EOF:
			if some {
				lines++
			}
			return len(strconv.Itoa(max(lines, 1))), nil
		case err != bufio.ErrBufferFull:
			return 0, err
		}
	}
}

// eachString hands on the lines of a file without their ends, or with whole all of it with an
// end after each line.
func (c *call) eachString(name string, whole bool, do func(line int, s string) error) error {
	r, shown, err := c.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	if whole {
		b, err := io.ReadAll(r)
		if err != nil {
			return fmt.Errorf("%s: %w", shown, err)
		}
		if len(b) == 0 {
			return nil
		}
		if b[len(b)-1] != '\n' {
			b = append(b, '\n')
		}
		return do(1, string(b))
	}
	in := bufio.NewReaderSize(r, 64<<10)
	for line := 1; ; line++ {
		s, err := in.ReadString('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s: %w", shown, err)
		}
		if s != "" {
			if err := do(line, strings.TrimSuffix(s, "\n")); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

var _ = offer(&tool{name: "farprintstrings", args: "[in1.far in2.far ...]", max: -1,
	looks:   true,
	summary: "Prints the machines of archives as strings.", about: `
Each machine must have one path. Its output is printed on a line, or with --entry_type=file to a
file of its own. A machine that is not a string gives an empty line, with a message.

  farprintstrings --symbols=words.txt in.far
  farprintstrings --token_type=utf8 --print_key --print_weight in.far

Time O(labels), a machine in memory at a time.`,
	setup: func(fs *flags.Set) func(*call) error {
		begin, end := keyRange(fs)
		prefix := fs.String("filename_prefix", "", "What file names begin with")
		suffix := fs.String("filename_suffix", "", "What file names end with")
		generate := fs.Int("generate_filenames", 32, 0, "Number files with this many digits")
		initial := fs.Bool("initial_symbols", true, "Use the symbols of the first machine for all")
		key := fs.Bool("print_key", false, "Print the key before each string")
		weight := fs.Bool("print_weight", false, "Print the weight after each string")
		separator := fs.String("far_field_separator", "\t",
			"The first character stands between key, string and weight")
		of := defineStringFlags(fs)
		return func(c *call) error {
			if *separator == "" {
				return errors.New("flag --far_field_separator: at least one character is needed")
			}
			o, err := of.options(c, true)
			if err != nil {
				return err
			}
			a, err := c.openArchive(c.archiveNames()...)
			if err != nil {
				return err
			}
			defer a.Close()
			return c.Output("", func(w io.Writer) error {
				i, last, repeats := 0, "", 0
				return a.each(*begin, *end, func(e *archived) error {
					if i++; i > 1 && e.key == last {
						repeats++
					} else {
						repeats = 0
					}
					last = e.key
					if i == 1 && *initial && o.Symbols == nil {
						o.Symbols = fst.InputSymbols(e.m)
					}
					each := *o
					if each.Symbols == nil {
						each.Symbols = fst.InputSymbols(e.m)
					}
					if each.Symbols == nil { // not the output symbols: numbers
						e.m = e.Mutable(e.m)
						e.SetSymbols(e.m, nil, nil)
					}
					s, err := e.ToString(e.m, &each)
					if err != nil {
						fmt.Fprintf(c.Err, "ERROR: %s: key %s: %v\n", c.prog, e.key, err)
						s = ""
					}
					if *of.entries == "file" {
						name := e.key
						switch {
						case *generate > 0:
							name = padded(i, int(*generate))
						case !filepath.IsLocal(name):
							return fmt.Errorf("key %q: not the name of a file here (--generate_filenames numbers them)", name)
						case repeats > 0:
							name += "." + strconv.Itoa(repeats)
						}
						if each.Tokens == fst.TokenSymbol {
							s += "\n"
						}
						return c.Output(*prefix+name+*suffix,
							func(w io.Writer) error { _, err := io.WriteString(w, s); return err })
					}
					if *key {
						s = e.key + (*separator)[:1] + s
					}
					if *weight {
						total, err := e.Total(e.m, c.shortFormat())
						if err != nil {
							return fmt.Errorf("key %s: %w", e.key, err)
						}
						s += (*separator)[:1] + total
					}
					_, err = io.WriteString(w, s+"\n")
					return err
				})
			})
		}
	}})

var _ = offer(&tool{name: "farconvert", args: "[in.far [out.far]]", max: 2,
	looks:   true,
	summary: "Converts an archive and its machines to other types.", about: `
  farconvert --far_type=stlist --fst_type=const in.far out.far

Time O(states + arcs), a machine in memory at a time.`,
	setup: func(fs *flags.Set) func(*call) error {
		farFlags(fs)
		typ := farTypeFlag(fs, sameFarType)
		to := fs.Enum("fst_type", "", append([]string{""}, fst.FileTypes()...),
			"Type of the machines; empty leaves them as they are")
		return func(c *call) error {
			return c.eachArchived(c.arg(0), c.arg(1), *typ, func(e *archived) (machine, string, error) {
				fstType := e.fstType
				if *to != "" {
					fstType = *to
				}
				m, err := c.lookAhead(e.typed, e.m, fstType, c.arg(1))
				return m, fstType, err
			}, nil)
		}
	}})

var _ = offer(&tool{name: "farencode", args: "in.far mapper [out.far]", min: 2, max: 3,
	looks:   true,
	summary: "Encodes the labels, or weights, or both, of the machines of an archive, or decodes them.", about: `
All machines are encoded with one table, which is written to the mapper, or with
--encode_reuse read from it and added to.

  farencode --encode_labels in.far mapper out.far
  farencode --decode out.far mapper in.far

Time O(states + arcs).`,
	setup: func(fs *flags.Set) func(*call) error {
		farFlags(fs)
		typ := farTypeFlag(fs, sameFarType)
		decode := fs.Bool("decode", false, "Decode by the mapper")
		labels := fs.Bool("encode_labels", false, "Encode the two labels as one")
		weights := fs.Bool("encode_weights", false, "Encode the weight in the label")
		reuse := fs.Bool("encode_reuse", false, "Add to an existing mapper")
		return func(c *call) error {
			if !*decode {
				if err := c.distinct(result(c.arg(1)), result(c.arg(2))); err != nil {
					return err
				}
			}
			var table suite.EncodeTable
			had := 0
			return c.eachArchived(c.args[0], c.arg(2), *typ, func(e *archived) (machine, string, error) {
				if table == nil {
					var err error
					if table, err = c.encodeTable(e.typed, 1, *decode || *reuse, *labels, *weights); err != nil {
						return nil, "", err
					}
					had = table.Len()
				}
				m := e.Mutable(e.m)
				if *decode {
					return m, "vector", table.Decode(m)
				}
				table.Encode(m)
				return m, "vector", nil
			}, func() error {
				if *decode || *reuse && (table == nil || table.Len() == had) { // leave the file as it is
					return nil
				}
				if table == nil { // of an empty archive
					s, err := arctypes.Of("standard")
					if err != nil {
						return err
					}
					if table, err = c.encodeTable(&typed{Suite: s}, 1, false, *labels, *weights); err != nil {
						return err
					}
				}
				return c.Output(c.args[1], table.Write)
			})
		}
	}})

// eachArchived writes what do makes of the machines of an archive to another one.
// Then, if last is not nil, it calls that; where it fails the new archive is not written either.
func (c *call) eachArchived(in, out, typ string, do func(*archived) (machine, string, error),
	last func() error) error {
	a, err := c.openArchive(in)
	if err != nil {
		return err
	}
	defer a.Close()
	to := a.ftype
	if typ != "default" {
		to = fst.ArchiveType(typ)
	}
	return c.Output(out, func(w io.Writer) error {
		b, err := c.newArchive(w, to)
		if err != nil {
			return err
		}
		if err := a.each("", "", func(e *archived) error {
			m, fstType, err := do(e)
			if err == nil {
				err = b.add(e, e.key, m, &fst.WriteOptions{
					Type: fstType, Align: e.header.Flags&fst.IsAligned != 0 || *c.lib.align})
			}
			if err != nil {
				return fmt.Errorf("key %s: %w", e.key, err)
			}
			return nil
		}); err != nil {
			return err
		}
		if err := b.Close(); err != nil || last == nil {
			return err
		}
		return last()
	})
}
