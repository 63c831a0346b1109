package calls_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/tropica-fst/tropica/cmd/internal/calls"
)

// request appends a request with the bytes of args.
func request(b []byte, id, number uint32, args []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, id)
	b = binary.LittleEndian.AppendUint32(b, number)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(args)))
	return append(b, args...)
}

func bytesOf[T any](v *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }

// answers are those of requests, by their numbers.
func answers(t *testing.T, input []byte, shared calls.Shared) (map[uint32]string, error) {
	t.Helper()
	var out bytes.Buffer
	err := calls.NewServer().Serve(bytes.NewReader(input), &out, func(name string) (calls.Shared, error) {
		if name != "memory" {
			return nil, errors.New("no such memory")
		}
		return shared, nil
	})
	got := map[uint32]string{}
	for b := out.Bytes(); len(b) > 0; {
		if len(b) < 24 {
			t.Fatalf("an answer of %d bytes", len(b))
		}
		id, status := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		text, args := binary.LittleEndian.Uint32(b[16:]), binary.LittleEndian.Uint32(b[20:])
		got[id] = string(rune('0'+status)) + " " + string(b[24:24+text])
		b = b[24+text+args:]
	}
	return got, err
}

// A batch in shared memory is evaluated; addresses that leave the memory are errors.
func TestServe(t *testing.T) {
	words := make([]uint64, 64)
	shared := calls.Shared(unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words)))
	// One example of one position over two labels, both of score 0: log Z is log 2.
	words[1] = 1 // offsets 0, 1 at byte 0; the reference, 0, at 16; theta at 32; log Z at 64
	a := calls.EvaluateArgs{Size: uint64(unsafe.Sizeof(calls.EvaluateArgs{})), Batch: 1, Length: 1, Window: 2,
		Alphabet: 2, Order: 1, Offsets: calls.Base, References: calls.Base + 16,
		Theta: calls.Tensor{Data: calls.Base + 32}, LogZ: calls.Base + 64}
	beyond, unaligned := a, a
	beyond.LogZ = calls.Base + 8*64
	unaligned.LogZ = calls.Base + 65
	input := request(nil, 1, calls.CallAttach, []byte("memory"))
	input = request(input, 2, calls.CallEvaluate, bytesOf(&a))
	input = request(input, 3, calls.CallEvaluate, bytesOf(&beyond))
	input = request(input, 4, calls.CallEvaluate, bytesOf(&unaligned))
	input = request(input, 5, calls.CallAttach, []byte("nothing"))
	input = request(input, 6, 999, bytesOf(&a))
	input = request(input, 7, calls.CallEvaluate, bytesOf(&a)[:40])
	got, err := answers(t, input, shared)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[uint32]string{1: "0 ", 2: "0 ", 3: "1 log_z: 8 bytes",
		4: "1 log_z: the pointer is not aligned", 5: "1 no such memory", 6: "5 there is no call 999",
		7: "5 arguments of 40 bytes"} {
		if !strings.HasPrefix(got[id], want) {
			t.Errorf("request %d: %q, want %q", id, got[id], want)
		}
	}
	if z := math.Float64frombits(words[8]); math.Abs(z-math.Ln2) > 1e-15 {
		t.Errorf("log Z is %v, want log 2", z)
	}
}

// Requests that are cut, or of any bytes, end the serving or get an error; none panics or takes
// memory that it says it needs.
func TestServeHostile(t *testing.T) {
	shared := calls.Shared(make([]byte, 1<<12))
	good := request(nil, 1, calls.CallVersion, bytesOf(&calls.VersionArgs{Size: 16}))
	for n := 1; n < len(good); n++ {
		if _, err := answers(t, good[:n], shared); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	if _, err := answers(t, binary.LittleEndian.AppendUint32(make([]byte, 8), math.MaxUint32),
		shared); err == nil {
		t.Error("a request of 4 GB")
	}
	rng := rand.New(rand.NewPCG(1, 30))
	sizes := []uintptr{unsafe.Sizeof(calls.HandleArgs{}), unsafe.Sizeof(calls.LossArgs{}),
		unsafe.Sizeof(calls.EvaluateArgs{}), unsafe.Sizeof(calls.SampleArgs{}), unsafe.Sizeof(calls.MinRiskArgs{}),
		unsafe.Sizeof(calls.LatticeArgs{}), unsafe.Sizeof(calls.MachineReadArgs{}),
		unsafe.Sizeof(calls.MachineArcsArgs{}), unsafe.Sizeof(calls.MachineOperateArgs{}),
		unsafe.Sizeof(calls.MachineWriteArgs{}), unsafe.Sizeof(calls.MachineSizesArgs{}),
		unsafe.Sizeof(calls.MachineCopyArgs{})}
	for range 300 {
		input := request(nil, 0, calls.CallAttach, []byte("memory"))
		for id := range uint32(20) {
			args := make([]byte, sizes[rng.IntN(len(sizes))])
			for i := 0; i < len(args); i += 8 {
				v := uint64(rng.IntN(4))
				switch rng.IntN(4) {
				case 0:
					v = calls.Base + 8*uint64(rng.IntN(512))
				case 1:
					v = rng.Uint64() >> rng.IntN(64)
				}
				binary.LittleEndian.PutUint64(args[i:], v)
			}
			binary.LittleEndian.PutUint64(args, uint64(len(args)))
			input = request(input, id+1, uint32(rng.IntN(18)+1), args)
		}
		got, err := answers(t, input, shared)
		if err != nil {
			t.Fatal(err)
		}
		for id, text := range got {
			if strings.HasPrefix(text, "7") {
				t.Errorf("request %d: %s", id, text)
			}
		}
	}
}
