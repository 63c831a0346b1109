package fst_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// plainTable is a symbol table by its rules: a list, searched from one end.
type plainTable struct {
	symbols []string
	labels  []fst.Label
}

func (p *plainTable) add(s string, l fst.Label) {
	if i := slices.Index(p.symbols, s); i < 0 && l != fst.NoLabel {
		p.symbols, p.labels = append(p.symbols, s), append(p.labels, l)
	}
}

func (p *plainTable) find(s string) (fst.Label, bool) {
	if i := slices.Index(p.symbols, s); i >= 0 {
		return p.labels[i], true
	}
	return fst.NoLabel, false
}

// symbol: the first while the table counts 0, 1, 2, …, otherwise the last.
func (p *plainTable) symbol(l fst.Label) (string, bool) {
	for i := 0; i < len(p.labels) && p.labels[i] == fst.Label(i); i++ {
		if p.labels[i] == l {
			return p.symbols[i], true
		}
	}
	for i := len(p.labels) - 1; i >= 0; i-- {
		if p.labels[i] == l {
			return p.symbols[i], true
		}
	}
	return "", false
}

func (p *plainTable) next() (n int64) {
	for _, l := range p.labels {
		n = max(n, int64(l)+1)
	}
	return n
}

func TestSymbolTableAgainstModel(t *testing.T) {
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 51))
		table, m := fst.NewSymbolTable("t"), &plainTable{}
		for range rng.IntN(60) {
			s := fmt.Sprintf("s%d", rng.IntN(40))
			switch rng.IntN(8) {
			case 0, 1, 2:
				l := fst.Label(len(m.labels)) // as tables usually are
				table.AddLabel(s, l)
				m.add(s, l)
			case 3:
				l := fst.Label(rng.IntN(30) - 2)
				table.AddLabel(s, l)
				m.add(s, l)
			case 4:
				l := fst.Label(rng.Uint32()) >> rng.IntN(32)
				table.AddLabel(s, l)
				m.add(s, l)
			default:
				if m.next() > 1<<31-1 {
					continue
				}
				m.add(s, fst.Label(m.next()))
				want, _ := m.find(s)
				if got := table.Add(s); got != want {
					t.Fatalf("seed %d: Add(%s) = %d, want %d", seed, s, got, want)
				}
			}
			var b bytes.Buffer
			if err := table.WriteBinary(&b); err != nil {
				t.Fatal(err)
			}
			back, err := fst.ReadSymbolsBinary(&b, nil)
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := table.WriteText(&text, nil); err != nil {
				t.Fatal(err)
			}
			fromText, err := fst.ReadSymbols(&text, &fst.SymbolTextOptions{Negative: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range []*fst.SymbolTable{table, table.Clone(), back, fromText} {
				if u.Len() != len(m.symbols) || u.AvailableKey() != m.next() {
					t.Fatalf("seed %d: %d symbols, next %d; want %d, %d", seed, u.Len(), u.AvailableKey(), len(m.symbols), m.next())
				}
				for i, s := range m.symbols {
					l, ok := u.Find(s)
					if k, _ := u.FindBytes([]byte(s)); !ok || l != m.labels[i] || k != l {
						t.Fatalf("seed %d: Find(%s) = %d, want %d", seed, s, l, m.labels[i])
					}
					got, _ := u.Symbol(l)
					if want, _ := m.symbol(l); got != want || !u.Has(l) {
						t.Fatalf("seed %d: Symbol(%d) = %s, want %s of %v", seed, l, got, want, m)
					}
				}
				if !fst.Compatible(u, table) {
					t.Fatalf("seed %d: not compatible with itself", seed)
				}
			}
			i := 0
			for s, l := range table.All() {
				if s != m.symbols[i] || l != m.labels[i] {
					t.Fatalf("seed %d: symbol %d is %s %d", seed, i, s, l)
				}
				i++
			}
			if _, ok := table.Symbol(-1); ok || table.Has(1<<30+7) {
				t.Fatal("labels that nobody added")
			}
		}
	}
}

