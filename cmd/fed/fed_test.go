package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/federation"
	"github.com/tropica-fst/tropica/learn/federated"
	"github.com/tropica-fst/tropica/learn/model"
)

// TestMain lets tests start processes of this command.
func TestMain(m *testing.M) {
	if os.Getenv("FED_TEST_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// site is a folder with a configuration, its data and certificates.
type site struct {
	t    *testing.T
	dir  string
	cfg  *federated.Config
	addr string
}

// newSite makes agents of two domains, with rows of a table.
func newSite(t *testing.T, agents, rounds int, change func(*federated.Config)) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir()}
	rng := rand.New(rand.NewPCG(uint64(agents), 7))
	var b strings.Builder
	b.WriteString("who,a,b,c,d,y\n")
	c := &federated.Config{Algorithm: federated.MultiBoost, Target: "y", Classes: []string{"no", "yes"},
		Drop: []string{"who"}, Certificates: "certs", Deadline: "20s", Quorum: 0.5}
	c.MultiBoost = federated.BoostOptions{Rounds: rounds, Clients: 3, Candidates: 6, Proposals: 3,
		QIterations: 3}
	for i := range agents {
		name := fmt.Sprintf("p%03d", i)
		c.Agents = append(c.Agents, federated.Member{Name: name, Domain: []string{"east", "west"}[i%2],
			Data: "rows.csv", Where: "who=" + name})
		for range 12 {
			x := [4]float64{rng.NormFloat64() + float64(4*(i%2)), rng.NormFloat64(), rng.NormFloat64(),
				rng.NormFloat64()}
			y := "no"
			if x[1+i%2]+0.3*rng.NormFloat64() > 0 {
				y = "yes"
			}
			fmt.Fprintf(&b, "%s,%.4f,%.4f,%.4f,%.4f,%s\n", name, x[0], x[1], x[2], x[3], y)
		}
	}
	if change != nil {
		change(c)
	}
	s.write("rows.csv", b.String())
	var f bytes.Buffer
	if err := c.Write(&f); err != nil {
		t.Fatal(err)
	}
	s.write("run.json", f.String())
	var err error
	if s.cfg, _, err = federation.Load(s.path("run.json")); err != nil {
		t.Fatal(err)
	}
	s.run("certs", "local", s.path("run.json"))
	return s
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// run runs a command in this process, which must succeed.
func (s *site) run(words ...string) string {
	s.t.Helper()
	var out, errs bytes.Buffer
	if status := tool.Execute(context.Background(), words, cli.Streams{In: strings.NewReader(""), Out: &out,
		Err: &errs}); status != 0 {
		s.t.Fatalf("fed %s: %s", strings.Join(words, " "), errs.String())
	}
	return out.String()
}

// process is one of this command.
type process struct {
	*exec.Cmd
	t    *testing.T
	errs bytes.Buffer
}

// start starts a process, which ends with the test at the latest.
func (s *site) start(words ...string) *process {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	p := &process{Cmd: exec.CommandContext(ctx, os.Args[0], words...), t: s.t}
	p.Env = append(os.Environ(), "FED_TEST_MAIN=1", "GOMAXPROCS=1")
	p.Stderr = &p.errs
	if err := p.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cancel(); p.Wait() })
	return p
}

// end waits for the end of a process, which must be a good one.
func (p *process) end() {
	p.t.Helper()
	if err := p.Wait(); err != nil {
		p.t.Fatalf("%s: %v\n%s", strings.Join(p.Args[1:], " "), err, p.errs.String())
	}
}

func (p *process) kill() {
	p.Process.Signal(syscall.SIGKILL)
	p.Wait()
}

