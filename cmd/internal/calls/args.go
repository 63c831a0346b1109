package calls

// The numbers of the calls. They are part of the interface: none is ever given again.
const (
	CallVersion = iota + 1
	CallFree
	CallCancelNew
	CallCancel
	CallLoss
	CallSession
	CallEvaluate
	CallSample
	CallMinRisk
	CallLattice
	CallMachineRead
	CallMachineArcs
	CallMachineOperate
	CallMachineWrite
	CallMachineSizes
	CallMachineCopy
	callEnd
)

// The argument structs are those of tropica.h, field by field. Every field has eight bytes, so
// that no compiler pads. Size is the struct's size, which Call checks.

// Handle stands for something that a Server holds; 0 is none.
type Handle uint64

// Address is where data are: in a process, or from the start of shared memory. 0 is none.
type Address uint64

// VersionArgs asks for the version of the interface.
type VersionArgs struct {
	Size uint64
	ABI  int64 // out
}

// HandleArgs are those of CallFree, CallCancel (in), CallCancelNew and CallSession (out).
type HandleArgs struct {
	Size   uint64
	Handle Handle
}

// LossArgs make a loss from JSON, as `fst loss` takes it. A transducer may come as bytes of a
// binary file instead of a file's name.
type LossArgs struct {
	Size      uint64
	Spec      Address
	SpecBytes int64
	File      Address // bytes of a transducer; 0 is none
	FileBytes int64
	Limit     int64  // greatest bytes of a loss machine; 0 is the default
	Loss      Handle // out
}

// Element types of a Tensor.
const (
	Float64 = 0
	Float32 = 1
)

// Tensor is an array by example, position and window; see losses.Tensor. The elements of a row
// are neighbours. Strides count elements.
type Tensor struct {
	Data                   Address // 0 is none
	Type                   int64   // Float64 or Float32
	BatchStride, RowStride int64
}

// EvaluateArgs evaluate a batch. Outputs are those whose address is not 0: numbers are float64
// by example, strings int32 by example and position, with -1 behind their ends.
type EvaluateArgs struct {
	Size    uint64
	Session Handle // keeps machines and working memory; 0 is a fresh one
	Cancel  Handle // 0 is none
	Loss    Handle // 0 is the loss 0
	Gamma   float64

	Batch, Length, Window int64 // shape of Theta
	Alphabet, Order       int64
	Workers               int64 // 0 is all processors

	References Address // int32 symbols of all references, one after the other
	Offsets    Address // int64, Batch+1: where each reference begins
	Lengths    Address // int64 lengths of the strings; 0 is those of the references

	Theta, Direction Tensor // Direction is V of Hessian-vector products

	LogZ, LogZ0, Expected, Risk  Address
	Score                        Address // θ of the references, which need the strings' lengths
	MaxAug, MaxScore             Address
	Argmax, Viterbi              Address
	LogZError                    Address // how far LogZ of a banded loss may be off
	Marginals, RiskGradient, HVP Tensor
	RiskHVP                      Tensor // Hessian of the risk times Direction
	LessReference                int64  // 1: Marginals are less 1 at the references' windows
}

// SampleArgs draw strings of a batch, under exp(θ + γL).
type SampleArgs struct {
	Size                         uint64
	Session, Cancel, Loss        Handle
	Gamma                        float64
	Batch, Length, Window        int64
	Alphabet, Order, Workers     int64
	References, Offsets, Lengths Address
	Theta                        Tensor
	Seed                         uint64
	Count                        int64   // strings an example
	Strings                      Address // out: int32 [Batch, Count, Length], -1 behind ends
}

// MinRiskArgs choose among candidates the one of least expected loss, the others' weights being
// the distribution of what is right.
type MinRiskArgs struct {
	Size         uint64
	Cancel, Loss Handle
	Alphabet     int64
	Count        int64   // candidates
	Symbols      Address // int32, one string after the other
	Offsets      Address // int64, Count+1
	LogWeights   Address // float64; 0 is all equal
	Risks        Address // out: float64 by candidate; 0 is none
	Best         int64   // out
}

// LatticeArgs evaluate one acyclic acceptor. State 0 is the start. Labels are symbols from 0.
type LatticeArgs struct {
	Size           uint64
	Cancel, Loss   Handle
	Gamma          float64
	Alphabet       int64
	States, Arcs   int64
	From, To       Address // int64 by arc
	Label          Address // int32 by arc
	Score          Address // float64 by arc: θ
	Final          Address // float64 by state: score of ending there, -Inf for no end
	Reference      Address // int32
	ReferenceCount int64
	Direction      Address // float64 by arc; 0 is none

	LogZ, LogZ0, Expected, Risk, MaxAug float64 // out
	Marginals, RiskGradient, HVP        Address // out: float64 by arc
	RiskHVP                             Address
	Argmax                              Address // out: int32, room for ArgmaxRoom
	ArgmaxRoom, ArgmaxCount             int64   // in, out
}

// MachineReadArgs read a machine from bytes.
type MachineReadArgs struct {
	Size    uint64
	Data    Address
	Bytes   int64
	Text    int64  // 1: text, of byte strings or numbers as labels
	Type    int64  // of text: weight type, see MachineSizesArgs
	Machine Handle // out
}

// MachineArcsArgs make a machine of arrays.
type MachineArcsArgs struct {
	Size               uint64
	Type, States, Arcs int64
	Start              int64   // -1 is none
	From, To           Address // int64 by arc
	ILabel, OLabel     Address // int32 by arc
	Weight             Address // float64 by arc
	Final              Address // float64 by state; +Inf is not final
	Machine            Handle  // out
}

// MachineOperateArgs apply an operation to machines.
type MachineOperateArgs struct {
	Size         uint64
	Cancel       Handle
	Name         Address // such as "compose"
	NameBytes    int64
	Options      Address // JSON; 0 is none
	OptionsBytes int64
	A, B         Handle // B is 0 for operations on one machine
	Limit        int64  // greatest bytes; 0 is none
	Machine      Handle // out; 0 where the answer is a number
	Answer       float64
}

// MachineWriteArgs write a machine. Needed says how many bytes it takes; nothing is written
// where Room is less.
type MachineWriteArgs struct {
	Size    uint64
	Machine Handle
	Text    int64 // 1: as `fst print` does
	Data    Address
	Room    int64
	Needed  int64 // out
}

// MachineSizesArgs say how large a machine is.
type MachineSizesArgs struct {
	Size                      uint64
	Machine                   Handle
	Type, States, Arcs, Start int64 // out; Type 0 standard, 1 log, 2 log64
}

// MachineCopyArgs copy a machine to arrays, as MachineArcsArgs has them.
type MachineCopyArgs struct {
	Size           uint64
	Machine        Handle
	From, To       Address
	ILabel, OLabel Address
	Weight, Final  Address
}
