package calls

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"unsafe"
)

// CallAttach, which only a pipe has, makes the file whose name is its argument the memory of the
// calls that follow.
const CallAttach = 0

// A request is its number, the call, and the size of its arguments, each of four bytes, little
// end first, then the arguments. An answer is the request's number, the status, the element of
// eight bytes, the sizes of text and arguments, and those two.
const (
	requestHead = 12
	answerHead  = 24
	mostArgs    = 1 << 16
)

// Serve answers requests until r ends. Calls run side by side, and answers come in the order in
// which calls end. open maps the file of a name.
//
// The error is that of reading or writing, or says what is wrong with a request's frame.
func (s *Server) Serve(r io.Reader, w io.Writer, open func(name string) (Shared, error)) error {
	var mu sync.Mutex // of w and failed
	var failed error
	answer := func(id uint32, err error, args []byte) {
		head := make([]byte, answerHead, answerHead+len(args)+128)
		binary.LittleEndian.PutUint32(head, id)
		text := ""
		element := int64(-1)
		if err != nil {
			status := Invalid
			var e *Error
			if errors.As(err, &e) {
				status, element = e.Status, e.Element
			}
			binary.LittleEndian.PutUint32(head[4:], uint32(status))
			text = err.Error()
		}
		binary.LittleEndian.PutUint64(head[8:], uint64(element))
		binary.LittleEndian.PutUint32(head[16:], uint32(len(text)))
		binary.LittleEndian.PutUint32(head[20:], uint32(len(args)))
		mu.Lock()
		defer mu.Unlock()
		if _, err := w.Write(append(append(head, text...), args...)); err != nil && failed == nil {
			failed = err
		}
	}
	var memory Shared
	var running sync.WaitGroup
	defer running.Wait()
	head := make([]byte, requestHead)
	for {
		if _, err := io.ReadFull(r, head); err != nil {
			if err == io.EOF {
				return nil
			}
			return fmt.Errorf("request: %w", err)
		}
		id, number, size := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:]),
			binary.LittleEndian.Uint32(head[8:])
		if size > mostArgs {
			return fmt.Errorf("request %d: %d bytes of arguments, at most %d are allowed", id, size, mostArgs)
		}
		words := make([]uint64, (size+7)/8+1) // aligned to eight
		args := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))[:size]
		if _, err := io.ReadFull(r, args); err != nil {
			return fmt.Errorf("request %d: %w", id, err)
		}
		if number == CallAttach {
			m, err := open(string(args))
			if err == nil {
				memory = m
			}
			answer(id, err, nil)
			continue
		}
		m := memory
		if number == CallCancel || number == CallCancelNew { // in order: what they are for may be next
			answer(id, s.Call(number, args, m), args)
			continue
		}
		running.Go(func() { answer(id, s.Call(number, args, m), args) })
		mu.Lock()
		err := failed
		mu.Unlock()
		if err != nil {
			return err
		}
	}
}
