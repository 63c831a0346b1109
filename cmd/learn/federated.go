package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/federation"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/federated"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/run"
)

func federatedCommands() []*command {
	return []*command{federatedConfig, federatedSimulate, federatedAgent, federatedMerge, federatedVerify,
		federatedShow, federatedErrors}
}

var federatedConfig = &command{
	name: "federated config", args: "table", min: 1, max: 1,
	summary: "Writes the configuration of a federated run over the rows of a table.",
	about: `
Each value of the --agent column is an agent, with the rows that have it; --domain names the
column of domains, which boosting needs. The table may be cut into files of one agent each
later: the field data of an agent names its file. The options of the algorithm are fields of
the file.

Example, a federated model in three commands:

  learn federated config data.csv --agent user --domain group --target class > run.json
  learn federated simulate run.json --model my.model
  learn multiboost explain --model my.model`,
	setup: func(fs *flags.Set) func(*call) error {
		agent := fs.String("agent", "", "Column that names each row's agent; needed")
		domain := fs.String("domain", "", "Column that names each row's domain, one for all rows of an agent")
		target := fs.String("target", "", "Column to predict; needed")
		classes := fs.String("classes", "",
			"Classes, separated by commas, the positive one last; rows of others are an error. All of the table, "+
				"sorted, when not given")
		drop := fs.String("drop", "", "Columns to leave out, separated by commas")
		algorithm := fs.Enum("algorithm", "multiboost", []string{"multiboost", "adaboost", "oneround",
			"average"}, "What is computed")
		minRows := fs.Int("min_rows", 32, 5,
			"Least number of rows of an agent; those with fewer are left out, with a warning")
		secure := fs.Bool("secure", false, "Sums through masks, which hide each agent's own (multiboost)")
		seed := fs.Uint("seed", 0, "Seed of the run's draws")
		rounds := fs.Int("rounds", 32, 0, "Rounds; 0 is the algorithm's own number")
		to := fs.String("output", "", "File for the configuration; standard output when not given")
		return func(c *call) error {
			if *agent == "" || *target == "" {
				return errors.New("flags --agent and --target are needed")
			}
			if *minRows < 1 || *rounds < 0 {
				return errors.New("flags --min_rows and --rounds must be positive")
			}
			o := &table.Options{Target: *target, Task: table.Classification, Drop: list(*drop),
				ID: []string{*agent}, Classes: list(*classes)}
			if *domain != "" {
				o.ID = append(o.ID, *domain)
			}
			if err := apart(places("the data", c.arg(0)), places("the configuration", *to)); err != nil {
				return err
			}
			t, err := c.openTable(c.arg(0), o)
			if err != nil {
				return err
			}
			cfg := &federated.Config{Algorithm: federated.Algorithm(*algorithm), Target: t.TargetName,
				Classes: t.Classes, Drop: append(list(*drop), o.ID...), MinRows: int(*minRows),
				Secure: *secure, Seed: *seed, Certificates: "certificates", Server: "127.0.0.1:7443"}
			cfg.MultiBoost.Rounds, cfg.Average.Rounds = int(*rounds), int(*rounds)
			if cfg.Agents, err = members(c, t, relative(*to, c.arg(0)), *agent, *domain,
				int(*minRows)); err != nil {
				return err
			}
			if err := cfg.Check(); err != nil {
				return err
			}
			return c.Output(*to, cfg.Write)
		}
	},
}

// relative is the name of a table as a configuration in another file has it.
func relative(config, name string) string {
	dir, err := filepath.Abs(filepath.Dir(cmp.Or(strings.TrimPrefix(config, "-"), ".")))
	if err != nil {
		return name
	}
	whole, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	if r, err := filepath.Rel(dir, whole); err == nil {
		return filepath.ToSlash(r)
	}
	return name
}

