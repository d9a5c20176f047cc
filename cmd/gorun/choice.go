package main

import (
	"fmt"
	"strings"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
)

// choicesMost bounds the jobs that are asked for their commands.
const choicesMost = 20

// choiceError says that several jobs fit.
type choiceError struct{ jobs []string }

// Error implements error.
func (e *choiceError) Error() string { return "say which one: " + strings.Join(e.jobs, ", ") }

// described is the error with the command of each job: a name alone says to nobody which one it is.
func (e *choiceError) described() error {
	var b strings.Builder
	b.WriteString("say which one, by the start of its name:")
	for i, job := range e.jobs {
		if i == choicesMost {
			fmt.Fprintf(&b, "\nand %d more", len(e.jobs)-i)
			break
		}
		b.WriteString("\n" + describeJob(job))
	}
	return fmt.Errorf("%s", b.String())
}

// describeJob is a job in a line, its name alone if it does not answer.
func describeJob(job string) string {
	c, err := inspection.Dial(job)
	if err != nil {
		return "job " + job
	}
	defer func() { _ = c.Close() }()
	r, err := c.Report(-1)
	if err != nil {
		return fmt.Sprintf("job %s: %v", job, err)
	}
	return r.Facts()[0]
}
