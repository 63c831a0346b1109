package main

import (
	"io"
	"os"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/options"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
	"github.com/tropica-fst/tropica/learn/federated"
	"github.com/tropica-fst/tropica/learn/learner"
)

var experimentFederated = &command{
	name: "experiment federated", args: "", min: 0, max: 0,
	summary: "Table B.1 in kind: FEDMULTIBOOST on clients of two domains.",
	about: `
Learns digits of MNIST by writer, with school pupils and census staff as domains, and
activities by person. Folds are of clients. For each it runs FEDADABOOST on the clients of
each domain and on all, FEDMULTIBOOST with as many clients a round, and the centralised
MULTIBOOST with one term a round and by its default setting. It prints errors of test clients by
domain, and bytes as they would be sent.

The defaults were chosen on one fold of digits 3 and 8, which the table does not have (--sets 3v8).
--data is the folder of data sets. With --checkpoint fits are kept as they come, and the same
command continues from them.

Example:

  learn experiment federated --data DIR --sets 4v9 --first 2`,
	setup: func(fs *flags.Set) func(*call) error {
		data := fs.String("data", "", "Folder with the data; needed")
		sets := fs.String("sets", "", "Sets, separated by commas: 4v9, 1v7, activity; all when not given")
		o := &experiment.ClientOptions{Seed: 1}
		options.Define(fs, o)
		methods := fs.String("methods", "", "Rows of the table, separated by semicolons; all when not given")
		checkpoint := fs.String("checkpoint", "",
			"File that keeps fits as they come; if it exists, its fits are not made again. Remove it when the "+
				"program changed")
		b := &boostFlags{}
		options.Define(fs, b)
		asJSON := fs.Bool("json", false, "Report as JSON")
		workersOf := workersFlag(fs)
		return func(c *call) error {
			if err := isFolder(*data, true); err != nil {
				return err
			}
			o.Ctx = c.ctx
			var err error
			if o.Boost, err = b.options(); err != nil {
				return err
			}
			for m := range strings.SplitSeq(*methods, ";") {
				if m = strings.TrimSpace(m); m != "" {
					o.Methods = append(o.Methods, m)
				}
			}
			if o.Workers, err = workersOf(); err != nil {
				return err
			}
			list, err := experiment.ClientSets(os.DirFS(*data), list(*sets)...)
			if err != nil {
				return err
			}
			var kept results[experiment.ClientTrial]
			if err := kept.open(*checkpoint, "federated results 1"); err != nil {
				return err
			}
			o.Known, o.Save = kept.keeper(c)
			return perSet(c, list, func(s experiment.ClientSet) string { return s.Name }, *asJSON,
				func() error { return kept.interrupted("fits") },
				func(s experiment.ClientSet, done func(int, string, ...any)) (*experiment.ClientReport, error) {
					o.Fitted = func(all int, name string, fold int) { done(all, "fold %d: %s", fold+1, name) }
					return experiment.Clients(s, o)
				}, func(w io.Writer, r *experiment.ClientReport) error {
					return experiment.WriteClients(w, []*experiment.ClientReport{r})
				})
		}
	},
}

// boostFlags are the options of FEDMULTIBOOST that the experiment has flags for.
type boostFlags struct {
	Objective   string  `flag:"objective" values:"softmax,max" default:"softmax" help:"What FEDMULTIBOOST minimises"`
	Candidates  int     `flag:"candidates" default:"256" min:"0" help:"Candidates of each domain in a round; 0 is all"`
	Proposals   int     `flag:"proposals" default:"10" min:"1" max:"1000" help:"Stumps that each client proposes"`
	Step        float64 `flag:"step" default:"1" above:"0" help:"Step of round t times sqrt(t), of all federated methods"`
	Mu          float64 `flag:"mu" default:"5" above:"0" help:"Sharpness of softmax"`
	DomainSlots bool    `flag:"domain_slots" help:"No slot of all domains beside theirs"`
	Q           string  `flag:"q" values:"federated,uniform" default:"federated" help:"Domain classifier"`
	QFolds      int     `flag:"q_folds" default:"1" min:"1" max:"100" help:"Folds of clients for cross-fitting it; 1 is none"`
}

// options are those of the algorithm. Its own defaults are others: every flag's is written out.
func (b *boostFlags) options() (federated.BoostOptions, error) {
	var d boostFlags
	err := learner.Complete(&d, b)
	return federated.BoostOptions{Objective: d.Objective, Candidates: d.Candidates, Proposals: d.Proposals,
		Step: d.Step, Mu: d.Mu, Shared: !d.DomainSlots, Q: d.Q, QFolds: d.QFolds}, err
}
