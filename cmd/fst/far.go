package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/cmd/fst/internal/arctypes"
	"github.com/tropica-fst/tropica/cmd/fst/internal/suite"
	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

// archive is one archive, or several read as one in order of keys.
type archive struct {
	c     *call
	parts []*archivePart
	suite suite.Suite
	ftype fst.ArchiveType
}

type archivePart struct {
	r     *fst.ArchiveReader
	name  string // as it was given: the key of an archive that is one plain machine
	shown string
	close func() error

	entry *archived // the next one, or where due is set the one that next has returned; nil at the end
	due   bool      // entry is what has been asked for: the one behind it is the next
	begun bool      // entries have been read since the part was opened
	last  *string   // the last key that was passed, nil if none was
}

// archived is a machine of an archive, which load reads, or why it cannot be read.
type archived struct {
	key string
	*typed
	err    error
	a      *archive
	p      *archivePart
	header *fst.Header
}

// load reads the machine of e, which may be nil, unless it has been read. It must be called before
// the next one is asked for.
func (e *archived) load() error {
	if e != nil && e.err == nil && e.typed == nil {
		e.typed, e.err = e.a.read(e.p, e.key, e.header)
	}
	return e.failed()
}

// failed returns why e, which may be nil, cannot be read, as far as that is known.
func (e *archived) failed() error {
	if e == nil {
		return nil
	}
	return e.err
}

// openArchive opens archives. Of their machines nothing is read yet; of several archives the first
// headers are.
func (c *call) openArchive(names ...string) (*archive, error) {
	a := &archive{c: c}
	for _, name := range names {
		p := &archivePart{name: name}
		if err := a.open(p); err != nil {
			a.Close()
			return nil, err
		}
		a.parts = append(a.parts, p)
		if a.ftype == "" {
			a.ftype = p.r.Type
		}
	}
	if len(a.parts) > 1 { // the weights of all must be the same, whichever are asked for
		for _, p := range a.parts {
			a.advance(p)
			err := p.entry.failed()
			if e := p.entry; e != nil && err == nil {
				_, err = a.suiteOf(e.header, p.shownKey(e.key))
			}
			if err != nil {
				a.Close()
				return nil, err
			}
		}
	}
	return a, nil
}

// open opens a part, or opens it anew.
func (a *archive) open(p *archivePart) error {
	if p.close != nil {
		p.close()
	}
	r, shown, err := a.c.Open(p.name)
	if err != nil {
		p.close = nil
		return err
	}
	*p = archivePart{name: p.name, shown: shown, close: r.Close}
	if p.r, err = fst.NewArchiveReader(r, &fst.ReadOptions{Name: shown, Trust: a.c.plain}); err != nil {
		p.close()
		p.close = nil
	}
	return err
}

// advance reads the key and the header of the next machine of p. If it cannot be read, only a
// caller that reaches its key gets the error; earlier machines may be all that was requested.
func (a *archive) advance(p *archivePart) {
	p.begun, p.due = true, false
	before := ""
	if e := p.entry; e != nil {
		before = e.key
		p.last = &e.key
		if e.typed == nil { // it is not requested
			su, err := a.suiteOf(e.header, p.shownKey(e.key))
			if err == nil {
				err = su.Skip(p.r.Stream(), e.header)
			}
			if err != nil {
				p.entry = &archived{key: before, err: err}
				return
			}
		}
	}
	key, h, err := p.r.Next()
	if err == io.EOF {
		p.entry = nil
		return
	}
	if err != nil { // whatever comes, it is no earlier
		p.entry = &archived{key: before, err: err}
		return
	}
	if p.r.Type == fst.ArchiveSingle {
		key = p.name
	}
	p.entry = &archived{key: key, a: a, p: p, header: h}
}

// shownKey names an entry in errors.
func (p *archivePart) shownKey(key string) string { return fmt.Sprintf("%s, key %q", p.shown, key) }

