package federated

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/run"
)

// people draws a table of two domains whose labels depend on different columns, dealt to agents of
// each domain. Only the first column reveals the domain.
func people(seed uint64, rows, agents, columns int) (*table.Table, *Config, map[string][]int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	t := &table.Table{Name: "people", Rows: rows, Classes: []string{"no", "yes"}, TargetName: "y",
		Target:  make([]float64, rows),
		Sources: []string{"a", "b"}, SourceName: "domain", Source: make([]int32, rows)}
	for j := range columns {
		t.Columns = append(t.Columns, table.Column{Name: fmt.Sprintf("x%d", j),
			Values: make([]float32, rows)})
	}
	c := &Config{Target: "y", Classes: t.Classes, Seed: seed}
	of := map[string][]int{}
	for i := range rows {
		k := i % 2
		t.Source[i] = int32(k)
		for j := range columns {
			t.Columns[j].Values[i] = float32(rng.NormFloat64())
		}
		t.Columns[0].Values[i] += float32(3*k) - 1.5
		if z := float64(t.Columns[1+k].Values[i]) + 0.5*float64(t.Columns[3].Values[i]) +
			0.3*rng.NormFloat64(); z > 0 {
			t.Target[i] = 1
		}
		name := fmt.Sprintf("%s%02d", t.Sources[k], i/2%agents)
		if of[name] == nil {
			c.Agents = append(c.Agents, Member{Name: name, Domain: t.Sources[k]})
		}
		of[name] = append(of[name], i)
	}
	return t, c, of
}

// local makes the agents of a configuration over rows of a table.
func local(t testing.TB, c *Config, x *table.Table, of map[string][]int) *Local {
	t.Helper()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	l := &Local{Agents: map[string]*Agent{}}
	for name, rows := range of {
		a, err := NewAgent(c, name, x.Subset(rows))
		if err != nil {
			t.Fatal(err)
		}
		l.Agents[name] = a
	}
	return l
}

func train(t testing.TB, c *Config, x Exchange) *Result {
	t.Helper()
	r, err := Train(c, &Journal{Exchange: x}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// file is a model's file.
func file(t testing.TB, r *Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// serverOf makes a server that stands before its algorithm.
func serverOf(c *Config, x Exchange) *server {
	return &server{c: c, run: c.Run(), j: &Journal{Exchange: x}, ctx: context.Background(),
		rows: map[string]int{}, rep: &Report{}, loop: run.Begin("federated", nil, 1)}
}
