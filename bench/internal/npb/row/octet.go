package row

// Lanes gives, for each vector element of an octet, which of eight consecutive complex numbers [Split] stores
// there. The vector loop unpacks two vectors of complex numbers in this order.
var Lanes = [block]int{0, 4, 1, 5, 2, 6, 3, 7}

// Split converts blocks of eight numbers to octets in dst. For every p, it reads consecutive blocks from src[at[p]:].
// The argument groups is the number of these blocks.
func Split(dst []float64, src []complex128, at []int, groups int) {
	if len(at) == 0 || groups <= 0 {
		return
	}
	dst = dst[:len(at)*groups*Octet]
	if wide {
		checkPlaces(src, at, groups)
		split8(&dst[0], &src[0], &at[0], len(at), groups)
		return
	}
	split(dst, src, at, groups)
}

// checkPlaces panics, as the portable loops do, if values[at[p]:][:groups*block] is not within values for at
// least one p.
func checkPlaces(values []complex128, at []int, groups int) {
	for _, i := range at {
		_ = values[i : i+groups*block : len(values)]
	}
}

// split is the portable loop of Split.
func split(dst []float64, src []complex128, at []int, groups int) {
	for _, i := range at {
		for g := range groups {
			v := (*[block]complex128)(src[i+g*block:])
			octet := (*[Octet]float64)(dst)
			for lane, q := range Lanes {
				octet[lane], octet[lane+block] = real(v[q]), imag(v[q])
			}
			dst = dst[Octet:]
		}
	}
}

// Join is the inverse of [Split]. For every p, it stores the next octets of src in dst[at[p]:]. Their number is the
// argument groups.
func Join(dst []complex128, src []float64, at []int, groups int) {
	if len(at) == 0 || groups <= 0 {
		return
	}
	src = src[:len(at)*groups*Octet]
	if wide {
		checkPlaces(dst, at, groups)
		join8(&dst[0], &src[0], &at[0], len(at), groups)
		return
	}
	join(dst, src, at, groups)
}

// join is the portable loop of Join.
func join(dst []complex128, src []float64, at []int, groups int) {
	for _, i := range at {
		for g := range groups {
			v := (*[block]complex128)(dst[i+g*block:])
			octet := (*[Octet]float64)(src)
			for lane, q := range Lanes {
				v[q] = complex(octet[lane], octet[lane+block])
			}
			src = src[Octet:]
		}
	}
}

// Damp first multiplies values in place and then converts them to octets as [Split] does. It multiplies the values
// that begin at values[at[p]] by steps[p] and by the elements of factors. factors contains eight numbers for each
// octet of one p, in the order of the lanes.
func Damp(dst []float64, values []complex128, at []int, steps, factors []float64) {
	groups := len(factors) / block
	if len(at) == 0 || groups == 0 {
		return
	}
	dst, steps = dst[:len(at)*groups*Octet], steps[:len(at)]
	if wide {
		checkPlaces(values, at, groups)
		damp8(&dst[0], &values[0], &at[0], &steps[0], &factors[0], len(at), groups)
		return
	}
	damp(dst, values, at, steps, factors)
}

// damp is the portable loop of Damp.
func damp(dst []float64, values []complex128, at []int, steps, factors []float64) {
	for p, i := range at {
		for g := range len(factors) / block {
			v, f := (*[block]complex128)(values[i+g*block:]), (*[block]float64)(factors[g*block:])
			octet := (*[Octet]float64)(dst)
			for lane, q := range Lanes {
				scale := steps[p] * f[lane]
				re, im := scale*real(v[q]), scale*imag(v[q])
				octet[lane], octet[lane+block] = re, im
				v[q] = complex(re, im)
			}
			dst = dst[Octet:]
		}
	}
}
