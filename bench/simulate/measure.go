package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gorun-hpc/gorun/bench/internal/distance"
)

// measurement runs bench/collective, bench/latency and bench/messagerate on this machine. The field
// directory names the directory that contains these programs and gorun. Ranks are bound to the processors
// (gorun -bind-to core).
type measurement struct {
	directory  string
	rounds     int
	iterations int
	// during calls a function, and calls it again if the processors have no common cache after the call (see
	// distance.Condition.During). The results of such a run are dropped.
	during func(ctx context.Context, run func() (over bool)) error
	log    io.Writer
}

// figures maps a number of bytes to the median of the rounds. The unit is messages per second for
// bench/messagerate, and microseconds for the other programs.
type figures map[int]float64

// program is a program of the directory with the messages that it measures, and its samples.
type program struct {
	name        string
	ranks       int
	sizes       []int
	environment []string
	arguments   []string
	samples     map[int][]float64 // the value of every round, by size
}

// measuredElem is the size in bytes of float32, the element type of all measured programs.
const measuredElem = 4

// collective returns the program that measures an algorithm of an operation. It measures the duration of a call as
// the mean over the ranks, which corresponds to the prediction Result.Mean. The ranks write their send
// buffers between the calls, because the model does not know which bytes have stayed in a peer's caches.
func collective(operation, algorithm string, ranks int, sizes []int) *program {
	return &program{
		name: "collective", ranks: ranks, sizes: sizes, environment: []string{"GORUN_COLL=" + operation + "=" + algorithm},
		arguments: []string{"-op", operation, "-type", "float32", "-write"},
	}
}

// measure runs the programs in turn, each of them once per round. The state of a machine, such as the time that a
// cache line takes between its virtual processors, changes within minutes. Because the programs take turns, a change
// affects all of them. If the results of all repetitions of a run are dropped (see during), the program has no sample
// of this round.
func (m *measurement) measure(all ...*program) error {
	for range m.rounds {
		for _, p := range all {
			var samples map[int]float64
			var failed error
			far := m.during(context.Background(), func() (over bool) {
				samples, failed = m.run(p)
				return failed != nil
			})
			switch {
			case failed != nil:
				return failed
			case errors.Is(far, distance.ErrFar):
				_, _ = fmt.Fprintf(m.log, "simulate: %s on %d ranks: not measured in this round: %v\n", p.name, p.ranks, far)
			case far != nil:
				return far
			default:
				p.add(samples)
			}
		}
	}
	return nil
}

// run runs a program and returns the first value for each size.
func (m *measurement) run(p *program) (map[int]float64, error) {
	directory, err := filepath.Abs(m.directory) // exec would look in PATH for a name without a slash
	if err != nil {
		return nil, err
	}
	list := make([]string, 1+len(p.sizes))
	list[0] = strconv.Itoa(p.sizes[0]) // the first row is a warm-up
	for i, n := range p.sizes {
		list[1+i] = strconv.Itoa(n)
	}
	command := slices.Concat([]string{
		"-np", strconv.Itoa(p.ranks), "-bind-to", "core", filepath.Join(directory, p.name), "-json",
		"-m", strings.Join(list, ","), "-i", strconv.Itoa(m.iterations), "-x", strconv.Itoa(m.iterations/10 + 1),
	}, p.arguments)
	c := exec.Command(filepath.Join(directory, "gorun"), command...)
	c.Env = append(os.Environ(), p.environment...)
	var complaint bytes.Buffer
	c.Stderr = &complaint
	text, err := c.Output()
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w (go build -o %s ./cmd/gorun ./bench/... makes the programs)", err, directory)
	}
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
	samples := make(map[int]float64)
	for i, r := range result.Rows {
		if (i > 0 || len(result.Rows) == 1) && len(r.Values) > 0 {
			samples[r.Size] = r.Values[0]
		}
	}
	return samples, nil
}

// add adds the values of a round to the samples.
func (p *program) add(values map[int]float64) {
	if p.samples == nil {
		p.samples = make(map[int][]float64)
	}
	for size, v := range values {
		p.samples[size] = append(p.samples[size], v)
	}
}

// medians returns the medians of the samples.
func (p *program) medians() (figures, error) {
	medians := make(figures, len(p.samples))
	for _, n := range p.sizes {
		all := p.samples[n]
		if slices.Sort(all); len(all) == 0 || all[len(all)/2] <= 0 {
			return nil, fmt.Errorf("%s has no sample for %d bytes", p.name, n)
		}
		medians[n] = all[len(all)/2]
	}
	return medians, nil
}
