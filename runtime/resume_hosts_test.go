package runtime_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
	"github.com/gorun-hpc/gorun/runtime"
)

func init() {
	programs["resume anywhere"] = func() { runtime.Main(resumeAnywhere) }
}

// resumeAnywhere is like resume (in resume_test.go), and can also kill its host. At the end it
// prints where each rank is.
func resumeAnywhere(w *runtime.World) error {
	return w.Resume(func(w *runtime.World) error {
		dieAt(w, "start")
		for _, part := range []func(*runtime.World) error{exchangeLong, exchangeShort, exchangeDup} {
			if err := part(w); err != nil {
				return err
			}
		}
		fmt.Fprintf(os.Stdout, "rank %d: %v in generation %d, rank %d of %d on %s, node %d of %d\n", w.Rank(), w.Role(), w.Generation(),
			w.LocalRank(), w.LocalSize(), os.Getenv("GORUN_HOST"), w.NodeRank(), w.Nodes())
		return nil
	})
}

// A rank that ends is started again on its host. The ranks of a host that is lost with its agent
// (ULFM's stress/kill_node.c) are started where spares wait, or where slots are free.
func TestResumeOnHosts(t *testing.T) {
	c := nscluster.Start(t, 3)
	for name, test := range map[string]struct {
		hosts   string
		options string
		deaths  string
		last    int // upper bound of the number of the last generation
		places  []string
		errs    []string
	}{
		"nothing":     {"h0:2,h1:2,h2:2", "", "", 0, []string{"rank 3: initial in generation 0, rank 1 of 2 on h1, node 1 of 2\n"}, nil},
		"a rank":      {"h0:2,h1:2", "", "0:3:long", 1, []string{"rank 3: recovered in generation 1, rank 1 of 2 on h1, node 1 of 2\n"}, []string{"rank 3 (host h1, pid "}},
		"a spare":     {"h0:2,h1:3", "-spares 1", "0:2:short", 1, []string{"rank 2: recovered in generation 1, rank 0 of 2 on h1, node 1 of 2\n"}, nil},
		"a host":      {"h0:2,h1:2,h2:2", "", "0:2:long!", 1, []string{"rank 2: recovered in generation 1, rank 0 of 2 on h2, node 1 of 2\n", "rank 3: recovered in generation 1, rank 1 of 2 on h2, node 1 of 2\n"}, []string{"host h1 is lost with ranks 2-3: ", "; they are started again on h2 (1 of 3)"}},
		"the first":   {"h0:2,h1:2,h2:2", "-spares 2", "0:0:short!", 1, []string{"rank 0: recovered in generation 1, rank 0 of 2 on h2, node 1 of 2\n", "rank 2: survivor in generation 1, rank 0 of 2 on h1, node 0 of 2\n"}, nil},
		"all on one":  {"h0:2,h1:4", "", "0:0:dup!", 1, []string{"rank 1: recovered in generation 1, rank 1 of 4 on h1, node 0 of 1\n", "rank 3: survivor in generation 1, rank 3 of 4 on h1, node 0 of 1\n"}, nil},
		"one by one":  {"h0:2,h1:2,h2:2", "", "0:1:short,1:3:long!,2:2:dup", 3, []string{"rank 2: recovered in generation 3, rank 0 of 2 on h2, node 1 of 2\n", "rank 3: survivor in generation 3, rank 1 of 2 on h2, node 1 of 2\n"}, nil},
		"two at once": {"h0:2,h1:2", "", "0:1:long,0:2:long", 2, nil, nil},
	} {
		if test.last > 1 && !soak() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			options := append(strings.Fields(test.options), "-host", test.hosts, "-rsh", c.Rsh(), "-on-failure", "respawn", "-x", envDeaths+"="+test.deaths)
			r := launch(t, 4, "resume anywhere", options...)
			require.Zero(t, r.code, r.errors+r.out)
			last := strings.Count(r.errors, " started again")
			require.LessOrEqual(t, min(test.last, 1), last, r.errors)
			require.GreaterOrEqual(t, test.last, last, r.errors)
			require.Equal(t, 4, strings.Count(r.out, fmt.Sprintf("in generation %d, ", last)), r.out)
			for _, place := range test.places {
				require.Contains(t, r.out, place, r.errors)
			}
			for _, text := range test.errs {
				require.Contains(t, r.errors, text)
			}
		})
	}
}

