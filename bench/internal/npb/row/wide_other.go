//go:build !amd64

package row

// wide and avx report whether the processor can run the loops in assembly. On this architecture there are none.
const wide, avx = false, false

func residual8(r, v, um, uc, up, pm, pc, pp, a, b, k *float64, n int) {}

func smooth8(u, rm, rc, rp, pm, pc, pp, a, b, k *float64, n int) {}

func restrict8(out, fine *float64, row, plane, n int) {}

func prolong8(out, a, b, c, d *float64, n int) {}

func butterflies8(y, x0, x1, x2, x3, roots *float64, count, width int) {}

func halves8(y, x *float64, bytes int) {}

func split8(dst *float64, src *complex128, at *int, count, groups int) {}

func join8(dst *complex128, src *float64, at *int, count, groups int) {}

func damp8(dst *float64, values *complex128, at *int, steps, factors *float64, count, groups int) {}

func columns8(dst *float64, src *complex128, row, count int) {}

func rows8(dst *complex128, src *float64, row, count int) {}

func multiply8(y *float64, start *int, column *int32, value, x *float64, rows int) {}

func distribute1(sorted, next, keys *int32, places, count, shift int) (done int) { return 0 }

func tally4(counts, keys *int32, groups, shift int) {}
