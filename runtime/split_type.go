package runtime

import (
	"fmt"

	"github.com/gorun-hpc/gorun/internal/callsite"
)

// Sharing is the resource that the members of a communicator of SplitType share.
type Sharing int

// What ranks may share.
const (
	// SharedNode is the node memory: the members are the ranks of a node.
	SharedNode Sharing = iota
	// SharedNUMA is a NUMA node: the members are the ranks of a node that may run only on processors
	// of this NUMA node. The ranks of the node that may run on processors of several NUMA nodes, or
	// whose NUMA node is not known, form one group.
	SharedNUMA
)

// String returns the name of the resource.
func (s Sharing) String() string {
	switch s {
	case SharedNode:
		return "node"
	case SharedNUMA:
		return "numa"
	default:
		return fmt.Sprintf("Sharing(%d)", int(s))
	}
}

// SplitType splits the communicator by a shared resource. The members on one node, or on one NUMA
// node, become one new communicator. They are in the order of their keys and, if keys are equal, in
// the order of their ranks in c. All members call it with the same value of the argument what. A
// member can pass Undefined instead, and then gets nil. If a member passes an invalid value, or if
// members pass different values other than Undefined, the error is ErrArgument.
func (c *Comm) SplitType(what Sharing, key int) (*Comm, error) {
	if err := c.ready(); err != nil {
		return nil, callsite.At(err)
	}
	color := c.core.world.NodeRank()
	switch what {
	case SharedNode:
	case SharedNUMA:
		color = color<<numaBits | domainOf(numaDomains(sysNodes, mayRunOn()))
	case Undefined:
		color = Undefined
	default:
		color = -1 // take part, so that all members get ErrArgument
	}
	return c.split("SplitType", color, key, what, "."+what.String())
}

// numaBits is the number of bits of the number of a NUMA node in a color. numaSeveral takes the place of
// that number for a rank that is not on exactly one NUMA node.
const (
	numaBits    = 16
	numaSeveral = 1<<numaBits - 1
)

// domainOf returns the part of a rank's color that stands for the NUMA nodes on which the rank may
// run.
func domainOf(domains []int) int {
	if len(domains) != 1 {
		return numaSeveral
	}
	return domains[0] & numaSeveral
}
