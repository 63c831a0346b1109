package table

import (
	"context"
	"io"

	"github.com/tropica-fst/tropica/learn/run"
)

// Format is the form of the input.
type Format string

const (
	Auto   Format = ""       // by the name, then by the first bytes
	CSV    Format = "csv"    // fields between commas (or semicolons), RFC 4180 quotes
	TSV    Format = "tsv"    // fields between tabs, no quotes (IANA text/tab-separated-values)
	LibSVM Format = "libsvm" // "label index:value ..." with the zeros left out
	IDX    Format = "idx"    // the binary format of MNIST
)

// Task is what the target is for.
type Task string

const (
	// AutoTask is classification when the target has words, or at most 32 values
	// that are all integers; else regression.
	AutoTask       Task = ""
	Classification Task = "classification" // values are names of classes
	Regression     Task = "regression"     // values are numbers
)

// Options adjusts Read; nil is the same as the zero value.
//
// A column is named by its name in the header, or by its place: "#1" is the
// first and "#-1" the last. A header that has such a name comes first.
type Options struct {
	Format Format // zero: by name and content

	Target      string   // the column to predict; "" for none (LIBSVM: always the first field)
	Source      string   // the column that names each row's domain; "" for none
	Weight      string   // the column of row weights; "" for none
	Categorical []string // columns to read as levels even where they look like numbers
	Drop        []string // columns to leave out
	// columns to leave out where they are there: no error where not, or in a format that has none
	// of the name
	Unread     []string
	Task       Task // what the target is for
	KeepSource bool // the source column is a feature as well
	// AbsentMissing has what lines of LIBSVM leave out read as missing, as XGBoost reads it, not
	// as 0. With Like, its field of that name decides.
	AbsentMissing bool
	NoHeader      bool // the first line is data; columns are then called "#1", "#2", ...
	// between fields; zero: the format's (a comma; a semicolon if the first line has no comma)
	Separator byte

	// Missing lists the texts that stand for a missing value, beside blanks; nil is
	// "", "?", "NA", "N/A", "null", "NULL", "nan", "NaN", "NAN".
	Missing []string

	// How numbers and dates are written; with Like, fields left zero here come from its Reading. A
	// column whose texts would be numbers or dates written in another way is an error, which names
	// that way. It is not taken for a categorical column unless Categorical lists it.
	Decimal   string   // the decimal mark: "." or ","; "" is "."
	Thousands string   // the mark between groups of three digits: one of , . ' _ and a blank; "" is None
	Symbols   []string // texts before or after numbers that are not read: $, €, %, kg
	// the order of dates: "ymd", "dmy" or "mdy"; "" is None. Dates are days since 1970-01-01, times
	// fractions of a day
	Dates string

	ID []string // columns that are carried along in Table.ID and are no features

	// Extra has columns that Like does not have left out, where they are an error otherwise.
	Extra bool

	// Like requires data of the same form as this table; its rows do not matter. Columns are found
	// by name and put in its order, and a missing or additional column is an error. Levels that it
	// does not have become missing values, with a warning. The target, source and weight may be
	// absent; classes and sources that are present must be its own.
	Like *Table

	// Storage says how features are kept. Learners that need every cell ask for DenseStorage, and
	// get an error where it would take too much memory.
	Storage Storage

	// Classes, if not nil, are those that the target may have: the codes are their places in this
	// list, and another one is an error. Rows of a single class are then acceptable. Like, where
	// given, has its own.
	Classes []string

	// Labels is the file of labels that belongs to an IDX file of images (it may be
	// compressed); nil for none. Open finds it by its name.
	Labels     io.Reader
	LabelsName string // for messages

	// Ctx, when it is cancelled, ends reading with its error; nil is never cancelled.
	Ctx context.Context

	Workers int // parsers at work at the same time; zero: GOMAXPROCS. The result is the same for any number.

	MaxRows   int   // zero: no limit but MaxCells
	MaxBytes  int64 // of uncompressed input; zero: no limit
	MaxCells  int64 // of the table (4 bytes each); zero: 2³⁰
	MaxRecord int   // bytes of one row; zero: 64 MiB
	MaxLevels int   // of one categorical column; zero: 2¹⁶. More is most likely an identifier.
}

// DefaultMissing are the texts that stand for a missing value unless options say
// otherwise.
var DefaultMissing = []string{"", "?", "NA", "N/A", "null", "NULL", "nan", "NaN", "NAN"}

const (
	autoClasses = 32      // integers with at most this many values are classes by default
	maxClasses  = 1 << 16 // of a target that is said to be a class
	maxColumns  = 1 << 20 // of any table: each costs some hundred bytes even without rows
)

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	d.Workers = min(run.WorkersOf(d.Workers), 256)
	if d.MaxCells <= 0 {
		d.MaxCells = 1 << 30
	}
	if d.MaxRecord <= 0 {
		d.MaxRecord = 64 << 20
	}
	if d.MaxLevels <= 0 {
		d.MaxLevels = 1 << 16
	}
	d.MaxLevels = min(d.MaxLevels, 1<<24) // a float32 counts that far
	return d
}

// cancelled is an error once Ctx is cancelled. It is asked in all loops that may take long.
func (o *Options) cancelled(name string) error {
	if o.Ctx != nil && o.Ctx.Err() != nil {
		return &Error{Name: name, Msg: "reading was stopped: " + o.Ctx.Err().Error(), Err: o.Ctx.Err()}
	}
	return nil
}

// patient is a reader that ends when a context is cancelled. A read that waits for input is not
// waited for.
type patient struct {
	ctx   context.Context
	r     io.Reader
	state chan read // of the read that is under way; nil without one
	buf   []byte
	rest  []byte // of what was read, not yet given out
	err   error
}

type read struct {
	n   int
	err error
}

func (p *patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	if len(p.rest) == 0 && p.err == nil && len(b) > 0 {
		if p.buf == nil {
			p.buf = make([]byte, 1<<18)
		}
		p.state = make(chan read, 1)
		go func() {
			n, err := p.r.Read(p.buf)
			p.state <- read{n, err}
		}()
		select {
		case got := <-p.state:
			p.rest, p.err = p.buf[:got.n], got.err
		case <-p.ctx.Done():
			p.err = p.ctx.Err() // the buffer is the reader's for good
			return 0, p.err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	if len(p.rest) == 0 && n == 0 {
		return 0, p.err
	}
	return n, nil
}

// known reports the classes that the target may have, and whether that is decided: nil is then
// a target of numbers.
func (o *Options) known() (classes []string, ok bool) {
	if o.Like != nil {
		return o.Like.Classes, true
	}
	return o.Classes, o.Classes != nil
}
