package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// dryRun prints where the ranks would run. It starts the agents of the hosts, because the agents report the
// processors of their hosts. It starts no ranks.
func (j *job) dryRun() error {
	var text strings.Builder
	text.WriteString(counted(len(j.ranks), "rank") + "\n")
	if len(j.hosts) == 0 {
		err := j.layOut(&text, hostname(), j.node.machine, j.ranks)
		if err == nil {
			_, err = os.Stdout.WriteString(text.String())
		}
		return err
	}
	kept, err := j.findHosts()
	for _, h := range kept {
		if err == nil {
			err = j.layOut(&text, h.name, h.hello.Machine, h.ranks)
		}
	}
	if err == nil {
		_, err = os.Stdout.WriteString(text.String())
	}
	return errors.Join(err, j.dismiss(false))
}

// layOut appends a description of a host to text. Consecutive ranks with the same program and processors
// share a line.
func (j *job) layOut(text *strings.Builder, name string, machine []placement.Domain, ranks []*rank) error {
	bindings, err := placement.Bind(j.opts.bindTo, machine, len(ranks))
	if err != nil {
		return fmt.Errorf("host %s: %w", name, err)
	}
	var all []int
	for _, d := range machine {
		all = append(all, d.Processors...)
	}
	slices.Sort(all)
	fmt.Fprintf(text, "host %s: %s, processors %s, %s\n", name, counted(len(ranks), "rank"), bootstrap.FormatRanks(all), counted(len(machine), "NUMA node"))
	var numbers []int
	for i, r := range ranks {
		numbers = append(numbers, r.number)
		if next := i + 1; next < len(ranks) && ranks[next].app == r.app && slices.Equal(bindings[next].Processors, bindings[i].Processors) {
			continue
		}
		b := bindings[i]
		memory := ""
		if b.Node >= 0 {
			memory = fmt.Sprintf(", memory of NUMA node %d", b.Node)
		}
		fmt.Fprintf(text, "  rank %s: %s, processors %s%s, GOMAXPROCS=%d\n", bootstrap.FormatRanks(numbers), r.app.program, bootstrap.FormatRanks(b.Processors), memory, b.Share)
		numbers = numbers[:0]
	}
	return nil
}

// counted returns a number with its noun. The noun is in the singular if n is 1, otherwise in the plural.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
