//go:build !race

package progress

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the transcripts of testdata with the states that follow from their moves")

// TestTranscripts runs the transcripts of testdata: orders of events that once led to a defect,
// or that explain a rule. A file describes itself in comments. Then it lists the goroutines, and
// each move with the state after the move. A failed search prints its path in the form of the moves
// of a transcript.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			got := replay(t, string(text))
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			require.Equal(t, string(text), got)
		})
	}
}

// replay makes the moves of a transcript and returns it with the states that follow from them.
func replay(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	var w *world
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		move := strings.TrimSpace(strings.SplitN(line, "|", 2)[0])
		switch {
		case line == "" || line[0] == '#':
			fmt.Fprintln(&out, line)
			continue
		case w == nil:
			w = newWorld(parseBounds(t, line))
			fmt.Fprintln(&out, line)
			continue
		}
		m := 0
		for m < moves && (w.describe(m) != move || w.can(m, true) == never) {
			m++
		}
		require.Less(t, m, moves, "%q is not possible after\n%s", move, out.String())
		w.make(m)
		fmt.Fprintf(&out, "%-28s| %v\n", move, w)
	}
	still := true
	for m := range moves {
		still = still && w.can(m, false) != own
	}
	require.True(t, still, "goroutines go on after\n%s", out.String())
	require.Empty(t, w.wrong(true, false), "after\n%s", out.String())
	return out.String()
}

// parseBounds parses the list of goroutines and events.
func parseBounds(t *testing.T, line string) bounds {
	t.Helper()
	c := bounds{arrivals: [2]int8{none, none}, cancel: true, abort: true, closes: true, post: true, call: true}
	waiters, arrivals := 0, 0
	for _, field := range strings.Fields(line) {
		name, value, _ := strings.Cut(field, ":")
		switch name {
		case "message", "word":
			c.waiters[waiters] = map[string]kind{"message": message, "word": word}[name]
			waiters++
		case "server":
			c.server = true
		case "background":
			c.background = true
		case "arrival":
			to := map[string]int8{"server": modelServer, "failing": failing}[value]
			if n, err := strconv.Atoi(value); err == nil {
				to = int8(n)
			}
			c.arrivals[arrivals] = to
			arrivals++
		default:
			t.Fatalf("unknown goroutine or event %q", field)
		}
	}
	return c
}
