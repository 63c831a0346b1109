package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/learner"
)

// shownFlags are the flags of verbs with many that --help lists: those that most users set.
// --help-all lists all.
var shownFlags = map[string]string{
	"rgb train":        "target valid model rounds patience rate loss rows columns seed",
	"gb train":         "target valid model rounds patience rate loss depth leaves l2 resilient",
	"adaboost train":   "target valid model rounds variant splits bins",
	"multiboost train": "target source valid model rounds loss objective splits seed",
	"almo train":       "target model losses units l2 hidden solver gap seed plot",
	"tracking train":   "model lineage truth method lambda norm gap neighbours events gate stride",
	"sequence train":   "model objective loss gamma band l2 order templates solver network partial resilient",
	"structured train": "target outputs text lexicon model loss loss_scale kernel lambda estimator candidates",
	"oneround train":   "model cost eps gamma hinge kernel price scale target width",
	"g2p train":        "model objective gamma l2 max_phones align_min_count resilient",
}

// topics are the headings of --help-all, in its order, with what stands under each; what
// stands under none is the learner's own.
var topics = []struct{ title, flags string }{
	{"HOW DATA ARE READ", "target source weight id drop categorical task format no_header separator missing " +
		"decimal thousands symbols dates absent_missing header label test valid heldout heldout_data lineage " +
		"truth sequence series width height allow_empty stride offset tolerance parts"},
	{"THE RUN AND ITS FILES", "model checkpoint checkpoint_every resume csv json plot iterations stop " +
		"patience workers seed"},
}

const ownTopic = "WHAT IS LEARNT"

// shown returns the flags that --help lists for a command; nil is all.
func (c *command) shown() []string {
	if list, ok := shownFlags[c.name]; ok {
		return strings.Fields(list)
	}
	group, verb, _ := strings.Cut(c.name, " ")
	if verb != "train" {
		return nil
	}
	for _, l := range tableLearners {
		if l.Name() != group {
			continue
		}
		names := []string{"target", "weight", "model"}
		for _, p := range learner.Options(l.Options()) {
			if p.Topic == "" {
				names = append(names, p.Name)
			}
		}
		return names
	}
	return nil
}

// printFlags lists flags: those shown, with a word on how to see the others, or all of them by
// topic.
func printFlags(w io.Writer, fs *flags.Set, shown []string, all bool) {
	one := func(f *flags.Flag) {
		fmt.Fprintf(w, "  --%s: type = %s, default = %s\n  %s\n", f.Name, f.Type, f.Default, f.Usage)
	}
	if shown == nil {
		fs.PrintHelp(w, true)
		return
	}
	if !all {
		fmt.Fprint(w, "FLAGS:\n\n")
		rest := 0
		for _, f := range fs.Flags() {
			if slices.Contains(shown, f.Name) {
				one(f)
			} else {
				rest++
			}
		}
		fmt.Fprintf(w, "\n%d more flags: --help-all lists them\n", rest)
		return
	}
	topicOf := func(name string) string {
		for _, t := range topics {
			if slices.Contains(strings.Fields(t.flags), name) {
				return t.title
			}
		}
		return ownTopic
	}
	for _, title := range []string{topics[0].title, ownTopic, topics[1].title} {
		fmt.Fprintf(w, "%s:\n\n", title)
		for _, f := range fs.Flags() {
			if topicOf(f.Name) == title {
				one(f)
			}
		}
		fmt.Fprintln(w)
	}
}
