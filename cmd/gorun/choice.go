package main

import (
	"fmt"
	"strings"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
)

// choicesMost is the largest number of jobs that choiceError.described lists with their commands.
const choicesMost = 20

// choiceError is the error if the names of several jobs begin with the text that the user has given, which may be
// empty.
type choiceError struct{ jobs []string }

// Error implements error.
func (e *choiceError) Error() string { return "say which one: " + strings.Join(e.jobs, ", ") }

// described returns an error that lists the jobs with their commands, because a user does not recognize a job
// by its name alone.
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

// describeJob returns a line about a job. If the connection to the job fails, the line has only the job's name.
// If the job does not answer, the line has the name and the error.
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
