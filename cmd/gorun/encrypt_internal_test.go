package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// -encrypt without a value means yes. The parser does not take the next word as the value of -encrypt.
func TestEncryptHasAnOptionalValue(t *testing.T) {
	for line, want := range map[string][]string{
		"prog":               nil,
		"-encrypt prog":      {"GORUN_ENCRYPT=yes"},
		"-encrypt=yes prog":  {"GORUN_ENCRYPT=yes"},
		"--encrypt=no prog":  {"GORUN_ENCRYPT=no"},
		"-encrypt=auto prog": {"GORUN_ENCRYPT=auto"},
	} {
		o, err := parse(line)
		require.NoError(t, err, line)
		require.Equal(t, want, o.environ(), line)
		require.Equal(t, "prog", o.apps[0].program, line)
	}
	_, err := parse("-encrypt=maybe prog")
	require.EqualError(t, err, "-encrypt maybe: want one of yes, no, auto")
}
