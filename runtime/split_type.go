package runtime

import (
	"fmt"

	"github.com/gorun-hpc/gorun/internal/callsite"
)

// Sharing is what the members of a communicator of SplitType have in common.
type Sharing int

// What ranks may share.
const (
	// SharedNode is memory: the ranks of a node.
	SharedNode Sharing = iota
	// SharedNUMA is a NUMA node: the ranks of a node whose processors are all in it. Ranks that
	// may run on processors of several NUMA nodes form one group on their node.
	SharedNUMA
)

// String returns the name.
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

// SplitType parts the communicator by what ranks share: members of one node, or of one NUMA
// node, find themselves in one new communicator, ordered by key and, where keys are equal, by
// their rank in c. All members call it with the same what, or with Undefined: they get nil.
// Other values, and values that differ between members, are ErrArgument.
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
		return nil, callsite.At(fmt.Errorf("%w: SplitType by %v", ErrArgument, what))
	}
	return c.split(color, key, what, "."+what.String())
}

// numaBits is how many bits the number of a NUMA node has, and numaSeveral stands for several
// of them.
const (
	numaBits    = 16
	numaSeveral = 1<<numaBits - 1
)

// domainOf returns the number that stands for the NUMA nodes of a rank.
func domainOf(domains []int) int {
	if len(domains) != 1 {
		return numaSeveral
	}
	return domains[0] & numaSeveral
}
