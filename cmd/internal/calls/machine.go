package calls

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// machine is a machine whose weight type is erased.
type machine interface {
	kind() int64 // as in MachineSizesArgs
	sizes() (states, arcs, start int64)
	write(text bool) ([]byte, error)
	copyTo(from, to []int64, ilabel, olabel []int32, weight, final []float64)
	operate(name string, b machine, o *operation) (machine, float64, error)
}

// number is a weight with a value, which arrays hold.
type number[W any] interface {
	semiring.Codec[W]
	semiring.Component[W]
	semiring.Divisible[W]
	~float32 | ~float64
}

// held is a machine over W. It is never changed.
type held[W number[W]] struct {
	f    fst.Expanded[W]
	code int64
}

const (
	standardType = iota
	logType
	log64Type
)

// operation has the options of operations, by their names in JSON.
type operation struct {
	N         int      `json:"n"`      // paths of shortestpath; 0 is 1
	Unique    bool     `json:"unique"` // strings of shortestpath
	Output    bool     `json:"output"` // the side of project and arcsort
	Plus      bool     `json:"plus"`   // closure without the empty string
	ToFinal   bool     `json:"to_final"`
	Labels    bool     `json:"labels"`
	Delta     *float64 `json:"delta"`     // nil is the operation's default
	Threshold *float64 `json:"threshold"` // of prune and shortestpath; nil is none
	Type      string   `json:"type"`      // of determinize
	To        string   `json:"to"`        // the weight type of convert

	limits ops.Limits
}

func (o *operation) delta() float64 {
	if o.Delta != nil {
		return *o.Delta
	}
	return 0
}

func (m *held[W]) kind() int64 { return m.code }

func (m *held[W]) sizes() (states, arcs, start int64) {
	for q := range fst.StateID(m.f.NumStates()) {
		arcs += int64(len(m.f.Arcs(q)))
	}
	return int64(m.f.NumStates()), arcs, int64(m.f.Start())
}

func (m *held[W]) write(text bool) ([]byte, error) {
	var b bytes.Buffer
	var err error
	if text {
		err = fst.WriteText(&b, fst.Fst[W](m.f), nil)
	} else {
		err = fst.Write(&b, m.f, nil)
	}
	return b.Bytes(), err
}

func (m *held[W]) copyTo(from, to []int64, ilabel, olabel []int32, weight, final []float64) {
	i := 0
	for q := range fst.StateID(m.f.NumStates()) {
		if final != nil {
			final[q] = float64(m.f.Final(q))
		}
		for _, e := range m.f.Arcs(q) {
			if from != nil {
				from[i] = int64(q)
			}
			if to != nil {
				to[i] = int64(e.NextState)
			}
			if ilabel != nil {
				ilabel[i] = int32(e.ILabel)
			}
			if olabel != nil {
				olabel[i] = int32(e.OLabel)
			}
			if weight != nil {
				weight[i] = float64(e.Weight)
			}
			i++
		}
	}
}

// copied returns a copy of a machine to change.
func copied[W semiring.Weight[W]](f fst.Expanded[W]) *fst.Vector[W] {
	if v, ok := f.(*fst.Vector[W]); ok {
		return v.Clone()
	}
	v := fst.NewVector[W](f.NumStates())
	v.AddStates(f.NumStates())
	v.SetStart(f.Start())
	for q := range fst.StateID(f.NumStates()) {
		v.SetFinal(q, f.Final(q))
		for _, e := range f.Arcs(q) {
			v.AddArc(q, e)
		}
	}
	return v
}

var typeNames = []string{"standard", "log", "log64"}

// readMachine reads a binary machine of any of the types.
func readMachine(data []byte) (machine, error) {
	s := fst.NewStream(bytes.NewReader(data), nil)
	h, err := s.ReadHeader()
	if err != nil {
		return nil, err
	}
	switch h.ArcType {
	case "standard":
		f, err := fst.ReadBody[semiring.Tropical](s, h)
		return &held[semiring.Tropical]{f, standardType}, err
	case "log":
		f, err := fst.ReadBody[semiring.Log](s, h)
		return &held[semiring.Log]{f, logType}, err
	case "log64":
		f, err := fst.ReadBody[semiring.Log64](s, h)
		return &held[semiring.Log64]{f, log64Type}, err
	}
	return nil, fmt.Errorf("arcs of type %q; machines here have standard, log or log64", h.ArcType)
}