func TestSymbolTableFull(t *testing.T) {
	s := fst.NewSymbolTable("")
	s.AddLabel("last", 1<<31-1)
	if l := s.Add("more"); l != fst.NoLabel {
		t.Errorf("Add to a full table = %d", l)
	}
	if l, ok := s.AddLabel("x", fst.NoLabel); l != fst.NoLabel || ok || s.Len() != 1 {
		t.Errorf("NoLabel was given")
	}
}

func TestReadSymbolsText(t *testing.T) {
	long := strings.Repeat("y", 100_000)
	var dups []string
	o := &fst.SymbolTextOptions{Name: "s.txt", Negative: true, Duplicate: func(line int, s string, kept, ignored fst.Label) {
		dups = append(dups, fmt.Sprint(line, s, kept, ignored))
	}}
	s, err := fst.ReadSymbols(strings.NewReader("a 1\r\na 3\n\n b   2  \na 1\n"+long+"\t7\nneg -5\ne 0"), o)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(dups) != "[2a1 3]" && fmt.Sprint(dups) != "[2 a 1 3]" {
		t.Errorf("duplicates: %q", dups)
	}
	if l, _ := s.Find(long); l != 7 || s.Len() != 5 || s.Name() != "s.txt" {
		t.Errorf("%d symbols, label %d, name %s", s.Len(), l, s.Name())
	}
	for in, want := range map[string]string{
		"a 1\nb\n":         "s.txt, line 2: 1 fields",
		"a b 1\n":          "s.txt, line 1: 3 fields",
		"a x\n":            `s.txt, line 1, field 2: bad label "x"`,
		"a -1\n":           "bad label -1",
		"a 2147483648\n":   "s.txt, line 1, field 2: bad label 2147483648: outside",
		"\n\na 1\nb 0x1\n": "line 4",
	} {
		_, err := fst.ReadSymbols(strings.NewReader(in), o)
		var e *fst.TextError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
	if _, err := fst.ReadSymbols(strings.NewReader("a -2\n"), nil); err == nil || !strings.Contains(err.Error(), "negative") {
		t.Errorf("negative label: %v", err)
	}
	if _, err := fst.ReadSymbols(iotest.ErrReader(os.ErrPermission), nil); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a reader's own error: %v", err)
	}
	if s := fsttest.Must(fst.ReadSymbols(strings.NewReader("a b,1\n"), &fst.SymbolTextOptions{Separators: ","})); !s.Has(1) {
		t.Error("separator")
	} else if name, _ := s.Symbol(1); name != "a b" {
		t.Errorf("%q", name)
	}
}

// Tables inside files written by OpenFst are the same bytes here.
func TestSymbolsAgainstOpenFst(t *testing.T) {
	tools := fsttest.OpenFst(t)
	machine := tools.File()
	tools.Do("fstcompile", "--acceptor", tools.Text("0 1 1\n1\n"), machine)
	for _, text := range []string{
		"e 0\na 1\nb 2\n", "a 1\na 3\n\n b   2  \n99 2000000000\nneg -5\ne 0", "x 5\ny 3\nz 4\n", "e 0\na 1\nb 1\n", "b 1\ne 0\nc 7\nd 3\n",
	} {
		file, out, saved := tools.Text(text), tools.File(), tools.File()
		tools.Do("fstsymbols", "--allow_negative_labels", "--isymbols="+file, machine, out)
		theirs := fsttest.ReadFile[semiring.Tropical](tools, out)
		ours := fsttest.Must(fst.ReadSymbols(strings.NewReader(text), &fst.SymbolTextOptions{Negative: true, Name: file}))
		got, want := ours.AppendBinary(nil), fsttest.Must(os.ReadFile(out))
		if !bytes.Contains(want, got) {
			t.Errorf("%q: OpenFst writes\n%x, here\n%x", text, want, got)
		}
		if !fst.Compatible(fst.InputSymbols(theirs), ours) {
			t.Errorf("%q: read back from OpenFst it differs", text)
		}
		tools.Do("fstsymbols", "--allow_negative_labels", "--save_isymbols="+saved, out, tools.File())
		var b bytes.Buffer
		if err := fst.InputSymbols(theirs).WriteText(&b, nil); err != nil {
			t.Fatal(err)
		}
		if got := string(fsttest.Must(os.ReadFile(saved))); got != b.String() && text != "e 0\na 1\nb 1\n" { // there OpenFst prints the wrong symbol
			t.Errorf("%q: OpenFst saves %q, here %q", text, got, b.String())
		}
	}
}

