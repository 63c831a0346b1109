package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/federation"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/federated"
	"github.com/tropica-fst/tropica/learn/run"
)

// pollTime is how long a poll without a request is kept.
const pollTime = 5 * time.Second

// plainName is the header with an agent's name where there is no TLS.
const plainName = "Tropica-Agent"

var serve = &command{
	Name: "serve", Args: "run.json", Min: 1, Max: 1,
	Summary: "Runs the server of a configuration.",
	About: `
Waits for the agents that the configuration lists, runs the algorithm, and writes the model.
With --journal, which should always be there, a server that was killed goes on where it was.
An exchange that has no quorum at its deadline is waited for, up to --patience.

Example:

  fed serve run.json --model my.model --journal run.journal`,
	Setup: func(fs *flags.Set) func(*call) error {
		model := fs.String("model", "", "File for the model; needed")
		journal := fs.String("journal", "",
			"File that keeps every exchange; if it exists, the run goes on from it")
		listen := fs.String("listen", "", "Address to listen on; the configuration's when not given")
		patience := fs.Duration("patience", time.Hour, "How long to wait for a quorum")
		address := fs.String("address_file", "",
			"File for the address that the server listens on, for --listen with port 0")
		plain := fs.Bool("insecure_plain_text", false,
			"No TLS: anyone who reaches the server can read everything and impersonate anyone. For tests within "+
				"one machine")
		return func(c *call) error {
			if *model == "" {
				return errors.New("flag --model is needed: the file for the model")
			}
			cfg, dir, err := federation.Load(c.Args[0])
			if err != nil {
				return err
			}
			if err := cli.Apart(federation.Inputs(c.Args[0], cfg, dir, ""),
				[]cli.Place{{What: "the model", Name: *model},
					{What: "the journal", Name: *journal}, {What: "the address", Name: *address}}); err != nil {
				return err
			}
			if err := reachable("listen", cmp.Or(*listen, cfg.Server)); err != nil {
				return err
			}
			s, err := newServer(c, cfg, federation.Path(dir, cfg.Certificates), *patience, *plain)
			if err != nil {
				return err
			}
			return s.serve(*model, *journal, cmp.Or(*listen, cfg.Server), *address)
		}
	},
}

// server is the network's side of a run: it hands requests to the agents that poll, and
// answers to the exchange that waits for them.
type server struct {
	c        *call
	cfg      *federated.Config
	patience time.Duration
	deadline time.Duration
	plain    bool
	tls      *tls.Config
	ca       *x509.Certificate
	crl      string

	mu      sync.Mutex
	current *exchange
	changed chan struct{} // closed when current, done or failed change
	done    []byte        // the model's file
	failed  string
	told    map[string]bool // agents that know that the run is over
	read    time.Time       // of the list of revoked certificates
	revoked map[string]bool

	unreadable sync.Once // warns of that list
}

// exchange is a call that is waited for.
type exchange struct {
	call     *federated.Call
	answers  map[string][]byte
	why      map[string]string // of answers that were not taken
	down     map[string]int64
	complete chan struct{}  // closed when all have answered
	busy     sync.WaitGroup // of handlers that use the call; the run must not go on before they end
}

func newServer(c *call, cfg *federated.Config, dir string, patience time.Duration,
	plain bool) (*server, error) {
	s := &server{c: c, cfg: cfg, patience: patience, plain: plain, changed: make(chan struct{}),
		told: map[string]bool{}, revoked: map[string]bool{}}
	var err error
	if s.deadline, err = cfg.Wait(); err != nil {
		return nil, err
	}
	if plain {
		return s, nil
	}
	cert, pool, ca, err := identity(dir, serverName, serverRole)
	if err != nil {
		return nil, err
	}
	s.ca, s.crl = ca, filepath.Join(dir, "ca.crl")
	s.tls = &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: pool,
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13}
	return s, s.readRevoked()
}

