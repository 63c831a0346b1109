package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/federation"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/federated"
)

func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }

var join = &command{
	Name: "join", Args: "run.json", Min: 1, Max: 1,
	Summary: "Takes part in a run as an agent, until it is over.",
	About: `
Polls the server for requests and answers them from the agent's own rows. A server that is
not there, or goes away, is waited for, up to --patience. --as may name several agents, each
with its own certificate; --all is all of the configuration.

Example:

  fed join run.json --as anna --data anna.csv`,
	Setup: func(fs *flags.Set) func(*call) error {
		as := fs.String("as", "", "Names of the agents, separated by commas")
		all := fs.Bool("all", false, "All agents of the configuration, to try it on one machine")
		data := fs.String("data", "", "File with the rows, in place of the configuration's")
		address := fs.String("server", "", "Address of the server; the configuration's when not given")
		model := fs.String("model", "", "File for the model, at the end")
		patience := fs.Duration("patience", time.Hour, "How long to wait for a server that cannot be reached")
		plain := fs.Bool("insecure_plain_text", false, "No TLS. For tests within one machine")
		return func(c *call) error {
			cfg, dir, err := federation.Load(c.Args[0])
			if err != nil {
				return err
			}
			var names []string
			switch {
			case *all && *as != "":
				return errors.New("flags --as and --all: give one of them")
			case *all:
				names = federation.Names(cfg)
			case *as == "":
				return errors.New("flag --as is needed: the agent's name, which its certificate has")
			default:
				for n := range strings.SplitSeq(*as, ",") {
					names = append(names, strings.TrimSpace(n))
				}
			}
			for i, n := range names {
				if _, ok := cfg.Member(n); !ok {
					return &federated.Error{Code: federated.UnknownAgent, Agent: n,
						Msg: c.Args[0] + " does not list it"}
				}
				if slices.Contains(names[:i], n) {
					return fmt.Errorf("flag --as: %s stands there twice", n)
				}
			}
			if err := cli.Apart(federation.Inputs(c.Args[0], cfg, dir, *data),
				[]cli.Place{{What: "the model", Name: *model}}); err != nil {
				return err
			}
			if err := reachable("server", cmp.Or(*address, cfg.Server)); err != nil {
				return err
			}
			j := &joining{c: c, cfg: cfg, address: cmp.Or(*address, cfg.Server), patience: *patience,
				plain: *plain}
			clients := make([]*http.Client, len(names))
			for i, n := range names {
				if clients[i], err = j.client(federation.Path(dir, cfg.Certificates), n); err != nil {
					return err
				}
			}
			agents, err := federation.Agents(cfg, dir, names, *data)
			if err != nil {
				return err
			}
			errs := make([]error, len(names))
			var wait sync.WaitGroup
			for i, n := range names {
				wait.Go(func() { errs[i] = j.run(agents[n], clients[i]) })
			}
			wait.Wait()
			if err := errors.Join(errs...); err != nil {
				return err
			}
			if *model != "" {
				return c.Output(*model, func(w io.Writer) error { _, err := w.Write(j.model); return err })
			}
			return nil
		}
	},
}

// joining is the agents' side of a run.
type joining struct {
	c        *call
	cfg      *federated.Config
	address  string
	patience time.Duration
	plain    bool

	mu    sync.Mutex
	model []byte
	waits sync.Once // says that the server is not there
}

// reachable returns an error unless an address, of a flag or the configuration, can be one.
func reachable(flag, address string) error {
	if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
		return fmt.Errorf("the address %q is not host:port: the field server of the configuration has it, or "+
			"flag --%s",
			address, flag)
	}
	return nil
}

// client is what an agent reaches the server with.
func (j *joining) client(dir, name string) (*http.Client, error) {
	t := &http.Transport{MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute,
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext}
	if !j.plain {
		cert, pool, _, err := identity(dir, name, agentRole)
		if err != nil {
			return nil, err
		}
		t.TLSClientConfig = &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: pool,
			MinVersion: tls.VersionTLS13, VerifyConnection: func(s tls.ConnectionState) error {
				if o := s.PeerCertificates[0].Subject.Organization; len(o) != 1 || o[0] != serverRole {
					return errors.New("the certificate shown is not that of a server")
				}
				return nil
			}}
		return &http.Client{Transport: t, Timeout: 5 * time.Minute}, nil
	}
	return &http.Client{Transport: named{t, name}, Timeout: 5 * time.Minute}, nil
}