// members lists the agents of a table.
func members(c *call, t *table.Table, data, agent, domain string, least int) ([]federated.Member, error) {
	column := func(name string) []string {
		i := slices.IndexFunc(t.ID, func(id table.Text) bool { return id.Name == name })
		return t.ID[i].Values
	}
	names := column(agent)
	var domains []string
	if domain != "" {
		domains = column(domain)
	}
	at, count := map[string]int{}, map[string]int{}
	var out []federated.Member
	for i, n := range names {
		count[n]++
		d := ""
		if domains != nil {
			d = domains[i]
		}
		k, ok := at[n]
		if !ok {
			at[n] = len(out)
			out = append(out, federated.Member{Name: n, Domain: d, Data: data, Where: agent + "=" + n})
		} else if out[k].Domain != d {
			return nil, fmt.Errorf("%s: agent %s has rows of the domains %s and %s; an agent has one",
				t.At(i), n, out[k].Domain, d)
		}
	}
	few := 0
	out = slices.DeleteFunc(out, func(m federated.Member) bool {
		if n, _ := strings.CutPrefix(m.Where, agent+"="); count[n] < least {
			few++
			return true
		}
		return false
	})
	if few > 0 {
		c.Warn(c.prog, "%d agents have fewer than %d rows and are left out (--min_rows)", few, least)
	}
	return out, nil
}

// federatedReport is what simulate and merge report.
type federatedReport struct {
	Model string `json:"model"`
	*federated.Report
	Reason run.Reason `json:"reason,omitempty"`
}

var federatedSimulate = &command{
	name: "federated simulate", args: "run.json", min: 1, max: 1,
	summary: "Runs server and agents of a configuration in this process.",
	about: `
What is sent is encoded, decoded and counted as over a network, and the model is the same,
bit for bit, as that of ` + "`fed serve` and `fed join`" + ` with the same configuration. --dry_run foretells
rounds and bytes. With --journal a run that was cut off goes on where it was.

Models of multiboost and adaboost are for ` + "`learn multiboost` and `learn adaboost`" + `, the others for
` + "`learn oneround`" + ` (predict, eval, explain).

Example:

  learn federated simulate run.json --model my.model --journal run.journal`,
	setup: func(fs *flags.Set) func(*call) error {
		name := fs.String("model", "", "File for the model; needed but for --dry_run")
		journal := fs.String("journal", "",
			"File that keeps every exchange; if it exists, the run goes on from it")
		dry := fs.Bool("dry_run", false, "Foretell rounds and bytes, and run nothing")
		rounds := fs.Int("rounds", 32, 0, "Stop after this many rounds; 0 is the configuration's")
		asJSON := fs.Bool("json", false, "Report as JSON")
		workersOf := workersFlag(fs)
		return func(c *call) error {
			if *rounds < 0 {
				return errors.New("flag --rounds must not be negative")
			}
			if *name == "" && !*dry {
				return errors.New("flag --model is needed: the file for the model")
			}
			workers, err := workersOf()
			if err != nil {
				return err
			}
			cfg, dir, err := federation.Load(c.arg(0))
			if err != nil {
				return err
			}
			outputs := append(places("the model", *name), place{"the journal", *journal})
			if err := cli.Apart(federation.Inputs(c.arg(0), cfg, dir, ""), shared(outputs)); err != nil {
				return err
			}
			agents, err := federation.Agents(cfg, dir, federation.Names(cfg), "")
			if err != nil {
				return err
			}
			if *dry {
				return foretell(c, cfg, agents, *asJSON)
			}
			return runFederated(c, cfg, &federated.Local{Agents: agents, Workers: workers}, *journal, *name,
				int(*rounds), workers, *asJSON)
		}
	},
}

func foretell(c *call, cfg *federated.Config, agents map[string]*federated.Agent, asJSON bool) error {
	rows, columns := 0, []string(nil)
	for _, n := range federation.Names(cfg) {
		rows += agents[n].NumRows()
		columns = agents[n].Columns()
	}
	f, err := cfg.Foretell(columns, (rows+len(agents)-1)/len(agents))
	if err != nil {
		return err
	}
	if asJSON {
		return c.json(f)
	}
	fmt.Fprintf(c.Out, "%d agents, %d rows, %d columns: %d rounds in %d exchanges\n", len(agents), rows,
		len(columns), f.Rounds, f.Exchanges)
	writePhases(c.Out, f.Phases)
	fmt.Fprintf(c.Out, "about %s down and %s up", size(f.Down), size(f.Up))
	if f.Note != "" {
		fmt.Fprintf(c.Out, ", %s", f.Note)
	}
	fmt.Fprintln(c.Out)
	return nil
}

func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

func writePhases(w io.Writer, phases []federated.PhaseBytes) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "phase\texchanges\tdown\tup")
	for _, p := range phases {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\n", p.Phase, p.Exchanges, size(p.Down), size(p.Up))
	}
	t.Flush()
}

