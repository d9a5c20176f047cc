package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"strconv"

	"github.com/gorun-hpc/gorun/bench/internal/distance"
	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// comparison is one plan that this program carries out.
type comparison struct {
	plan              // the measurements and the systems
	dir        string // directory of the built programs
	ranksOn    *hosts // the emulated hosts, nil if the plan has none
	references string // directory of the reference codes
	systems    []system
	rounds     int
	quick      bool
	nice       int
	distance   *distance.Condition
	log        *log.Logger
	result     *result
}

// run does all rounds. In each round every measurement is run by all systems, one after the other.
// The system that begins changes from round to round. If the context ends, run returns its cause.
func (c *comparison) run(ctx context.Context) error {
	for round := range c.rounds {
		for i := range c.measurements {
			m := &c.measurements[i]
			for k := range c.systems {
				s := &c.systems[(k+round)%len(c.systems)]
				if !c.due(m, s, round) {
					continue
				}
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				c.once(ctx, m, s, round)
			}
		}
	}
	return context.Cause(ctx) // the last run may have been interrupted
}

// due reports whether a system takes part in a measurement in this round.
func (c *comparison) due(m *measurement, s *system, round int) bool {
	ours := s.name == gorun
	switch {
	case m.alone && !ours, m.network && s.variant:
		return false
	case !ours && m.partners != nil && !slices.Contains(m.partners, s.name):
		return false
	case c.result.rounds(m.key, s.name) > round: // done in an earlier run of this program
		return false
	case m.peers > 0 && !ours && round >= m.peers:
		return false
	}
	return c.result.Problems[m.key][s.name] == "" // a measurement that has failed once is not repeated
}

// once does one run, and repeats it as distance.Condition.During says. It stores the values or the error of the last
// run. If no run counts, it stores nothing.
func (c *comparison) once(ctx context.Context, m *measurement, s *system, round int) {
	command := s.command(c.dir, m, c.quick)
	if c.nice != 0 {
		command = append([]string{"nice", "-n", strconv.Itoa(c.nice)}, command...)
	}
	var out launch.Result
	var err error
	runs := 0
	far := c.distance.During(ctx, func() (over bool) {
		if runs++; runs > 1 {
			c.log.Printf("round %d, %s, %s: again, because the processors were apart", round+1, m.key, s.title)
		}
		if c.load {
			c.noteLoad(m)
		}
		out, err = launch.Execute(ctx, m.timeout, s.environment(m), command...)
		return errors.Is(err, launch.ErrTimeout) || ctx.Err() != nil
	})
	if far != nil { // the next round tries again
		c.log.Printf("round %d, %s, %s: not measured: %v", round+1, m.key, s.title, far)
		return
	}
	var values map[int]float64
	var lines map[string]float64
	switch {
	case err == nil && m.reference != "":
		values, err = parseReport(out.Out)
	case err == nil && m.named:
		lines, err = parseNamed(out.Out)
	case err == nil && m.wall:
		values = map[int]float64{wallSize: out.Wall.Seconds()}
	case err == nil:
		values, err = parseTable(out.Out)
	}
	if errors.Is(err, launch.ErrTimeout) {
		err = fmt.Errorf("hangs: %w", err)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		c.result.fail(m.key, s.name, err)
		c.log.Printf("round %d, %s, %s: %v", round+1, m.key, s.title, err)
		return
	}
	if m.named {
		for line, v := range lines {
			c.result.add(keyOf(m.key, line), s.name, map[int]float64{0: v})
		}
		c.log.Printf("round %d, %s, %s: %v", round+1, m.key, s.title, lines)
		return
	}
	c.result.add(m.key, s.name, values)
	c.log.Printf("round %d, %s, %s: %v", round+1, m.key, s.title, values)
}
