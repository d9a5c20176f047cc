package placement

import "fmt"

// Domain is a part of a machine whose processors have the same distance to the part's memory.
type Domain struct {
	Node       int   // number of the kernel's NUMA node, -1 if the processors belong to none
	Processors []int // the processors that may be used, ascending; not empty
}

// Binding describes the processors and the memory of a rank.
type Binding struct {
	Processors []int // the rank may use these
	Node       int   // the NUMA node whose memory the rank prefers, -1 for no preference
	Share      int   // the number of Processors divided by the number of ranks that share them, at least 1
}

// Kind is the kind of set of processors to which a rank is bound.
type Kind string

// Kinds of binding.
const (
	None Kind = "none" // all processors of all domains
	Core Kind = "core" // one processor
	NUMA Kind = "numa" // the processors of one domain, and its memory
)

// Bind returns the bindings of a number of ranks, by local number, to the processors of a machine. A machine without
// ranks, which may get some later, has no bindings.
//
// With Core, each rank gets the next processor. If there are more ranks than processors, consecutive ranks share a
// processor (docs/adr/0069). With NUMA, consecutive ranks share a domain, and the number of ranks in a domain is
// proportional to the number of its processors.
func Bind(kind Kind, machine []Domain, ranks int) ([]Binding, error) {
	all := processors(machine)
	if len(all) == 0 && ranks > 0 {
		return nil, fmt.Errorf("no processors for %d ranks", ranks)
	}
	to := make([]Binding, ranks)
	switch kind {
	case None:
		for i := range to {
			to[i] = Binding{Processors: all, Node: -1, Share: max(1, len(all)/ranks)}
		}
	case Core:
		for i := range to {
			at := i * len(all) / max(ranks, len(all))
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

// processors returns the processors of all domains.
func processors(machine []Domain) []int {
	var all []int
	for _, d := range machine {
		all = append(all, d.Processors...)
	}
	return all
}

// domainAt returns the index of the domain that contains a processor. The parameter index is the index of the
// processor in the result of processors.
func domainAt(machine []Domain, index int) int {
	for i, d := range machine {
		if index < len(d.Processors) {
			return i
		}
		index -= len(d.Processors)
	}
	return len(machine) - 1
}

// Machine groups the processors in allowed, which are those that may be used, by NUMA node. nodes contains the
// processors of each node. Processors that belong to no node form the last domain, whose Node is -1.
func Machine(nodes map[int][]int, allowed []int) []Domain {
	of := map[int]int{}
	highest := -1
	for node, list := range nodes {
		highest = max(highest, node)
		for _, p := range list {
			of[p] = node
		}
	}
	parts := make([]Domain, highest+2) // the last is for processors that belong to no node
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
