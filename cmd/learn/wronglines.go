package main

import (
	"errors"
	"fmt"
	"strings"
)

// wrongLines collects what is wrong with lines of a stream. They are told of at the end, and cost
// no other line its output.
type wrongLines struct {
	what  string // "words", or what else the lines have
	first []string
	n     int
}

// maxWrong bounds the lines that an error tells of one by one.
const maxWrong = 10

func (w *wrongLines) add(err error) {
	if w.n++; len(w.first) < maxWrong {
		w.first = append(w.first, err.Error())
	}
}

// err is nil when all lines were right.
func (w *wrongLines) err() error {
	if w.n == 0 {
		return nil
	}
	text := fmt.Sprintf("%d %s were passed over; all others were answered:\n  ", w.n, w.what)
	if w.n == 1 {
		text = fmt.Sprintf("1 of the %s was passed over; all others were answered:\n  ", w.what)
	}
	text += strings.Join(w.first, "\n  ")
	if more := w.n - len(w.first); more > 0 {
		text += fmt.Sprintf("\n  and %d more", more)
	}
	return errors.New(text)
}
