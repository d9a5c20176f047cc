package row

import "golang.org/x/sys/cpu"

// wide reports whether the processor can run all loops in assembly, avx whether it can run multiply8.
var (
	wide = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasBMI2
	avx  = cpu.X86.HasAVX
)

//go:noescape
func residual8(r, v, um, uc, up, pm, pc, pp, a, b, k *float64, n int)

//go:noescape
func smooth8(u, rm, rc, rp, pm, pc, pp, a, b, k *float64, n int)

//go:noescape
func restrict8(out, fine *float64, row, plane, n int)

//go:noescape
func prolong8(out, a, b, c, d *float64, n int)

//go:noescape
func butterflies8(y, x0, x1, x2, x3, roots *float64, count, width int)

//go:noescape
func halves8(y, x *float64, bytes int)

//go:noescape
func split8(dst *float64, src *complex128, at *int, count, groups int)

//go:noescape
func join8(dst *complex128, src *float64, at *int, count, groups int)

//go:noescape
func damp8(dst *float64, values *complex128, at *int, steps, factors *float64, count, groups int)

//go:noescape
func columns8(dst *float64, src *complex128, row, count int)

//go:noescape
func rows8(dst *complex128, src *float64, row, count int)

//go:noescape
func multiply8(y *float64, start *int, column *int32, value, x *float64, rows int)

//go:noescape
func distribute1(sorted, next, keys *int32, places, count, shift int) (done int)

//go:noescape
func tally4(counts, keys *int32, groups, shift int)
