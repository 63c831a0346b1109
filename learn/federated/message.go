package federated

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/model"
)

// Messages are files of package model: a JSON header, arrays, a checksum.
const (
	messageKind    = "federated"
	messageVersion = 1
)

// Head is the common part of all messages.
type Head struct {
	Run    string `json:"run"`            // identity of the run; see Config.Run
	Phase  string `json:"phase"`          // what is asked for or answered: "join", "boost", ...
	Number int    `json:"number"`         // of the exchange within the run, from 1; 0 is none
	Round  int    `json:"round"`          // of training, from 1; 0 before
	Agent  string `json:"agent"`          // whom it goes to, or comes from
	Code   Code   `json:"code,omitempty"` // of an answer that is an error
	Text   string `json:"text,omitempty"`

	// Of answers: the agent's rows, and a fingerprint of the names of its columns.
	Rows    int    `json:"rows,omitempty"`
	Columns string `json:"columns,omitempty"`

	Body json.RawMessage `json:"body,omitempty"`
}

// Message is a message in memory.
type Message struct {
	Head
	c       *model.Container
	payload int64 // bytes of its arrays
}

// newMessage makes a message; body is what encodes to a JSON object, nil for none.
func newMessage(h Head, body any) *Message {
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			panic(err) // bodies are structs of this package
		}
		h.Body = b
	}
	return &Message{Head: h, c: model.New(messageKind, messageVersion)}
}

// put adds an array.
func put[T model.Element](m *Message, name string, v []T, shape ...int) {
	model.Put(m.c, name, v, shape...)
	m.payload += int64(len(v)) * int64(width[T]())
}

func width[T model.Element]() int {
	switch any(*new(T)).(type) {
	case float64, int64, uint64:
		return 8
	case uint8:
		return 1
	}
	return 4
}

// Encode returns the message as it is sent.
func (m *Message) Encode() ([]byte, error) {
	if err := m.c.SetMeta(m.Head); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := m.c.Write(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Decode reads a message. It trusts nothing: what departs from the format is an *Error.
func Decode(b []byte) (*Message, error) {
	m := &Message{}
	var err error
	m.c, err = model.ReadKind(bytes.NewReader(b), messageKind, messageVersion, &m.Head)
	switch {
	case errors.Is(err, model.ErrVersion):
		return nil, &Error{Code: NewerVersion, Err: err}
	case err != nil:
		return nil, &Error{Code: Malformed, Err: err}
	}
	return m, nil
}

// body decodes the body into v.
func (m *Message) body(v any) error {
	if len(m.Body) == 0 {
		return fail(Malformed, m.Agent, "the message %q has no body", m.Phase)
	}
	if err := json.Unmarshal(m.Body, v); err != nil {
		return &Error{Code: Malformed, Agent: m.Agent, Msg: "body", Err: err}
	}
	return nil
}

// get returns an array of exactly that shape; -1 stands for any extent.
func get[T model.Element](m *Message, name string, shape ...int) ([]T, error) {
	v, err := model.Get[T](m.c, name, shape...)
	if err != nil {
		return nil, &Error{Code: WrongShape, Agent: m.Agent, Err: err}
	}
	return v, nil
}

// floats is get for numbers, which must be finite.
func floats(m *Message, name string, shape ...int) ([]float64, error) {
	v, err := get[float64](m, name, shape...)
	if err != nil {
		return nil, err
	}
	for i, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fail(NotFinite, m.Agent, "number %d of %q is %v", i+1, name, x)
		}
	}
	return v, nil
}

// failed is the answer of an agent that cannot answer.
func failed(h Head, err error) *Message {
	h.Code, h.Body = CodeOf(err), nil
	if h.Code == 0 {
		h.Code = BadTable
	}
	var e *Error
	if errors.As(err, &e) {
		h.Text = e.Msg
		if e.Err != nil && e.Msg != "" {
			h.Text = fmt.Sprintf("%s: %v", e.Msg, e.Err)
		} else if e.Err != nil {
			h.Text = e.Err.Error()
		}
	} else {
		h.Text = err.Error()
	}
	return newMessage(h, nil)
}

// Array is a named array of a message.
type Array struct {
	Name  string
	Shape []int
}

// Arrays lists the arrays of a message.
func (m *Message) Arrays() []Array {
	var out []Array
	for _, n := range m.c.Names() {
		s, _ := m.c.Shape(n)
		out = append(out, Array{n, s})
	}
	return out
}
