package fst_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// A machine is written to a file that OpenFst's tools read, with its symbol tables in it, and read
// again: what Read returns is a Vector, or a Const that several goroutines may share.
func ExampleWrite() {
	letters := fst.SymbolsOf("<eps>", "a", "b")
	v, err := fst.FromString[semiring.Tropical]("a b a", &fst.StringOptions{Symbols: letters})
	if err != nil {
		fmt.Println(err)
		return
	}
	v.SetInputSymbols(letters)
	var file bytes.Buffer
	if err := fst.Write(&file, v, &fst.WriteOptions{Type: "const"}); err != nil {
		fmt.Println(err)
		return
	}
	cut := bytes.NewReader(file.Bytes()[:100])

	f, err := fst.Read[semiring.Tropical](&file, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%T, %d states\n", f, f.NumStates())
	fmt.Println(fst.ToString(f, &fst.StringOptions{Symbols: fst.InputSymbols(f)}))

	_, err = fst.Read[semiring.Tropical](cut, &fst.ReadOptions{Name: "cut.fst"})
	var at *fst.BinaryError
	fmt.Println(errors.As(err, &at))
	// Output:
	// *fst.Const[github.com/tropica-fst/tropica/semiring.Tropical], 4 states
	// a b a <nil>
	// true
}

// counter is a machine without end: it accepts n times label 1 with weight n.
type counter struct{}

func (counter) Start() (fst.StateID, error) { return 0, nil }

func (counter) Expand(q fst.StateID, dst []fst.Arc[semiring.Tropical]) (semiring.Tropical, []fst.Arc[semiring.Tropical], error) {
	if q == 1<<20 {
		return 0, dst, errors.New("counter: too far")
	}
	return 0, append(dst, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, Weight: 1, NextState: q + 1}), nil
}

// An Expander computes states when they are asked for, and Lazy keeps them within a bound. Arcs cannot
// return an error: Err tells whether what was seen is all there is.
func ExampleNewLazy() {
	f := fst.NewLazy(counter{}, &fst.LazyOptions{CacheBytes: 1 << 16})
	q := f.Start()
	for range 3 {
		e := f.Arcs(q)[0]
		fmt.Print(q, " -", e.ILabel, "-> ", e.NextState, "; ")
		q = e.NextState
	}
	fmt.Println(fst.Err(f))
	// Output:
	// 0 -1-> 1; 1 -1-> 2; 2 -1-> 3; <nil>
}

// A picture needs nothing else installed.
func ExampleWriteSVG() {
	v, err := fst.ReadText[semiring.Tropical](strings.NewReader("0 1 1 2 0.5\n1 0 2 1\n1\n"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var picture bytes.Buffer
	if err := fst.WriteSVG(&picture, v, &fst.SVGOptions{DOTOptions: fst.DOTOptions{Title: "a machine"}}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.Contains(picture.String(), `1:2<tspan class="w">/0.5</tspan>`))

	err = fst.WriteSVG(os.Stdout, v, &fst.SVGOptions{Vertices: 1})
	fmt.Println(errors.Is(err, fst.ErrPictureSize))
	// Output:
	// true
	// true
}
