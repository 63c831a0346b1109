package fst_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
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
	keys    []int64
}

func (p *plainTable) add(s string, key int64) {
	if i := slices.Index(p.symbols, s); i < 0 && key != -1 {
		p.symbols, p.keys = append(p.symbols, s), append(p.keys, key)
	}
}

// label is the label that a key is, if it is one.
func label(key int64) (fst.Label, bool) {
	if key < math.MinInt32 || key > math.MaxInt32 {
		return fst.NoLabel, false
	}
	return fst.Label(key), true
}

// symbol: the first while the table counts 0, 1, 2, …, otherwise the last.
func (p *plainTable) symbol(key int64) (string, bool) {
	for i := 0; i < len(p.keys) && p.keys[i] == int64(i); i++ {
		if p.keys[i] == key {
			return p.symbols[i], true
		}
	}
	for i := len(p.keys) - 1; i >= 0; i-- {
		if p.keys[i] == key {
			return p.symbols[i], true
		}
	}
	return "", false
}

func (p *plainTable) next() (n int64) {
	for _, key := range p.keys {
		n = max(n, key+1)
	}
	return n
}

func TestSymbolTableAgainstModel(t *testing.T) {
	for seed := range uint64(240) {
		rng := rand.New(rand.NewPCG(seed, 51))
		table, m := fst.NewSymbolTable("t"), &plainTable{}
		for range rng.IntN(60) {
			s := fmt.Sprintf("s%d", rng.IntN(40))
			switch rng.IntN(9) {
			case 0, 1, 2:
				l := len(m.keys) // as tables usually are
				table.AddLabel(s, fst.Label(l))
				m.add(s, int64(l))
			case 3:
				l := fst.Label(rng.IntN(30) - 2)
				table.AddLabel(s, l)
				m.add(s, int64(l))
			case 4:
				l := fst.Label(rng.Uint32()) >> rng.IntN(32)
				table.AddLabel(s, l)
				m.add(s, int64(l))
			case 5:
				if seed%2 == 0 {
					continue // half of the tables have no other keys than labels
				}
				key := int64(math.MaxInt32+rng.IntN(3)) * int64(1-2*rng.IntN(2)) << (rng.IntN(2) * 30)
				table.AddKey(s, key)
				m.add(s, key)
			default:
				if m.next() > 1<<31-1 {
					continue
				}
				m.add(s, m.next())
				want, _ := label(m.keys[slices.Index(m.symbols, s)])
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
					want, isLabel := label(m.keys[i])
					if k, _ := u.FindBytes([]byte(s)); ok != isLabel || l != want || k != l {
						t.Fatalf("seed %d: Find(%s) = %d, %v, want %d", seed, s, l, ok, m.keys[i])
					}
					if key, ok := u.FindKey(s); !ok || key != m.keys[i] {
						t.Fatalf("seed %d: FindKey(%s) = %d, %v, want %d", seed, s, key, ok, m.keys[i])
					}
					got, _ := u.Symbol(l)
					if want, _ := m.symbol(m.keys[i]); isLabel && got != want || u.Has(l) != isLabel {
						t.Fatalf("seed %d: Symbol(%d) = %s, want %s of %v", seed, l, got, want, m)
					}
				}
				if !fst.Compatible(u, table) {
					t.Fatalf("seed %d: not compatible with itself", seed)
				}
			}
			i := 0
			for s, l := range table.All() {
				want, _ := label(m.keys[i])
				if _, key := table.KeyAt(i); s != m.symbols[i] || l != want || key != m.keys[i] {
					t.Fatalf("seed %d: symbol %d is %s %d %d", seed, i, s, l, key)
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
	o := &fst.SymbolTextOptions{Name: "s.txt", Negative: true, Duplicate: func(line int, s string, kept, ignored int64) {
		dups = append(dups, fmt.Sprint(line, s, kept, ignored))
	}, Shared: func(line int, s string, key int64, other string) {
		dups = append(dups, fmt.Sprint(line, " ", s, " as ", other, " ", key))
	}}
	s, err := fst.ReadSymbols(strings.NewReader("a 1\r\na 3\n\n b   2  \na 1\n"+long+"\t7\nneg -5\ne 0\nf 2\nw 99999999999\nv 99999999999"), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(dups, ", "); got != "2a1 3, 9 f as b 2, 11 v as w 99999999999" && got != "2 a 1 3, 9 f as b 2, 11 v as w 99999999999" {
		t.Errorf("duplicates: %q", dups)
	}
	if l, _ := s.Find(long); l != 7 || s.Len() != 8 || s.Name() != "s.txt" {
		t.Errorf("%d symbols, label %d, name %s", s.Len(), l, s.Name())
	}
	for in, want := range map[string]string{
		"a 1\nb\n":                "s.txt, line 2: 1 fields",
		"a b 1\n":                 "s.txt, line 1: 3 fields",
		"a x\n":                   `s.txt, line 1, field 2: bad label "x"`,
		"a -1\n":                  "bad label -1",
		"a 9223372036854775808\n": "s.txt, line 1, field 2: bad label 9223372036854775808: outside",
		"\n\na 1\nb 0x1\n":        "line 4",
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
	if _, err := fst.ReadSymbols(strings.NewReader("a -3000000000\n"), nil); err == nil || !strings.Contains(err.Error(), "negative") {
		t.Errorf("negative key: %v", err)
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

// What some editors put before a text is not a part of its first symbol.
func TestSymbolsAfterMark(t *testing.T) {
	table := fsttest.Must(fst.ReadSymbols(strings.NewReader("\ufeff<eps> 0\n\ufeffa 1\n"), nil))
	if e, ok := table.Find("<eps>"); e != 0 || !ok {
		t.Errorf("the first symbol has label %d, %v", e, ok)
	}
	if _, ok := table.Find("\ufeffa"); !ok {
		t.Error("a mark further on was taken away")
	}
}

// Tables inside files written by OpenFst are the same bytes here.
func TestSymbolsAgainstOpenFst(t *testing.T) {
	tools := fsttest.OpenFst(t)
	machine := tools.File()
	tools.Do("fstcompile", "--acceptor", tools.Text("0 1 1\n1\n"), machine)
	for _, text := range []string{
		"e 0\na 1\nb 2\n", "a 1\na 3\n\n b   2  \n99 2000000000\nneg -5\ne 0", "x 5\ny 3\nz 4\n", "e 0\na 1\nb 1\n", "b 1\ne 0\nc 7\nd 3\n",
		"e 0\nbig 3000000000\na 1\nleast -9223372036854775808\nmost 9223372036854775806\nas1 4294967297\n",
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

// Symbols whose keys no label can be are not those of labels that share their low bits.
func TestWideKeys(t *testing.T) {
	s := fsttest.Must(fst.ReadSymbols(strings.NewReader("e 0\na 1\nwide 4294967297\nlast 9223372036854775807\n"), nil))
	if name, _ := s.Symbol(1); name != "a" || s.AvailableKey() != math.MaxInt64 || s.Len() != 4 {
		t.Errorf("label 1 is %q, next %d", name, s.AvailableKey())
	}
	if l, ok := s.AddLabel("wide", 5); l != fst.NoLabel || ok || s.Has(5) {
		t.Errorf("a second label: %d, %v", l, ok)
	}
	if l := s.Add("more"); l != fst.NoLabel {
		t.Errorf("Add behind the last key: %d", l)
	}
	_, err := fst.ReadText[semiring.Tropical](strings.NewReader("0 1 a wide\n1\n"), &fst.ReadTextOptions{InputSymbols: s, OutputSymbols: s})
	if err == nil || !strings.Contains(err.Error(), `the symbol "wide" has the key 4294967297 in the symbol table, and labels have 32 bits`) {
		t.Errorf("used in a machine: %v", err)
	}
	other := fst.SymbolsOf("e", "wide", "a")
	if pairs, missing := other.PairsTo(s, "a"); fmt.Sprint(pairs, missing) != "[{0 0} {2 1}] [wide]" {
		t.Errorf("to wide keys: %v, missing %v", pairs, missing)
	}
	if pairs, missing := s.PairsTo(other, ""); fmt.Sprint(pairs, missing) != "[{0 0} {1 2}] []" {
		t.Errorf("from wide keys: %v, missing %v", pairs, missing)
	}
	narrow := fsttest.Must(fst.ReadSymbols(strings.NewReader("e 0\na 1\n"), nil))
	if fst.Compatible(s, narrow) || fst.Compatible(narrow, s) || !fst.Compatible(s, s.Clone()) {
		t.Error("tables that differ in a wide key alone are not compatible")
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

// A disagreement is told exactly where tables are not compatible, and is one.
func TestDisagreement(t *testing.T) {
	table := func(keys map[string]fst.Label, order ...string) *fst.SymbolTable {
		s := fst.NewSymbolTable("")
		for _, x := range order {
			s.AddLabel(x, keys[x])
		}
		return s
	}
	abc := map[string]fst.Label{"-": 0, "a": 1, "b": 2, "c": 3}
	for _, x := range []struct {
		a, b *fst.SymbolTable
		want string
	}{
		{nil, table(abc, "a"), ""},
		{table(abc, "-", "a", "b"), table(abc, "b", "a", "-"), ""},
		{table(abc, "a", "b"), table(abc, "a", "b", "c"), `"c", 3, is in the second alone`},
		{table(abc, "c", "a"), table(abc, "a"), `"c", 3, is in the first alone`},
		{table(abc, "-", "c", "a"), table(map[string]fst.Label{"a": 2}, "a"), `"a" is 1 in the first and 2 in the second`},
		{table(abc, "c", "a"), table(map[string]fst.Label{"x": 1}, "x"), `1 is "a" in the first and "x" in the second`},
	} {
		if got := fst.Disagreement(x.a, x.b); got != x.want || (got == "") != fst.Compatible(x.a, x.b) {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
