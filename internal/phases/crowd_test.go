package phases_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

const (
	// crowd names an end of a program in which most ranks wait in a barrier. crowdRanks is its
	// number of ranks.
	crowd      = "crowd"
	crowdRanks = 64
)

// crowd lets rank 9 call nothing. The roots of two gathers wait for rank 9. The other ranks wait
// in the barrier that follows.
func (r *rank) crowd() error {
	// The first operation on a communicator waits for all ranks, whatever operation it is.
	if err := collectives.Barrier(r.Comm); err != nil {
		return err
	}
	if r.Rank() == 9 {
		select {}
	}
	for _, root := range []int{5, 17} {
		if err := collectives.Gather(r.Comm, []int{1}, make([]int, r.Size()), root); err != nil {
			return err
		}
	}
	return collectives.Barrier(r.Comm)
}

// TestInspectOfManyRanks checks that gorun inspect states in few lines how many ranks wait where,
// and names the ranks that are elsewhere.
func TestInspectOfManyRanks(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), launch.Gorun(t), "-np", strconv.Itoa(crowdRanks), "-v", "-on-deadlock", "ignore", "-stall", "off",
		"-x", envSeed+"=0", "-x", envEnd+"="+crowd, self)
	cmd.Stderr = said
	require.NoError(t, cmd.Start())
	defer func() {
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.Error(t, cmd.Wait())
	}()
	name := regexp.MustCompile(`\b\d+-[0-9a-f]{8}\b`)
	// gorun inspect knows the source line of a wait only after the waiting goroutine has slept.
	sentence := regexp.MustCompile(`(?m)^ranks 0-4,6-8,10-16,18-63 wait at crowd_test\.go:\d+ for .*; rank 9 .* crowd_test\.go:\d+`)
	shown := ""
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(said.Name())
		require.NoError(t, err)
		job := name.FindString(string(text))
		if job == "" {
			return false
		}
		shown = launch.Run(t, nil, launch.Gorun(t), "inspect", job).Out
		return strings.Contains(shown, "61 ranks in ") && strings.Contains(shown, "rank 17 in ") && sentence.MatchString(shown)
	}, 2*time.Minute, 500*time.Millisecond)
	require.LessOrEqual(t, strings.Count(shown, "\n"), 40, shown)
	require.Regexp(t, `(?m)^world: 61 ranks in call 4, barrier at crowd_test\.go:\d+; rank 5 in call 2, gather of .*, root 5 at crowd_test\.go:\d+; `+
		`rank 9 in none; rank 17 in call 3, gather of .*, root 17 at crowd_test\.go:\d+$`, shown)
	require.Contains(t, shown, "\nrank 9 of 64, process ", "the rank that the others wait for is not cut off")
}
