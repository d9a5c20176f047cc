package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// measurement runs bench/collective, bench/latency and bench/messagerate on this machine. The field
// directory names the directory that contains these programs and gorun. Ranks are bound to the processors
// in turn.
type measurement struct {
	directory  string
	rounds     int
	iterations int
}

// figures maps a number of bytes to the median of the rounds. The unit is messages per second for
// bench/messagerate, and microseconds for the other programs.
type figures map[int]float64

// collective measures an algorithm of an operation. It returns the duration of a call as the mean over the
// ranks, which corresponds to the prediction Result.Mean. The ranks write their send buffers between
// the calls, because the model does not know which bytes have stayed in a peer's caches.
func (m *measurement) collective(operation, algorithm string, ranks int, sizes []int) (figures, error) {
	return m.run(ranks, sizes, []string{"GORUN_COLL=" + operation + "=" + algorithm}, "collective", "-op", operation, "-type", "float32", "-write")
}

// run runs a program of the directory and returns the first value for each size.
func (m *measurement) run(ranks int, sizes []int, environment []string, program string, arguments ...string) (figures, error) {
	directory, err := filepath.Abs(m.directory) // exec would look in PATH for a name without a slash
	if err != nil {
		return nil, err
	}
	list := make([]string, 1+len(sizes))
	list[0] = strconv.Itoa(sizes[0]) // the first row is a warm-up
	for i, n := range sizes {
		list[1+i] = strconv.Itoa(n)
	}
	command := []string{
		"-np", strconv.Itoa(ranks), "-bind-to", "core", filepath.Join(directory, program), "-json",
		"-m", strings.Join(list, ","), "-i", strconv.Itoa(m.iterations), "-x", strconv.Itoa(m.iterations/10 + 1),
	}
	samples := make(map[int][]float64)
	for range m.rounds {
		c := exec.Command(filepath.Join(directory, "gorun"), append(command, arguments...)...)
		c.Env = append(os.Environ(), environment...)
		var complaint bytes.Buffer
		c.Stderr = &complaint
		text, err := c.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %s", strings.Join(c.Args, " "), err, strings.TrimSpace(complaint.String()))
		}
		var result struct {
			Rows []struct {
				Size   int
				Values []float64
			}
		}
		if err := json.Unmarshal(text, &result); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(c.Args, " "), err)
		}
		for i, r := range result.Rows {
			if (i > 0 || len(result.Rows) == 1) && len(r.Values) > 0 {
				samples[r.Size] = append(samples[r.Size], r.Values[0])
			}
		}
	}
	medians := make(figures, len(samples))
	for n, all := range samples {
		slices.Sort(all)
		medians[n] = all[len(all)/2]
	}
	for _, n := range sizes {
		if medians[n] <= 0 {
			return nil, fmt.Errorf("%s printed no figure for %d bytes", program, n)
		}
	}
	return medians, nil
}
