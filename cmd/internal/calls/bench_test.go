package calls_test

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/tropica-fst/tropica/cmd/internal/calls"
	"github.com/tropica-fst/tropica/losses"
)

// BenchmarkEvaluate is a batch of 64 references of 10 to 20 symbols over 40 labels, log Z and
// gradient, by a call and by losses.Batch.
func BenchmarkEvaluate(b *testing.B) {
	const batch, length, alphabet = 64, 20, 40
	rng := rand.New(rand.NewPCG(1, 30))
	theta, grad := make([]float64, batch*length*alphabet), make([]float64, batch*length*alphabet)
	for i := range theta {
		theta[i] = rng.NormFloat64()
	}
	var symbols []int32
	offsets := []int64{0}
	cases := make([]losses.Case, batch)
	for i := range cases {
		ref := make([]int, 10+rng.IntN(11))
		for t := range ref {
			ref[t] = rng.IntN(alphabet)
			symbols = append(symbols, int32(ref[t]))
		}
		offsets = append(offsets, int64(len(symbols)))
		m, err := losses.Edit{Band: 3}.Machine(ref, alphabet, len(ref))
		if err != nil {
			b.Fatal(err)
		}
		p := losses.NewPotentials(alphabet, len(ref), 1)
		for t := range ref {
			copy(p.Theta[t], theta[(i*length+t)*alphabet:])
		}
		cases[i] = losses.Case{Machine: m, Potentials: p, Gamma: 1, Want: losses.WantMarginals,
			Result: &losses.Result{}}
	}
	b.Run("by=batch", func(b *testing.B) {
		of := losses.Batch{Workers: 1}
		for b.Loop() {
			if err := of.Eval(cases); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by=call", func(b *testing.B) {
		s := calls.NewServer()
		spec := []byte(`{"kind":"edit","band":3}`)
		l := calls.LossArgs{Size: uint64(unsafe.Sizeof(calls.LossArgs{})), Spec: at(spec),
			SpecBytes: int64(len(spec))}
		h := calls.HandleArgs{Size: uint64(unsafe.Sizeof(calls.HandleArgs{}))}
		c := h
		values := make([]float64, batch)
		call := func(number uint32, args []byte) {
			if err := s.Call(number, args, calls.Process{}); err != nil {
				b.Fatal(err)
			}
		}
		call(calls.CallLoss, bytesOf(&l))
		call(calls.CallSession, bytesOf(&h))
		call(calls.CallCancelNew, bytesOf(&c))
		a := calls.EvaluateArgs{Size: uint64(unsafe.Sizeof(calls.EvaluateArgs{})), Session: h.Handle,
			Cancel: c.Handle, Loss: l.Loss, Gamma: 1, Batch: batch, Length: length, Window: alphabet,
			Alphabet: alphabet, Order: 1, Workers: 1, References: at(symbols), Offsets: at(offsets),
			Theta: calls.Tensor{Data: at(theta)}, LogZ: at(values), Marginals: calls.Tensor{Data: at(grad)}}
		call(calls.CallEvaluate, bytesOf(&a)) // makes the machines
		for b.Loop() {
			call(calls.CallEvaluate, bytesOf(&a))
		}
	})
}

func at[T any](a []T) calls.Address { return calls.Address(uintptr(unsafe.Pointer(&a[0]))) }
