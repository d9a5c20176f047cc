package npb

import (
	"fmt"
	"math"
	"strings"
)

// Class names a problem size of NPB: S, W, A or B.
type Class string

// ParseClass returns the class called name, which may be in upper or lower case.
func ParseClass(name string) (Class, error) {
	class := Class(strings.ToUpper(name))
	if _, ok := epProblems[class]; !ok {
		return "", fmt.Errorf("npb: class %q is not one of S, W, A, B", name)
	}
	return class, nil
}

// Close reports whether got agrees with want within the relative error eps.
// A NaN agrees with nothing.
func Close(got, want, eps float64) bool {
	return math.Abs((got-want)/want) <= eps
}
