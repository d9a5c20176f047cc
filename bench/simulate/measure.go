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

// measurement runs bench/collective and bench/latency of this machine, which are in a directory with
// gorun, one rank bound to each processor in turn.
type measurement struct {
	directory  string
	rounds     int
	iterations int
}

// figures are microseconds by bytes, the medians of the rounds.
type figures map[int]float64

// collective measures an algorithm of an operation: the mean over the ranks of a call's time, as
// Result.Mean is.
func (m *measurement) collective(operation, algorithm string, ranks int, sizes []int) (figures, error) {
	return m.run(ranks, sizes, []string{"GORUN_COLL=" + operation + "=" + algorithm}, "collective", "-op", operation, "-type", "float32")
}

// run measures with a program of the directory.
func (m *measurement) run(ranks int, sizes []int, environment []string, program string, arguments ...string) (figures, error) {
	directory, err := filepath.Abs(m.directory) // a name without a slash would be looked for in PATH
	if err != nil {
		return nil, err
	}
	list := make([]string, 1+len(sizes))
	list[0] = strconv.Itoa(sizes[0]) // the first row warms up
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
