package runtime_test

import (
	"fmt"
	"os"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/runtime"
)

// TestMain runs the program that envProgram names. If envProgram is not set, TestMain runs the
// tests, and fails if goroutines are left at the end.
func TestMain(m *testing.M) {
	if rank := os.Getenv(envProgram); rank != "" {
		programs[rank]()
		return
	}
	code := m.Run()
	testbed.Clean()
	if left := leftGoroutines(); code == 0 && left != "" {
		fmt.Fprintln(os.Stderr, "goroutines left behind:\n"+left)
		code = 1
	}
	os.Exit(code)
}

// leftGoroutines returns the stacks of the goroutines of this package that do not end within a
// second.
func leftGoroutines() string {
	var left []string
	for range 100 {
		left = nil
		buf := make([]byte, 1<<20)
		for _, stack := range strings.Split(string(buf[:goruntime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(stack, "gorun/runtime") && !strings.Contains(stack, "TestMain") {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return ""
		}
		time.Sleep(10 * time.Millisecond)
	}
	return strings.Join(left, "\n\n")
}

// local runs fn on n ranks and fails the test if a rank fails.
func local(t *testing.T, n int, fn func(c *runtime.Comm)) {
	t.Helper()
	require.NoError(t, runtime.Local(n, func(w *runtime.World) error {
		fn(w.Comm())
		return nil
	}))
}

// sizes are lengths in bytes, around the limits between the protocols.
var sizes = []int{0, 1, 8, 63, 64, 65, 1000, 4096, 8192, 16383, 16384, 16385, 65536, 1<<20 + 3}

// pattern fills b with bytes that depend on their position and on seed.
func pattern(b []byte, seed int) []byte {
	for i := range b {
		b[i] = byte(i*7 + i>>8 + seed*31)
	}
	return b
}

// soak reports whether long tests are requested.
func soak() bool { return os.Getenv("GORUN_SOAK") == "1" }

// goexit ends the goroutine, as a failed require does.
func goexit() { goruntime.Goexit() }
