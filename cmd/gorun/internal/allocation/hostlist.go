package allocation

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	// hostsMax bounds the hosts of a list, so that a damaged one costs no memory.
	hostsMax = 1 << 16
	// nameBytesMax bounds the name of a host (RFC 1035, section 2.3.4).
	nameBytesMax = 255
)

// errTooMany ends the expansion of a list.
var errTooMany = fmt.Errorf("more than %d", hostsMax)

// ParseHostlist expands a list of hosts in the form of Slurm and Flux: "n[1-3,07-12]x,login",
// with ranges that keep leading zeros, and several brackets in a name.
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

// expand returns the names for one entry of a list.
func expand(entry string) ([]string, error) {
	names := []string{""}
	for {
		plain, rest, bracket := strings.Cut(entry, "[")
		if strings.ContainsAny(plain, "] \t\n") {
			return nil, fmt.Errorf("%.80q is no name", entry)
		}
		choices := []string{""}
		if bracket {
			inside, after, closed := strings.Cut(rest, "]")
			if !closed {
				return nil, errors.New("a bracket is not closed")
			}
			var err error
			if choices, err = ranges(inside); err != nil {
				return nil, err
			}
			rest = after
		}
		if len(names)*len(choices) > hostsMax {
			return nil, errTooMany
		}
		longer := make([]string, 0, len(names)*len(choices))
		for _, name := range names {
			for _, choice := range choices {
				if len(name)+len(plain)+len(choice) > nameBytesMax {
					return nil, fmt.Errorf("a name has more than %d bytes", nameBytesMax)
				}
				longer = append(longer, name+plain+choice)
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

// ranges expands what is in a bracket: "1-3,07-12,x".
func ranges(text string) ([]string, error) {
	var all []string
	for part := range strings.SplitSeq(text, ",") {
		low, high, two := strings.Cut(part, "-")
		if !two {
			high = low
		}
		from, e1 := strconv.ParseUint(low, 10, 32)
		to, e2 := strconv.ParseUint(high, 10, 32)
		if e1 != nil || e2 != nil || to < from {
			return nil, fmt.Errorf("%.80q is no range of numbers", part)
		}
		if to-from >= hostsMax || len(all)+int(to-from) >= hostsMax {
			return nil, errTooMany
		}
		for n := from; n <= to; n++ {
			all = append(all, fmt.Sprintf("%0*d", min(len(low), nameBytesMax), n))
		}
	}
	return all, nil
}

// ParseCounts expands numbers of ranks per host in the form of Slurm: "2(x3),1".
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