// OpenFst refuses to combine machines exactly when Compatible says no.
func TestCompatible(t *testing.T) {
	texts := []string{"e 0\na 1\n", "a 1\ne 0\n", "e 0\nb 1\n", "e 0\na 1\nb 2\n", "e 0\na 2\n", "e 0\na 1\nb 1\n", "b 1\na 1\ne 0\n"}
	var tables []*fst.SymbolTable
	for _, s := range texts {
		tables = append(tables, fsttest.Must(fst.ReadSymbols(strings.NewReader(s), nil)))
	}
	want := func(i, j int) bool { // by definition
		for l := range fst.Label(4) {
			a, aok := tables[i].Symbol(l)
			b, bok := tables[j].Symbol(l)
			if a != b || aok != bok {
				return false
			}
		}
		return true
	}
	for i := range tables {
		for j := range tables {
			if got := fst.Compatible(tables[i], tables[j]); got != want(i, j) {
				t.Errorf("%q and %q: %v", texts[i], texts[j], got)
			}
		}
		if !fst.Compatible(nil, tables[i]) || !fst.Compatible(tables[i], nil) {
			t.Error("a missing table is compatible with all")
		}
	}
	tools := fsttest.OpenFst(t)
	machine := tools.Text("0 1 1 1\n1\n")
	var files []string
	for _, s := range texts[:5] {
		out, syms := tools.File(), tools.Text(s)
		tools.Do("fstcompile", machine, out)
		with := tools.File()
		tools.Do("fstsymbols", "--isymbols="+syms, "--osymbols="+syms, out, with)
		files = append(files, with)
	}
	for i := range files {
		for j := range files {
			if r := tools.Run("fstcompose", files[i], files[j], tools.File()); (r.Exit == 0) != fst.Compatible(tables[i], tables[j]) {
				t.Errorf("%q and %q: fstcompose exits %d: %s", texts[i], texts[j], r.Exit, r.Stderr)
			}
		}
	}
}

func TestRelabelSymbols(t *testing.T) {
	a := fst.SymbolsOf("ε", "a", "b", "c")
	a.SetName("A")
	b := fst.SymbolsOf("ε", "<unk>", "c", "a")
	pairs, missing := a.PairsTo(b, "")
	if fmt.Sprint(pairs) != "[{0 0} {1 3} {3 2}]" || fmt.Sprint(missing) != "[b]" {
		t.Errorf("pairs %v, missing %v", pairs, missing)
	}
	pairs, missing = a.PairsTo(b, "<unk>")
	if fmt.Sprint(pairs) != "[{0 0} {1 3} {2 1} {3 2}]" || missing != nil {
		t.Errorf("pairs %v, missing %v", pairs, missing)
	}
	r := a.Relabel(append(pairs, fst.LabelPair{From: 99, To: 4}))
	if s, _ := r.Symbol(3); s != "a" || r.Len() != 4 || r.Name() != "relabeled_A" {
		t.Errorf("%v", r)
	}
	a.AddTable(b)
	if l, _ := a.Find("<unk>"); l != 4 || a.Len() != 5 {
		t.Errorf("%v", a)
	}
}
