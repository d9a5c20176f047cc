package chart

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot/vg"
)

// scale is a logarithmic axis. The field from is the coordinate of the value low, and the field to is the
// coordinate of the value high.
type scale struct {
	low, high float64
	from, to  vg.Length
}

// place returns the coordinate of a value.
func (s *scale) place(v float64) vg.Length {
	part := math.Log(v/s.low) / math.Log(s.high/s.low)
	return s.from + vg.Length(part)*(s.to-s.from)
}

// powers returns the values on the axis that are a power of base times one of the multiples.
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

// Bytes formats a number of bytes. If the number is a multiple of a binary unit, Bytes uses that unit.
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

// larger maps a unit to the next larger unit, and to the number of smaller units in it.
var larger = map[string]struct {
	name string
	of   float64
}{
	"us": {"ms", 1000}, "ms": {"s", 1000}, "MB/s": {"GB/s", 1000},
	"1/s": {"k/s", 1000}, "k/s": {"M/s", 1000},
	"B": {"KiB", 1024}, "KiB": {"MiB", 1024}, "MiB": {"GiB", 1024},
}

// Quantity formats a value with its unit and three significant digits.
func Quantity(v float64, unit string) string {
	v, unit = scaled(v, unit)
	return named(figure(v), unit)
}

// figure formats a value with three significant digits, or with more if the value has more digits before the
// decimal point.
func figure(v float64) string {
	v, behind := digits(v), 0
	if v != 0 && math.Abs(v) < 1000 {
		behind = 2 - int(math.Floor(math.Log10(math.Abs(v))))
	}
	return strconv.FormatFloat(v, 'f', behind, 64)
}

// mark formats a value at an axis, without trailing zeros.
func mark(v float64, unit string) string {
	v, unit = scaled(v, unit)
	return named(strconv.FormatFloat(v, 'f', -1, 64), unit)
}

// scaled converts a value to the largest unit in which the value is at least 1, but never to a smaller unit
// than the argument unit. It returns the value, rounded to three significant digits, and its unit.
func scaled(v float64, unit string) (float64, string) {
	next, ok := larger[unit]
	for ; ok && digits(v) >= next.of; next, ok = larger[unit] {
		v, unit = v/next.of, next.name
	}
	return digits(v), unit
}

// named returns a number followed by its unit.
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

// digits rounds a value to three significant digits, but keeps all digits before the decimal point.
func digits(v float64) float64 {
	if math.Abs(v) >= 1000 {
		return math.Round(v)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		return v // cannot happen, because the text is a formatted number
	}
	return rounded
}

// Times formats a ratio.
func Times(ratio float64) string {
	return strconv.FormatFloat(ratio, 'f', decimals(ratio), 64) + "×"
}

// decimals returns the number of digits that are shown after the decimal point of a ratio.
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