// converted returns a machine over W.
func converted[W semiring.Weight[W]](m machine) (fst.Expanded[W], error) {
	switch m := m.(type) {
	case *held[semiring.Tropical]:
		return ops.Convert[W](m.f)
	case *held[semiring.Log]:
		return ops.Convert[W](m.f)
	case *held[semiring.Log64]:
		return ops.Convert[W](m.f)
	}
	return nil, fmt.Errorf("no conversion from %T is defined", m)
}

func (s *Server) machineRead(a *MachineReadArgs, m Memory) error {
	data, err := view[byte](m, "data", a.Data, a.Bytes)
	if err != nil {
		return err
	}
	var made machine
	if a.Text == 0 {
		made, err = readMachine(bytes.Clone(data))
	} else {
		made, err = readText(data, a.Type)
	}
	if err != nil {
		return err
	}
	a.Machine = s.hold(made)
	return nil
}

func readText(data []byte, kind int64) (machine, error) {
	opts := &fst.ReadTextOptions{Name: "text", KeepStateNumbering: true, MaxBytes: 1 << 32}
	switch kind {
	case standardType:
		f, err := fst.ReadText[semiring.Tropical](bytes.NewReader(data), opts)
		return &held[semiring.Tropical]{f, kind}, err
	case logType:
		f, err := fst.ReadText[semiring.Log](bytes.NewReader(data), opts)
		return &held[semiring.Log]{f, kind}, err
	case log64Type:
		f, err := fst.ReadText[semiring.Log64](bytes.NewReader(data), opts)
		return &held[semiring.Log64]{f, kind}, err
	}
	return nil, fmt.Errorf("type: %d is none of 0 standard, 1 log, 2 log64", kind)
}

// arcs are the arrays of a machine.
type arcs struct {
	from, to       []int64
	ilabel, olabel []int32
	weight, final  []float64
}

// arcsOf finds the arrays of a machine, and checks states and numbers.
func arcsOf(m Memory, states, n int64, from, to, ilabel, olabel, weight, final Address) (*arcs, error) {
	if states < 0 || states > math.MaxInt32 || n < 0 || n > math.MaxInt32 {
		return nil, fmt.Errorf("%d states and %d arcs: both are between 0 and %d", states, n, math.MaxInt32)
	}
	var a arcs
	var err error
	for _, x := range []struct {
		name string
		at   Address
		to   *[]int64
	}{{"from", from, &a.from}, {"to", to, &a.to}} {
		if *x.to, err = view[int64](m, x.name, x.at, n); err != nil {
			return nil, err
		}
		for i, q := range *x.to {
			if q < 0 || q >= states {
				return nil, at(i, fmt.Errorf("%s: state %d of %d", x.name, q, states))
			}
		}
	}
	if a.ilabel, err = view[int32](m, "ilabel", ilabel, n); err != nil {
		return nil, err
	}
	if a.olabel, err = view[int32](m, "olabel", olabel, n); err != nil {
		return nil, err
	}
	if a.weight, err = view[float64](m, "weight", weight, n); err != nil {
		return nil, err
	}
	if a.final, err = view[float64](m, "final", final, states); err != nil {
		return nil, err
	}
	for i, x := range a.weight {
		if math.IsNaN(x) {
			return nil, at(i, fmt.Errorf("weight: it is NaN"))
		}
	}
	for q, x := range a.final {
		if math.IsNaN(x) {
			return nil, at(q, fmt.Errorf("final: it is NaN"))
		}
	}
	return &a, nil
}

func (s *Server) machineArcs(a *MachineArcsArgs, m Memory) error {
	arrays, err := arcsOf(m, a.States, a.Arcs, a.From, a.To, a.ILabel, a.OLabel, a.Weight, a.Final)
	if err != nil {
		return err
	}
	if a.Start < -1 || a.Start >= a.States {
		return fmt.Errorf("start: state %d of %d", a.Start, a.States)
	}
	for i := range arrays.ilabel {
		if arrays.ilabel[i] < 0 || arrays.olabel[i] < 0 {
			return at(i, fmt.Errorf("labels %d and %d: none may be negative", arrays.ilabel[i], arrays.olabel[i]))
		}
	}
	var made machine
	switch a.Type {
	case standardType:
		made = &held[semiring.Tropical]{fromArcs[semiring.Tropical](arrays, a), a.Type}
	case logType:
		made = &held[semiring.Log]{fromArcs[semiring.Log](arrays, a), a.Type}
	case log64Type:
		made = &held[semiring.Log64]{fromArcs[semiring.Log64](arrays, a), a.Type}
	default:
		return fmt.Errorf("type: %d is none of 0 standard, 1 log, 2 log64", a.Type)
	}
	a.Machine = s.hold(made)
	return nil
}

