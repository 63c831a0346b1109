package calls_test

import (
	"math"
	"testing"
	"time"
	"unsafe"

	"github.com/tropica-fst/tropica/cmd/internal/calls"
)

// kept holds what addresses of a test point to, so that it stays where it is.
var kept []any

// Hurry runs what is like the call before it, to the bits of Call, and gives up what takes longer:
// a reference whose symbols differ has a machine that is much larger than that of one symbol.
func TestHurry(t *testing.T) {
	const length, alphabet = 18, 20
	s := calls.NewServer()
	spec := []byte(`{"kind":"edit"}`)
	kept = append(kept, spec)
	l := calls.LossArgs{Size: uint64(unsafe.Sizeof(calls.LossArgs{})), Spec: at(spec),
		SpecBytes: int64(len(spec))}
	h := calls.HandleArgs{Size: uint64(unsafe.Sizeof(calls.HandleArgs{}))}
	for number, args := range map[uint32][]byte{calls.CallLoss: bytesOf(&l), calls.CallSession: bytesOf(&h)} {
		if err, done := s.Hurry(number, args, calls.Process{}); err != nil || !done {
			t.Fatal(err, done)
		}
	}
	theta := make([]float64, length*alphabet)
	for i := range theta {
		theta[i] = math.Sin(float64(i))
	}
	value := make([]float64, 1)
	kept = append(kept, theta, value)
	references := func(symbol func(i int) int) calls.EvaluateArgs {
		symbols, offsets := make([]int32, length), []int64{0, length}
		for i := range symbols {
			symbols[i] = int32(symbol(i))
		}
		kept = append(kept, symbols, offsets)
		return calls.EvaluateArgs{Size: uint64(unsafe.Sizeof(calls.EvaluateArgs{})), Session: h.Handle,
			Loss:  l.Loss,
			Gamma: 1, Batch: 1, Length: length, Window: alphabet, Alphabet: alphabet, Order: 1, Workers: 1,
			References: at(symbols), Offsets: at(offsets), Theta: calls.Tensor{Data: at(theta)}, LogZ: at(value)}
	}
	of := func(k int) calls.EvaluateArgs { return references(func(int) int { return k }) }
	a := of(1)
	if _, done := s.Hurry(calls.CallEvaluate, bytesOf(&a), calls.Process{}); done {
		t.Error("a first call was thought to be quick")
	}
	if err := s.Call(calls.CallEvaluate, bytesOf(&a), calls.Process{}); err != nil {
		t.Fatal(err)
	}
	check := func(k int) {
		t.Helper()
		a := of(k)
		value[0] = math.NaN()
		if err, done := s.Hurry(calls.CallEvaluate, bytesOf(&a), calls.Process{}); err != nil || !done {
			t.Fatalf("another reference of its length: %v, done is %v", err, done)
		}
		got := value[0]
		if err := s.Call(calls.CallEvaluate, bytesOf(&a), calls.Process{}); err != nil || got != value[0] {
			t.Errorf("%v in a hurry, %v without (%v)", got, value[0], err)
		}
	}
	check(2)
	check(2)
	check(3)
	long := references(func(i int) int { return i })
	begin := time.Now()
	if _, done := s.Hurry(calls.CallEvaluate, bytesOf(&long), calls.Process{}); done {
		t.Error("a machine of 2^18 states was made in a hurry")
	}
	if spent := time.Since(begin); spent > 2*time.Second {
		t.Errorf("it gave up after %v", spent)
	}
	check(4)
	bad := of(alphabet)
	if err, done := s.Hurry(calls.CallEvaluate, bytesOf(&bad), calls.Process{}); err == nil || !done {
		t.Errorf("a label beyond the alphabet: %v, done is %v", err, done)
	}
}
