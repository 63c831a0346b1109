package experiment

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Peer is another program's test errors, by trial.
type Peer struct {
	Name   string    `json:"name"`
	Errors []float64 `json:"errors"` // as shares of the test rows
}

// ThesisFigures are errors in per cent, mean and standard deviation.
type ThesisFigures struct {
	RGB   [2]float64 `json:"rgb"`
	GB    [2]float64 `json:"gb"`
	Level string     `json:"level"` // of the one-tailed paired t-test; "" is none
}

// table31JSON has the thesis' figures and the errors of XGBoost and scikit-learn by trial; it
// contains a note on how they were made.
//
//go:embed testdata/table31.json
var table31JSON []byte

// recordedSet are the runs of one set on one division into trials. A set may have
// several; the first has the thesis' figures.
type recordedSet struct {
	Name      string     `json:"name"`
	Fresh     string     `json:"fresh,omitempty"` // seed of the trials; "" is the usual ones
	RGB       [2]float64 `json:"thesis_rgb"`
	GB        [2]float64 `json:"thesis_gb"`
	Level     string     `json:"thesis_level"`
	Divisions []string   `json:"divisions"` // Fingerprint of each trial
	Tested    []int      `json:"tested"`    // test rows of each trial
	Peers     []struct {
		Name  string `json:"name"`
		Wrong []int  `json:"wrong"` // test rows on the wrong side, by trial; some have not all trials
	} `json:"peers"`
}

var recordedSets = sync.OnceValues(func() (Record, error) {
	r, err := ReadRecord(bytes.NewReader(table31JSON))
	if err != nil {
		return nil, fmt.Errorf("testdata/table31.json: %w", err)
	}
	return r, nil
})

// Record are errors of other programs by trial, of several sets and divisions.
type Record map[string][]recordedSet

// ReadRecord reads a record: the form is that of testdata/table31.json in this package, and
// testdata/bench/boost/trials.py of the source tree writes one for any fresh trials.
func ReadRecord(r io.Reader) (Record, error) {
	var file struct {
		Source []string      `json:"source"`
		Sets   []recordedSet `json:"sets"`
	}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("no record of errors by trial: %w", err)
	}
	out := Record{}
	for _, s := range file.Sets {
		if len(s.Divisions) != len(s.Tested) {
			return nil, fmt.Errorf("no record of errors by trial: %s: %d divisions, %d numbers of test rows", s.Name,
				len(s.Divisions), len(s.Tested))
		}
		for _, n := range s.Tested {
			if n < 1 {
				return nil, fmt.Errorf("no record of errors by trial: %s: a trial of %d test rows", s.Name, n)
			}
		}
		for _, p := range s.Peers {
			if len(p.Wrong) > len(s.Tested) {
				return nil, fmt.Errorf("no record of errors by trial: %s: %s has errors of %d trials, of %d", s.Name,
					p.Name, len(p.Wrong), len(s.Tested))
			}
			for k, n := range p.Wrong {
				if n < 0 || n > s.Tested[k] {
					return nil, fmt.Errorf("no record of errors by trial: %s: %s is wrong on %d of %d test rows of trial %d",
						s.Name, p.Name, n, s.Tested[k], k)
				}
			}
		}
		out[s.Name] = append(out[s.Name], s)
	}
	return out, nil
}

// recorded returns what is on record for the trials of a set. Errors of other programs
// are given only when every trial divides the rows as theirs did: only then can
// tests be paired.
//
// More is looked at first, then what came with this program.
func recorded(set string, trials []int, divisions []string, more Record) (*ThesisFigures, []Peer, string) {
	all, err := recordedSets()
	if err != nil {
		return nil, nil, err.Error()
	}
	list := slices.Concat(more[set], all[set])
	if len(list) == 0 {
		return nil, nil, "no other program's errors are on record"
	}
	var thesis *ThesisFigures
	if own := all[set]; len(own) > 0 {
		thesis = &ThesisFigures{own[0].RGB, own[0].GB, own[0].Level}
	}
	for k := range list {
		if list[k].holds(trials, divisions) {
			return thesis, list[k].peers(trials), ""
		}
	}
	return thesis, nil, "other rows or divisions than those of the record: no paired tests against it"
}

// holds reports whether the trials are those of the record.
func (s *recordedSet) holds(trials []int, divisions []string) bool {
	for k, i := range trials {
		if i >= len(s.Tested) || s.Divisions[i] != divisions[k] {
			return false
		}
	}
	return true
}

// peers are the programs that have all the trials.
func (s *recordedSet) peers(trials []int) []Peer {
	var out []Peer
	for _, p := range s.Peers {
		q := Peer{Name: p.Name}
		for _, i := range trials {
			if i < len(p.Wrong) {
				q.Errors = append(q.Errors, float64(p.Wrong[i])/float64(s.Tested[i]))
			}
		}
		if len(q.Errors) == len(trials) {
			out = append(out, q)
		}
	}
	return out
}
