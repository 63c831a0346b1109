// Command fed runs federated learning over a network, with mutual TLS.
//
//	fed certs init|request|issue|renew|revoke|local   a small certificate authority
//	fed serve run.json --model my.model               the server of a configuration
//	fed join run.json --as anna                       an agent
//	fed errors                                        the numbers of errors, and how to mend them
//
// The configuration is that of `learn federated simulate`, and so is the model, bit for bit.
// From nothing to a federated model, on one machine:
//
//	learn federated config data.csv --agent user --domain group --target class --output run.json
//	fed certs local run.json
//	fed join run.json --all & fed serve run.json --model my.model --journal run.journal
//
// # Who may do what
//
// Server and agents show each other certificates of one authority. All others are refused.
// An agent's name and domain are those of its certificate, so that it cannot speak for another
// one. Keys are made where they are used and never leave there: the authority signs requests.
//
//	fed certs init --authority ca                                      at the authority
//	fed certs request anna --domain school --certificates certs       at the agent: a key and a request
//	fed certs issue certs/anna.csr --authority ca --domain school      at the authority
//
// # What a run survives
//
// Agents may be late, leave, crash and come back, answer twice or for an old round, or send
// nonsense. An exchange ends when all have answered, or at the deadline with the quorum that the
// configuration requires. The journal says who was missing and why. A server that is killed at any
// moment continues from its journal, to the same model.
package main

import (
	"fmt"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/program"
	"github.com/tropica-fst/tropica/learn/federated"
)

func main() { tool.Main() }

var tool = &program.Program{
	Name: "fed", Summary: "Federated learning over mutual TLS.", Args: "[arguments]",
	Commands: func() []*command {
		return []*command{certsInit, certsRequest, certsIssue, certsRenew, certsRevoke, certsLocal, serve, join,
			listErrors}
	},
}

type (
	command = program.Command
	call    = program.Call
)

var listErrors = &command{
	Name: "errors", Args: "", Min: 0, Max: 0,
	Summary: "Lists the numbers of errors, and how to mend them.",
	Setup: func(*flags.Set) func(*call) error {
		return func(c *call) error {
			for _, k := range federated.Codes() {
				fmt.Fprintf(c.Out, "%v  %s\n", k, k.Mend())
			}
			return nil
		}
	},
}
