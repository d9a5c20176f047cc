package placement

import "fmt"

// Domain is a part of a machine whose processors are equally near to its memory.
type Domain struct {
	Node       int   // of the kernel's NUMA nodes, -1 if the kernel shows none
	Processors []int // that may be used, ascending; not empty
}

// Binding is where a rank runs.
type Binding struct {
	Processors []int
	Node       int // NUMA node whose memory it prefers, -1 for no preference
	Share      int // processors for each rank if those that may use the same divide them, at least 1
}

// Kind is what a rank is bound to.
type Kind string

// Kinds of binding.
const (
	None Kind = "none" // all processors of the domains
	Core Kind = "core" // one processor
	NUMA Kind = "numa" // the processors of a domain, and its memory
)

// Bind places ranks, by local number, on the processors of a machine.
//
// To a core: one after the other, and again from the first. To a domain: ranks that follow
// each other share one, and domains get ranks in proportion to their processors.
func Bind(kind Kind, machine []Domain, ranks int) ([]Binding, error) {
	all := processors(machine)
	if len(all) == 0 || ranks < 1 {
		return nil, fmt.Errorf("%d processors for %d ranks", len(all), ranks)
	}
	to := make([]Binding, ranks)
	switch kind {
	case None:
		for i := range to {
			to[i] = Binding{Processors: all, Node: -1, Share: max(1, len(all)/ranks)}
		}
	case Core:
		for i := range to {
			at := i % len(all)
			to[i] = Binding{Processors: all[at : at+1 : at+1], Node: -1, Share: 1}
		}
	case NUMA:
		domains := make([]int, ranks)
		count := make([]int, len(machine))
		for i := range to {
			domains[i] = domainAt(machine, i*len(all)/ranks)
			count[domains[i]]++
		}
		for i, d := range domains {
			to[i] = Binding{Processors: machine[d].Processors, Node: machine[d].Node, Share: max(1, len(machine[d].Processors)/count[d])}
		}
	default:
		return nil, fmt.Errorf("binding to %q", kind)
	}
	return to, nil
}

// processors returns those of all domains.
func processors(machine []Domain) []int {
	var all []int
	for _, d := range machine {
		all = append(all, d.Processors...)
	}
	return all
}

// domainAt returns the domain that the processor with an index is in.
func domainAt(machine []Domain, index int) int {
	for i, d := range machine {
		if index < len(d.Processors) {
			return i
		}
		index -= len(d.Processors)
	}
	return len(machine) - 1
}

// Machine divides the processors that may be used among the NUMA nodes that have them.
// nodes are the processors of each node; those of no node are a domain of node -1, the last.
func Machine(nodes map[int][]int, allowed []int) []Domain {
	of := map[int]int{}
	highest := -1
	for node, list := range nodes {
		highest = max(highest, node)
		for _, p := range list {
			of[p] = node
		}
	}
	parts := make([]Domain, highest+2) // the last for processors of no node
	for _, p := range allowed {
		at := highest + 1
		if node, ok := of[p]; ok {
			at = node
		}
		parts[at].Processors = append(parts[at].Processors, p)
	}
	machine := parts[:0:0]
	for node, d := range parts {
		if d.Node = node; node > highest {
			d.Node = -1
		}
		if len(d.Processors) > 0 {
			machine = append(machine, d)
		}
	}
	return machine
}
