package chart

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot/vg"
)

// scale is a logarithmic axis: values between low and high lie between from and to.
type scale struct {
	low, high float64
	from, to  vg.Length
}

// place returns where a value lies.
func (s *scale) place(v float64) vg.Length {
	part := math.Log(v/s.low) / math.Log(s.high/s.low)
	return s.from + vg.Length(part)*(s.to-s.from)
}

// powers returns the powers of base times the multiples that the axis has.
func (s *scale) powers(base float64, multiples ...float64) []float64 {
	var all []float64
	for e := math.Floor(math.Log(s.low) / math.Log(base)); ; e++ {
		power := math.Pow(base, e)
		if power > s.high {
			return all
		}
		for _, m := range multiples {
			if v := m * power; v >= s.low*(1-1e-9) && v <= s.high*(1+1e-9) {
				all = append(all, v)
			}
		}
	}
}

// Bytes names a number of bytes that is a power of two.
func Bytes(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d B", n)
	}
}

// larger is the next unit from 1000 (or 1024) of one on.
var larger = map[string]struct {
	name string
	of   float64
}{
	"us": {"ms", 1000}, "ms": {"s", 1000}, "MB/s": {"GB/s", 1000},
	"1/s": {"k/s", 1000}, "k/s": {"M/s", 1000},
	"B": {"KiB", 1024}, "KiB": {"MiB", 1024}, "MiB": {"GiB", 1024},
}

// Quantity names a value with its unit, with three digits.
func Quantity(v float64, unit string) string {
	v, unit = scaled(v, unit)
	return named(figure(v), unit)
}

// figure prints a value with three digits, and with all that are before the point.
func figure(v float64) string {
	v, behind := digits(v), 0
	if v != 0 && math.Abs(v) < 1000 {
		behind = 2 - int(math.Floor(math.Log10(math.Abs(v))))
	}
	return strconv.FormatFloat(v, 'f', behind, 64)
}

// mark names a value at an axis, which has few digits.
func mark(v float64, unit string) string {
	v, unit = scaled(v, unit)
	return named(strconv.FormatFloat(v, 'f', -1, 64), unit)
}

// scaled returns a value, rounded to three digits, in the unit that suits it.
func scaled(v float64, unit string) (float64, string) {
	next, ok := larger[unit]
	for ; ok && digits(v) >= next.of; next, ok = larger[unit] {
		v, unit = v/next.of, next.name
	}
	return digits(v), unit
}

// named puts a unit behind a number.
func named(number, unit string) string {
	switch unit {
	case "":
		return number
	case "us":
		unit = "µs"
	case "1/s":
		unit = "/s"
	}
	return number + " " + unit
}

// digits rounds a value to three digits, but not those before the point.
func digits(v float64) float64 {
	if math.Abs(v) >= 1000 {
		return math.Round(v)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		return v // no number that was just written is unreadable
	}
	return rounded
}

// Times names a ratio.
func Times(ratio float64) string {
	return strconv.FormatFloat(ratio, 'f', decimals(ratio), 64) + "×"
}

// decimals is how many digits of a ratio are shown behind the point.
func decimals(ratio float64) int {
	switch {
	case ratio >= 99.95:
		return 0
	case ratio >= 9.995:
		return 1
	case ratio >= 0.0995:
		return 2
	default:
		return 4
	}
}
