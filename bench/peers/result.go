package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// result contains everything that was measured. It is stored as JSON.
type result struct {
	Machine machine `json:"machine"`
	Systems []info  `json:"systems"`
	Rounds  int     `json:"rounds"`
	Quick   bool    `json:"quick,omitempty"` // the run was quick, so that its figures mean nothing
	// Samples contains the values by measurement, system and size, one value per round.
	Samples map[string]map[string]map[int][]float64 `json:"samples"`
	// Problems contains, by measurement and system, the last error of the runs.
	Problems map[string]map[string]string `json:"problems,omitempty"`
	Table    []line                       `json:"table"`
}

// info describes a system that took part, or why it did not take part.
type info struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version,omitempty"`
	Missing string `json:"missing,omitempty"`
	Variant bool   `json:"variant,omitempty"`
}

func newResult(rounds int) *result {
	return &result{
		Machine: thisMachine(), Rounds: rounds,
		Samples: map[string]map[string]map[int][]float64{}, Problems: map[string]map[string]string{},
	}
}

// add adds the values of one run to the samples.
func (r *result) add(measurement, system string, values map[int]float64) {
	bySystem := r.Samples[measurement]
	if bySystem == nil {
		bySystem = map[string]map[int][]float64{}
		r.Samples[measurement] = bySystem
	}
	if bySystem[system] == nil {
		bySystem[system] = map[int][]float64{}
	}
	for size, v := range values {
		bySystem[system][size] = append(bySystem[system][size], v)
	}
}

// rounds returns the number of rounds of a measurement that a system has done.
func (r *result) rounds(measurement, system string) int {
	done := 0
	for key, bySystem := range r.Samples {
		if measurementOf(key) != measurement {
			continue
		}
		for _, samples := range bySystem[system] {
			done = max(done, len(samples))
		}
	}
	return done
}

// fail records why a run gave no values.
func (r *result) fail(measurement, system string, err error) {
	if r.Problems[measurement] == nil {
		r.Problems[measurement] = map[string]string{}
	}
	r.Problems[measurement][system] = err.Error()
}

// median returns the median of the values of all rounds, and whether there is at least one value.
func (r *result) median(measurement, system string, size int) (float64, bool) {
	samples := r.Samples[measurement][system][size]
	if len(samples) == 0 {
		return 0, false
	}
	return median(samples), true
}

// median returns the median of values, of which there is at least one.
func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// stored reads a result that write has stored.
func stored(name string) (*result, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r := &result{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// write stores the result as JSON.
func (r *result) write(name string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}