// serve starts the server, on a port of its own choice or where it was before.
func (s *site) serve(more ...string) *process {
	s.t.Helper()
	listen := "127.0.0.1:0"
	if s.addr != "" {
		listen = s.addr
	}
	os.Remove(s.path("address"))
	p := s.start(append([]string{"serve", s.path("run.json"), "--model", s.path("model"), "--journal",
		s.path("journal"), "--listen", listen, "--address_file", s.path("address")}, more...)...)
	for range 2000 {
		if b, err := os.ReadFile(s.path("address")); err == nil && len(b) > 0 {
			s.addr = string(b)
			return p
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.t.Fatalf("the server does not listen: %s", p.errs.String())
	return nil
}

func (s *site) join(names string, more ...string) *process {
	return s.start(append([]string{"join", s.path("run.json"), "--as", names, "--server", s.addr,
		"--patience", "30s"}, more...)...)
}

// names lists agents from and up to a number.
func (s *site) names(from, to int) string { return strings.Join(federation.Names(s.cfg)[from:to], ",") }

// simulated is the model of the same configuration in one process.
func (s *site) simulated() []byte {
	s.t.Helper()
	agents, err := federation.Agents(s.cfg, s.dir, federation.Names(s.cfg), "")
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := federated.Train(s.cfg, &federated.Journal{Exchange: &federated.Local{Agents: agents}}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		s.t.Fatal(err)
	}
	return b.Bytes()
}

func (s *site) sameModel() {
	s.t.Helper()
	got, err := os.ReadFile(s.path("model"))
	if err != nil {
		s.t.Fatal(err)
	}
	if !bytes.Equal(got, s.simulated()) {
		s.t.Error("the model is not that of the simulation")
	}
}

func (s *site) records() []federated.Record {
	s.t.Helper()
	b, err := os.ReadFile(s.path("journal"))
	if err != nil {
		s.t.Fatal(err)
	}
	records, whole, err := federated.ReadJournal(bytes.NewReader(b))
	if err != nil || whole != int64(len(b)) {
		s.t.Fatalf("%d of %d bytes, %v", whole, len(b), err)
	}
	return records
}

// Server and agents as processes give the model of the simulation, bit for bit, and every
// agent can have it.
func TestNetwork(t *testing.T) {
	for _, algorithm := range []federated.Algorithm{federated.MultiBoost, federated.OneRound} {
		s := newSite(t, 6, 10, func(c *federated.Config) {
			c.Algorithm = algorithm
			c.OneRound.Verify = true
		})
		server := s.serve()
		a, b := s.join(s.names(0, 2)), s.join(s.names(2, 6), "--model", s.path("theirs"))
		a.end()
		b.end()
		server.end()
		s.sameModel()
		theirs, err := os.ReadFile(s.path("theirs"))
		if err != nil {
			t.Fatal(err)
		}
		if ours, _ := os.ReadFile(s.path("model")); !bytes.Equal(ours, theirs) {
			t.Error("the agents have another model")
		}
	}
}

// The server killed at any moment goes on from its journal; agents killed and started again
// are sent what they have lost. The model is that of the unbroken run.
func TestKilled(t *testing.T) {
	s := newSite(t, 6, 250, nil)
	rng := rand.New(rand.NewPCG(3, 3))
	server := s.serve()
	agents := []*process{s.join(s.names(0, 3)), s.join(s.names(3, 6))}
	kills := 0
	for i := range 6 {
		time.Sleep(time.Duration(40+rng.IntN(120)) * time.Millisecond)
		if _, err := os.Stat(s.path("model")); err == nil {
			break
		}
		kills++
		if i%2 == 0 {
			server.kill()
			server = s.serve()
		} else {
			k := i / 2 % 2
			agents[k].kill()
			agents[k] = s.join(s.names(3*k, 3*k+3))
		}
	}
	if kills < 2 {
		t.Errorf("the run was over after %d kills", kills)
	}
	server.end()
	for _, a := range agents {
		a.end()
	}
	s.sameModel()
	for _, r := range s.records() {
		if len(r.Missing) > 0 {
			t.Errorf("exchange %d: missing %v", r.Number, r.Missing)
		}
	}
}

// Agents that never come are in the journal with the reason; the others go on at the deadline.
// One that comes late takes part from then on.
func TestQuorum(t *testing.T) {
	s := newSite(t, 6, 4, func(c *federated.Config) {
		c.Deadline, c.MultiBoost.Q,
			c.MultiBoost.Clients = "300ms", "uniform", -1
	})
	server := s.serve()
	a := s.join(s.names(0, 4))
	time.Sleep(1200 * time.Millisecond)
	late := s.join(s.names(4, 5)) // p005 never comes
	a.end()
	late.end()
	server.end()
	records := s.records()
	first, last := records[0], records[len(records)-1]
	if first.Missing["p004"] == "" || first.Missing["p005"] == "" || first.By["p000"] == nil {
		t.Errorf("first exchange: missing %v", first.Missing)
	}
	if last.By["p004"] == nil || !strings.Contains(last.Missing["p005"], "deadline") {
		t.Errorf("last exchange: missing %v", last.Missing)
	}
	// Without a quorum the run ends, and says who was missing; with one it goes on.
	if err := os.Remove(s.path("journal")); err != nil {
		t.Fatal(err)
	}
	server = s.serve("--patience", "500ms")
	one := s.join(s.names(0, 1))
	if err := server.Wait(); err == nil || !strings.Contains(server.errs.String(), "FED-401") ||
		!strings.Contains(server.errs.String(), "p002") {
		t.Errorf("%v: %s", err, server.errs.String())
	}
	one.Wait()
}

// client is a client with any certificate.
func (s *site) client(dir, name string) *http.Client {
	s.t.Helper()
	c := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS13}
	ca, err := readCertificate(s.path("certs/ca.crt"))
	if err != nil {
		s.t.Fatal(err)
	}
	c.RootCAs.AddCert(ca)
	if name != "" {
		k, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
		if err != nil {
			s.t.Fatal(err)
		}
		c.Certificates = []tls.Certificate{k}
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: c}, Timeout: 20 * time.Second}
}

