package table

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tropica-fst/tropica/learn/metrics"
)

// Reasons for which data are refused, for errors.Is.
var (
	ErrSyntax   = errors.New("not the form of a table")
	ErrValue    = errors.New("a value that cannot be used")
	ErrColumns  = errors.New("columns that do not fit")
	ErrTooLarge = errors.New("larger than the limit")
	ErrUseless  = errors.New("nothing can be learned from it")
)

// Error says what is wrong with a table, and where.
type Error struct {
	Name   string // of the input
	Line   int    // from 1; 0 when no line is meant, or there are none
	Row    int    // of the data, from 1 (the header is not a row); 0 when no row is meant
	Column string // name of the column; "" when no column is meant
	Msg    string // what is wrong, and what to do
	Err    error  // one of the reasons above, or the reader's own error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Name)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
		if e.Row > 0 {
			fmt.Fprintf(&b, " (row %d)", e.Row)
		}
	} else if e.Row > 0 {
		fmt.Fprintf(&b, ": row %d", e.Row)
	}
	if e.Column != "" {
		fmt.Fprintf(&b, ": column %s", quote(e.Column))
	}
	return b.String() + ": " + e.Msg
}

func (e *Error) Unwrap() error { return e.Err }

// quote shows text from the input, shortened and on one line.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		n := most
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		return fmt.Sprintf("%q…", s[:n])
	}
	return fmt.Sprintf("%q", s)
}

// names lists names for a message, the first few of many.
func names(list []string) string {
	const most = 12
	var b strings.Builder
	for i, s := range list {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(list)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(s))
	}
	if len(list) == 0 {
		return "none"
	}
	return b.String()
}

// nearest returns the name that is spelt most like s, "" when none comes close:
// more than a third of the letters would have to change.
func nearest(s string, list []string) string {
	best, at := (len(s)+1)/3, ""
	if len(s) > 200 {
		return ""
	}
	low := strings.ToLower(s)
	for i, n := range list {
		if i == 10000 { // enough for a hint
			break
		}
		if len(n) > len(s)+best || len(n)+best < len(s) {
			continue
		}
		if d := metrics.EditDistance([]byte(low), []byte(strings.ToLower(n))); d <= best && (at == "" || d < best) {
			best, at = d, n
		}
	}
	return at
}
