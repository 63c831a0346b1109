// Package modelfile tells what the files of learners are, for the commands that are given one.
//
//	if c, err := modelfile.Read(r); err == nil {
//		return modelfile.Describe(w, c)
//	}
package modelfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tropica-fst/tropica/learn/model"
)

// kinds are what files of learners may be, with the groups of commands that read them.
var kinds = map[string]struct {
	what   string
	groups []string
}{
	"sequence":              {"a model of sequences", []string{"sequence"}},
	"g2p":                   {"a model of pronunciations", []string{"g2p"}},
	"sparse":                {"a model of few kernels", []string{"sparse"}},
	"resilient":             {"a resilient network", []string{"resilient"}},
	"linear":                {"a linear model", []string{"linear"}},
	"tracking":              {"a model of tracking", []string{"tracking"}},
	"almo":                  {"a model of several objectives", []string{"almo"}},
	"structured":            {"a model of structured outputs", []string{"structured"}},
	"transduce":             {"a string transducer", []string{"transduce"}},
	"skpca":                 {"a model of supervised kernel components", []string{"skpca"}},
	"boost":                 {"a boosted model", []string{"gb", "rgb", "adaboost"}},
	"multiboost":            {"a model of multi-class boosting", []string{"multiboost"}},
	"federated":             {"a message of federated learning", []string{"federated"}},
	"federated average":     {"an average of federated learning", []string{"federated"}},
	"federated kernel":      {"a kernel model of federated learning", []string{"federated"}},
	"federated journal":     {"a journal of federated learning", []string{"federated"}},
	"checkpoint":            {"the state of a training run, for --resume", nil},
	"boost-checkpoint":      {"the state of a training run, for --resume", nil},
	"multiboost-checkpoint": {"the state of a training run, for --resume", nil},
}

// Groups returns the groups of commands that read files of a kind.
func Groups(kind string) []string { return kinds[kind].groups }

// ErrOther reports a file that is not of learners.
var ErrOther = errors.New("not a file of the learners, which begin with TROPICA")

// Is reports whether the next bytes of r are those of a file of learners.
func Is(r *bufio.Reader) bool {
	b, _ := r.Peek(len(model.Magic))
	return string(b) == model.Magic
}

// Read reads a file, which must be whole. The error wraps ErrOther where it is of something else.
func Read(r io.Reader) (*model.Container, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	if !Is(b) {
		return nil, ErrOther
	}
	return model.Read(b, nil)
}

// Describe writes what a file is: its kind, what learnt it, its parts, and the commands for it.
func Describe(w io.Writer, c *model.Container) error {
	k, ok := kinds[c.Kind]
	if !ok {
		k.what = "a file of a learner that this program does not know"
	}
	fmt.Fprintf(w, "%-50s%s (%s, version %d)\n", "file", k.what, c.Kind, c.Version)
	if err := c.Describe(w); err != nil {
		return err
	}
	if len(k.groups) > 0 {
		_, err := fmt.Fprintf(w, "%-50slearn %s; learn help %s lists their verbs\n", "commands",
			strings.Join(k.groups, ", learn "),
			k.groups[0])
		return err
	}
	return nil
}