// runFederated runs a server over an exchange, and writes model and report.
func runFederated(c *call, cfg *federated.Config, x federated.Exchange, journal, name string, rounds,
	workers int, asJSON bool) error {
	j, err := federation.OpenJournal(journal)
	if err != nil {
		return err
	}
	defer j.Close()
	control := &run.Control{Ctx: c.ctx, Workers: workers, Stop: run.Stop{Iterations: rounds},
		Warn: func(s string) { c.Warn(c.prog, "%s", s) }}
	bar := progress.Start(c.Err, c.prog)
	most := cmp.Or(rounds, cfg.MultiBoost.Rounds)
	if cfg.Algorithm == federated.Average {
		most = cmp.Or(rounds, cfg.Average.Rounds)
	}
	control.Recorder = bar.Training(c.prog, run.Stop{Iterations: most})
	r, err := federated.Train(cfg, j.Over(x), control)
	bar.Stop()
	if c.ctx.Err() != nil {
		if journal == "" {
			return &stopped{"nothing was kept; with --journal the run could go on"}
		}
		return &stopped{fmt.Sprintf("all exchanges are in %s; the same command goes on from there", journal)}
	}
	if err != nil {
		return err
	}
	if err := c.Output(name, r.Write); err != nil {
		return err
	}
	rep := &federatedReport{name, r.Report, r.Reason}
	if asJSON {
		return c.json(rep)
	}
	writePhases(c.Out, rep.Phases)
	fmt.Fprintf(c.Out, "%s%d exchanges with %d agents: %s down, %s up\n", rounded(rep.Rounds),
		rep.Exchanges, len(cfg.Agents), size(rep.Down), size(rep.Up))
	if len(rep.Missing) > 0 {
		fmt.Fprintf(c.Out, "%d exchanges lacked answers (--json names the agents)\n", len(rep.Missing))
	}
	if cfg.Algorithm == federated.OneRound {
		fmt.Fprintf(c.Out, "%d of %d rows were sent (%.1f %%), %d kernels", rep.Uploaded, rep.Samples,
			100*float64(rep.Uploaded)/float64(max(rep.Samples, 1)), rep.Kernels)
		if rep.Violations != nil {
			fmt.Fprintf(c.Out, "; rows that violate the model: %s",
				strings.Trim(fmt.Sprint(rep.Violations), "[]"))
		}
		fmt.Fprintln(c.Out)
	}
	return nil
}

func rounded(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d rounds in ", n)
}

var federatedAgent = &command{
	name: "federated agent", args: "run.json NAME", min: 2, max: 2,
	summary: "Answers the requests for an agent that are files in a folder.",
	about: `
For agents that are on no network: ` + "`learn federated merge`" + ` writes requests into the folder, which
are carried to the agent, and its answers are carried back. Requests that have an answer
there are left alone. Only the agent's own rows are read.

Example:

  learn federated agent run.json anna --folder exchange --data anna.csv`,
	setup: func(fs *flags.Set) func(*call) error {
		folder := fs.String("folder", "", "Folder with requests and answers; needed")
		data := fs.String("data", "", "File with the agent's rows, in place of the configuration's")
		return func(c *call) error {
			cfg, dir, err := federation.Load(c.arg(0))
			if err != nil {
				return err
			}
			if err := fileRun(cfg, *folder); err != nil {
				return err
			}
			name := c.arg(1)
			agents, err := federation.Agents(cfg, dir, []string{name}, *data)
			if err != nil {
				return err
			}
			files, err := filepath.Glob(filepath.Join(*folder, "*-"+name+".request"))
			if err != nil {
				return err
			}
			slices.Sort(files)
			n := 0
			for _, path := range files {
				to := strings.TrimSuffix(path, ".request") + ".answer"
				if _, err := os.Stat(to); err == nil {
					continue
				}
				b, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				answer, err := agents[name].Answer(c.ctx, b)
				if err != nil {
					return err
				}
				if m, err := federated.Decode(answer); err == nil && m.Code != 0 {
					return fmt.Errorf("%s: %w", path, &federated.Error{Code: m.Code, Agent: name,
						Msg: m.Text})
				}
				if err := c.Output(to, func(w io.Writer) error { _, err := w.Write(answer); return err }); err != nil {
					return err
				}
				n++
				fmt.Fprintf(c.Out, "%s: %s\n", to, size(int64(len(answer))))
			}
			if n == 0 {
				fmt.Fprintf(c.Out, "%s has no request for %s that is not answered\n", *folder, name)
			}
			return nil
		}
	},
}

