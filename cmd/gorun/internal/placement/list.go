package placement

import (
	"fmt"
	"strconv"
	"strings"
)

// listMax bounds the numbers of a list: the kernel is built for at most 8192 processors.
const listMax = 1 << 16

// ParseList reads a list of numbers in the form of the kernel's files: "0-3,8\n".
func ParseList(text string) ([]int, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	var list []int
	for part := range strings.SplitSeq(text, ",") {
		low, high, two := strings.Cut(part, "-")
		if !two {
			high = low
		}
		from, e1 := strconv.ParseUint(low, 10, 31)
		to, e2 := strconv.ParseUint(high, 10, 31)
		if e1 != nil || e2 != nil || to < from || to >= listMax || len(list) > 0 && int(from) <= list[len(list)-1] {
			return nil, fmt.Errorf("%.40q in a list of numbers: want ascending ranges below %d, as in 0-3,8", part, listMax)
		}
		for n := from; n <= to; n++ {
			list = append(list, int(n))
		}
	}
	return list, nil
}
