package collectives

import (
	"slices"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// Override sets for one communicator what GORUN_COLL sets for all communicators. All members must
// call it with the same list.
func Override(c *runtime.Comm, list string) error {
	g, _, err := find(c)
	if err != nil {
		return err
	}
	g.override, err = parseOverrides(list)
	return err
}

// Algorithms returns the names of the algorithms of every operation.
func Algorithms() map[string][]string {
	all := make(map[string][]string)
	for op := range message.Operations {
		all[op.String()] = algorithmsOf(op)
	}
	return all
}

// Calls returns the number of blocking operations that this member has begun on a communicator. Any goroutine may call
// it.
func Calls(c *runtime.Comm) uint64 {
	g, _, err := find(c)
	if err != nil {
		return 0
	}
	return g.blocking.highest()
}

// Distant makes a communicator behave as if each of its members were on a node of its own.
func Distant(c *runtime.Comm) error {
	g, _, err := find(c)
	if err == nil {
		g.place(apart(g.size))
	}
	return err
}

// apart returns a placement of size ranks on size nodes.
func apart(size int) []int {
	nodes := make([]int, size)
	for i := range nodes {
		nodes[i] = i
	}
	return nodes
}

// Placed makes a communicator behave as if its members were on the given nodes, which are numbered
// in the order of their first members. It must be called before the first operation.
func Placed(c *runtime.Comm, nodes []int) error {
	g, _, err := find(c)
	if err == nil {
		g.place(nodes)
	}
	return err
}

// InDomains makes a communicator behave as if its members were on processors of the given memory
// domains. It must be called before the first operation.
func InDomains(c *runtime.Comm, numbers []int) error {
	g, _, err := find(c)
	if err == nil {
		g.domains.own = func() (domain, domains int) { return numbers[g.rank], 1 + slices.Max(numbers) }
	}
	return err
}

// Memories returns the shared memory segments that the operations of a communicator have opened.
func Memories(c *runtime.Comm) ([]*runtime.Shared, error) {
	g, _, err := find(c)
	if err != nil {
		return nil, err
	}
	return g.memories.all, nil
}

// Choices returns the lines that gorun -explain prints about the operations of a World.
func Choices(c *runtime.Comm) ([]string, error) {
	l, err := choicesOf(c)
	if l == nil {
		return nil, err
	}
	return l.Explain(), err
}

// Doing returns the line about this rank in the report of a hanging job: its operation in progress,
// or "".
func Doing(c *runtime.Comm) string {
	g, _, err := find(c)
	if err != nil {
		return err.Error()
	}
	return g.Doing()
}

// ReadTable reads a file as if GORUN_COLL_TABLE named it.
func ReadTable(name string) (*Table, error) { return readTable(name) }
