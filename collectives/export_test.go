package collectives

import (
	"slices"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// Override does for one communicator what GORUN_COLL does for all. All members
// call it with the same list.
func Override(c *runtime.Comm, list string) error {
	g, _, err := find(c)
	if err != nil {
		return err
	}
	g.override, err = parseOverrides(list)
	return err
}

// Algorithms returns, for every operation, the names of its algorithms.
func Algorithms() map[string][]string {
	all := make(map[string][]string)
	for op := range message.Operations {
		all[op.String()] = algorithmsOf(op)
	}
	return all
}

// Distant makes a communicator behave as if its members were on several nodes.
func Distant(c *runtime.Comm) error {
	g, _, err := find(c)
	if err == nil {
		g.place(apart(g.size))
	}
	return err
}

// apart are as many nodes.
func apart(size int) []int {
	nodes := make([]int, size)
	for i := range nodes {
		nodes[i] = i
	}
	return nodes
}

// Placed makes a communicator behave as if its members were on these nodes, which are numbered in
// the order of their first members. No operation has begun.
func Placed(c *runtime.Comm, nodes []int) error {
	g, _, err := find(c)
	if err == nil {
		g.place(nodes)
	}
	return err
}

// InDomains makes a communicator behave as if its members were on processors of these domains. No
// operation has begun.
func InDomains(c *runtime.Comm, numbers []int) error {
	g, _, err := find(c)
	if err == nil {
		g.domains.own = func() (domain, domains int) { return numbers[g.rank], 1 + slices.Max(numbers) }
	}
	return err
}

// Memories returns the shared memory that a communicator's operations have opened.
func Memories(c *runtime.Comm) ([]*runtime.Shared, error) {
	g, _, err := find(c)
	if err != nil {
		return nil, err
	}
	return g.memories.all, nil
}

// Choices returns what GORUN_EXPLAIN prints of the operations of a World.
func Choices(c *runtime.Comm) ([]string, error) {
	l, err := choicesOf(c)
	if l == nil {
		return nil, err
	}
	return l.Explain(), err
}

// Doing returns what a report of a job that hangs says of this rank.
func Doing(c *runtime.Comm) string {
	g, _, err := find(c)
	if err != nil {
		return err.Error()
	}
	return g.Doing()
}

// ReadTable reads a file as that of GORUN_COLL_TABLE.
func ReadTable(name string) (*Table, error) { return readTable(name) }
