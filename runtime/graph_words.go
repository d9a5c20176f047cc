package runtime

import (
	"fmt"
	"slices"
)

// wordsMax bounds the number of words in which a member sends its edges to the others: 128 MiB,
// enough for 5 million edges of CreateGraph.
const wordsMax = 1 << 24

// roundWords bounds how many words all members together exchange in one round. Each member may send
// at least one word per round. Because of the rounds, a rank allocates memory in advance only for the words of
// one round, not for the number of words that a member announces.
const roundWords = 1 << 20

// vertexWords is the number of words of a vertex without edges: four lengths, and the node.
const vertexWords = 5

// checkWords returns an error if the edges of this rank take more than wordsMax words.
func checkWords(n int) error {
	if n > wordsMax {
		return fmt.Errorf("%w: the edges of this rank take %d words, and the maximum is %d", ErrArgument, n, wordsMax)
	}
	return nil
}

// words encodes a vertex as one list of words. A slice becomes the word 1 + its length, followed by
// its elements. A nil slice becomes the word 0.
func (v *vertex) words() []int {
	var list []int
	for _, part := range [][]int{v.sources, v.sourceWeights, v.dests, v.destWeights} {
		if part == nil {
			list = append(list, 0)
			continue
		}
		list = append(append(list, 1+len(part)), part...)
	}
	return list
}

// vertexOf decodes a list that consists of the words of a vertex and the number of its node. The
// list comes from another rank and may be malformed in any way.
func (c *Comm) vertexOf(list []int) (v vertex, node uint64, err error) {
	for _, part := range []*[]int{&v.sources, &v.sourceWeights, &v.dests, &v.destWeights} {
		if len(list) == 0 || list[0] < 0 || list[0] > len(list) {
			return v, 0, fmt.Errorf("%w: a length is not valid in a list of %d words", ErrArgument, len(list))
		}
		if n := list[0]; n > 0 {
			*part, list = list[1:n], list[n-1:]
		}
		list = list[1:]
	}
	if len(list) != 1 {
		return v, 0, fmt.Errorf("%w: %d words after the edges, not 1", ErrArgument, len(list))
	}
	for _, part := range [][2][]int{{v.sources, v.sourceWeights}, {v.dests, v.destWeights}} {
		if err := c.checkEdges(part[0], part[1]); err != nil {
			return v, 0, err
		}
	}
	return v, uint64(list[0]), nil
}

// checkList validates a list that consists of the words of a member's edges in CreateGraph and the
// number of the member's node. The list comes from another rank.
func (c *Comm) checkList(list []int) error {
	if len(list)%edgeWords != 1 {
		return fmt.Errorf("%w: a list of %d words", ErrArgument, len(list))
	}
	for ; len(list) > edgeWords; list = list[edgeWords:] {
		if err := c.checkEdges(list[:2], nil); err != nil {
			return err
		}
		if list[2] < 0 {
			return fmt.Errorf("%w: negative weight %d", ErrArgument, list[2])
		}
	}
	return nil
}

// exchangeLists gathers the lists of all members, by rank. Their lengths may differ.
func (c *Comm) exchangeLists(mine []int) ([][]int, error) {
	a := agreement{comm: c, ranks: c.members(), rank: c.rank, tag: tagGraph}
	lengths, err := a.allgather([]uint64{uint64(len(mine))})
	if err != nil {
		return nil, err
	}
	longest := slices.Max(lengths)
	if longest > wordsMax {
		return nil, fmt.Errorf("%w: the edges of rank %d take %d words, and the maximum is %d", ErrArgument, slices.Index(lengths, longest), longest, wordsMax)
	}
	lists := make([][]int, c.size)
	for begin, round := 0, max(1, roundWords/c.size); begin < int(longest); begin += round {
		width := min(round, int(longest)-begin)
		words := make([]uint64, width)
		for i, v := range mine[min(begin, len(mine)):min(begin+width, len(mine))] {
			words[i] = uint64(v)
		}
		all, err := a.allgather(words)
		if err != nil {
			return nil, err
		}
		for rank := range lists {
			for i := range min(width, max(0, int(lengths[rank])-begin)) {
				lists[rank] = append(lists[rank], int(all[rank*width+i]))
			}
		}
	}
	return lists, nil
}
