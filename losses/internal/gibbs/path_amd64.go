//go:build amd64 && !purego

package gibbs

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run -C asm . -out ../kernels_amd64.s -stubs ../stubs_amd64.go -pkg gibbs

// The offsets that the assembly has: another layout does not compile.
var (
	_ = [1]struct{}{}[unsafe.Offsetof(scanArgs{}.labels)-80]
	_ = [1]struct{}{}[unsafe.Offsetof(stepArgs{}.del)-56]
	_ = [1]struct{}{}[unsafe.Offsetof(siteArgs{}.true)-96]
)

// The features are those of the processor that the system saves the registers of.
var best = func() int {
	switch {
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VNNI:
		return isaAVX512
	case cpu.X86.HasAVX2:
		return isaAVX2
	}
	return isaGo
}()

func scanVector(isa int, a *scanArgs) {
	if isa == isaAVX512 {
		scanAVX512((*byte)(unsafe.Pointer(a)))
	} else {
		scanAVX2((*byte)(unsafe.Pointer(a)))
	}
}

func siteVector(isa int, a *siteArgs) {
	p := (*byte)(unsafe.Pointer(a))
	switch isa<<8 | a.labels {
	case isaAVX512<<8 | 4:
		site4xAVX512(p)
	case isaAVX512<<8 | 8:
		site8xAVX512(p)
	case isaAVX512<<8 | 12:
		site12xAVX512(p)
	case isaAVX512<<8 | 16:
		site16xAVX512(p)
	case isaAVX512<<8 | 24:
		site24xAVX512(p)
	case isaAVX512<<8 | 32:
		site32xAVX512(p)
	case isaAVX2<<8 | 4:
		site4xAVX2(p)
	case isaAVX2<<8 | 8:
		site8xAVX2(p)
	case isaAVX2<<8 | 12:
		site12xAVX2(p)
	case isaAVX2<<8 | 16:
		site16xAVX2(p)
	}
}

func stepVector(isa int, a *stepArgs) {
	if isa == isaAVX512 {
		stepAVX512((*byte)(unsafe.Pointer(a)))
	} else {
		stepAVX2((*byte)(unsafe.Pointer(a)))
	}
}

func first(c *cells) *byte { return (*byte)(unsafe.Pointer(c)) }

func lessVector(isa int, at, o *cells, n int) {
	if isa == isaAVX512 {
		lessAVX512(first(at), first(o), n)
	} else {
		lessAVX2(first(at), first(o), n)
	}
}

func meetVector(isa int, f, g *cells, n int, low *cells) {
	if isa == isaAVX512 {
		meetAVX512(first(f), first(g), n, first(low))
	} else {
		meetAVX2(first(f), first(g), n, first(low))
	}
}
