package encoder

import (
	"encoding/json"
	"fmt"

	"github.com/tropica-fst/tropica/learn/model"
)

// Kind names the ready networks.
type Kind string

const (
	Convolution Kind = "conv" // residual blocks of convolutions
	Recurrence  Kind = "lstm" // bidirectional layers of long short-term memory
)

// Tokens is a sequence of words for networks: numbers of each word in one or several vocabularies,
// and its characters. Number 0 is what the vocabulary does not have.
type Tokens struct {
	IDs   [][]int32 // for each channel (words, endings, …) the number of each word there
	Chars [][]int32 // for each word the numbers of its characters; nil for none
}

// Len returns the number of words.
func (t *Tokens) Len() int {
	if len(t.IDs) > 0 {
		return len(t.IDs[0])
	}
	return len(t.Chars)
}

// Table is a vocabulary and the width of its vectors.
type Table struct {
	Size  int `json:"size"` // numbers 0 … Size-1; 0 is unknown
	Width int `json:"width"`
}

// CharShape is an encoder of words by their characters: vectors of characters, a convolution with
// a rectifier, and the largest value over the word. The zero value is none.
type CharShape struct {
	Table
	Filters int `json:"filters"` // outputs
	Reach   int `json:"reach"`   // width of the convolution, odd
}

// Shape says what a ready network is. Convolutional and Recurrent return shapes to start from.
type Shape struct {
	Kind    Kind      `json:"kind"`
	Outputs int       `json:"outputs"`         // scores of a position
	Tables  []Table   `json:"tables"`          // channels of numbers, side by side
	Chars   CharShape `json:"chars,omitzero"`  // characters of words
	Marks   bool      `json:"marks,omitempty"` // a mark before and behind each sequence

	Hidden int `json:"hidden"`          // channels of a convolution; units of a direction
	Layers int `json:"layers"`          // blocks; recurrent layers
	Reach  int `json:"reach,omitempty"` // width of the convolutions, odd

	// Shares that dropout sets to zero: of the vectors of the inputs, and of those between the
	// layers. Unknown is the share of numbers that training replaces by 0.
	InputDropout float64 `json:"input_dropout,omitempty"`
	Dropout      float64 `json:"dropout,omitempty"`
	Unknown      float64 `json:"unknown,omitempty"`
}

// Convolutional returns the shape for sequences of letters 0 … letters-1: vectors of 64, three
// residual blocks of 128 channels and width 5 with dropout .4, and .1 of the vectors.
func Convolutional(letters, outputs int) Shape {
	return Shape{Kind: Convolution, Outputs: outputs, Tables: []Table{{letters, 64}}, Marks: true,
		Hidden: 128, Layers: 3, Reach: 5, InputDropout: .1, Dropout: .4}
}

// Recurrent returns the shape for sequences of letters 0 … letters-1: vectors of 96 and two
// bidirectional layers of 128 units each direction, with dropout .4 throughout.
func Recurrent(letters, outputs int) Shape {
	return Shape{Kind: Recurrence, Outputs: outputs, Tables: []Table{{letters, 96}}, Marks: true,
		Hidden: 128, Layers: 2, InputDropout: .4, Dropout: .4}
}

// Letters returns the network of a shape with one table, and no characters.
func (s Shape) Letters() (Network[[]int32], error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if len(s.Tables) != 1 || s.Chars.Size > 0 {
		return nil, fmt.Errorf("encoder: a network of letters has one table and no characters, not %d tables",
			len(s.Tables))
	}
	return New(s.Outputs, func() (Source[[]int32, float32], Layer[float32]) {
		source := letterSource[float32]{newTokenSource[float32](&s)}
		return source, body[float32](&s, source.Outputs())
	}), nil
}

// Tokens returns the network of a shape for words.
func (s Shape) Tokens() (Network[Tokens], error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return New(s.Outputs, func() (Source[Tokens, float32], Layer[float32]) {
		source := newTokenSource[float32](&s)
		return source, body[float32](&s, source.Outputs())
	}), nil
}

// body returns the layers of a shape behind vectors of the given width.
func body[T Float](s *Shape, width int) Layer[T] {
	layers := []Layer[T]{NewDropout[T](width, s.InputDropout)}
	switch s.Kind {
	case Recurrence:
		for range s.Layers {
			layers = append(layers, NewBiLSTM[T](width, s.Hidden), NewDropout[T](2*s.Hidden, s.Dropout))
			width = 2 * s.Hidden
		}
	default:
		n := s.Hidden
		layers = append(layers, NewLinear[T](width, n))
		for range s.Layers {
			layers = append(layers, NewResidual(NewStack[T](NewLayerNorm[T](n), NewReLU[T](n),
				NewDropout[T](n, s.Dropout), NewConv1D[T](n, n, s.Reach))))
		}
		layers = append(layers, NewLayerNorm[T](n), NewReLU[T](n), NewDropout[T](n, s.Dropout))
	}
	return NewStack(layers...)
}

