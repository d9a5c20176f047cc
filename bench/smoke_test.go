// Package bench_test runs benchmarks, most of them with tiny sizes and through gorun. The tests check what the
// benchmarks print, not how fast they are.
package bench_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// timeout ends a run that hangs.
const timeout = 2 * time.Minute

// programs lists the benchmarks that these tests run. bin is the directory where TestMain built them.
var (
	programs = []string{
		"adapters", "allall", "allocations", "arrival", "bandwidth", "bibandwidth", "blocked", "collective", "computing", "connect",
		"handover", "latency", "loss", "memory", "messagerate", "npb", "overlap", "rawtcp", "simulate", "stall", "startup", "survive", "tune",
	}
	bin string
)

func TestMain(m *testing.M) {
	var err error
	if bin, err = os.MkdirTemp("", "bench"); err == nil {
		packages := []string{"cmd/gorun"}
		for _, p := range programs {
			packages = append(packages, "bench/"+p)
		}
		err = launch.Install(".", bin, nil, packages...)
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(bin)
	os.Exit(code)
}

// run runs a benchmark on np ranks and returns its standard output.
func run(t *testing.T, np int, program string, args ...string) string {
	t.Helper()
	out, err := start(t, np, program, args...)
	require.NoError(t, err)
	return out.Out
}

func start(t *testing.T, np int, program string, args ...string) (launch.Result, error) {
	t.Helper()
	command := append([]string{filepath.Join(bin, "gorun"), "-np", strconv.Itoa(np), filepath.Join(bin, program)}, args...)
	return launch.Execute(t.Context(), timeout, nil, command...)
}

// result is the output of a benchmark with -json.
type result struct {
	Benchmark string
	Ranks     int
	Type      string
	Columns   []string
	Rows      []struct {
		Size   int
		Values []float64
	}
}

// TestTables checks that benchmarks print a row for each size, as text and as JSON. The first figure of a row
// must be positive, unless the field zero is set.
func TestTables(t *testing.T) {
	few := []string{"-i", "3", "-x", "1"}
	for _, tc := range []struct {
		name  string
		np    int
		run   []string
		sizes []int
		zero  bool // whether the first figure may be 0
	}{
		{"latency", 2, []string{"latency", "-m", "1:8"}, []int{1, 2, 4, 8}, false},
		{"latency of large messages", 2, []string{"latency", "-m", "64K,1M", "-type", "float32"}, []int{64 << 10, 1 << 20}, false},
		{"sizes of whole elements", 2, []string{"latency", "-m", "1:16", "-type", "float64"}, []int{8, 16}, false},
		{"a size twice", 2, []string{"latency", "-m", "8,8", "-type", "float32"}, []int{8, 8}, false},
		{"latency from the arena", 2, []string{"latency", "-m", "8,1M", "-arena"}, []int{8, 1 << 20}, false},
		{"latency of pairs", 6, []string{"latency", "-m", "8", "-pairs"}, []int{8}, false},
		{"latency with peers heard from", 6, []string{"latency", "-m", "8", "-heard", "3"}, []int{8}, false},
		{"bandwidth", 2, []string{"bandwidth", "-m", "8,64K"}, []int{8, 64 << 10}, false},
		{"bandwidth from the arena", 2, []string{"bandwidth", "-m", "1M", "-arena"}, []int{1 << 20}, false},
		{"bidirectional bandwidth", 2, []string{"bibandwidth", "-m", "8,64K"}, []int{8, 64 << 10}, false},
		{"message rate", 4, []string{"messagerate", "-m", "8,1K"}, []int{8, 1024}, false},
		{"handover", 2, []string{"handover", "-m", "8,1M"}, []int{8, 1 << 20}, true},
		{"computing", 2, []string{"computing", "-m", "1M", "-for", "2ms"}, []int{1 << 20}, false},
		{"stall after a barrier", 3, []string{"stall", "-for", "1ms"}, []int{8}, false},
		{"stall after an allreduce", 2, []string{"stall", "-op", "allreduce", "-for", "1ms"}, []int{8}, false},
		{"stall after an exchange", 3, []string{"stall", "-op", "exchange", "-m", "8,1M", "-for", "1ms"}, []int{8, 1 << 20}, false},
		{"a nonblocking allreduce beside work", 3, []string{"overlap", "-m", "8,1M", "-for", "1ms"}, []int{8, 1 << 20}, false},
		{"allocations", 2, []string{"allocations", "-m", "8,1K"}, []int{8, 1024}, true},
		{"connect", 4, []string{"connect"}, []int{8}, false},
		{"arrival", 3, []string{"arrival"}, []int{8}, false},
		{"arrival beside a dialogue", 3, []string{"arrival", "-busy", "1"}, []int{8}, false},
		{"arrival beside a flood", 4, []string{"arrival", "-busy", "64"}, []int{8}, false},
		{"arrival beside messages that find no room at the end", 3, []string{"arrival", "-busy", "100000"}, []int{8}, false},
		{"raw TCP", 2, []string{"rawtcp", "-m", "1,8,100000,4M"}, []int{1, 8, 100_000, 4 << 20}, false},
		{"raw TCP in one direction", 2, []string{"rawtcp", "-stream", "-m", "1,8,100000,4M"}, []int{1, 8, 100_000, 4 << 20}, false},
		{"blocked", 2, []string{"blocked", "-for", "20ms"}, []int{8}, true},
		{"memory", 4, []string{"memory"}, []int{0}, false},
		{"memory after an all-to-all", 4, []string{"memory", "-alltoall", "-shared"}, []int{0}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := append([]string(nil), tc.run[1:]...)
			if !slices.Contains([]string{"connect", "blocked", "memory"}, tc.run[0]) { // these have no -i and -x
				args = append(args, few...)
			}
			requireRows(t, run(t, tc.np, tc.run[0], append(args, "-json")...), tc.np, tc.sizes, tc.zero)
			text := run(t, tc.np, tc.run[0], args...)
			require.Contains(t, text, "\n# Size ")
			for _, size := range tc.sizes {
				require.Regexp(t, regexp.MustCompile(fmt.Sprintf(`(?m)^%d +\d+\.\d+`, size)), text)
			}
		})
	}
}

