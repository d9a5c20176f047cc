package main

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
)

// If several jobs match the name given to gorun inspect, the error lists the jobs with their commands and
// ages. It counts the jobs beyond choicesMost.
func TestInspectSaysWhichJobsThereAre(t *testing.T) {
	start := fmt.Sprintf("choice-%d-", os.Getpid())
	now := time.Now()
	for _, program := range []string{"heat", "pi"} {
		job := start + program
		s, err := inspection.Listen(job, func(int) *inspection.Report {
			return &inspection.Report{Job: job, Host: "h1", Command: []string{"gorun", "./" + program}, Started: now.Add(-time.Minute), Now: now}
		})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
	}
	_, err := dialJob(start)
	require.EqualError(t, err, "say which one, by the start of its name:\n"+
		"job "+start+"heat on h1 for 1m0s: gorun ./heat\n"+
		"job "+start+"pi on h1 for 1m0s: gorun ./pi")
	c, err := dialJob(start + "p")
	require.NoError(t, err)
	require.NoError(t, c.Close())

	many := &choiceError{}
	for i := range choicesMost + 2 {
		many.jobs = append(many.jobs, fmt.Sprintf("%sgone-%d", start, i))
	}
	require.ErrorContains(t, many.described(), "gone-19\nand 2 more")
}