func (s *site) ask(client *http.Client, procedure string, f *frame,
	more ...connect.ClientOption) (*frame, error) {
	c := connect.NewClient[frame, frame](client, "https://"+s.addr+procedure,
		append(more, connect.WithCodec(codec{}))...)
	r, err := c.CallUnary(context.Background(), connect.NewRequest(f))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}

// Who has no certificate, a foreign, expired or revoked one, that of a server, or of another
// domain gets nothing and changes nothing.
func TestStrangers(t *testing.T) {
	s := newSite(t, 6, 8, nil)
	other := s.path("other")
	s.run("certs", "init", "--authority", other)
	s.run("certs", "request", "p001", "--domain", "west", "--certificates", other)
	s.run("certs", "issue", filepath.Join(other, "p001.csr"), "--authority", other, "--domain", "west")
	mine := s.path("mine")
	issue := func(name, domain string) {
		dir := filepath.Join(mine, name+domain)
		s.run("certs", "request", name, "--domain", domain, "--certificates", dir)
		s.run("certs", "issue", filepath.Join(dir, name+".csr"), "--authority", s.path("certs"), "--domain",
			domain)
	}
	issue("p000", "west") // whose domain is east
	issue("nobody", "east")
	issue("p002", "east") // a second one, to be revoked
	s.run("certs", "revoke", filepath.Join(mine, "p002east", "p002.crt"), "--authority", s.path("certs"))
	if err := os.MkdirAll(filepath.Join(mine, "old"), 0o700); err != nil {
		t.Fatal(err)
	}
	expire(t, s.path("certs"), filepath.Join(mine, "old"), "p004", "east")

	server := s.serve()
	poll := &frame{Head: head{Run: s.cfg.Run()}}
	for what, c := range map[string]struct {
		dir, name string
		want      string
	}{
		"none": {"", "", "certificate"}, "foreign": {other, "p001", "unknown certificate authority"},
		"expired":  {filepath.Join(mine, "old"), "p004", "expired"},
		"server":   {s.path("certs"), "server", "bad certificate|not that of an agent|unsupported"},
		"domain":   {filepath.Join(mine, "p000west"), "p000", "FED-103"},
		"unlisted": {filepath.Join(mine, "nobodyeast"), "nobody", "FED-102"},
		"revoked":  {filepath.Join(mine, "p002east"), "p002", "revoked"},
	} {
		for _, procedure := range []string{pollProcedure, sendProcedure} {
			got, err := s.ask(s.client(c.dir, c.name), procedure, poll)
			// With TLS 1.3 a client may write before the server's alert comes, and see that it was
			// closed.
			found := false
			for w := range strings.SplitSeq(c.want+"|broken pipe|reset by peer|closed network connection",
				"|") {
				found = found || err != nil && strings.Contains(err.Error(), w)
			}
			if got != nil || !found {
				t.Errorf("%s: %+v, %v, want %q", what, got, err, c.want)
			}
		}
	}
	if r, err := http.Get("http://" + s.addr + pollProcedure); err == nil && r.StatusCode == http.StatusOK {
		t.Error("the server speaks without TLS")
	}
	// An agent looks at its own certificate first, and names the file.
	bad := s.start("join", s.path("run.json"), "--as", "p001", "--server", s.addr, "--patience", "5s")
	bad.kill()
	for what, c := range map[string]struct{ from, name, want string }{"expired": {filepath.Join(mine,
		"old"), "p004", "expired"}, "foreign": {other, "p001", "authority"}} {
		dir := t.TempDir()
		copyFile(t, s.path("certs/ca.crt"), filepath.Join(dir, "ca.crt"))
		copyFile(t, filepath.Join(c.from, c.name+".crt"), filepath.Join(dir, c.name+".crt"))
		copyFile(t, filepath.Join(c.from, c.name+".key"), filepath.Join(dir, c.name+".key"))
		if _, _, _, err := identity(dir, c.name, agentRole); err == nil ||
			!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.name+".crt") {
			t.Errorf("%s: %v", what, err)
		}
	}
	// A false server is refused by agents.
	fake := newSite(t, 6, 1, nil)
	falseServer := fake.serve()
	victim := s.start("join", s.path("run.json"), "--as", "p001", "--server", fake.addr, "--patience", "5s")
	if err := victim.Wait(); err == nil || !strings.Contains(victim.errs.String(), "certificate") {
		t.Errorf("%v: %s", err, victim.errs.String())
	}
	falseServer.kill()

	// A half-copied list of void certificates admits no agent until it is whole; agents ask again.
	list, err := os.ReadFile(s.path("certs/ca.crl"))
	if err != nil {
		t.Fatal(err)
	}
	s.write("certs/ca.crl", string(list[:len(list)/2]))
	if _, err := s.ask(s.client(s.path("certs"), "p003"), pollProcedure,
		poll); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("half a list: %v", err)
	}
	s.write("certs/ca.crl", string(list))

	a := s.join(s.names(0, 6))
	a.end()
	server.end()
	s.sameModel()
}