// maxSize bounds each size of a shape, and maxDim the number of parameters.
const (
	maxSize = 1 << 24
	maxDim  = 1 << 29
)

// check says what is wrong with a shape.
func (s *Shape) check() error {
	if s.Kind != Convolution && s.Kind != Recurrence {
		return fmt.Errorf("encoder: unknown kind of network %q; choose %q or %q", s.Kind, Convolution, Recurrence)
	}
	size := func(name string, n, most int) error {
		if n < 1 || n > most {
			return fmt.Errorf("encoder: %s %d is not between 1 and %d", name, n, most)
		}
		return nil
	}
	checks := []error{size("outputs", s.Outputs, maxSize), size("hidden size", s.Hidden, 1<<16),
		size("number of layers", s.Layers, 256)}
	tables := s.Tables
	if s.Chars != (CharShape{}) {
		tables = append(tables[:len(tables):len(tables)], s.Chars.Table)
		checks = append(checks, size("number of character filters", s.Chars.Filters, 1<<16),
			odd("reach over characters", s.Chars.Reach))
	}
	for _, t := range tables {
		checks = append(checks, size("vocabulary of", t.Size, maxSize), size("vector width", t.Width, 1<<16))
	}
	if len(tables) == 0 || len(tables) > 256 {
		checks = append(checks, fmt.Errorf("encoder: %d tables of inputs: 1 to 256 are needed", len(tables)))
	}
	if s.Kind == Convolution {
		checks = append(checks, odd("reach", s.Reach))
	}
	for _, share := range []struct {
		name  string
		value float64
	}{{"input dropout", s.InputDropout}, {"dropout", s.Dropout}, {"share of unknown inputs", s.Unknown}} {
		if !(share.value >= 0 && share.value < 1) {
			checks = append(checks, fmt.Errorf("encoder: %s %v is not in [0,1)", share.name, share.value))
		}
	}
	for _, err := range checks {
		if err != nil {
			return err
		}
	}
	if s.dim() > maxDim {
		return fmt.Errorf("encoder: the network has more than %d parameters", maxDim)
	}
	return nil
}

func odd(name string, n int) error {
	if n < 1 || n > 255 || n%2 == 0 {
		return fmt.Errorf("encoder: %s %d is not odd, or not between 1 and 255", name, n)
	}
	return nil
}

// width is the number of columns of the vectors of an input.
func (s *Shape) width() int {
	n := s.Chars.Filters
	for _, t := range s.Tables {
		n += t.Width
	}
	return n
}

// dim is the number of parameters. In floats there is no overflow for sizes that passed their
// checks, and up to maxDim it is exact.
func (s *Shape) dim() float64 {
	n, marks := 0.0, 0.0
	if s.Marks {
		marks = 2
	}
	for _, t := range s.Tables {
		n += (float64(t.Size) + marks) * float64(t.Width)
	}
	if c := s.Chars; c.Size > 0 {
		n += float64(c.Size+2)*float64(c.Width) + (float64(c.Width)*float64(c.Reach)+1)*float64(c.Filters)
	}
	h, in := float64(s.Hidden), float64(s.width())
	if s.Kind == Convolution {
		n += (in+1)*h + float64(s.Layers)*(h*h*float64(s.Reach)+3*h) + 2*h + (h+1)*float64(s.Outputs)
	} else {
		for range s.Layers {
			n += 8 * h * (in + h + 1)
			in = 2 * h
		}
		n += (in + 1) * float64(s.Outputs)
	}
	return n
}

// Put stores the shape and the parameters in a file, under a name: a text and an array.
func (s Shape) Put(f *model.Container, name string, params []float32) error {
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encoder: %w", err)
	}
	if err := f.PutStrings(name+" shape", []string{string(b)}); err != nil {
		return err
	}
	model.Put(f, name, params)
	return nil
}

// Get returns the shape and the parameters that Put stored. extra is the number of parameters
// behind the network's. The error says what is wrong with the file.
func Get(f *model.Container, name string, extra int) (Shape, []float32, error) {
	var s Shape
	text, err := f.Strings(name + " shape")
	if err != nil {
		return s, nil, err
	}
	if len(text) != 1 {
		return s, nil, fmt.Errorf("encoder: %w: %d texts describe the network %q", model.ErrFormat, len(text), name)
	}
	if err := json.Unmarshal([]byte(text[0]), &s); err != nil {
		return s, nil, fmt.Errorf("encoder: %w: the network %q: %w", model.ErrFormat, name, err)
	}
	if err := s.check(); err != nil {
		return s, nil, fmt.Errorf("%w: the network %q: %w", model.ErrFormat, name, err)
	}
	params, err := model.Get[float32](f, name, int(s.dim())+extra)
	if err != nil {
		return s, nil, err
	}
	for i, v := range params {
		if v-v != 0 {
			return s, nil, fmt.Errorf("encoder: %w: parameter %d of the network %q is %v", model.ErrFormat, i, name, v)
		}
	}
	return s, params, nil
}
