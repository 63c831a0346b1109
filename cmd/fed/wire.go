package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// The service has two procedures: an agent polls for a request, and sends its answer.
const (
	service       = "/tropica.federated.v1.Federation/"
	pollProcedure = service + "Poll"
	sendProcedure = service + "Send"
)

// frame is what both procedures take and give: a small head and the bytes of a message.
type frame struct {
	Head head
	Body []byte
}

// head says what a frame is.
type head struct {
	Run  string `json:"run,omitempty"`
	Have int    `json:"have,omitempty"` // of a poll: what the agent knows; see federated.Agent.Have
	// of the reply to a poll: "request", "wait", "done" with the model, "failed"
	State  string `json:"state,omitempty"`
	Number int    `json:"number,omitempty"` // of the exchange
	Again  bool   `json:"again,omitempty"`  // of the reply to an answer: ask for the request again, all of it
	Code   int    `json:"code,omitempty"`   // why an answer was not taken
	Text   string `json:"text,omitempty"`
}

// codec is the encoding of frames: the length of the head, the head as JSON, the body.
type codec struct{}

// Name implements connect.Codec.
func (codec) Name() string { return "tropica" }

// Marshal implements connect.Codec.
func (codec) Marshal(v any) ([]byte, error) {
	f, ok := v.(*frame)
	if !ok {
		return nil, fmt.Errorf("a frame is expected, not %T", v)
	}
	h, err := json.Marshal(f.Head)
	if err != nil {
		return nil, err
	}
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(h)+len(f.Body)), uint32(len(h)))
	return append(append(b, h...), f.Body...), nil
}

// Unmarshal implements connect.Codec.
func (codec) Unmarshal(b []byte, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return fmt.Errorf("a frame is expected, not %T", v)
	}
	if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
		return fmt.Errorf("a frame of %d bytes is cut short", len(b))
	}
	n := binary.LittleEndian.Uint32(b)
	f.Body = append([]byte(nil), b[4+n:]...)
	return json.Unmarshal(b[4:4+n], &f.Head)
}