// readRevoked reads the list of void certificates where it has changed.
func (s *server) readRevoked() error {
	if s.plain {
		return nil
	}
	info, err := os.Stat(s.crl)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if info.ModTime().Equal(s.read) {
		return nil
	}
	list, err := readRevoked(s.crl, s.ca)
	if err != nil {
		return err
	}
	s.read, s.revoked = info.ModTime(), map[string]bool{}
	for _, e := range list.RevokedCertificateEntries {
		s.revoked[e.SerialNumber.String()] = true
	}
	return nil
}

func (s *server) serve(model, journal, address, addressFile string) error {
	j, err := federation.OpenJournal(journal)
	if err != nil {
		return err
	}
	defer j.Close()
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	if addressFile != "" {
		if err := s.c.Output(addressFile,
			func(w io.Writer) error { _, err := io.WriteString(w, l.Addr().String()); return err }); err != nil {
			return err
		}
	}
	if s.tls != nil {
		l = tls.NewListener(l, s.tls)
	}
	web := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout: 2 * time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 16, ErrorLog: quietLog()}
	defer web.Close()
	go web.Serve(l)
	fmt.Fprintf(s.c.Err, "fed serve: run %s with %d agents on %s", s.cfg.Run(), len(s.cfg.Agents), l.Addr())
	if n := len(j.Old); n > 0 {
		fmt.Fprintf(s.c.Err, ", going on behind %d exchanges", n)
	}
	fmt.Fprintln(s.c.Err)
	last := time.Now()
	r, err := federated.Train(s.cfg, j.Over(s), &run.Control{Ctx: s.c.Ctx,
		Warn: func(m string) { s.c.Warn("fed serve", "%s", m) },
		Recorder: run.RecorderFunc(func(r run.Row) error {
			if time.Since(last) > 5*time.Second {
				last = time.Now()
				fmt.Fprintf(s.c.Err, "fed serve: round %d: %.5g\n", r.Iteration, r.Objective)
			}
			return nil
		})})
	if s.c.Ctx.Err() != nil {
		if journal == "" {
			return errors.New("interrupted; without --journal nothing was kept")
		}
		return fmt.Errorf("interrupted; the same command goes on from %s", journal)
	}
	if err != nil {
		s.end(web, nil, err.Error())
		return err
	}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		return err
	}
	if err := s.c.Output(model,
		func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err }); err != nil {
		return err
	}
	s.end(web, b.Bytes(), "")
	rep := r.Report
	fmt.Fprintf(s.c.Out,
		"%s: %d rounds in %d exchanges with %d agents: %d bytes down, %d up; answers were missing in %d exchanges\n",
		model, rep.Rounds, rep.Exchanges, len(s.cfg.Agents), rep.Down, rep.Up, len(rep.Missing))
	return nil
}

// end tells agents that the run is over, for as long as a deadline, and closes.
func (s *server) end(web *http.Server, model []byte, failed string) {
	// An agent counts as told before the reply has left: connections that are in use are waited
	// for.
	defer func() {
		ctx, cancel := context.WithTimeout(s.c.Ctx, s.deadline)
		defer cancel()
		web.Shutdown(ctx) // closed in any case by the caller
	}()
	s.mu.Lock()
	s.done, s.failed = model, failed
	s.change()
	s.mu.Unlock()
	for until := time.Now().Add(s.deadline); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		s.mu.Lock()
		all := len(s.told) == len(s.cfg.Agents)
		s.mu.Unlock()
		if all || s.c.Ctx.Err() != nil {
			return
		}
	}
}

// change wakes the polls; mu is held.
func (s *server) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Ask implements federated.Exchange.
func (s *server) Ask(ctx context.Context, call *federated.Call) (*federated.Answers, error) {
	x := &exchange{call: call, answers: map[string][]byte{}, why: map[string]string{},
		down: map[string]int64{}, complete: make(chan struct{})}
	s.mu.Lock()
	s.current = x
	s.change()
	s.mu.Unlock()
	deadline, patience := time.NewTimer(s.deadline), time.NewTimer(max(s.patience, s.deadline))
	defer deadline.Stop()
	defer patience.Stop()
	again := time.NewTicker(max(s.deadline/20, time.Millisecond))
	defer again.Stop()
	late := false
wait:
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-x.complete:
			break wait
		case <-patience.C:
			break wait
		case <-deadline.C:
			late = true
		case <-again.C:
		}
		if late {
			s.mu.Lock()
			enough := s.cfg.Enough(call, func(name string) bool { return x.answers[name] != nil })
			s.mu.Unlock()
			if enough {
				break wait
			}
		}
	}
	s.mu.Lock()
	s.current = nil
	s.mu.Unlock()
	x.busy.Wait()
	a := &federated.Answers{By: x.answers, Missing: map[string]string{}}
	for _, name := range call.To {
		a.Down += x.down[name]
		if b := x.answers[name]; b != nil {
			a.Up += int64(len(b))
		} else {
			a.Missing[name] = cmp.Or(x.why[name], "no answer by the deadline")
		}
	}
	return a, nil
}

