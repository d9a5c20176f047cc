package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

func setOneOf[T ~string](to *T, v T, allowed ...T) error {
	if !slices.Contains(allowed, v) {
		names := make([]string, len(allowed))
		for i, a := range allowed {
			names[i] = string(a)
		}
		return fmt.Errorf("want one of %s", strings.Join(names, ", "))
	}
	*to = v
	return nil
}

// setPath accepts the name of a file or a directory.
func setPath(to *string, v string) error {
	if v == "" {
		return errors.New("want a path")
	}
	*to = v
	return nil
}

// setDuration parses a Go duration or a number of seconds.
func setDuration(to *time.Duration, v string) error {
	d, err := time.ParseDuration(v)
	if err != nil && strings.Trim(v, "0123456789.") == "" {
		d, err = time.ParseDuration(v + "s")
	}
	if err != nil || d <= 0 {
		return errors.New("want a duration such as 90s, 5m, or a number of seconds")
	}
	*to = d
	return nil
}