func requireRows(t *testing.T, text string, np int, sizes []int, zero bool) {
	t.Helper()
	var r result
	require.NoError(t, json.Unmarshal([]byte(text), &r), text)
	require.Equal(t, np, r.Ranks)
	require.Len(t, r.Rows, len(sizes))
	for i, row := range r.Rows {
		require.Equal(t, sizes[i], row.Size)
		require.Len(t, row.Values, len(r.Columns))
		if !zero {
			require.Positive(t, row.Values[0])
		}
	}
}

// TestRawTCP checks which figures rawtcp prints, and that it can run without a warm-up.
func TestRawTCP(t *testing.T) {
	require.Regexp(t, `(?m)^# Size +Latency \(us\)\n8 +\d+\.\d+$`, run(t, 2, "rawtcp", "-m", "8", "-i", "3", "-x", "0"))
	require.Regexp(t, `(?m)^# Size +Bandwidth \(MB/s\)\n8 +\d+\.\d+$`, run(t, 2, "rawtcp", "-m", "8", "-i", "3", "-x", "0", "-stream"))
}

func TestCollectives(t *testing.T) {
	for _, op := range []string{
		"allgather", "allreduce", "alltoall", "bcast", "gather", "reduce", "scatter", "iallreduce", "ibcast", "barrier", "ibarrier",
		"allgatherv", "alltoallv", "exscan", "gatherv", "reducescatter", "reducescatterblock", "scan", "scatterv",
	} {
		t.Run(op, func(t *testing.T) {
			sizes := []int{8, 64 << 10}
			if strings.HasSuffix(op, "barrier") {
				sizes = []int{0}
			}
			out := run(t, 3, "collective", "-op", op, "-type", "float32", "-m", "8,64K", "-i", "3", "-x", "1", "-full", "-json", "-write")
			requireRows(t, out, 3, sizes, false)
		})
	}
}

