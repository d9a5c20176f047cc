package options

import (
	"flag"
	"fmt"
	"strconv"
)

// Int defines a flag as flag.Int does. A number below least is a usage error.
func Int(name string, value, least int, usage string) *int {
	n := &number{value: value, least: least}
	flag.Var(n, name, usage)
	return &n.value
}

// number is the flag.Value of Int.
type number struct{ value, least int }

// String implements flag.Value.
func (n *number) String() string { return strconv.Itoa(n.value) }

// Set implements flag.Value.
func (n *number) Set(text string) error {
	v, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not an integer, or is out of range", text)
	case v < n.least:
		return fmt.Errorf("it must be at least %d", n.least)
	}
	n.value = v
	return nil
}
