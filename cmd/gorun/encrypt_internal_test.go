package main

import (
	"strings"
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

// In the command line of the pods, too, the word after -encrypt is the program, or another flag.
func TestEncryptInPods(t *testing.T) {
	for line, want := range map[string]string{
		"-k8s-manifest -image I -encrypt prog -n":              "-encrypt prog -n",
		"-k8s-manifest -image I -encrypt prog":                 "-encrypt prog",
		"-encrypt -k8s-manifest -image I prog":                 "-encrypt prog",
		"-k8s-manifest -image I -encrypt prog -image foo -n 3": "-encrypt prog -image foo -n 3",
		"-k8s-manifest -image I -encrypt=yes -np 2 prog":       "-encrypt=yes -np 2 prog",
	} {
		words, _ := podCommand(strings.Fields(line))
		require.Equal(t, want, strings.Join(words, " "), line)
	}
}
