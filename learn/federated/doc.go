// Package federated learns without collecting the data: agents keep their rows and answer requests,
// and a server makes a model of the answers. It is functions of messages, free of any transport.
// The command learn runs it in one process and by files, the command fed over a network.
//
//	cfg, err := federated.ReadConfig(file)         // the same for the server and all agents
//	a, err := federated.NewAgent(cfg, "anna", t)   // anna's rows, read with cfg.TableOptions
//	answer, err := a.Answer(ctx, request)          // bytes for bytes
//
//	agents := &federated.Local{Agents: map[string]*federated.Agent{"anna": a, "bert": b}}
//	r, err := federated.Train(cfg, &federated.Journal{Exchange: agents}, nil)
//	err = r.Write(w)
//
// # The types to know
//
//   - Config is one run: algorithm, columns, agents with their domains.
//   - Agent answers requests from its own rows.
//   - Train is the server: a plain sequence of exchanges over an Exchange, which reaches
//     agents; Local reaches those of this process. Call is one exchange, with requests to
//     make and a judge of answers.
//   - Journal keeps every exchange before the run continues. A run that was interrupted is run
//     again from the start; exchanges in the journal are not repeated.
//   - Message is the unit of communication: a file of package model, with a JSON header, arrays and
//     a checksum.
//   - Error has a number that never changes its meaning, and a line on how to fix it.
//
// # Algorithms
//
// MultiBoost is FEDMULTIBOOST (figure 4.2 and appendix B of the thesis that package boost/multi
// follows). In each round agents of every domain are drawn, and candidates of every domain's
// dictionary. An agent answers with Σ Phi(u), its rows, and Σ Phi'(u) y Q h of each candidate; the
// candidate of the largest score gets the step eta/√t. With objective max the score is that of the
// domain of largest loss. With softmax, the default, it is the mean over domains by exp(mu F_k),
// since a maximum stalls (package boost/multi has the reason). Dictionaries are stumps that agents
// propose; the domain classifier Q is multinomial logistic regression by averaged gradients. With
// QFolds no agent boosts with a Q that its own rows trained. The model is that of package
// boost/multi.
//
// AdaBoost is the baseline FEDADABOOST: agents drawn train a stump each, and vote.
//
// OneRound is classification by critical samples (Peifer, chapter 3). Each agent solves its own
// kernel machine and sends the samples with multipliers; the server solves the problem of their
// union from those. Agents may then count their rows that violate its constraints: without any, the
// model is that of the centralised problem. Repair has these rows sent. More than two classes are
// separated in pairs. Average is federated averaging, for comparison.
//
// # What may be relied on
//
//   - The bits of a model depend only on the answers. They are the same in one process and over a
//     network, for any number of workers, order of arrival, and interruptions.
//   - Sums of boosting are of rows in fixed point. They therefore do not depend on how rows are
//     divided among agents. With all agents and candidates the run is the centralised one of
//     package boost/multi, term by term (a test).
//   - An answer that is late, of another run, of wrong shape, not finite, or too large counts as
//     missing. Who was missing, and why, is in the journal and the report.
//   - Agents keep the ensemble's scores of their rows. An agent that has lost them is sent all
//     terms again; a check sum of the terms detects this.
//
// # What privacy is and is not given
//
// Rows do not leave an agent in MultiBoost, AdaBoost and Average, but the answers can reveal some
// of them. Stumps have thresholds between two values of the agent. Sums of few rows reveal their
// labels, so MinRows bounds the rows of agents from below. Gradients and weights can be inverted.
// The server sees each agent's sums, unless Secure collects them through masks. It then sees only
// sums of three agents or more; package mask states the assumptions. Masks do not hide stumps that
// agents propose. OneRound sends raw rows: the critical ones, by name and value.
//
// Nothing here is differentially private, and no option claims it.
//
// # Where the sources do not hold as printed, and what was decided
//
//   - Figure 4.2 normalises weights by a domain's sum, which an agent does not know. Agents
//     send sums that are not normalised: the score is the same, and a round trip is saved.
//     Its line 9, a mean of agents' means, is ClientMean; by default rows weigh the same.
//   - Classes of base classifiers are closed under negation by sign: the server takes |V|.
//   - Peifer's multipliers are divided by the number of samples. The union therefore starts from
//     the concatenation (section B2 of the specification), multiplied by the best factor. This
//     saves steps where agents have regions of their own, but not where they are alike.
//   - With cost total-hinge the bound is a mean over rows, common to all agents and the server. The
//     sum that the source bounds would differ for each. The price of hinge losses at which the bound
//     is met is searched for; a bound that is out of reach is an error after a few prices.
//   - The problem of a finite sample is not always the centralised one: see Violations.
//   - With Gamma above 0, the price of the support's measure, the problem is solved on sampled
//     centres and widths, the same for everyone, by supergradient ascent. At 0 the kernel has a
//     closed form.
//
// References: C. Cortes, M. Mohri, D. Storcheus, A. T. Suresh, "Boosting with multiple
// sources", NeurIPS 2021; M. Peifer, "Balancing fit and complexity in learned
// representations", dissertation; H. B. McMahan et al., "Communication-efficient learning of deep
// networks from decentralized data", AISTATS 2017.
package federated
