package main_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

func TestMain(m *testing.M) { launch.Main(m) }

func TestUsage(t *testing.T) { launch.Usage(t) }

// TestHello checks that every rank prints its line once, and that every rank is a process of its own.
func TestHello(t *testing.T) {
	line := regexp.MustCompile(`^hello from rank (\d+) of (\d+): process (\d+), rank (\d+) of (\d+) on \S+$`)
	for _, np := range []int{1, 2, 5} {
		ranks, processes := map[string]bool{}, map[string]bool{}
		lines := strings.Split(strings.TrimSpace(launch.Example(t, np)), "\n")
		require.Len(t, lines, np)
		for _, l := range lines {
			m := line.FindStringSubmatch(l)
			require.NotNil(t, m, l)
			require.Equal(t, fmt.Sprint(np), m[2])
			require.Equal(t, m[1], m[4], "on one node the local rank is the rank")
			ranks[m[1]], processes[m[3]] = true, true
		}
		require.Len(t, ranks, np)
		require.Len(t, processes, np)
	}
}