// suiteOf returns what works on the weights of the machine behind h, which must be those of all
// machines.
func (a *archive) suiteOf(h *fst.Header, shown string) (suite.Suite, error) {
	su, err := arctypes.Of(h.ArcType)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	if a.suite == nil {
		a.suite = su
	} else if a.suite.ArcType() != su.ArcType() {
		return nil, fmt.Errorf("%s: arc type %s among machines over %s", shown, su.ArcType(), a.suite.ArcType())
	}
	return su, nil
}

// read reads the machine of p under key whose header has been read.
func (a *archive) read(p *archivePart, key string, h *fst.Header) (*typed, error) {
	shown := p.shownKey(key)
	su, err := a.suiteOf(h, shown)
	if err != nil {
		return nil, err
	}
	if err := a.c.examineHeader(h, shown); err != nil {
		return nil, err
	}
	m, err := su.Read(p.r.Stream(), h)
	if err != nil {
		return nil, err
	}
	t := &typed{Suite: su, m: m, fstType: h.FstType, header: h}
	return t, a.c.examine(t, shown)
}

// next returns the entry with the lowest key, nil after the last. What cannot be read comes again
// and again.
func (a *archive) next() *archived {
	var best *archivePart
	for _, p := range a.parts {
		if !p.begun || p.due && p.entry.err == nil {
			a.advance(p)
		}
		if p.entry != nil && (best == nil || p.entry.key < best.entry.key) {
			best = p
		}
	}
	if best == nil {
		return nil
	}
	best.due = true
	return best.entry
}

func (a *archive) Close() {
	for _, p := range a.parts {
		if p.close != nil {
			p.close()
		}
	}
}

// seek returns the first machine whose key is begin or a later one, nil if there is none. Archives
// with an index are read from there on. Others are read from the current position, if that is not
// too far, or from the start. Plain machines answer to any key that starts with theirs, as in
// OpenFst.
func (a *archive) seek(begin string) *archived {
	failed := func(err error) *archived { return &archived{key: "", err: err} }
	for _, p := range a.parts {
		var err error
		switch {
		case p.r.Type == fst.ArchiveTable && (begin != "" || p.begun):
			p.entry, p.due, p.begun = nil, false, false
			err = p.r.Seek(begin)
		case p.last != nil && (*p.last >= begin || a.ftype == fst.ArchiveSingle) || p.entry == nil && p.begun:
			err = a.open(p)
		default:
			p.due = false
		}
		if err != nil {
			return failed(err)
		}
	}
	for {
		e := a.next()
		if e == nil || e.err != nil || e.key >= begin || a.ftype == fst.ArchiveSingle {
			return e
		}
	}
}

// arcType returns the arc type of the machines, "" if there are none: of those that were read, or
// else of the first. Nothing can be asked for after it.
func (a *archive) arcType() (string, error) {
	for _, p := range a.parts {
		if a.suite != nil {
			break
		}
		if p.entry == nil && p.r.Type == fst.ArchiveTable { // perhaps all are before the key that was asked for
			if err := p.r.Seek(""); err != nil {
				return "", err
			}
			a.advance(p)
		}
		if e := p.entry; e != nil {
			if e.err != nil {
				return "", e.err
			}
			if _, err := a.suiteOf(e.header, p.shownKey(e.key)); err != nil {
				return "", err
			}
		}
	}
	if a.suite == nil {
		return "", nil
	}
	return a.suite.ArcType(), nil
}

// answers reports whether e, which seek returned for key, is what the archive has under it.
func (a *archive) answers(e *archived, key string) bool {
	return e != nil && (e.key == key || a.ftype == fst.ArchiveSingle)
}

// each calls do for the machines from begin to end, "" for no bound; begin need not be there.
func (a *archive) each(begin, end string, do func(*archived) error) error {
	for e := a.seek(begin); e != nil && (end == "" || e.key <= end); e = a.next() {
		if err := e.load(); err != nil {
			return err
		}
		if err := do(e); err != nil {
			return err
		}
	}
	return nil
}

