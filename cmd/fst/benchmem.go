package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
)

// heapKB is the memory that the Go runtime has from the system.
func heapKB() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys >> 10)
}

// residentKB is the resident memory, where /proc tells it.
func residentKB() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		if f := strings.Fields(string(data)); len(f) > 1 {
			if pages, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return pages * int64(os.Getpagesize()) >> 10
			}
		}
	}
	return heapKB()
}

// startProfile begins a profile of processor time; no name is none.
func startProfile(name string) (stop func(), err error) {
	if name == "" {
		return func() {}, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}
