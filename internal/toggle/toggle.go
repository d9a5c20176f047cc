package toggle

import (
	"fmt"
	"os"
	"strconv"
)

// Of returns the value of an environment variable that is true or false. It accepts the values of
// strconv.ParseBool. If the variable is empty or not set, Of returns the value of its second argument. If the variable
// has any other value, Of returns its second argument with an error that names the variable, its value and the values
// to use.
func Of(name string, otherwise bool) (bool, error) {
	text := os.Getenv(name)
	if text == "" {
		return otherwise, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return otherwise, fmt.Errorf("%s=%s is neither true nor false: want 1 or true, 0 or false", name, text)
	}
	return on, nil
}
