package fst_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// A machine is built state by state, and printed in the text format.
func ExampleVector() {
	var v fst.Vector[semiring.Tropical]
	v.AddStates(2)
	v.SetStart(0)
	v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 2, Weight: 0.5, NextState: 1})
	v.AddArc(1, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: fst.Epsilon, Weight: semiring.Tropical(0).One(), NextState: 1})
	v.SetFinal(1, 2)
	if err := fst.WriteText[semiring.Tropical](os.Stdout, &v, nil); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 0	1	1	2	0.5
	// 1	1	1	0
	// 1	2
}

// Symbols are translated through tables while text is read.
func ExampleReadText() {
	letters := fst.SymbolsOf("ε", "a", "b")
	v, err := fst.ReadText[semiring.Log64](strings.NewReader("s t a 0.25\nt s b\nt\n"), &fst.ReadTextOptions{
		Acceptor: true, InputSymbols: letters, StateSymbols: fst.SymbolsOf("s", "t"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.NumStates(), "states,", v.NumArcs(), "arcs, start", v.Start())
	p := fst.PropertiesOf(v, fst.Cyclic|fst.Accessible)
	fmt.Println("cyclic:", p.Has(fst.Cyclic), "accessible:", p.Has(fst.Accessible))

	_, err = fst.ReadText[semiring.Log64](strings.NewReader("0 1 1 1 oops\n"), &fst.ReadTextOptions{Name: "f.txt"})
	var at *fst.TextError
	fmt.Println(errors.As(err, &at), at.Source, "line", at.Line, "field", at.Field)
	// Output:
	// 2 states, 2 arcs, start 0
	// cyclic: true accessible: true
	// true f.txt line 1 field 5
}

// A file of OpenFst's is read as the type that its arcs have; a program that
// does not know it beforehand looks at the header.
func ExampleStream_ReadHeader() {
	var file bytes.Buffer
	v, _ := fst.ReadText[semiring.Log64](strings.NewReader("0 1 1 1 0.5\n1\n"), nil)
	if err := fst.Write[semiring.Log64](&file, fst.NewConst(v), nil); err != nil {
		fmt.Println(err)
		return
	}

	s := fst.NewStream(&file, &fst.ReadOptions{Name: "f.fst"})
	h, err := s.ReadHeader()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.FstType, h.ArcType, h.NumStates)
	if h.ArcType == "log64" {
		f, err := fst.ReadBody[semiring.Log64](s, h)
		fmt.Println(f.Arcs(0), err)
	}
	// Output:
	// const log64 2
	// [{1 1 0.5 1}] <nil>
}

// Paths enumerates what a machine accepts.
func ExamplePaths() {
	v, _ := fst.ReadText[semiring.Tropical](strings.NewReader("0 1 1 2 1\n0 1 2 0 3\n1 2 3 3 0.5\n1 1\n2\n"), nil)
	for p := range fst.Paths(v, nil) {
		fmt.Println(p.Input(), "->", p.Output(), "/", p.Weight)
	}
	// Output:
	// [1] -> [2] / 2
	// [1 3] -> [2 3] / 1.5
	// [2] -> [] / 4
	// [2 3] -> [3] / 3.5
}

// Symbol tables map both ways, and keep the order in which symbols came.
func ExampleSymbolTable() {
	t := fst.NewSymbolTable("phones")
	t.Add("<eps>")
	t.Add("aa")
	t.AddLabel("zz", 26)
	fmt.Println(t.Add("aa"), t.Add("new"))
	for symbol, label := range t.All() {
		fmt.Print(symbol, "=", label, " ")
	}
	fmt.Println()
	// Output:
	// 1 27
	// <eps>=0 aa=1 zz=26 new=27
}

// An archive is written machine by machine, and read so: each knows its key.
func ExampleArchiveReader() {
	var file bytes.Buffer
	w, err := fst.NewArchiveWriter(&file, fst.ArchiveList)
	if err != nil {
		fmt.Println(err)
		return
	}
	opts := &fst.StringOptions{Symbols: fst.SymbolsOf("<eps>", "yes", "no")}
	for key, words := range []string{"yes", "no yes"} {
		f, err := fst.FromString[semiring.Tropical](words, opts)
		if err == nil {
			err = fst.AddToArchive(w, fmt.Sprint("answer", key), f, nil)
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}
	r, err := fst.NewArchiveReader(&file, nil)
	for err == nil {
		var key string
		var h *fst.Header
		if key, h, err = r.Next(); err != nil {
			break
		}
		var f fst.Expanded[semiring.Tropical]
		if f, err = fst.ReadBody[semiring.Tropical](r.Stream(), h); err != nil {
			break
		}
		words, _ := fst.ToString[semiring.Tropical](f, opts)
		fmt.Println(key, words)
	}
	if err != io.EOF {
		fmt.Println(err)
	}
	// Output:
	// answer0 yes
	// answer1 no yes
}

// Of an archive with an index only what is asked for is read.
func ExampleArchiveReader_Seek() {
	var file bytes.Buffer
	w, err := fst.NewArchiveWriter(&file, fst.ArchiveTable)
	for i := 0; i < 1000 && err == nil; i++ {
		err = fst.AddToArchive[semiring.Tropical](w, fmt.Sprintf("utt%03d", i), fst.FromLabels[semiring.Tropical]([]fst.Label{1, 2}), nil)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := fst.NewArchiveReader(bytes.NewReader(file.Bytes()), nil)
	if err == nil {
		err = r.Seek("utt7")
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	key, _, err := r.Next()
	fmt.Println(key, err)
	// Output: utt700 <nil>
}