// archiveNames returns the arguments, standard input where there are none.
func (c *call) archiveNames() []string {
	if len(c.args) == 0 {
		return []string{""}
	}
	return c.args
}

// padded prints n with leading zeros up to width digits.
func padded(n, width int) string {
	s := strconv.Itoa(n)
	return strings.Repeat("0", max(0, width-len(s))) + s
}

var _ = offer(&tool{name: "farcreate", args: "[in1.fst [in2.fst ...] out.far]", max: -1,
	looks:   true,
	summary: "Makes an archive of machines.", about: `
Keys are the names of files without their directories, or with --generate_keys=N numbers of N
digits. They must be in byte order, the order of LC_ALL=C sort and of the shell's *.fst in that
locale.

  farcreate a.fst b.fst out.far

Time O(states + arcs), a machine in memory at a time.`,
	setup: func(fs *flags.Set) func(*call) error {
		farFlags(fs)
		typ := farTypeFlag(fs, newFarType)
		lists := fs.Bool("file_list_input", false, "Inputs are lists of files, one a line")
		generate := fs.Int("generate_keys", 32, 0, "Number keys with this many digits")
		prefix := fs.String("key_prefix", "", "What all keys begin with")
		suffix := fs.String("key_suffix", "", "What all keys end with")
		return func(c *call) error {
			inputs, out := c.args, ""
			if n := len(inputs); n > 1 {
				inputs, out = inputs[:n-1], inputs[n-1]
			} else if n == 0 {
				inputs = []string{""}
			}
			if *lists {
				var err error
				if inputs, err = c.listed(inputs); err != nil {
					return err
				}
			}
			t := archiveType(*typ, out)
			c.plain = true
			return c.Output(out, func(w io.Writer) error {
				a, err := c.newArchive(w, t)
				if err != nil {
					return err
				}
				arcType := ""
				for i, name := range inputs {
					m, err := c.readMachine(name)
					if err != nil {
						return err
					}
					if arcType != "" && m.ArcType() != arcType {
						return fmt.Errorf("%s is over %s, the machines before it over %s", name, m.ArcType(), arcType)
					}
					arcType = m.ArcType()
					key := keyOf(name)
					if *generate > 0 {
						key = padded(i+1, int(*generate))
					}
					if err := a.add(m, *prefix+key+*suffix, m.m,
						&fst.WriteOptions{Type: m.fstType, Align: m.header.Flags&fst.IsAligned != 0 ||
							*c.lib.align}); err != nil {
						return fmt.Errorf("%s: %w", name, err)
					}
				}
				return a.Close()
			})
		}
	}})

// farTypeFlag defines --far_type; otherwise says what the default is.
func farTypeFlag(fs *flags.Set, otherwise string) *string {
	return fs.Enum("far_type", "default", []string{"default", "fst", "stlist", "sttable"},
		"Format; by default "+otherwise)
}

// newFarType is the default of archives that are made, and that of archives that are made of
// others.
const (
	newFarType  = "sttable, and stlist on standard output"
	sameFarType = "that of the input"
)

// farFlags defines the flag that OpenFst's tools of archives share, which only farprintstrings has
// a use for.
func farFlags(fs *flags.Set) {
	fs.String("far_field_separator", "\t", "No effect here: strings and their fields are printed by "+
		"farprintstrings alone")
	fs.Library("far_field_separator")
}

// archiveWriter is an archive in the making. Of type fst it takes the first machine, and says
// once that it drops the others.
type archiveWriter struct {
	*fst.ArchiveWriter
	c    *call
	t    fst.ArchiveType
	n    int
	last string
}

func (c *call) newArchive(w io.Writer, t fst.ArchiveType) (*archiveWriter, error) {
	a, err := fst.NewArchiveWriter(w, t)
	return &archiveWriter{ArchiveWriter: a, c: c, t: t}, err
}

