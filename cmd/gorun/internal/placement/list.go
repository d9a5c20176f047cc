package placement

import (
	"fmt"
	"strings"

	"github.com/gorun-hpc/gorun/internal/ranges"
)

// listMax bounds each number of a list, and the count of the numbers. The kernel supports at most 8192
// processors.
const listMax = 1 << 16

// ParseList parses a list of numbers in the format of the kernel's files, as in "0-3,8\n". The list of
// an empty text is nil.
func ParseList(text string) ([]int, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	list, err := ranges.Parse(text, ranges.Limits{Below: listMax, Count: listMax, Ascending: true})
	if err != nil {
		return nil, fmt.Errorf("in a list of numbers: %w", err)
	}
	return list, nil
}