// An address that cannot be one is an error at once, and no hour of waiting.
func TestAddress(t *testing.T) {
	s := newSite(t, 6, 1, nil)
	for _, words := range [][]string{
		{"join", s.path("run.json"), "--all"},
		{"join", s.path("run.json"), "--all", "--server", "localhost"},
		{"serve", s.path("run.json"), "--model", s.path("model"), "--listen", "7443"},
	} {
		var out, errs bytes.Buffer
		status := tool.Execute(context.Background(), words, cli.Streams{In: strings.NewReader(""), Out: &out,
			Err: &errs})
		if status == 0 || !strings.Contains(errs.String(), "is not host:port") {
			t.Errorf("%v: %q", words, errs.String())
		}
	}
}

// A model does not take the place of what the run reads.
func TestOutputs(t *testing.T) {
	s := newSite(t, 6, 1, nil)
	rows := s.path("rows.csv")
	before, err := os.ReadFile(rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{
		{"join", s.path("run.json"), "--all", "--server", "127.0.0.1:1", "--model", rows},
		{"serve", s.path("run.json"), "--model", rows, "--listen", "127.0.0.1:0"},
		{"serve", s.path("run.json"), "--model", s.path("run.json"), "--listen", "127.0.0.1:0"},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		var out, errs bytes.Buffer
		status := tool.Execute(ctx, words, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		cancel()
		if status == 0 || !strings.Contains(errs.String(), "would overwrite") {
			t.Errorf("%v: %q", words, errs.String())
		}
	}
	if after, err := os.ReadFile(rows); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the rows have changed: %v", err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Agents that answer twice, for an old round, with NaN, wrong shapes, too much, or in a
// format that is none, change nothing: what they answer well counts, the rest is refused with
// its number.
func TestBadAnswers(t *testing.T) {
	s := newSite(t, 6, 8, nil)
	server := s.serve()
	agents, err := federation.Agents(s.cfg, s.dir, []string{"p000"}, "")
	if err != nil {
		t.Fatal(err)
	}
	a, client := agents["p000"], s.client(s.path("certs"), "p000")
	poll := func() *frame {
		f, err := s.ask(client, pollProcedure, &frame{Head: head{Run: s.cfg.Run(), Have: a.Have()}})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	send := func(what string, body []byte, want federated.Code) {
		t.Helper()
		f, err := s.ask(client, sendProcedure, &frame{Body: body})
		if err != nil || f.Head.Code != int(want) {
			t.Errorf("%s: %+v, %v, want %v", what, f, err, want)
		}
	}
	request := poll() // join
	if request.Head.State != "request" {
		t.Fatalf("%+v", request.Head)
	}
	good, err := a.Answer(context.Background(), request.Body)
	if err != nil {
		t.Fatal(err)
	}
	send("text", []byte("hello"), federated.Malformed)
	send("cut", good[:len(good)-3], federated.Malformed)
	if _, err := s.ask(client, sendProcedure, &frame{Body: make([]byte,
		80<<20)}); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("80 MB: %v", err)
	}
	if _, err := s.ask(client, sendProcedure, &frame{Body: good},
		connect.WithSendGzip()); connect.CodeOf(err) != connect.CodeUnimplemented {
		t.Errorf("compressed, which hides its size: %v", err)
	}
	send("good", good, 0)
	send("the same again", good, 0)
	send("another", forge(t, good, func(m map[string]any) { m["rows"] = 13 }, nil), federated.AnsweredElse)

	rest := s.join(s.names(1, 6))
	old := good
	for {
		f := poll()
		if f.Head.State == "wait" {
			continue
		}
		if f.Head.State != "request" {
			break
		}
		answer, err := a.Answer(context.Background(), f.Body)
		if err != nil {
			t.Fatal(err)
		}
		m, err := federated.Decode(answer)
		if err != nil {
			t.Fatal(err)
		}
		send("old", old, federated.OldRound)
		switch m.Phase {
		case "moments", "gradient":
			nan := make([]float64, m.Arrays()[0].Shape[0])
			nan[1] = math.NaN()
			send("NaN", forge(t, answer, nil, func(c *model.Container) { model.Put(c, "sum", nan) }),
				federated.NotFinite)
			send("short", forge(t, answer, nil, func(c *model.Container) { model.Put(c, "sum", nan[:1]) }),
				federated.WrongShape)
		case "boost":
			send("of numbers of another kind", forge(t, answer, nil,
				func(c *model.Container) { model.Put(c, "sum", []float64{1}) }), federated.WrongShape)
			send("out of range", forge(t, answer, nil, func(c *model.Container) {
				v, err := model.Get[int64](c, "sum")
				if err != nil {
					t.Fatal(err)
				}
				model.Put(c, "sum", append([]int64{math.MinInt64}, v[1:]...))
			}), federated.NotFinite)
		}
		send("another's name", forge(t, answer, func(m map[string]any) { m["agent"] = "p001" }, nil),
			federated.UnknownAgent)
		send("of another run", forge(t, answer, func(m map[string]any) { m["run"] = "0" }, nil),
			federated.OtherRun)
		send(m.Phase, answer, 0)
		old = answer
	}
	rest.end()
	server.end()
	s.sameModel()
}

// forge changes head and arrays of a message.
func forge(t *testing.T, b []byte, change func(map[string]any), arrays func(*model.Container)) []byte {
	t.Helper()
	c, err := model.Read(bytes.NewReader(b), nil)
	if err != nil {
		t.Fatal(err)
	}
	var meta map[string]any
	if err := c.Meta(&meta); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(meta)
	}
	if arrays != nil {
		arrays(c)
	}
	if err := c.SetMeta(meta); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := c.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Sums through masks over the network, with an agent killed in the middle.
func TestSecureNetwork(t *testing.T) {
	s := newSite(t, 10, 6, func(c *federated.Config) {
		c.Secure, c.Deadline, c.MultiBoost.Clients, c.MultiBoost.Q = true, "1s", -1, "uniform"
	})
	server := s.serve()
	a, b := s.join(s.names(0, 9)), s.join(s.names(9, 10))
	for range 400 {
		if info, err := os.Stat(s.path("journal")); err == nil && info.Size() > 60000 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	b.kill()
	a.end()
	server.end()
	if _, err := os.Stat(s.path("model")); err != nil {
		t.Fatal(err)
	}
	records := s.records()
	if last := records[len(records)-1]; last.Phase != "boost/open" {
		t.Errorf("the last exchange is %s", last.Phase)
	}
}

// The small authority: keys stay, names and domains are checked, and files are named.
func TestCerts(t *testing.T) {
	dir := t.TempDir()
	s := &site{t: t, dir: dir}
	s.run("certs", "init", "--authority", dir+"/ca")
	s.run("certs", "request", "anna", "--domain", "school", "--certificates", dir)
	fails := func(want string, words ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		if status := tool.Execute(context.Background(), words, cli.Streams{In: strings.NewReader(""), Out: &out,
			Err: &errs}); status == 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("fed %s: %q, want %q", strings.Join(words, " "), errs.String(), want)
		}
	}
	fails("exists", "certs", "init", "--authority", dir+"/ca")
	fails("exists", "certs", "request", "anna", "--certificates", dir)
	for _, name := range []string{"../eve", "ca", "", "a/b"} {
		fails("the name", "certs", "request", name, "--certificates", dir)
	}
	fails(`domain "school"`, "certs", "issue", dir+"/anna.csr", "--authority", dir+"/ca", "--domain", "clinic")
	s.run("certs", "issue", dir+"/anna.csr", "--authority", dir+"/ca", "--domain", "school", "--days", "3")
	old, err := readCertificate(dir + "/anna.crt")
	if err != nil {
		t.Fatal(err)
	}
	if old.Subject.CommonName != "anna" || old.Subject.OrganizationalUnit[0] != "school" ||
		time.Until(old.NotAfter) > 73*time.Hour {
		t.Errorf("%v until %v", old.Subject, old.NotAfter)
	}
	s.run("certs", "renew", dir+"/anna.crt", "--authority", dir+"/ca", "--days", "30")
	renewed, err := readCertificate(dir + "/anna.crt")
	if err != nil {
		t.Fatal(err)
	}
	if !renewed.NotAfter.After(old.NotAfter) || renewed.Subject.String() != old.Subject.String() ||
		renewed.SerialNumber.Cmp(old.SerialNumber) == 0 {
		t.Errorf("renewed: %v until %v", renewed.Subject, renewed.NotAfter)
	}
	s.run("certs", "revoke", dir+"/anna.crt", "--authority", dir+"/ca")
	a, err := openAuthority(dir + "/ca")
	if err != nil {
		t.Fatal(err)
	}
	list, err := a.revoked()
	if err != nil || len(list) != 2 || !void(list, old.SerialNumber) || !void(list, renewed.SerialNumber) {
		t.Errorf("the certificate before the renewal is as good as the one after: %v, %v", list, err)
	}
	s.run("certs", "revoke", dir+"/anna.crt", "--authority", dir+"/ca")
	if list, err := a.revoked(); err != nil || len(list) != 2 {
		t.Errorf("revoked twice: %v, %v", list, err)
	}
	copyFile(t, dir+"/anna.csr", dir+"/bert.csr")
	fails("anna.csr", "certs", "issue", dir+"/bert.csr", "--authority", dir+"/ca", "--domain", "school")
	fails("revoked", "certs", "renew", dir+"/anna.crt", "--authority", dir+"/ca")
	fails("anna.csr", "certs", "renew", dir+"/anna.csr", "--authority", dir+"/ca")
	fails("ca.crt", "certs", "issue", dir+"/anna.csr", "--authority", dir+"/none")
	if info, err := os.Stat(dir + "/anna.key"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key: %v, %v", info.Mode(), err)
	}
}

// Agents that are added to a configuration get certificates, and the others keep theirs.
func TestCertsLocalAgain(t *testing.T) {
	s := newSite(t, 4, 2, nil)
	before, err := os.ReadFile(s.path("certs/p001.crt"))
	if err != nil {
		t.Fatal(err)
	}
	s.cfg.Agents = append(s.cfg.Agents, federated.Member{Name: "late", Domain: "east", Data: "rows.csv",
		Where: "who=p000"})
	var f bytes.Buffer
	if err := s.cfg.Write(&f); err != nil {
		t.Fatal(err)
	}
	s.write("run.json", f.String())
	s.run("certs", "local", s.path("run.json"))
	after, err := os.ReadFile(s.path("certs/p001.crt"))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the certificate of p001 is another: %v", err)
	}
	if _, _, _, err := identity(s.path("certs"), "late", agentRole); err != nil {
		t.Error(err)
	}
	if _, _, _, err := identity(s.path("certs"), "zoe", agentRole); err == nil ||
		!strings.Contains(err.Error(), "fed certs request") {
		t.Errorf("without a certificate: %v", err)
	}
	for as, want := range map[string]string{"zoe": "FED-102", "../p000": "FED-102", "p000,p000": "twice"} {
		var errs bytes.Buffer
		if status := tool.Execute(context.Background(), []string{"join", s.path("run.json"), "--as", as},
			cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &errs}); status == 0 ||
			!strings.Contains(errs.String(), want) {
			t.Errorf("join --as %s: %q", as, errs.String())
		}
	}
}

// Load: agents in processes, with every round whole. TROPICA_LOAD=1 runs 200 agents in
// 20 processes for 100 rounds and prints what goes to NOTES.md.
func TestLoad(t *testing.T) {
	agents, processes, rounds := 24, 3, 10
	if os.Getenv("TROPICA_LOAD") != "" {
		agents, processes, rounds = 200, 20, 100
	}
	s := newSite(t, agents, rounds, func(c *federated.Config) {
		c.MultiBoost.Clients, c.MultiBoost.Candidates, c.MultiBoost.Q, c.Deadline = -1, 32, "uniform", "60s"
	})
	server := s.serve()
	begin := time.Now()
	var all []*process
	for i := range processes {
		all = append(all, s.join(s.names(i*agents/processes, (i+1)*agents/processes)))
	}
	for _, p := range all {
		p.end()
	}
	server.end()
	took := time.Since(begin)
	s.sameModel()
	var down, up int64
	n := 0
	for _, r := range s.records() {
		if len(r.Missing) > 0 {
			t.Errorf("exchange %d lacks %v", r.Number, r.Missing)
		}
		if r.Phase == "boost" {
			down, up, n = down+r.Down, up+r.Up, n+1
		}
	}
	if n != rounds {
		t.Errorf("%d rounds", n)
	}
	b, _ := json.Marshal(s.cfg.MultiBoost)
	t.Logf("%d agents in %d processes, %d rounds in %v: %.0f answers a second, %d bytes down and %d up a "+
		"round and agent; %s",
		agents, processes, rounds, took.Round(time.Millisecond),
		float64(agents*n)/took.Seconds(), down/int64(n*agents), up/int64(n*agents), b)
}
