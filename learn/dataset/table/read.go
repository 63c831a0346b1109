package table

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Read reads a table. name appears in messages, and gives the format where Options do not: .csv,
// .tsv or .tab, .libsvm or .svm, and idx for IDX, each perhaps with .gz. For any other name the
// first bytes decide. Gzip is recognised by its first bytes, not by the name.
//
// Errors are of type *Error, with the line, the row and the column where there is
// one; warnings are in the table. Time is linear in the input; memory beyond the
// table is a few blocks for each worker.
func Read(r io.Reader, name string, opts *Options) (*Table, error) {
	o := opts.withDefaults()
	if o.Ctx != nil {
		r = &patient{ctx: o.Ctx, r: r}
	}
	in, err := open(r, name)
	if err != nil {
		return nil, err
	}
	format := o.Format
	if format == Auto {
		format = byName(name)
	}
	head, _ := in.Peek(1 << 12) // an error comes back on reading
	if format == Auto {
		format = byContent(head)
	}
	if format == IDX {
		return readIDX(in, name, &o)
	}
	if err := textual(in, name); err != nil {
		return nil, err
	}
	if format == LibSVM {
		return readLibSVM(in, name, &o)
	}
	reading := o.reading()
	if err := reading.check(name); err != nil {
		return nil, err
	}
	head, _ = in.Peek(1 << 12)
	line, _, _ := bytes.Cut(head, newline)
	sep := o.Separator
	if s := reading.Separator; sep == 0 && s != "" && bytes.Contains(line, []byte(s)) {
		sep = s[0] // that of the model's table
	}
	switch format {
	case TSV:
		return readDelimited(in, name, &o, dialect{sep: cmp.Or(sep, '\t')})
	case CSV:
	default:
		return nil, &Error{Name: name, Msg: fmt.Sprintf("there is no format %q; there are csv, tsv, libsvm, idx",
			format),
			Option: "Format", Err: ErrSyntax}
	}
	if sep == 0 {
		sep = ','
		for _, other := range []byte(";\t|") {
			if bytes.IndexByte(line, sep) < 0 && bytes.IndexByte(line, other) >= 0 {
				sep = other
			}
		}
	}
	if sep == '"' || sep == '\n' || sep == '\r' || sep >= 0x80 || sep-'0' <= 9 || sep == '.' || sep == '-' ||
		sep == '+' || sep|0x20 == 'e' {
		return nil, &Error{Name: name, Msg: fmt.Sprintf("%q cannot separate fields", sep),
			Option: "Separator", Err: ErrSyntax}
	}
	return readDelimited(in, name, &o, dialect{sep: sep, quotes: true})
}

// Open reads the table in a file of fsys; see Read. The labels of an IDX file of
// images are found by the usual names: images-idx3 and labels-idx1.
func Open(fsys fs.FS, name string, opts *Options) (*Table, error) {
	o := opts.withDefaults()
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if base := path.Base(name); o.Labels == nil && strings.Contains(base, "images-idx") {
		labels := path.Join(path.Dir(name), strings.NewReplacer("images-idx3", "labels-idx1", "images-idx4",
			"labels-idx1").Replace(base))
		if labels != name {
			g, err := fsys.Open(labels)
			if err == nil {
				defer g.Close()
				o.Labels, o.LabelsName = g, labels
			} else if !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	return Read(f, name, &o)
}

// open takes off the compression.
func open(r io.Reader, name string) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	magic, _ := in.Peek(6)
	for _, m := range []struct{ magic, what string }{{"PK\x03\x04", "a zip archive"},
		{"\xfd7zXZ\x00", "compressed with xz"}, {"\x28\xb5\x2f\xfd", "compressed with zstd"},
		{"BZh", "compressed with bzip2"}, {"PAR1", "a Parquet file"}, {"ARROW1", "an Arrow file"}} {
		if bytes.HasPrefix(magic, []byte(m.magic)) {
			return nil, &Error{Name: name, Msg: "is " + m.what +
				"; of the compressed forms only gzip is read", Err: ErrSyntax}
		}
	}
	if len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
		return in, nil
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, &Error{Name: name, Msg: "gzip: " + err.Error(), Err: err}
	}
	return bufio.NewReaderSize(z, 1<<16), nil
}

// textual skips a byte order mark and refuses what is not text in UTF-8.
func textual(in *bufio.Reader, name string) error {
	if m, _ := in.Peek(3); string(m) == "\ufeff" {
		in.Discard(3)
	} else if len(m) >= 2 && (string(m[:2]) == "\xff\xfe" || string(m[:2]) == "\xfe\xff") {
		return &Error{Name: name, Msg: "is UTF-16; convert it to UTF-8", Err: ErrSyntax}
	}
	if head, _ := in.Peek(1 << 12); bytes.IndexByte(head, 0) >= 0 {
		return &Error{Name: name, Msg: "is not text: it has zero bytes; name its format", Err: ErrSyntax}
	}
	return nil
}

func byName(name string) Format {
	base := strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/"))), ".gz")
	switch path.Ext(base) {
	case ".csv":
		return CSV
	case ".tsv", ".tab":
		return TSV
	case ".libsvm", ".svm", ".svmlight":
		return LibSVM
	case ".idx", ".idx1", ".idx2", ".idx3", ".idx4":
		return IDX
	}
	if i := strings.LastIndex(base, "-idx"); i >= 0 && strings.HasSuffix(base, "-ubyte") {
		return IDX
	}
	return Auto
}

// byContent guesses the format from the first bytes: IDX by its magic number, LIBSVM by a colon in
// each field but the first, TSV by a tab in the first line.
func byContent(head []byte) Format {
	if len(head) >= 4 && head[0] == 0 && head[1] == 0 && idxSize(head[2]) > 0 {
		return IDX
	}
	line, _, _ := bytes.Cut(head, newline)
	line = bytes.TrimPrefix(line, []byte("\ufeff"))
	if bytes.IndexByte(line, '\t') >= 0 && bytes.IndexByte(line, ':') < 0 {
		return TSV
	}
	line, _, _ = bytes.Cut(line, []byte{'#'})
	fields := bytes.Fields(line)
	if len(fields) > 1 {
		for _, f := range fields[1:min(len(fields), 4)] {
			k, _, ok := bytes.Cut(f, []byte{':'})
			if _, fault := parseNumber(k, 64); !ok || fault != numberFine && string(k) != "qid" {
				ok = false
			}
			if !ok {
				if bytes.IndexByte(line, '\t') >= 0 {
					return TSV
				}
				return CSV
			}
		}
		return LibSVM
	}
	if bytes.IndexByte(line, '\t') >= 0 {
		return TSV
	}
	return CSV
}

// Uncompressed returns a reader of what r has, without its gzip compression if it
// has one.
func Uncompressed(r io.Reader, name string) (io.Reader, error) { return open(r, name) }