// named says an agent's name where no certificate does.
type named struct {
	http.RoundTripper
	name string
}

// RoundTrip implements http.RoundTripper.
func (n named) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(plainName, n.name)
	return n.RoundTripper.RoundTrip(r)
}

// run polls and answers until the run is over.
func (j *joining) run(a *federated.Agent, client *http.Client) error {
	scheme := "https://"
	if j.plain {
		scheme = "http://"
	}
	options := []connect.ClientOption{connect.WithCodec(codec{}), connect.WithReadMaxBytes(mostFrame)}
	poll := connect.NewClient[frame, frame](client, scheme+j.address+pollProcedure, options...)
	send := connect.NewClient[frame, frame](client, scheme+j.address+sendProcedure, options...)
	fail := func(err error) error { return fmt.Errorf("agent %s: %w", a.Name(), err) }
	lost := time.Time{} // since when the server cannot be reached
	pause := 20 * time.Millisecond
	again := func(err error) error {
		if j.c.Ctx.Err() != nil {
			return fail(errors.New("interrupted"))
		}
		if refused(err) {
			return fail(err)
		}
		if lost.IsZero() {
			lost = time.Now()
		}
		if time.Since(lost) > time.Second {
			j.waits.Do(func() {
				j.c.Warn("fed join",
					"the server %s cannot be reached; it is waited for, up to --patience %v: %v", j.address,
					j.patience, err)
			})
		}
		if time.Since(lost) > j.patience {
			return fail(fmt.Errorf("the server %s was not reached for %v: %w", j.address, j.patience, err))
		}
		select {
		case <-j.c.Ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, time.Second)
		return nil
	}
	have, refusals := -1, 0
	for {
		if have < 0 {
			have = a.Have()
		}
		r, err := poll.CallUnary(j.c.Ctx, connect.NewRequest(&frame{Head: head{Run: a.Run(), Have: have}}))
		have = -1
		if err != nil {
			if err := again(err); err != nil {
				return err
			}
			continue
		}
		lost, pause = time.Time{}, 20*time.Millisecond
		switch h := r.Msg.Head; h.State {
		case "wait":
			continue
		case "done":
			j.mu.Lock()
			j.model = r.Msg.Body
			j.mu.Unlock()
			return nil
		case "failed":
			return fail(errors.New("the run has failed: " + h.Text))
		}
		answer, err := a.Answer(j.c.Ctx, r.Msg.Body)
		if err != nil {
			return fail(err)
		}
		ack, err := send.CallUnary(j.c.Ctx, connect.NewRequest(&frame{Head: head{Run: a.Run(),
			Number: r.Msg.Head.Number}, Body: answer}))
		if err != nil {
			if err := again(err); err != nil {
				return err
			}
			continue
		}
		switch h := ack.Msg.Head; {
		case h.Again:
			have = 0
		case h.Code == int(federated.OldRound):
		case h.Code != 0:
			// What was refused once is refused again: say so, and wait for the next exchange.
			if refusals++; refusals == 1 {
				j.c.Warn("fed join", "agent %s: the server did not take an answer: %s", a.Name(), h.Text)
			}
			select {
			case <-j.c.Ctx.Done():
			case <-time.After(min(time.Duration(refusals)*50*time.Millisecond, time.Second)):
			}
		default:
			refusals = 0
		}
	}
}

// refused tells errors that waiting does not mend: the other side does not know this one, or
// the other way round.
func refused(err error) bool {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	if errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid) ||
		errors.As(err, &verify) {
		return true
	}
	if c := connect.CodeOf(err); c == connect.CodePermissionDenied || c == connect.CodeUnauthenticated {
		return true
	}
	// What the other side says in an alert is text alone.
	return strings.Contains(err.Error(), "remote error: tls: ")
}
