package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// If a program is not on a host, the error says so, and how the program gets there.
func TestProgramThatIsNotOnAHost(t *testing.T) {
	prog := script(t, "exit 0")
	got := gorun(t, nil, "-host", "a", "-rsh", script(t, "rm -f "+prog+"; shift; exec \"$@\""), prog)
	require.Equal(t, 127, got.code)
	require.Equal(t, "gorun: host a: start "+prog+": no such file or directory (the program is not on this host)\n"+
		"gorun: a program has to be on every host, at the same path: copy it there, or send it with -copy\n", got.err)
}