func fromArcs[W number[W]](a *arcs, args *MachineArcsArgs) *fst.Vector[W] {
	v := fst.NewVector[W](int(args.States))
	v.AddStates(int(args.States))
	if args.Start >= 0 {
		v.SetStart(fst.StateID(args.Start))
	}
	for q, x := range a.final {
		v.SetFinal(fst.StateID(q), W(x))
	}
	for i, q := range a.from {
		v.AddArc(fst.StateID(q), fst.Arc[W]{ILabel: fst.Label(a.ilabel[i]), OLabel: fst.Label(a.olabel[i]),
			Weight: W(a.weight[i]), NextState: fst.StateID(a.to[i])})
	}
	return v
}

func (s *Server) machineOperate(a *MachineOperateArgs, m Memory) error {
	name, err := view[byte](m, "name", a.Name, a.NameBytes)
	if err != nil {
		return err
	}
	var o operation
	if a.Options != 0 {
		text, err := view[byte](m, "options", a.Options, a.OptionsBytes)
		if err != nil {
			return err
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&o); err != nil {
			return fmt.Errorf("%s: options: %w", name, err)
		}
	}
	if o.limits.Ctx, err = s.context(a.Cancel); err != nil {
		return err
	}
	if a.Limit < 0 {
		return fmt.Errorf("%s: a limit of %d bytes", name, a.Limit)
	}
	o.limits.Bytes = a.Limit
	f, err := get[machine](s, a.A, "a")
	if err != nil {
		return err
	}
	var g machine
	if a.B != 0 {
		if g, err = get[machine](s, a.B, "b"); err != nil {
			return err
		}
	}
	made, answer, err := f.operate(string(name), g, &o)
	if err != nil {
		return err
	}
	a.Machine, a.Answer = 0, answer
	if made != nil {
		a.Machine = s.hold(made)
	}
	return nil
}

func (s *Server) machineWrite(a *MachineWriteArgs, m Memory) error {
	f, err := get[machine](s, a.Machine, "machine")
	if err != nil {
		return err
	}
	data, err := f.write(a.Text != 0)
	if err != nil {
		return err
	}
	a.Needed = int64(len(data))
	if a.Data == 0 || a.Room < a.Needed {
		return nil
	}
	to, err := view[byte](m, "data", a.Data, a.Needed)
	if err != nil {
		return err
	}
	copy(to, data)
	return nil
}

func (s *Server) machineSizes(a *MachineSizesArgs) error {
	f, err := get[machine](s, a.Machine, "machine")
	if err != nil {
		return err
	}
	a.Type = f.kind()
	a.States, a.Arcs, a.Start = f.sizes()
	return nil
}

func (s *Server) machineCopy(a *MachineCopyArgs, m Memory) error {
	f, err := get[machine](s, a.Machine, "machine")
	if err != nil {
		return err
	}
	states, n, _ := f.sizes()
	var out arcs
	for _, x := range []struct {
		name string
		at   Address
		to   *[]int64
	}{{"from", a.From, &out.from}, {"to", a.To, &out.to}} {
		if *x.to, err = optional[int64](m, x.name, x.at, n); err != nil {
			return err
		}
	}
	if out.ilabel, err = optional[int32](m, "ilabel", a.ILabel, n); err != nil {
		return err
	}
	if out.olabel, err = optional[int32](m, "olabel", a.OLabel, n); err != nil {
		return err
	}
	if out.weight, err = optional[float64](m, "weight", a.Weight, n); err != nil {
		return err
	}
	if out.final, err = optional[float64](m, "final", a.Final, states); err != nil {
		return err
	}
	f.copyTo(out.from, out.to, out.ilabel, out.olabel, out.weight, out.final)
	return nil
}
