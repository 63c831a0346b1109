package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tropica-fst/tropica/learn/boost/multi"
)

// A small rerun: what is recorded fits together, and does not depend on workers.
func TestSources(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	sets, err := Table41Sets(smallTables, "adult-noedu")
	if err != nil {
		t.Fatal(err)
	}
	o := &SourceOptions{Rounds: 5, Folds: 3, MaxRows: 60, Literal: true, Workers: 1}
	fits := 0
	o.Fitted = func(all int, _ string, _ int) {
		if fits++; fits > all {
			t.Errorf("fit %d of %d", fits, all)
		}
	}
	r, err := Sources(sets[0], o)
	if err != nil {
		t.Fatal(err)
	}
	if fits != 3*7 || r.Folds != 3 || r.Train != 180 || r.Test != 180 ||
		!slices.Equal(r.Rows, []int{10628, 14783, 19811}) {
		t.Errorf("%d fits, %d folds, %v and %v rows of %v", fits, r.Folds, r.Train, r.Test, r.Rows)
	}
	for _, m := range r.Models {
		if len(m.Domain) != 3 || len(m.Terms) != 3 {
			t.Fatalf("%s: %d folds", m.Name, len(m.Domain))
		}
		for f, e := range m.Domain {
			if math.Abs(m.Uniform[f]-(e[0]+e[1]+e[2])/3) > 1e-12 || m.Agnostic[f] != max(e[0], e[1], e[2]) {
				t.Errorf("%s: uniform %v and agnostic %v of %v", m.Name, m.Uniform[f], m.Agnostic[f], e)
			}
		}
	}
	for f, n := range r.Model(MultiBoost).Terms {
		if n < 5 || n > 20 || r.Model(AdaBoostTerms).Terms[f] != n || r.Model(MultiEqual).Terms[f] > 5 ||
			r.Model(AdaBoostAll).Terms[f] > 5 {
			t.Errorf("%v terms in 5 rounds, AdaBoost-all at equal terms has %v", n, r.Model(AdaBoostTerms).Terms[f])
		}
	}
	o.Workers, o.Fitted = 3, nil
	again, err := Sources(sets[0], o)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, again, cmpopts.IgnoreFields(SourceReport{}, "Seconds"),
		cmpopts.IgnoreFields(SourceModel{}, "Seconds")); d != "" {
		t.Error(d)
	}
	// A run that is cut goes on from the trials that it kept, to the same report.
	stop := errors.New("cut")
	var kept []SourceTrial
	o.Save = func(t *SourceTrial) error {
		if kept = append(kept, *t); len(kept) == 2 {
			return stop
		}
		return nil
	}
	if _, err := Sources(sets[0], o); !errors.Is(err, stop) || len(kept) != 2 {
		t.Fatal(err, len(kept))
	}
	more, told := 0, 0
	o.Known, o.Save = kept, func(*SourceTrial) error { more++; return nil }
	o.Fitted = func(int, string, int) { told++ }
	if again, err = Sources(sets[0], o); err != nil || more != 1 || told != 3*7 {
		t.Fatalf("%v: %d trials were made after 2 of 3, %d models told", err, more, told)
	}
	if d := cmp.Diff(r, again, cmpopts.IgnoreFields(SourceReport{}, "Seconds"),
		cmpopts.IgnoreFields(SourceModel{}, "Seconds")); d != "" {
		t.Error(d)
	}
	// Of other settings, rows or divisions none is known.
	for _, change := range []func(*SourceOptions){func(o *SourceOptions) { o.Options.Mu = 2 },
		func(o *SourceOptions) { o.Fresh = "1" }, func(o *SourceOptions) { o.MaxRows = 50 },
		func(o *SourceOptions) { o.Rounds = 4 }} {
		other := *o
		change(&other)
		other.Folds, more = 1, 0
		if _, err := Sources(sets[0], &other); err != nil || more != 1 {
			t.Errorf("%v: %d trials were made of other settings", err, more)
		}
	}
	bad := *o
	bad.Options.Q = multi.Uniform{P: 3}
	if _, err := Sources(sets[0], &bad); err == nil || !strings.Contains(err.Error(), "kept by their settings") {
		t.Error(err)
	}
	torn := *o
	torn.Known = []SourceTrial{kept[0]}
	torn.Known[0].Models = slices.Clone(kept[0].Models)
	torn.Known[0].Models[0].Uniform = nil
	if _, err := Sources(sets[0], &torn); err == nil || !strings.Contains(err.Error(), "is not one of a trial") {
		t.Error(err)
	}
	var b bytes.Buffer
	if err := WriteTable41(&b, []*SourceReport{r, again}); err != nil ||
		!strings.Contains(b.String(), "MULTIBOOST against AdaBoost-all: uniform") ||
		!strings.Contains(b.String(), "19.0 13.2 13.0 15.0 19.0") {
		t.Error(err, b.String())
	}
	c, err := r.Compare(AdaBoostAll, AdaBoostAll)
	if err != nil || c.Uniform.Difference != 0 || c.Uniform.P != 1 || c.Agnostic.Won != 0 {
		t.Error(c, err)
	}
	if _, err := r.Compare("nobody", AdaBoostAll); err == nil {
		t.Error("a model that is not there was compared")
	}
}

// Rows of the printed tables belong together: the uniform error is the mean of the
// sources' (to rounding, and but for the four cells of the thesis that are not).
func TestTable41Constants(t *testing.T) {
	odd := []string{"sentiment 4", "digits17 3", "fashion 2", "adult 4"}
	for name, rows := range table41Thesis {
		for n, r := range rows {
			if d := math.Abs(r[3] - (r[0]+r[1]+r[2])/3); (d > 0.15) != slices.Contains(
				odd, fmt.Sprint(name, " ", n+1)) {
				t.Errorf("thesis, %s, row %d: uniform %v of %v", name, n+1, r[3], r[:3])
			}
		}
	}
	for name, rows := range table41Recorded {
		for n, r := range rows {
			if d := math.Abs(r[3] - (r[0]+r[1]+r[2])/3); d > 0.011 || r[4] < max(r[0], r[1], r[2])-0.011 {
				t.Errorf("recorded, %s, row %d: uniform %v, agnostic %v of %v", name, n+1, r[3], r[4], r[:3])
			}
		}
	}
}
