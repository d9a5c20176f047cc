package ranges

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Limits are the limits of a list.
type Limits struct {
	Below     int  // every number must be smaller than Below
	Count     int  // the list may have at most Count numbers
	Ascending bool // every number must be larger than the number before it
}

// Range is a part of a list: the numbers from Low to High, or one number.
type Range struct {
	Low, High int
	Digits    int // number of digits of Low in the text, with leading zeros
}

// ErrTooMany is the cause of the error for a list that has more numbers than its Limits allow.
var ErrTooMany = errors.New("too many numbers")

// Split parses a list of at least one number, and returns its parts. The error names the part that
// is not a number or range, or that exceeds the limits.
func Split(text string, l Limits) ([]Range, error) {
	var all []Range
	count, last := 0, -1
	for part := range strings.SplitSeq(text, ",") {
		low, high, two := strings.Cut(part, "-")
		if !two {
			high = low
		}
		from, e1 := strconv.Atoi(low)
		to, e2 := strconv.Atoi(high)
		switch {
		case e1 != nil || e2 != nil || from > to || strings.Contains(part, "+"):
			return nil, fmt.Errorf("%.40q is neither a number nor a range of numbers such as 0-3", part)
		case to >= l.Below:
			return nil, fmt.Errorf("%.40q: want numbers below %d", part, l.Below)
		case l.Ascending && from <= last:
			return nil, fmt.Errorf("%.40q after %d: want ascending numbers", part, last)
		case to-from >= l.Count-count:
			return nil, fmt.Errorf("%.40q: %w: at most %d", part, ErrTooMany, l.Count)
		}
		count, last = count+to-from+1, to
		all = append(all, Range{Low: from, High: to, Digits: len(low)})
	}
	return all, nil
}

// Parse parses a list as Split does, and returns its numbers.
func Parse(text string, l Limits) ([]int, error) {
	parts, err := Split(text, l)
	if err != nil {
		return nil, err
	}
	var all []int
	for _, r := range parts {
		for n := r.Low; n <= r.High; n++ {
			all = append(all, n)
		}
	}
	return all, nil
}

// Format returns ascending numbers as a list. It returns "" if there are no numbers.
func Format(numbers []int) string {
	var b strings.Builder
	for i := 0; i < len(numbers); i++ {
		first := i
		for i+1 < len(numbers) && numbers[i+1] == numbers[i]+1 {
			i++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(numbers[first]))
		if i > first {
			b.WriteString("-" + strconv.Itoa(numbers[i]))
		}
	}
	return b.String()
}