// handler serves the two procedures. Bodies are bounded before they are read.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	// Without compression, so that a small body cannot become a large one: numbers hardly shrink.
	options := []connect.HandlerOption{connect.WithCodec(codec{}), connect.WithReadMaxBytes(mostFrame),
		connect.WithCompression("gzip", nil, nil)}
	mux.Handle(pollProcedure, connect.NewUnaryHandler(pollProcedure, s.poll, options...))
	mux.Handle(sendProcedure, connect.NewUnaryHandler(sendProcedure, s.send, options...))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.readRevoked(); err != nil {
			// It may be half copied: no agent is admitted, and agents ask again.
			s.unreadable.Do(func() { s.c.Warn("fed serve", "%v; agents wait until it can be read", err) })
			deny(w, http.StatusServiceUnavailable, "unavailable",
				"the list of revoked certificates cannot be read")
			return
		}
		name, err := s.who(r)
		if err != nil {
			deny(w, http.StatusForbidden, "permission_denied", err.Error())
			return
		}
		limit := int64(1 << 14)
		if r.URL.Path == sendProcedure {
			s.mu.Lock()
			if s.current != nil {
				limit += s.current.call.Limit
			}
			if r.ContentLength > limit && s.current != nil {
				s.current.why[name] = (&federated.Error{Code: federated.TooLarge, Agent: name,
					Msg: fmt.Sprintf("an answer of %d bytes; %d are allowed", r.ContentLength,
						limit)}).Error()
			}
			s.mu.Unlock()
		}
		if r.ContentLength > limit {
			deny(w, http.StatusTooManyRequests, "resource_exhausted",
				fmt.Sprintf("%v: %d bytes; %d are allowed", federated.TooLarge, r.ContentLength, limit))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), agentKey{}, name)))
	})
}

// deny answers with an error as Connect's clients read it.
func deny(w http.ResponseWriter, status int, code, text string) {
	b, err := json.Marshal(map[string]string{"code": code, "message": text})
	if err != nil {
		panic(err) // of strings
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(b)
}

// mostFrame bounds frames where nothing smaller does.
const mostFrame = 512 << 20

type agentKey struct{}

// who is the agent that a request comes from: the name in its certificate.
func (s *server) who(r *http.Request) (string, error) {
	name, domain := r.Header.Get(plainName), ""
	if !s.plain {
		if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
			return "", errors.New("no certificate")
		}
		cert := r.TLS.VerifiedChains[0][0]
		s.mu.Lock()
		void := s.revoked[cert.SerialNumber.String()]
		s.mu.Unlock()
		switch {
		case void:
			return "", fmt.Errorf("the certificate of %s was revoked", cert.Subject.CommonName)
		case time.Now().After(cert.NotAfter):
			return "", fmt.Errorf("the certificate of %s has expired", cert.Subject.CommonName)
		case !slices.Equal(cert.Subject.Organization, []string{agentRole}):
			return "", fmt.Errorf("the certificate of %s is not that of an agent", cert.Subject.CommonName)
		}
		name, domain = cert.Subject.CommonName, strings.Join(cert.Subject.OrganizationalUnit, ",")
	}
	m, ok := s.cfg.Member(name)
	if !ok {
		return "", &federated.Error{Code: federated.UnknownAgent, Agent: name,
			Msg: "the configuration does not list it"}
	}
	if !s.plain && m.Domain != domain {
		return "", &federated.Error{Code: federated.OtherDomain, Agent: name,
			Msg: fmt.Sprintf("its certificate is of domain %q, the configuration says %q", domain, m.Domain)}
	}
	return name, nil
}

