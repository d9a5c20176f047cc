package runtime

import (
	"fmt"
	"math"
	"slices"

	"github.com/gorun-hpc/gorun/internal/callsite"
)

// DimsCreate returns the sizes of a grid of the given number of ranks. Sizes in dims that are above 0 are
// kept. For each 0 in dims a size is chosen. The chosen sizes do not increase, and are as close to
// each other as possible: the largest is as small as possible, then the second largest, and so on.
// The error is ErrArgument if ranks is not positive, a size is negative, or the product of the
// given sizes does not divide ranks. If dims has no 0, the product must equal ranks.
func DimsCreate(ranks int, dims []int) ([]int, error) {
	left, open := ranks, 0
	for _, n := range dims {
		switch {
		case n < 0:
			return nil, callsite.At(fmt.Errorf("%w: a dimension of size %d", ErrArgument, n))
		case n == 0:
			open++
		case left%n != 0:
			left = 0
		default:
			left /= n
		}
	}
	if ranks <= 0 || left == 0 || open == 0 && left != 1 {
		return nil, callsite.At(fmt.Errorf("%w: no grid of %d ranks has the dimensions %v", ErrArgument, ranks, dims))
	}
	chosen := factors(left, open, left, divisors(left))
	full := make([]int, len(dims))
	for i, n := range dims {
		if n == 0 {
			n, chosen = chosen[0], chosen[1:]
		}
		full[i] = n
	}
	return full, nil
}

// factors returns count factors whose product is n. They do not increase, and are at most limit. If
// there are several such lists, it returns the list with the lowest first factor. Among lists with
// equal first factors, it returns the list with the lowest second factor, and so on. It returns nil if
// there is no such list. The argument among has the possible factors in ascending order.
func factors(n, count, limit int, among []int) []int {
	if count <= 1 {
		if count == 0 || n > limit {
			return nil
		}
		return []int{n}
	}
	from, _ := slices.BinarySearch(among, root(n, count))
	for _, first := range among[from:] {
		if first > min(n, limit) {
			break
		}
		if n%first != 0 {
			continue
		}
		if rest := factors(n/first, count-1, first, among); rest != nil {
			return append([]int{first}, rest...)
		}
	}
	return nil
}

// divisors returns the divisors of n in ascending order.
func divisors(n int) []int {
	var list []int
	for d := 1; d <= n/d; d++ {
		if n%d == 0 {
			list = append(list, d, n/d)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// root returns the lowest number r with r^count >= n.
func root(n, count int) int {
	r := max(1, int(math.Pow(float64(n), 1/float64(count)))-1)
	for power(r, count, n) < n {
		r++
	}
	return r
}

// power returns the lesser of r^count and n.
func power(r, count, n int) int {
	p := 1
	for range count {
		if p > n/r {
			return n
		}
		p *= r
	}
	return min(p, n)
}
