package federated

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/run"
)

// Call is one exchange: a request for every agent of To, and an answer of each.
type Call struct {
	Number int // from 1, in the order of the run
	Phase  string
	Round  int
	To     []string // names, sorted
	// Groups are parts of To. A quorum of each must answer; nil is one of all.
	Groups [][]string
	// Request makes the request of an agent that has the terms up to have; see Agent.Have. It
	// may be called again, for an agent that has lost what it had.
	Request func(name string, have int) (*Message, error)
	// Accept returns an *Error for an answer that cannot be used. It counts as missing.
	Accept func(answer *Message) error
	Limit  int64 // of the bytes of an answer; larger ones are not read
}

// Answers are what came of a call.
type Answers struct {
	By      map[string][]byte // by agent: answers that were accepted
	Missing map[string]string // by agent: why there is none
	Down    int64             // bytes sent to agents
	Up      int64             // bytes of the answers that were accepted
}

// Exchange reaches agents. It returns when all have answered, or as it sees fit at a deadline
// with a quorum; otherwise with an error. It asks Call.Accept about every answer.
type Exchange interface {
	Ask(ctx context.Context, c *Call) (*Answers, error)
}

// Local reaches agents that are in this process: a simulation. It encodes and decodes what
// goes back and forth as if it were sent, and counts its bytes.
type Local struct {
	Agents  map[string]*Agent
	Workers int // goroutines; zero is GOMAXPROCS. Results do not depend on it
	// Lose, if not nil, reports which answers are lost, by agent, phase and round.
	Lose func(agent, phase string, round int) bool
}

// Ask implements Exchange. An agent's own error is a missing answer.
func (l *Local) Ask(ctx context.Context, c *Call) (*Answers, error) {
	type result struct {
		down   int
		answer []byte
		why    string
	}
	results := make([]result, len(c.To))
	err := run.Each(l.Workers, len(c.To), func(_, i int) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r, name := &results[i], c.To[i]
		a := l.Agents[name]
		if a == nil {
			r.why = "it is not there"
			return nil
		}
		for _, have := range []int{a.Have(), hasNothing} {
			request, err := c.Request(name, have)
			if err != nil {
				return err
			}
			b, err := request.Encode()
			if err != nil {
				return err
			}
			r.down += len(b)
			if r.answer, err = a.Answer(ctx, b); err != nil {
				return err
			}
			if CodeOf(Judge(c, name, r.answer)) != LostState {
				break
			}
		}
		if l.Lose != nil && l.Lose(name, c.Phase, c.Round) {
			r.answer, r.why = nil, "its answer was lost"
			return nil
		}
		if err := Judge(c, name, r.answer); err != nil {
			r.answer, r.why = nil, err.Error()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &Answers{By: map[string][]byte{}, Missing: map[string]string{}}
	for i, r := range results {
		out.Down += int64(r.down)
		if r.answer == nil {
			out.Missing[c.To[i]] = r.why
			continue
		}
		out.By[c.To[i]], out.Up = r.answer, out.Up+int64(len(r.answer))
	}
	return out, nil
}

// Judge returns an *Error unless the bytes are an answer of the agent to the call that can be
// used.
func Judge(c *Call, name string, answer []byte) error {
	if int64(len(answer)) > c.Limit {
		return fail(TooLarge, name, "an answer of %d bytes; %d are allowed", len(answer), c.Limit)
	}
	m, err := Decode(answer)
	if err != nil {
		return err
	}
	if m.Number != c.Number || m.Phase != c.Phase || m.Round != c.Round {
		return fail(OldRound, name, "an answer to exchange %d (%s), and it is %d (%s)", m.Number, m.Phase,
			c.Number, c.Phase)
	}
	if m.Agent != name {
		return fail(UnknownAgent, name, "an answer in the name of %q", m.Agent)
	}
	if m.Code != 0 {
		return fail(m.Code, name, "%s", m.Text)
	}
	return c.Accept(m)
}

// Quorum returns an error unless enough agents of every group answered.
func (c *Config) quorum(call *Call, a *Answers) error {
	groups := call.Groups
	if groups == nil {
		groups = [][]string{call.To}
	}
	for _, g := range groups {
		n := 0
		for _, name := range g {
			if a.By[name] != nil {
				n++
			}
		}
		if need := c.quorumOf(len(g)); n < need && len(g) > 0 {
			return &Error{Code: NoQuorum,
				Msg: fmt.Sprintf("exchange %d (%s, round %d): %d of %d agents answered, %d are needed; missing: %s",
					call.Number, call.Phase, call.Round, n, len(g), need, missing(g, a))}
		}
	}
	return nil
}

// Enough reports whether the answers make a quorum in every group of a call.
func (c *Config) Enough(call *Call, answered func(name string) bool) bool {
	a := &Answers{By: map[string][]byte{}}
	for _, name := range call.To {
		if answered(name) {
			a.By[name] = []byte{}
		}
	}
	return c.quorum(call, a) == nil
}

func missing(of []string, a *Answers) string {
	s, n := "", 0
	for _, name := range of {
		if a.By[name] != nil {
			continue
		}
		if n++; n > 5 {
			continue
		}
		if n > 1 {
			s += ", "
		}
		s += name
		if why := a.Missing[name]; why != "" {
			s += " (" + why + ")"
		}
	}
	if n > 5 {
		s += fmt.Sprintf(" and %d more", n-5)
	}
	return s
}

// Record is an exchange in a journal.
type Record struct {
	Run    string
	Number int
	Phase  string
	Round  int
	To     []string
	Answers
}

const (
	recordKind    = "federated journal"
	recordVersion = 1
)

type recordMeta struct {
	Run     string            `json:"run"`
	Number  int               `json:"number"`
	Phase   string            `json:"phase"`
	Round   int               `json:"round"`
	To      []string          `json:"to"`
	Agents  []string          `json:"agents"`
	Missing map[string]string `json:"missing,omitempty"`
	Down    int64             `json:"down"`
	Up      int64             `json:"up"`
}

// Encode returns the bytes to append to a journal.
func (r *Record) Encode() ([]byte, error) {
	f := model.New(recordKind, recordVersion)
	names := slices.Sorted(maps.Keys(r.By))
	if err := f.SetMeta(recordMeta{r.Run, r.Number, r.Phase, r.Round, r.To, names, r.Missing, r.Down,
		r.Up}); err != nil {
		return nil, err
	}
	for _, n := range names {
		model.Put(f, n, r.By[n])
	}
	b := bytes.NewBuffer(make([]byte, 8))
	if err := f.Write(b); err != nil {
		return nil, err
	}
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(b.Len()-8))
	return b.Bytes(), nil
}

// ReadJournal reads records up to the end, or up to a last record that is cut short or damaged, as
// happens when the server is killed. whole is the number of bytes before it: cut the file there
// before more is appended. A damaged record with others behind it is an *Error.
func ReadJournal(r io.Reader) (records []Record, whole int64, err error) {
	for {
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				return records, whole, nil
			}
			return records, whole, err
		}
		n := binary.LittleEndian.Uint64(head[:])
		if n > 1<<40 {
			return records, whole, nil
		}
		var m recordMeta
		body := &io.LimitedReader{R: r, N: int64(n)}
		f, err := model.ReadKind(body, recordKind, recordVersion, &m)
		if err != nil {
			if errors.Is(err, model.ErrVersion) || errors.Is(err, model.ErrKind) {
				return records, whole, &Error{Code: OtherJournal, Err: err}
			}
			return records, whole, damaged(body, len(records)+1, whole)
		}
		if body.N != 0 {
			return records, whole, damaged(body, len(records)+1, whole)
		}
		rec := Record{Run: m.Run, Number: m.Number, Phase: m.Phase, Round: m.Round, To: m.To,
			Answers: Answers{By: map[string][]byte{}, Missing: m.Missing, Down: m.Down, Up: m.Up}}
		for _, name := range m.Agents {
			b, err := model.Get[uint8](f, name)
			if err != nil {
				return records, whole, &Error{Code: OtherJournal, Err: err}
			}
			rec.By[name] = b
		}
		records, whole = append(records, rec), whole+8+int64(n)
	}
}

