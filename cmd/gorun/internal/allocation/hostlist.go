package allocation

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gorun-hpc/gorun/internal/ranges"
)

const (
	// hostsMax bounds the hosts of a list, so that a damaged list cannot use much memory.
	hostsMax = 1 << 16
	// nameBytesMax bounds the name of a host (RFC 1035, section 2.3.4).
	nameBytesMax = 255
)

// errTooMany reports that the expansion of a list exceeds hostsMax.
var errTooMany = fmt.Errorf("more than %d", hostsMax)

// ParseHostlist expands a list of hosts in the form of Slurm and Flux: "n[1-3,07-12]x,login".
// Ranges keep leading zeros, and a name may contain several brackets.
func ParseHostlist(text string) ([]string, error) {
	var all []string
	for _, part := range splitOutside(text) {
		names, err := expand(part)
		if err == nil && len(all)+len(names) > hostsMax {
			err = errTooMany
		}
		if err != nil {
			return nil, fmt.Errorf("list of hosts %.80q: %w", text, err)
		}
		all = append(all, names...)
	}
	return all, nil
}

// splitOutside splits a list at the commas that are outside of brackets.
func splitOutside(text string) []string {
	var parts []string
	depth, from := 0, 0
	for i := range len(text) {
		switch {
		case text[i] == '[':
			depth++
		case text[i] == ']':
			depth--
		case text[i] == ',' && depth == 0:
			parts, from = append(parts, text[from:i]), i+1
		}
	}
	return append(parts, text[from:])
}

// expand returns the names of one entry of a list.
func expand(entry string) ([]string, error) {
	names := []string{""}
	for {
		plain, rest, bracket := strings.Cut(entry, "[")
		if strings.ContainsAny(plain, "] \t\n") {
			return nil, fmt.Errorf("%.80q is no name", entry)
		}
		middles := []string{""}
		if bracket {
			inside, after, closed := strings.Cut(rest, "]")
			if !closed {
				return nil, errors.New("a bracket is not closed")
			}
			var err error
			if middles, err = choices(inside); err != nil {
				return nil, err
			}
			rest = after
		}
		if len(names)*len(middles) > hostsMax {
			return nil, errTooMany
		}
		longer := make([]string, 0, len(names)*len(middles))
		for _, name := range names {
			for _, middle := range middles {
				if len(name)+len(plain)+len(middle) > nameBytesMax {
					return nil, fmt.Errorf("a name has more than %d bytes", nameBytesMax)
				}
				longer = append(longer, name+plain+middle)
			}
		}
		if names = longer; !bracket {
			break
		}
		entry = rest
	}
	if names[0] == "" {
		return nil, errors.New("a name is empty")
	}
	return names, nil
}

// choices expands the text in a bracket: "1-3,07-12".
func choices(text string) ([]string, error) {
	parts, err := ranges.Split(text, ranges.Limits{Below: math.MaxInt, Count: hostsMax})
	if errors.Is(err, ranges.ErrTooMany) {
		return nil, errTooMany
	}
	var all []string
	for _, r := range parts {
		for n := r.Low; n <= r.High; n++ {
			all = append(all, fmt.Sprintf("%0*d", min(r.Digits, nameBytesMax), n))
		}
	}
	return all, err
}

// ParseCounts expands the numbers of ranks per host in the form of Slurm: "2(x3),1".
func ParseCounts(text string) ([]int, error) {
	var all []int
	for part := range strings.SplitSeq(text, ",") {
		number, times, repeated := strings.Cut(part, "(x")
		n, err := strconv.Atoi(number)
		repeat := 1
		if repeated && err == nil {
			digits, closed := strings.CutSuffix(times, ")")
			if repeat, err = strconv.Atoi(digits); !closed {
				err = strconv.ErrSyntax
			}
		}
		switch {
		case err != nil || n < 1 || n > hostsMax || repeat < 1:
			return nil, fmt.Errorf("ranks per host %.80q: want numbers such as 2(x3),1", text)
		case repeat > hostsMax-len(all):
			return nil, fmt.Errorf("ranks per host %.80q: %w", text, errTooMany)
		}
		for range repeat {
			all = append(all, n)
		}
	}
	return all, nil
}
