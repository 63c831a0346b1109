package main

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// BenchmarkTraining trains on the chunking task (TROPICA_CHUNKING) with its edit distance, some
// seconds of work a pass: in this process, and on Beam. cpu-s/op is processor time.
func BenchmarkTraining(b *testing.B) {
	dir := b.TempDir()
	sentences := chunking(b)
	pattern := write(b, dir, "conll", "", "\n", sentences, 8)
	flags := []string{"sequence", "train", "--data", pattern, "--model", filepath.Join(dir, "m"), "--observed",
		"--objective=softmax-margin", "--loss=edit", "--iterations=3", "--stop=0"}
	for _, x := range []struct {
		name string
		more []string
	}{{"by=here", []string{"--here"}}, {"by=beam", nil}} {
		b.Run(x.name, func(b *testing.B) {
			begin := processor(b)
			for b.Loop() {
				if _, errs, status := beamCall(b.Context(), append(flags, x.more...)...); status != 0 {
					b.Fatal(errs)
				}
			}
			b.ReportMetric((processor(b)-begin).Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}

// processor is the processor time of this process.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