// add writes a machine over s under a key.
func (a *archiveWriter) add(s suite.Suite, key string, m machine, o *fst.WriteOptions) error {
	if a.n++; a.t == fst.ArchiveSingle && a.n > 1 {
		if a.n == 2 {
			a.c.Warn(a.c.prog, "key %q: an archive of type fst holds one machine: this one and those after it are dropped", key)
		}
		return nil
	}
	err := s.AddTo(a.ArchiveWriter, key, m, o)
	if last := a.last; errors.Is(err, fst.ErrArchive) && key < last {
		return fmt.Errorf("keys must be in order, byte by byte, and %q comes after %q: name the files in the "+
			"order of `LC_ALL=C sort`, or number the keys by --generate_keys", key, last)
	}
	a.last = key
	return err
}

// archiveType is the type that --far_type means for an output.
func archiveType(flag, out string) fst.ArchiveType {
	switch {
	case flag != "default":
		return fst.ArchiveType(flag)
	case cli.IsStandard(out):
		return fst.ArchiveList
	}
	return fst.ArchiveTable
}

// keyOf is the key of a machine or string that comes from a file: its name, or in fst run that of
// the variable.
func keyOf(name string) string { return filepath.Base(strings.TrimPrefix(name, variable)) }

// listed reads the names that files list, one a line.
func (c *call) listed(files []string) (names []string, err error) {
	for _, name := range files {
		r, shown, err := c.Open(name)
		if err != nil {
			return nil, err
		}
		in := bufio.NewScanner(r)
		in.Buffer(nil, 1<<20) // more than any name
		for in.Scan() {
			line := strings.TrimRight(in.Text(), "\r")
			if strings.Contains(line, variable) {
				r.Close()
				return nil, fmt.Errorf("%s: %q is not the name of a file", shown, line)
			}
			if line != "" {
				names = append(names, line)
			}
		}
		r.Close()
		if err := in.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", shown, err)
		}
	}
	return names, nil
}

var _ = offer(&tool{name: "farextract", args: "[in1.far in2.far ...]", max: -1,
	looks:   true,
	summary: "Writes the machines of archives to files.", about: `
Each machine goes to a file named by its key between --filename_prefix and --filename_suffix. Of
several machines under one key the others get .1, .2 and so on. Keys that lead out of the
directory are rejected.

  farextract --filename_suffix=.fst in.far
  farextract --keys=a,k-m in.far

Time O(states + arcs), a machine in memory at a time.`,
	setup: func(fs *flags.Set) func(*call) error {
		farFlags(fs)
		prefix := fs.String("filename_prefix", "", "What file names begin with")
		suffix := fs.String("filename_suffix", "", "What file names end with")
		generate := fs.Int("generate_filenames", 32, 0, "Number files with this many digits")
		separator := fs.String("key_separator", ",", "Separator of --keys")
		keys := fs.String("keys", "", "Keys, and ranges of keys, to extract")
		delimiter := fs.String("range_delimiter", "-", "Delimiter of the ends of a range")
		return func(c *call) error {
			c.plain = true
			okey, repeats := "", 0
			extract := func(e *archived, i int) error {
				if e.key == okey && i > 0 {
					repeats++
				} else {
					repeats = 0
				}
				okey = e.key
				name := e.key
				switch {
				case *generate > 0:
					name = padded(i, int(*generate))
				case !filepath.IsLocal(name) || strings.Contains(name, variable): // which no file may name
					return fmt.Errorf("key %q: not the name of a file here (--generate_filenames numbers them)", name)
				case repeats > 0:
					name += "." + strconv.Itoa(repeats)
				}
				return c.Output(*prefix+name+*suffix, func(w io.Writer) error {
					return e.Write(w, e.m, &fst.WriteOptions{Type: e.fstType, Align: e.header.Flags&fst.IsAligned != 0})
				})
			}
			if *keys == "" {
				a, err := c.openArchive(c.archiveNames()...)
				if err != nil {
					return err
				}
				defer a.Close()
				i := 0
				return a.each("", "", func(e *archived) error { i++; return extract(e, i) })
			}
			a, err := c.openArchive(c.archiveNames()...)
			if err != nil {
				return err
			}
			defer a.Close()
			single := a.ftype == fst.ArchiveSingle
			i := 0
			for _, k := range strings.FieldsFunc(*keys,
				func(r rune) bool { return strings.ContainsRune(*separator, r) }) {
				begin, end, ranged := strings.Cut(k, *delimiter)
				if ranged && (begin == "" || end == "" || strings.Contains(end, *delimiter)) {
					return fmt.Errorf("flag --keys: %q is not a range", k)
				}
				e := a.seek(begin)
				if err := e.failed(); err != nil {
					return err
				}
				if !a.answers(e, begin) { // even where no key is in between, as in OpenFst
					return fmt.Errorf("there is no key %q", begin)
				}
				if !ranged {
					if err := e.load(); err != nil {
						return err
					}
					first := *e
					first.key = begin // that of a plain machine, too
					if err := extract(&first, i); err != nil {
						return err
					}
					i++
					continue
				}
				if single && e.key > end {
					return fmt.Errorf("there is no key %q", begin)
				}
				for ; e != nil && e.key <= end; e = a.next() {
					if err := e.load(); err != nil {
						return err
					}
					if err := extract(e, i); err != nil {
						return err
					}
					i++
				}
			}
			return nil
		}
	}})