// TestSimulate checks that simulate fits a model to measurements. It also checks that simulate compares the
// predictions of this model with other measurements.
func TestSimulate(t *testing.T) {
	launch.Processors(t) // simulate binds ranks
	model := filepath.Join(t.TempDir(), "model.json")
	simulate := func(args ...string) string {
		command := append([]string{filepath.Join(bin, "simulate"), "-measure", bin, "-i", "3", "-rounds", "1"}, args...)
		out, err := launch.Execute(t.Context(), timeout, nil, command...)
		require.NoError(t, err)
		return out.Out
	}
	require.NoError(t, os.WriteFile(model, []byte(simulate("-calibrate", "-tries", "100")), 0o600))
	text := simulate("-model", model, "-op", "bcast", "-alg", "binomial", "-ranks", "2,3", "-bytes", "8,32K")
	require.Len(t, regexp.MustCompile(`(?m)^ +[23] +(8|32768) binomial +\d+\.\d\d +\d+\.\d\d +[+-]\d+\.\d%$`).FindAllString(text, -1), 4, text)
	require.Regexp(t, `(?m)^# mean of the deviations of 4 rows, without their signs: \d+\.\d%$`, text)
}

// TestNPB runs class S of the kernels through gorun and checks that their results are verified.
func TestNPB(t *testing.T) {
	for _, tc := range []struct {
		kernel string
		np     int
	}{{"cg", 1}, {"cg", 2}, {"cg", 4}, {"ep", 1}, {"ep", 2}, {"ep", 4}, {"is", 2}, {"mg", 2}, {"ft", 2}, {"lu", 2}} {
		out := run(t, tc.np, "npb", "-kernel", tc.kernel, "-class", "s")
		require.Contains(t, out, " VERIFICATION SUCCESSFUL\n")
		require.Regexp(t, `Total processes = +`+strconv.Itoa(tc.np)+`\n`, out)
		require.Regexp(t, `Mop/s total +=`, out)
		require.Equal(t, 1, strings.Count(out, "VERIFICATION"), "only rank 0 prints")
	}
}

// TestLoss checks that survivors that wait for a killed rank are notified. bench/peers measures how fast they
// are notified.
func TestLoss(t *testing.T) {
	out, err := launch.Execute(t.Context(), timeout, nil, filepath.Join(bin, "gorun"),
		"-np", "4", "-on-failure", "continue", filepath.Join(bin, "loss"), "-json")
	require.NoError(t, err)
	requireRows(t, out.Out, 4, []int{0}, false)
}

func TestSurvive(t *testing.T) {
	out, err := launch.Execute(t.Context(), timeout, nil, filepath.Join(bin, "gorun"),
		"-np", "3", "-on-failure", "continue", filepath.Join(bin, "survive"), "-json", "-i", "3")
	require.NoError(t, err)
	requireRows(t, out.Out, 3, []int{0}, false)
}

func TestSurviveSeries(t *testing.T) {
	out, err := launch.Execute(t.Context(), timeout, nil, filepath.Join(bin, "survive"),
		"-ulfm", "-np", "2,3", "-jobs", "2", "-i", "3", "-gorun", filepath.Join(bin, "gorun"))
	require.NoError(t, err, out.Errors)
	require.Regexp(t, `^\| ranks( \| [A-Z][a-z ]+ \(us\)){6} \|\n\|(---:\|){7}\n\| 2 \|( [1-9]\d* \|){6}\n\| 3 \|( [1-9]\d* \|){6}\n$`, out.Out)
	_, err = launch.Execute(t.Context(), timeout, nil, filepath.Join(bin, "survive"), "-ulfm", "-np", "1")
	require.Error(t, err)
}

func TestPause(t *testing.T) {
	out, err := launch.Execute(t.Context(), timeout, nil, filepath.Join(bin, "gorun"),
		"-np", "3", "-on-failure", "respawn=2", "-spares", "1", filepath.Join(bin, "survive"), "-pause", "2")
	require.NoError(t, err)
	require.Regexp(t, `^2 losses of 3 ranks: pause of the slowest survivor: median [0-9.]+ ms, max [0-9.]+ ms\n$`, out.Out)
}

// TestNPBClassA runs class A of EP. The job in README.md runs class A of another kernel.
func TestNPBClassA(t *testing.T) {
	require.Contains(t, run(t, 4, "npb", "-kernel", "ep", "-class", "A"), " VERIFICATION SUCCESSFUL\n")
}