// fileRun refuses what cannot be done by files.
func fileRun(cfg *federated.Config, folder string) error {
	if folder == "" {
		return errors.New("flag --folder is needed: where requests and answers are")
	}
	if cfg.Secure {
		return &federated.Error{Code: federated.BadConfig, Msg: "secure: sums through masks need agents that " +
			"stay; `fed` has them"}
	}
	return nil
}

// folderExchange reaches agents by files.
type folderExchange struct {
	c      *call
	cfg    *federated.Config
	folder string
	close  bool // do not wait for the agents that are missing now
	wrote  int
}

// errWaiting ends a run whose answers are not there yet.
var errWaiting = errors.New("waiting for answers")

// Ask implements federated.Exchange.
func (x *folderExchange) Ask(_ context.Context, call *federated.Call) (*federated.Answers, error) {
	a := &federated.Answers{By: map[string][]byte{}, Missing: map[string]string{}}
	waiting := 0
	for _, name := range call.To {
		base := filepath.Join(x.folder, fmt.Sprintf("%05d-%s-%s", call.Number,
			strings.ReplaceAll(call.Phase, "/", "-"), name))
		m, err := call.Request(name, 0)
		if err != nil {
			return nil, err
		}
		b, err := m.Encode()
		if err != nil {
			return nil, err
		}
		a.Down += int64(len(b))
		answer, err := readLimited(base+".answer", call.Limit)
		switch {
		case errors.Is(err, os.ErrNotExist):
			if waiting++; x.close {
				a.Missing[name] = "no answer"
				continue
			}
			if old, err := os.ReadFile(base + ".request"); err == nil && bytes.Equal(old, b) {
				continue
			}
			if err := x.c.Output(base+".request",
				func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
				return nil, err
			}
			x.wrote++
			continue
		case err != nil:
			return nil, err
		}
		if err := federated.Judge(call, name, answer); err != nil {
			return nil, fmt.Errorf("%s.answer: %w", base, err)
		}
		a.By[name], a.Up = answer, a.Up+int64(len(answer))
	}
	if waiting > 0 && !x.close {
		return nil, fmt.Errorf("exchange %d (%s, round %d): %d of %d answers are missing: %w", call.Number,
			call.Phase, call.Round, waiting, len(call.To), errWaiting)
	}
	return a, nil
}

// readLimited reads a file of at most that many bytes.
func readLimited(name string, most int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, fmt.Errorf("%s: %w", name, &federated.Error{Code: federated.TooLarge,
			Msg: fmt.Sprintf("%d bytes; %d are allowed", info.Size(), most)})
	}
	return os.ReadFile(name)
}

var federatedMerge = &command{
	name: "federated merge", args: "run.json", min: 1, max: 1,
	summary: "Runs the server of a configuration by files in a folder.",
	about: `
Reads the answers that agents have put into the folder, advances as far as they allow, and writes
the next requests there. At the end it writes the model. Call it again when answers have
arrived. --close continues without missing ones, as far as the configuration's quorum
allows. Closed exchanges are in the folder's journal. With algorithm oneround and scale none it
is one upload and one download.

Example:

  learn federated merge run.json --folder exchange --model my.model`,
	setup: func(fs *flags.Set) func(*call) error {
		folder := fs.String("folder", "", "Folder with requests and answers; needed")
		name := fs.String("model", "", "File for the model; needed")
		now := fs.Bool("close", false, "Close the exchange without the answers that are missing")
		asJSON := fs.Bool("json", false, "Report as JSON")
		return func(c *call) error {
			if *name == "" {
				return errors.New("flag --model is needed: the file for the model")
			}
			cfg, dir, err := federation.Load(c.arg(0))
			if err != nil {
				return err
			}
			if err := fileRun(cfg, *folder); err != nil {
				return err
			}
			if err := cli.Apart(federation.Inputs(c.arg(0), cfg, dir, ""),
				shared(places("the model", *name))); err != nil {
				return err
			}
			if err := os.MkdirAll(*folder, 0o777); err != nil {
				return err
			}
			x := &folderExchange{c: c, cfg: cfg, folder: *folder, close: *now}
			err = runFederated(c, cfg, x, filepath.Join(*folder, "journal"), *name, 0, 0, *asJSON)
			if errors.Is(err, errWaiting) {
				fmt.Fprintf(c.Out, "%v; %d requests were written to %s\n", err, x.wrote, *folder)
				return nil
			}
			return err
		}
	},
}