// keyRange defines --begin_key and --end_key.
func keyRange(fs *flags.Set) (begin, end *string) {
	return fs.String("begin_key", "", "First key, or one before it (default: the first of the archive)"),
		fs.String("end_key", "", "Last key (default: the last of the archive)")
}

var _ = offer(&tool{name: "farinfo", args: "[in1.far in2.far ...]", max: -1,
	looks:   true,
	summary: "Prints what is in archives.", about: `
  farinfo --list_fsts in.far

Time O(states + arcs), a machine in memory at a time.`,
	setup: func(fs *flags.Set) func(*call) error {
		farFlags(fs)
		begin, end := keyRange(fs)
		list := fs.Bool("list_fsts", false, "A line for each machine")
		return func(c *call) error {
			c.plain = true
			a, err := c.openArchive(c.archiveNames()...)
			if err != nil {
				return err
			}
			defer a.Close()
			type row struct {
				key, typ             string
				states, arcs, finals int
			}
			var rows []row // where they are asked for
			var total row
			n := 0
			var types []string
			err = a.each(*begin, *end, func(e *archived) error {
				d := e.Describe(e.m, &ops.DescribeOptions{SizeOnly: true})
				n++
				if *list {
					rows = append(rows, row{e.key, e.fstType, d.States, d.Arcs, d.Finals})
				}
				total.states, total.arcs, total.finals = total.states+d.States, total.arcs+d.Arcs, total.finals+d.Finals
				if !slices.Contains(types, e.fstType) {
					types = append(types, e.fstType)
				}
				return nil
			})
			if err != nil {
				return err
			}
			slices.Sort(types)
			arcType, err := a.arcType()
			if err != nil {
				return err
			}
			return c.Output("", func(w io.Writer) error {
				if !*list {
					infoLine(w, "far type", a.ftype)
					infoLine(w, "arc type", cmp.Or(arcType, "error")) // what OpenFst calls that of an empty archive
					infoLine(w, "fst type", strings.Join(types, ","))
					infoLine(w, "# of FSTs", n)
					infoLine(w, "total # of states", total.states)
					infoLine(w, "total # of arcs", total.arcs)
					infoLine(w, "total # of final states", total.finals)
					return nil
				}
				wide := []int{10, 10, 14, 12, 20}
				digits := func(n int) int { return int(math.Ceil(math.Log10(float64(n)))) + 2 }
				for _, r := range rows {
					for i, n := range []int{len(r.key) + 2, len(r.typ) + 2, digits(r.states), digits(r.arcs),
						digits(r.finals)} {
						wide[i] = max(wide[i], n)
					}
				}
				fmt.Fprintf(w, "%-*s%-*s%*s%*s%*s\n", wide[0], "key", wide[1], "type", wide[2], "# of states", wide[3],
					"# of arcs", wide[4], "# of final states")
				for _, r := range rows {
					// OpenFst fills a column up by bytes, fmt by characters.
					fill := strings.Repeat(" ", wide[0]-len(r.key))
					fmt.Fprintf(w, "%s%s%-*s%*d%*d%*d\n", r.key, fill, wide[1], r.typ, wide[2], r.states, wide[3], r.arcs,
						wide[4], r.finals)
				}
				return nil
			})
		}
	}})