// TestRefusals checks that programs fail if their command line is wrong or their number of ranks is
// impossible.
func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		np      int
		command string
		says    string
	}{
		{1, "npb -kernel dt", `"dt"`},
		{1, "npb -class Z", `"Z"`},
		{3, "npb -kernel cg -class S", "power of two"},
		{1, "latency", "latency needs 2 ranks or more, not 1: gorun -np 2"},
		{2, "latency -heard 1", "needs 3 ranks"},
		{3, "messagerate", "pairs"},
		{2, "connect", "connect needs 3 ranks or more"},
		{3, "connect -m 8,16", "one message size"},
		{2, "arrival", "arrival needs 3 ranks or more"},
		{3, "arrival -busy -1", "-busy is negative"},
		{2, "collective -op dance", `"dance"`},
		{2, "latency -type string", `"string"`},
		{2, "computing -for 0", "-for 0s: rank 1 must compute for some time"},
		{2, "latency -m 9:1", "empty"},
		{1, "rawtcp -m 8", "two ranks"},
		{3, "rawtcp -m 8", "two ranks"},
		{2, "rawtcp -m 0", "no messages of 0 bytes"},
		{1, "latency -speed 9", "latency: flag provided but not defined: -speed (-h lists the flags)\n"},
	} {
		command := strings.Fields(tc.command)
		out, err := start(t, tc.np, command[0], command[1:]...)
		require.Error(t, err, tc.command)
		require.NotErrorIs(t, err, launch.ErrTimeout, tc.command)
		require.Contains(t, out.Errors, tc.says, tc.command)
	}
}

// TestHelp checks that only one rank prints the help when all ranks get -h.
func TestHelp(t *testing.T) {
	out, err := start(t, 3, "latency", "-h")
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(out.Errors, "-heard"), out.Errors)
}

// TestAdapters checks the report on this machine. A machine without an adapter is not a failure, because most
// machines have none.
func TestAdapters(t *testing.T) {
	out, err := launch.Execute(t.Context(), timeout, nil, filepath.Join(bin, "adapters"), "-quick", "-bin", bin)
	require.NoError(t, err)
	require.Contains(t, out.Out, "# gorun over RDMA adapters\n")
	require.Regexp(t, `No RDMA adapter is here|\n## `, out.Out)
	_, err = launch.Execute(t.Context(), timeout, nil, filepath.Join(bin, "adapters"), "-device", "no such device", "-bin", bin)
	require.ErrorContains(t, err, "exit status 1")
}

func TestWholeJobs(t *testing.T) {
	require.Empty(t, run(t, 4, "startup"))
	require.Equal(t, "5 ranks exchanged 24 bytes with each other\n", run(t, 5, "allall", "-n", "3"))
}

// TestBlocksOfEveryLength runs an all-to-all that checks its result, with every algorithm for one node, with and
// without process_vm_readv, and with blocks of several lengths.
func TestBlocksOfEveryLength(t *testing.T) {
	for _, coll := range append([]string{"auto"}, collectives.AlgorithmNames("alltoall")...) {
		if coll == "two-level" { // needs several nodes
			continue
		}
		for _, cma := range []string{"1", "0"} {
			for _, ranks := range []string{"2", "3"} {
				env := []string{"GORUN_COLL=alltoall=" + coll, "GORUN_CMA=" + cma}
				for _, n := range []string{"1", "700", "9000"} {
					_, err := launch.Execute(t.Context(), timeout, env,
						filepath.Join(bin, "gorun"), "-np", ranks, filepath.Join(bin, "allall"), "-n", n)
					require.NoError(t, err, "%v, %s ranks, %s words", env, ranks, n)
				}
			}
		}
	}
}

// TestTune checks that tune writes a table and that a job accepts this table.
func TestTune(t *testing.T) {
	table := filepath.Join(t.TempDir(), "table")
	run(t, 2, "tune", "-op", "allreduce,barrier", "-m", "8,1024", "-i", "1", "-o", table)
	text, err := os.ReadFile(table)
	require.NoError(t, err)
	require.Regexp(t, `^#.*\n(allreduce +2 +2 +(8|\*)  [a-z-]+\n){1,2}barrier +2 +2 +\*  [a-z-]+\n$`, string(text))
	t.Setenv("GORUN_COLL_TABLE", table)
	run(t, 2, "collective", "-op", "allreduce", "-m", "8", "-i", "1")
}