// On several hosts, a spare that has replaced a rank is itself replaced by a new spare. The new spare
// starts on the host of the lost rank, because this host has the free slot.
func TestSparesOnHostsAreReplaced(t *testing.T) {
	c := nscluster.Start(t, 2)
	r := launch(t, 4, "warm", "-l", "-host", "h0:3,h1:3", "-ppn", "2", "-rsh", c.Rsh(), "-on-failure", "respawn=4", "-spares", "2", "-x", envDeaths+"=0:2:short,1:3:long,2:2:short")
	require.Zero(t, r.code, r.errors)
	require.Equal(t, 3, strings.Count(r.errors, "; it is started again ("), r.errors)
	require.Equal(t, 3, strings.Count(r.out, "a spare process begins"), r.out)
	require.Equal(t, 4, strings.Count(r.out, "in generation 3\n"), r.out)
}

// Ranks are started again even if agents start agents: h1 starts h2 and h3, and h4 starts h5 and
// h6. The hosts below a lost host are lost with it.
func TestResumeBelowATree(t *testing.T) {
	c := nscluster.StartSSH(t, 7)
	self, err := os.Executable()
	require.NoError(t, err)
	for name, test := range map[string]struct {
		deaths string
		room   int // slots of each host
		code   int
		errs   []string
	}{
		"a rank":             {"0:4:long", 3, 0, []string{"rank 4 (host h5, pid ", "; it is started again (1 of 3)"}},
		"a leaf":             {"0:5:short!", 3, 0, []string{"host h6 is lost with rank 5: ", "; it is started again on "}},
		"an inner host":      {"0:3:long!", 3, 0, []string{"host h4 is lost with ranks 3-5: ", "; they are started again on h1, h2, h3 (1 of 3)"}},
		"a rank of an inner": {"0:3:dup", 1, 0, []string{"rank 3 (host h4, pid ", "; it is started again (1 of 3)"}},
		"without room":       {"0:3:short!", 1, 125, []string{"host h4 is lost with ranks 3-5: ", "; they are not started again, because no other host has room for rank "}},
	} {
		t.Run(name, func(t *testing.T) {
			var hosts []string
			for _, h := range c.Hosts()[1:] {
				hosts = append(hosts, fmt.Sprintf("%s:%d", h, test.room))
			}
			on := c.Command("h0") // reaches the other hosts by network
			on.Args = append(on.Args, testbed.Gorun(t), "-host", strings.Join(hosts, ","), "-ppn", "1", "-np", "6", "-rsh", c.SSH(), "-on-failure", "respawn",
				"-x", envProgram+"=resume anywhere", "-x", envDeaths+"="+test.deaths, self)
			r := testbed.Run(t, []string{"GORUN_RADIX=2"}, on.Args...)
			require.Equal(t, test.code, r.Code, r.Errors+r.Out)
			for _, text := range test.errs {
				require.Contains(t, r.Errors, text)
			}
			if test.code == 0 {
				require.Equal(t, 6, strings.Count(r.Out, fmt.Sprintf("in generation %d, ", strings.Count(r.Errors, " started again"))), r.Out+r.Errors)
			}
			for _, h := range c.Hosts() {
				require.Eventually(t, func() bool { return len(c.Processes(h)) == 0 }, time.Minute, time.Millisecond, h)
			}
		})
	}
}

// If no host has slots for the ranks of a lost host, the job ends with an error that says so.
func TestResumeWithoutRoom(t *testing.T) {
	c := nscluster.Start(t, 2)
	r := launch(t, 4, "resume anywhere", "-host", "h0:2,h1:2", "-rsh", c.Rsh(), "-on-failure", "respawn", "-x", envDeaths+"=0:3:short!")
	require.Equal(t, 125, r.code, r.errors)
	require.Contains(t, r.errors, "host h1 is lost with ranks 2-3: ")
	require.Contains(t, r.errors, "; they are not started again, because no other host has room for rank 2: give hosts more slots (-host H:N), or name more")
}