// comparingArchives makes the two tools that compare archives key by key.
func comparingArchives(name, summary string, same func(a, b *archived, delta float64) (bool, error)) *tool {
	return &tool{name: name, args: "in1.far in2.far", min: 2, max: 2, looks: true, summary: summary, about: `
Exit status 0 if all machines are the same, 2 if not.

  ` + name + ` a.far b.far

Time O(states + arcs · log(arcs at a state)), two machines in memory at a time.`,
		setup: func(fs *flags.Set) func(*call) error {
			farFlags(fs)
			begin, end := keyRange(fs)
			delta := fs.Float32("delta", ops.DefaultDelta, "Difference of weights to pass over")
			return func(c *call) error {
				if cli.IsStandard(c.args[0]) && cli.IsStandard(c.args[1]) {
					return errors.New("can't take both inputs from standard input")
				}
				c.plain = true
				var as [2]*archive
				for i := range as {
					a, err := c.openArchive(c.args[i])
					if err != nil {
						return err
					}
					defer a.Close()
					as[i] = a
				}
				differ := func(format string, args ...any) error {
					fmt.Fprintf(c.Err, "ERROR: %s: %s\n", c.prog, fmt.Sprintf(format, args...))
					return errDifferent
				}
				x, y := as[0].seek(*begin), as[1].seek(*begin)
				if err := cmp.Or(x.failed(), y.failed()); err != nil {
					return err
				}
				var types [2]string
				for i, e := range []*archived{x, y} {
					var err error
					if e != nil { // the type of a machine at hand, without going from it
						types[i] = e.header.ArcType
					} else if types[i], err = as[i].arcType(); err != nil {
						return err
					}
				}
				if t, u := types[0], types[1]; t != "" && u != "" && t != u {
					return fmt.Errorf("archives must have the same arc type: %s is over %s, %s over %s",
						c.args[0], t, c.args[1], u)
				}
				if *begin != "" {
					// As in OpenFst, archives are the same from a key on that neither has.
					has0, has1 := as[0].answers(x, *begin), as[1].answers(y, *begin)
					switch {
					case !has0 && !has1:
						return nil
					case !has0:
						return differ("key %s is missing from the first archive", *begin)
					case !has1:
						return differ("key %s is missing from the second archive", *begin)
					}
				}
				for ; ; x, y = as[0].next(), as[1].next() {
					if x != nil && y != nil && *end != "" && *end < x.key && *end < y.key {
						return nil
					}
					if err := cmp.Or(x.load(), y.load()); err != nil {
						return err
					}
					switch {
					case x == nil && y == nil:
						return nil
					case x == nil:
						return differ("key %s is missing from the first archive", y.key)
					case y == nil:
						return differ("key %s is missing from the second archive", x.key)
					case x.key != y.key:
						return differ("mismatched keys %s and %s", x.key, y.key)
					}
					ok, err := same(x, y, *delta)
					if err != nil {
						return fmt.Errorf("key %s: %w", x.key, err)
					}
					if !ok {
						return differ("the machines of key %s are not the same", x.key)
					}
				}
			}
		}}
}

var _ = offer(comparingArchives("farequal", "Tells whether two archives hold equal machines under "+
	"equal keys.",
	func(a, b *archived, delta float64) (bool, error) { return a.Equal(a.m, b.m, delta) == nil, nil }))

var _ = offer(comparingArchives("farisomorphic", "Tells whether two archives hold isomorphic "+
	"machines under equal keys.",
	func(a, b *archived, delta float64) (bool, error) { return a.Isomorphic(a.m, b.m, delta) }))
