package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	// loudRanks is the number of ranks that write at the same time.
	loudRanks = 64
	loudTail  = " of a program whose lines are long enough to be cut by the pipe in between, nearly always, somewhere"
	// loudMemory is the most memory in KiB that gorun may use while the ranks write. It is enough for a
	// window per stream, and for gorun itself.
	loudMemory = 128 << 10
)

// TestLoudRanks lets 64 ranks write at the same time. In long runs (soak), each rank writes 100 MB. No line
// may be lost or mixed with another line, and gorun must not store large amounts of output.
func TestLoudRanks(t *testing.T) {
	lines := 2000
	if soak {
		lines = 100 << 20 / len(loudTail)
	}
	script := fmt.Sprintf(`seq -f "rank $GORUN_RANK line %%.0f%s" 0 %d; cat`, loudTail, lines-1)
	for name, flags := range map[string][]string{"here": {"-np", strconv.Itoa(loudRanks)}, "on hosts": {"-host", "a:32,b:32", "-rsh", rsh(t)}} {
		t.Run(name, func(t *testing.T) {
			r := command(t, nil, append(flags, "sh", "-c", script)...)
			in, err := r.StdinPipe() // rank 0 reads it: the job runs until the test closes in
			require.NoError(t, err)
			out := r.lines(t)
			require.NoError(t, r.Start())
			readLoud(t, out, lines)
			memory := peakMemory(t, r.Process.Pid)
			t.Logf("%d KiB", memory)
			require.NoError(t, in.Close())
			require.Zero(t, r.wait(t), r.err.String())
			if !raceEnabled { // gorun needs several times the memory under the race detector
				require.Less(t, memory, loudMemory)
			}
		})
	}
}

// readLoud reads all lines of all ranks, and checks them and their order within each rank.
func readLoud(t *testing.T, out *bufio.Reader, lines int) {
	t.Helper()
	var next [loudRanks]int
	var want []byte
	for range loudRanks * lines {
		text, err := out.ReadSlice('\n')
		require.NoError(t, err, "%s", text)
		word, _, _ := strings.Cut(strings.TrimPrefix(string(text[:min(len(text), 10)]), "rank "), " ")
		rank, err := strconv.Atoi(word)
		require.NoError(t, err, "%s", text)
		want = append(append(append(want[:0], "rank "...), word...), " line "...)
		want = append(append(strconv.AppendInt(want, int64(next[rank]), 10), loudTail...), '\n')
		if !bytes.Equal(want, text) {
			require.Equal(t, string(want), string(text))
		}
		next[rank]++
	}
}

// peakMemory returns the peak resident memory of a process until now, in KiB.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kib, err := strconv.Atoi(number)
	require.NoError(t, err)
	return kib
}
