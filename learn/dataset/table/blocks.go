package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// blockSize is how much of the input one parser takes at a time. It is a constant,
// so that where blocks begin does not depend on the number of workers. (256 KiB to
// 4 MiB make no difference that can be measured.)
const blockSize = 1 << 20

// blocks cuts the input into stretches of whole records.
type blocks struct {
	r       io.Reader
	name    string
	quotes  bool // a newline inside double quotes does not end a record
	max     int  // bytes of one record
	carry   []byte
	line    int // lines given out so far
	eof     bool
	free    chan []byte // buffers to use again; nil at first
	read    int64
	maxRead int64
}

// next returns the next block; io.EOF after the last. A newline is added to input
// that does not end in one.
//
// A record ends at a newline before which the number of quotes is even: quotes in
// a well-formed field come in pairs. In an ill-formed one they may not, but the
// parser meets the ill-formed field before it meets anything that was cut wrong.
// Every byte is looked at a fixed number of times: O(input).
func (s *blocks) next() ([]byte, error) {
	if s.eof {
		return nil, io.EOF
	}
	var buf []byte
	select {
	case buf = <-s.free:
	default:
	}
	buf = append(buf[:0], s.carry...)
	s.carry = s.carry[:0]
	want := max(blockSize, 2*len(buf))
	for {
		var err error
		buf, err = s.fill(buf, want)
		if err == io.EOF {
			s.eof = true
			if len(buf) == 0 {
				return nil, io.EOF
			}
			if buf[len(buf)-1] != '\n' {
				buf = append(buf, '\n')
			}
			s.line += bytes.Count(buf, newline)
			return buf, nil
		}
		if err != nil {
			return nil, s.readError(err, buf)
		}
		if cut := s.cut(buf); cut > 0 {
			s.carry = append(s.carry, buf[cut:]...)
			s.line += bytes.Count(buf[:cut], newline)
			return buf[:cut], nil
		}
		if len(buf) >= s.max {
			msg := fmt.Sprintf("the row that begins here is longer than %d bytes", s.max)
			if s.quotes && bytes.IndexByte(buf, '"') >= 0 {
				msg += "; is a quote not closed?"
			}
			return nil, &Error{Name: s.name, Line: s.line + 1, Msg: msg, Err: ErrTooLarge}
		}
		want = 2 * want
	}
}

var newline = []byte{'\n'}

// fill reads until buf has want bytes or there is no more.
func (s *blocks) fill(buf []byte, want int) ([]byte, error) {
	if cap(buf) < want+1 {
		buf = append(make([]byte, 0, want+1), buf...)
	}
	for idle := 0; len(buf) < want; {
		n, err := s.r.Read(buf[len(buf):want])
		buf = buf[:len(buf)+n]
		s.read += int64(n)
		if s.maxRead > 0 && s.read > s.maxRead {
			return buf, &Error{Name: s.name, Msg: fmt.Sprintf("more than %d bytes", s.maxRead), Err: ErrTooLarge}
		}
		if err != nil {
			return buf, err
		}
		if n > 0 {
			idle = 0
		} else if idle++; idle == 100 {
			return buf, io.ErrNoProgress
		}
	}
	return buf, nil
}

// cut returns the end of the last whole record in b, 0 if there is none.
func (s *blocks) cut(b []byte) int {
	if !s.quotes {
		return bytes.LastIndexByte(b, '\n') + 1
	}
	odd := bytes.Count(b, quoteMark)&1 != 0
	for end := len(b); end > 0; {
		i := bytes.LastIndexByte(b[:end], '\n')
		if i < 0 {
			return 0
		}
		odd = odd != (bytes.Count(b[i+1:end], quoteMark)&1 != 0)
		if !odd {
			return i + 1
		}
		end = i
	}
	return 0
}

var quoteMark = []byte{'"'}

// readError says where reading broke off.
func (s *blocks) readError(err error, seen []byte) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	line := s.line + 1 + bytes.Count(seen, newline)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &Error{Name: s.name, Line: line,
			Msg: "the compressed input ends in the middle; is the file cut short?", Err: err}
	}
	return &Error{Name: s.name, Line: line, Msg: "reading: " + err.Error(), Err: err}
}

// pipeline has the blocks parsed by workers at the same time, and merged one by
// one in their order. The caller's goroutine reads and merges, so that none is
// left reading when an error ends it.
func pipeline[C any](s *blocks, first []byte, workers int, parse func(data []byte) C,
	merge func(C) error) error {
	type job struct {
		data []byte
		done chan C
	}
	jobs := make(chan job)
	s.free = make(chan []byte, 2*workers+1)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for j := range jobs {
				j.done <- parse(j.data)
				select {
				case s.free <- j.data:
				default:
				}
			}
		})
	}
	defer wg.Wait()
	defer close(jobs)
	var queue []job
	for {
		data := first
		var err error
		if first = nil; data == nil {
			data, err = s.next()
		}
		if err != nil && err != io.EOF {
			// What comes before has errors of its own, perhaps, and they come first.
			for _, j := range queue {
				if err := merge(<-j.done); err != nil {
					return err
				}
			}
			return err
		}
		if err == nil {
			j := job{data, make(chan C, 1)}
			queue = append(queue, j)
			jobs <- j
		}
		for len(queue) > 2*workers || err == io.EOF && len(queue) > 0 {
			if err := merge(<-queue[0].done); err != nil {
				return err
			}
			queue = queue[1:]
		}
		if err == io.EOF {
			return nil
		}
	}
}
