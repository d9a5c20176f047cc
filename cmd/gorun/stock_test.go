package main_test

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// gorun replaces a spare process that ends before it is used, but only a few times.
func TestSparesThatEndAtOnce(t *testing.T) {
	hosts := []string{"-host", "a:2,b:2", "-rsh", script(t, `export GORUN_HOSTID=$1; shift; exec "$@"`)}
	for name, flags := range map[string][]string{"here": nil, "hosts": hosts} {
		t.Run(name, func(t *testing.T) {
			r := command(t, nil, append(flags, "-np", "2", "-stdin", "all", "-v", "-on-failure", "respawn", "-spares", "1",
				"sh", "-c", `[ "$GORUN_SPARE" ] && exit 3; read line; exit 0`)...)
			r.Stderr = nil
			stderr, err := r.StderrPipe()
			require.NoError(t, err)
			stdin, err := r.StdinPipe()
			require.NoError(t, err)
			require.NoError(t, r.Start())
			errs := bufio.NewReader(stderr)
			text := said(t, errs, "; gorun starts no more spares of sh, because 5 in succession have not become a rank")
			require.NoError(t, stdin.Close())
			text += rest(errs)
			require.Zero(t, r.wait(t), text)
			require.Equal(t, 5, strings.Count(text, "a spare process ("), text)
			require.Equal(t, 5, strings.Count(text, ") exited with code 3"), text)
			// On a host, gorun prints no message for the spares that start with the job, because the plan
			// orders them.
			require.Equal(t, map[string]int{"here": 5, "hosts": 4}[name], strings.Count(text, "gorun: a spare is process ")+strings.Count(text, "gorun: a spare starts on host b"), text)
			require.Equal(t, name == "hosts", strings.Contains(text, "gorun: host b: a spare process ("), text)
		})
	}
}