// poll hands out the request for an agent, or what else there is to say.
func (s *server) poll(ctx context.Context, q *connect.Request[frame]) (*connect.Response[frame], error) {
	name := ctx.Value(agentKey{}).(string)
	reply := func(h head, body []byte) (*connect.Response[frame], error) {
		return connect.NewResponse(&frame{h, body}), nil
	}
	if q.Msg.Head.Run != s.cfg.Run() {
		return reply(head{State: "failed", Code: int(federated.OtherRun),
			Text: fmt.Sprintf("this is run %s, and agent %s takes part in %s", s.cfg.Run(), name,
				q.Msg.Head.Run)}, nil)
	}
	timeout := time.NewTimer(pollTime)
	defer timeout.Stop()
	for {
		s.mu.Lock()
		x, changed, done, failed := s.current, s.changed, s.done, s.failed
		asked := x != nil && slices.Contains(x.call.To, name) && x.answers[name] == nil
		if done != nil || failed != "" {
			s.told[name] = true
		}
		if asked {
			x.busy.Add(1)
		}
		s.mu.Unlock()
		switch {
		case done != nil:
			return reply(head{State: "done"}, done)
		case failed != "":
			return reply(head{State: "failed", Text: failed}, nil)
		case asked:
			b, err := x.request(name, q.Msg.Head.Have)
			if err != nil {
				return nil, connect.NewError(connect.CodeInternal, err)
			}
			s.mu.Lock()
			x.down[name] += int64(len(b))
			s.mu.Unlock()
			x.busy.Done()
			return reply(head{State: "request", Number: x.call.Number}, b)
		}
		select {
		case <-ctx.Done():
			return nil, connect.NewError(connect.CodeCanceled, ctx.Err())
		case <-s.c.Ctx.Done():
			return reply(head{State: "wait"}, nil)
		case <-timeout.C:
			return reply(head{State: "wait"}, nil)
		case <-changed:
		}
	}
}

// request makes the request of an agent, for a handler that is busy with it.
func (x *exchange) request(name string, have int) ([]byte, error) {
	m, err := x.call.Request(name, have)
	if err == nil {
		var b []byte
		if b, err = m.Encode(); err == nil {
			return b, nil
		}
	}
	x.busy.Done()
	return nil, err
}

// send takes an answer: the first that can be used. A second one that is the same is as good.
func (s *server) send(ctx context.Context, q *connect.Request[frame]) (*connect.Response[frame], error) {
	name := ctx.Value(agentKey{}).(string)
	s.mu.Lock()
	x := s.current
	if x != nil {
		x.busy.Add(1)
		defer x.busy.Done()
	}
	s.mu.Unlock()
	h := head{}
	refuse := func(err error) (*connect.Response[frame], error) {
		h.Code, h.Text = int(federated.CodeOf(err)), err.Error()
		h.Again = federated.CodeOf(err) == federated.LostState
		return connect.NewResponse(&frame{Head: h}), nil
	}
	if x == nil || !slices.Contains(x.call.To, name) {
		return refuse(&federated.Error{Code: federated.OldRound, Agent: name,
			Msg: "it has no request now"})
	}
	h.Number = x.call.Number
	err := federated.Judge(x.call, name, q.Msg.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch before := x.answers[name]; {
	case s.current != x:
		return refuse(&federated.Error{Code: federated.OldRound, Agent: name, Msg: "the exchange was closed"})
	case before != nil && !bytes.Equal(before, q.Msg.Body) && err == nil:
		return refuse(&federated.Error{Code: federated.AnsweredElse, Agent: name,
			Msg: "it has answered otherwise already"})
	case err != nil:
		if federated.CodeOf(err) != federated.OldRound { // a late answer is no one's fault
			x.why[name] = err.Error()
		}
		return refuse(err)
	case before == nil:
		x.answers[name] = q.Msg.Body
		if len(x.answers) == len(x.call.To) {
			close(x.complete)
		}
	}
	return connect.NewResponse(&frame{Head: h}), nil
}
