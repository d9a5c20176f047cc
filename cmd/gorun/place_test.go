package main_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// -dry-run prints the ranks and processors of every host without building or starting a program.
func TestDryRunShowsEveryHost(t *testing.T) {
	processors := bootstrap.FormatRanks(allowedProcessors(t))
	got := gorun(t, nil, "-host", "a:2,b:2,same1,same2", "-rsh", rsh(t), "-dry-run", "-n", "3", "sh", "-c", "echo ran", ":", "-n", "3", "./not-built-yet")
	require.Zero(t, got.code, got.err)
	require.Empty(t, got.err)
	text := regexp.MustCompile(`, \d+ NUMA nodes?|, GOMAXPROCS=\d+`).ReplaceAllString(got.out, "")
	require.Equal(t, strings.ReplaceAll(`6 ranks
host a: 2 ranks, processors CPUS
  rank 0-1: sh, processors CPUS
host b: 2 ranks, processors CPUS
  rank 2: sh, processors CPUS
  rank 3: ./not-built-yet, processors CPUS
host same1: 2 ranks, processors CPUS
  rank 4-5: ./not-built-yet, processors CPUS
`, "CPUS", processors), text)
}

// -dry-run also shows a host that has no ranks. With -on-failure respawn, such a host takes the ranks of lost hosts.
func TestDryRunShowsAHostWithoutRanks(t *testing.T) {
	got := gorun(t, nil, "-host", "a:1,b:1", "-rsh", rsh(t), "-on-failure", "respawn", "-dry-run", "-n", "1", "no-such-program")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `^1 rank\nhost a: 1 rank, .*\n  rank 0: .*\nhost b: 0 ranks, processors [^\n]*\n$`, got.out)
}

// -dry-run shows the binding on this machine, and fails if a host cannot be reached.
func TestDryRunOnThisMachine(t *testing.T) {
	allowed := allowedProcessors(t)
	got := gorun(t, nil, "-dry-run", "-bind-to", "core", "-ppn", "1", "no-such-program")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, fmt.Sprintf("\n  rank 0: no-such-program, processors %d, GOMAXPROCS=1\n", allowed[0]))
	got = gorun(t, nil, "-dry-run", "-host", "nowhere", "-rsh", "false", "true")
	require.Equal(t, 125, got.code)
	require.Contains(t, got.err, "host nowhere: it cannot be reached")
	require.Empty(t, got.out)
}

// -map-by and -ppn determine the hosts and local sizes of the ranks.
func TestMapByNodeAndRanksPerHost(t *testing.T) {
	for flags, want := range map[string]string{
		"-map-by node": "a 0 2,a 2 2,b 1 2,b 3 2",
		"-ppn 1":       "a 0 1,b 1 1",
	} {
		got := gorun(t, nil, onHosts(t, append(strings.Fields(flags), "sh", "-c", "echo $GORUN_HOST $GORUN_RANK $GORUN_LOCAL_SIZE")...)...)
		require.Zero(t, got.code, got.err)
		require.ElementsMatch(t, strings.Split(want, ","), strings.Split(strings.TrimSpace(got.out), "\n"), flags)
	}
}

// With -bind-to numa, the kernel shows the processors and the memory policy of the NUMA node for a rank.
func TestRanksAreBoundToNUMANodes(t *testing.T) {
	if _, err := os.Stat("/sys/devices/system/node/node0/cpulist"); err != nil {
		t.Skip("the kernel shows no NUMA nodes: ", err)
	}
	if _, err := os.Stat("/proc/self/numa_maps"); err != nil {
		t.Skip("the kernel does not show memory policies: ", err)
	}
	show := []string{"sh", "-c", `echo $GOMAXPROCS; grep Cpus_allowed_list /proc/self/status; grep -c " prefer[^ ]*:[0-9]" /proc/self/numa_maps`}
	bound := gorun(t, nil, append([]string{"-np", "1", "-bind-to", "numa", "-report-bindings"}, show...)...)
	require.Zero(t, bound.code, bound.err)
	if strings.Contains(bound.err, "set_mempolicy") {
		t.Skip("memory policies are forbidden here: ", bound.err)
	}
	list := regexp.MustCompile(`rank 0 is bound to processor (\S+)\n`).FindStringSubmatch(bound.err)
	require.Len(t, list, 2, bound.err)
	require.Regexp(t, `(?s)^\d+\nCpus_allowed_list:\s+`+list[1]+`\n[1-9]\d*\n$`, bound.out)
	free := gorun(t, nil, append([]string{"-np", "1"}, show...)...)
	require.Regexp(t, `\n0\n$`, free.out, "no policy without -bind-to numa")
}
