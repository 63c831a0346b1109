package experiment

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"

	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
)

// StructuredCell is one model of Tagging or Pronouncing, trained once: what a long
// experiment keeps as it goes. The first three fields say which it is; later models start
// from the weights of earlier ones.
type StructuredCell struct {
	Problem  string `json:"problem"` // its name
	Model    string `json:"model"`
	Settings string `json:"settings"` // all else that its result depends on, the data included

	Weights []byte    `json:"weights"` // float64s, little-endian: their digits would take twice the room
	Lambda  []float64 `json:"lambda"`
	Raw     []float64 `json:"raw"`
	Values  []float64 `json:"values"`
	Upper   float64   `json:"upper"`
	Lower   float64   `json:"lower"`
}

// fingerprint identifies problems by the bits of their objectives' values, and of the gradient of
// their sum, at an arbitrary point. Any change of the data, the features or a loss changes these.
func (s *structuredRun) fingerprint(dim int) (string, error) {
	w := make([]float64, dim)
	for j := range w {
		w[j] = 0.1 * math.Sin(float64(j)*0.7+1)
	}
	h := fnv.New64a()
	add := func(values ...float64) {
		var b [8]byte
		for _, v := range values {
			binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
			h.Write(b[:]) // never fails
		}
	}
	grad := make([]float64, dim)
	if s.joint == nil {
		for _, p := range s.parts {
			v, err := p.Objective.Eval(w, grad)
			if err != nil {
				return "", err
			}
			add(v, p.Scale)
			add(grad...)
		}
	} else {
		values, even := make([]float64, len(s.parts)), make([]float64, len(s.parts))
		if err := s.joint.Values(w, values, nil); err != nil {
			return "", err
		}
		for k, p := range s.parts {
			even[k] = 1
			add(p.Scale)
		}
		if err := s.joint.Gradient(even, grad); err != nil {
			return "", err
		}
		add(values...)
		add(grad...)
	}
	return fmt.Sprintf("%d:%016x", dim, h.Sum64()), nil
}

// dim returns the number of weights.
func (s *structuredRun) dim() int {
	if s.joint != nil {
		return s.joint.Dim()
	}
	return s.parts[0].Objective.Dim()
}

// known returns the kept model of that description, or nil.
func (o *StructuredOptions) known(key *StructuredCell, objectives, dim int) *minimax.MixtureFit {
	for i := range o.Known {
		c := &o.Known[i]
		if c.Problem != key.Problem || c.Model != key.Model || c.Settings != key.Settings ||
			len(c.Weights) != 8*dim || len(c.Lambda) != objectives || len(c.Raw) != objectives ||
			len(c.Values) != objectives {
			continue
		}
		f := &minimax.MixtureFit{W: make([]float64, dim), Lambda: c.Lambda, Raw: c.Raw, Values: c.Values}
		for j := range f.W {
			f.W[j] = math.Float64frombits(binary.LittleEndian.Uint64(c.Weights[8*j:]))
		}
		f.Result = &saddle.Result{W: f.W, Lambda: f.Lambda, Certified: true,
			Certificate: saddle.Certificate{Upper: c.Upper, Lower: c.Lower}}
		return f
	}
	return nil
}

// keep hands a new model to Save.
func (o *StructuredOptions) keep(key StructuredCell, f *minimax.MixtureFit) error {
	if o.Save == nil {
		return nil
	}
	for _, v := range f.W {
		key.Weights = binary.LittleEndian.AppendUint64(key.Weights, math.Float64bits(v))
	}
	key.Lambda, key.Raw, key.Values = f.Lambda, f.Raw, f.Values
	key.Upper, key.Lower = f.Result.Certificate.Upper, f.Result.Certificate.Lower
	return o.Save(&key)
}