var federatedVerify = &command{
	name: "federated verify", args: "run.json NAME", min: 2, max: 2,
	summary: "Counts an agent's rows that violate a model of one round.",
	about: `
Where no agent has any, the federated model is that of the centralised problem.

Example:

  learn federated verify run.json anna --model my.model`,
	setup: func(fs *flags.Set) func(*call) error {
		name := fs.String("model", "", "File with the model; needed")
		data := fs.String("data", "", "File with the agent's rows, in place of the configuration's")
		return func(c *call) error {
			cfg, dir, err := federation.Load(c.arg(0))
			if err != nil {
				return err
			}
			m, shown, err := load(c, *name, "federated simulate", federated.ReadKernel)
			if err != nil {
				return err
			}
			if m.Run != cfg.Run() {
				return fmt.Errorf("%s: %w", shown, &federated.Error{Code: federated.OtherRun,
					Msg: "the model is of another run than " + c.arg(0)})
			}
			agents, err := federation.Agents(cfg, dir, []string{c.arg(1)}, *data)
			if err != nil {
				return err
			}
			n, err := agents[c.arg(1)].Violations(m)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.Out, "%s: %d of %d rows violate the model\n", c.arg(1), n,
				agents[c.arg(1)].NumRows())
			return nil
		}
	},
}

var federatedShow = &command{
	name: "federated show", args: "file ...", min: 1, max: -1,
	summary: "Says what is in a message file or a journal, and whether it is whole.",
	about: `
Messages are checked by their checksum. Each exchange of a journal is a line, with the agents
that were missing.

Example:

  learn federated show exchange/00001-join-anna.answer`,
	setup: func(fs *flags.Set) func(*call) error {
		return func(c *call) error {
			for _, name := range c.args {
				b, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				if m, err := federated.Decode(b); err == nil {
					fmt.Fprintf(c.Out, "%s: %s of agent %s, run %s, exchange %d, round %d, %s\n", name,
						m.Phase, m.Agent, m.Run, m.Number, m.Round, size(int64(len(b))))
					for _, a := range m.Arrays() {
						fmt.Fprintf(c.Out, "  %s %v\n", a.Name, a.Shape)
					}
					continue
				} else if bytes.HasPrefix(b, []byte("TROPICA\n")) {
					return fmt.Errorf("%s: %w", name, err)
				}
				records, whole, err := federated.ReadJournal(bytes.NewReader(b))
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				if len(records) == 0 {
					return fmt.Errorf("%s: it is neither a message nor a journal", name)
				}
				fmt.Fprintf(c.Out, "%s: journal of run %s, %d exchanges", name, records[0].Run, len(records))
				if n := int64(len(b)) - whole; n > 0 {
					fmt.Fprintf(c.Out, "; the last %d bytes are cut short and will not be used", n)
				}
				fmt.Fprintln(c.Out)
				for i := range records {
					writeRecord(c.Out, &records[i])
				}
			}
			return nil
		}
	},
}

func writeRecord(w io.Writer, r *federated.Record) {
	fmt.Fprintf(w, "  %d %s round %d: %d of %d answered, %s down, %s up", r.Number, r.Phase, r.Round,
		len(r.By), len(r.To), size(r.Down), size(r.Up))
	names := []string{}
	for n := range r.Missing {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		fmt.Fprintf(w, "; %s: %s", n, r.Missing[n])
	}
	fmt.Fprintln(w)
}

var federatedErrors = &command{
	name: "federated errors", args: "", min: 0, max: 0,
	summary: "Lists the numbers of errors of federated runs, and how to mend them.",
	setup: func(*flags.Set) func(*call) error {
		return func(c *call) error {
			s := learner.Section{Columns: []string{"number", "what to do"}}
			for _, k := range federated.Codes() {
				s.Rows = append(s.Rows, []any{k.String(), k.Mend()})
			}
			return writeSection(c.Out, &s, 0)
		}
	},
}