// damaged is nil if nothing follows the rest of a record that cannot be read.
func damaged(rest *io.LimitedReader, number int, at int64) error {
	if _, err := io.Copy(io.Discard, rest); err != nil {
		return err
	}
	if _, err := io.ReadFull(rest.R, make([]byte, 1)); err != nil {
		return nil
	}
	return fail(OtherJournal, "",
		"record %d, at byte %d, is damaged, and others follow: to go on from the one before, cut the file to %d bytes",
		number, at, at)
}

// Journal is an Exchange that keeps the outcome of every call, and does not repeat the calls of
// Old. A run that was interrupted anywhere thus continues as if it had not been.
type Journal struct {
	Exchange
	Old    []Record
	Append func(*Record) error // must not return before the record is safe; nil keeps none
}

// Ask implements Exchange.
func (j *Journal) ask(ctx context.Context, runID string, c *Call) (*Answers, error) {
	if c.Number <= len(j.Old) {
		r := &j.Old[c.Number-1]
		if r.Run != runID || r.Number != c.Number || r.Phase != c.Phase || r.Round != c.Round ||
			!slices.Equal(r.To, c.To) {
			return nil,
				fail(OtherJournal, "",
					"record %d is of run %s, exchange %d (%s, round %d); here it is run %s (%s, round %d)",
					c.Number, r.Run, r.Number, r.Phase, r.Round, runID, c.Phase, c.Round)
		}
		return &r.Answers, nil
	}
	a, err := j.Exchange.Ask(ctx, c)
	if err != nil {
		return nil, err
	}
	if j.Append != nil {
		if err := j.Append(&Record{runID, c.Number, c.Phase, c.Round, c.To, *a}); err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
	}
	return a, nil
}
