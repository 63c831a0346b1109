package federated

import (
	"errors"
	"fmt"
)

// Code numbers a kind of error. Numbers never change their meaning.
type Code int

// The kinds of error that a run knows. Mend has a line on each.
const (
	BadConfig    Code = 101 // the configuration cannot be used
	UnknownAgent Code = 102 // an agent that the configuration does not list
	OtherDomain  Code = 103 // an agent that speaks for another domain
	BadTable     Code = 201 // a table that cannot be learnt from
	FewRows      Code = 202 // fewer rows than an agent must have
	OtherColumns Code = 203 // columns that are not those of the other agents
	NewerVersion Code = 204 // a message of a newer program
	Malformed    Code = 301 // a message that cannot be read
	OtherRun     Code = 302 // a message of another run
	OldRound     Code = 303 // a message of another exchange
	WrongShape   Code = 304 // arrays that do not fit the request
	NotFinite    Code = 305 // numbers that are not finite, or out of range
	TooLarge     Code = 306 // a message larger than it may be
	AnsweredElse Code = 307 // a second answer that differs from the first
	LostState    Code = 308 // an agent that restarted
	NoQuorum     Code = 401 // too few agents answered in time
	NoSecureSum  Code = 402 // a secure sum could not be opened
	OtherJournal Code = 403 // a journal of another run, or a damaged one
	Infeasible   Code = 501 // no function separates the samples
	NotSolved    Code = 502 // the solver stopped before the requested accuracy
)

var mends = map[Code]string{
	BadConfig: "correct the field that is named; `learn federated config` writes a file to begin with",
	UnknownAgent: "add the agent to the field agents of the configuration, the same for everyone, or use the " +
		"certificate of a listed one",
	OtherDomain: "the configuration says which domain an agent speaks for: ask for a certificate of that domain",
	BadTable:    "correct the file at the place that is named",
	FewRows: "collect more rows, join two agents into one, or lower min_rows everywhere: sums of few " +
		"rows reveal them",
	OtherColumns: "give all agents the same columns, by name and in the same order; the field drop leaves " +
		"columns out",
	NewerVersion: "update the program that reads the message",
	Malformed:    "send the file again; if that does not help, both sides are of different programs",
	OtherRun:     "give all sides the same configuration, and the files of one run",
	OldRound:     "nothing: the answer came too late and was not used; lengthen the deadline if this happens often",
	WrongShape:   "update the agent: its program counts differently from the server's",
	NotFinite:    "look for values out of range in the agent's table, or scale its columns",
	TooLarge:     "update the agent, or look at what sends such messages under its name",
	AnsweredElse: "run each agent once: two programs answer under one name",
	LostState:    "nothing: the server sends the agent what it has lost",
	NoQuorum:     "start the missing agents and the server again; it goes on from its journal",
	NoSecureSum: "start the missing agents again; secure sums need a majority of each domain's agents, " +
		"three or more",
	OtherJournal: "remove the journal to begin anew, or restore it, and the configuration that it was " +
		"written with",
	Infeasible: "use cost hinge or total-hinge in place of margin, which asks for all samples on their side; " +
		"allow more by a lower price or a larger hinge",
	NotSolved: "allow more by a lower price or a larger hinge, or change the fields accuracy and max_steps",
}

// Mend says in a line what to do about errors of that kind.
func (c Code) Mend() string { return mends[c] }

// String returns the number as in messages: "FED-202".
func (c Code) String() string { return fmt.Sprintf("FED-%d", int(c)) }

// Codes lists all kinds in the order of their numbers.
func Codes() []Code {
	return []Code{BadConfig, UnknownAgent, OtherDomain, BadTable, FewRows, OtherColumns, NewerVersion,
		Malformed, OtherRun, OldRound,
		WrongShape, NotFinite, TooLarge, AnsweredElse, LostState, NoQuorum, NoSecureSum, OtherJournal,
		Infeasible, NotSolved}
}

// Error is an error of a run with its number.
type Error struct {
	Code  Code
	Agent string // the agent concerned; "" is none in particular
	Msg   string
	Err   error // beneath; nil for none
}

func (e *Error) Error() string {
	s := e.Code.String() + ": "
	if e.Agent != "" {
		s += "agent " + e.Agent + ": "
	}
	s += e.Msg
	if e.Err != nil {
		if e.Msg != "" {
			s += ": "
		}
		s += e.Err.Error()
	}
	if m := e.Code.Mend(); m != "" {
		s += " (" + m + ")"
	}
	return s
}

// Unwrap returns the error beneath.
func (e *Error) Unwrap() error { return e.Err }

func fail(c Code, agent, format string, v ...any) *Error {
	return &Error{Code: c, Agent: agent, Msg: fmt.Sprintf(format, v...)}
}

// CodeOf returns the number of an error, 0 where it has none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}
