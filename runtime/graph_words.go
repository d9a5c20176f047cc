package runtime

import (
	"fmt"
	"slices"
)

// wordsMax bounds the words by which a member gives its edges to the others: 5 million edges of
// CreateGraph, 128 MiB.
const wordsMax = 1 << 24

// roundWords is how many words of all members together are exchanged at a time, at least one of
// each: memory is taken for words that arrive, not for those that a member announces.
const roundWords = 1 << 20

// vertexWords are those of a vertex without edges: four lengths, and the node.
const vertexWords = 5

// checkWords refuses too many words.
func checkWords(n int) error {
	if n > wordsMax {
		return fmt.Errorf("%w: the edges of this rank take %d words, at most %d are possible", ErrArgument, n, wordsMax)
	}
	return nil
}

// words are a vertex as one list: for each of its slices 1 + the length, 0 for nil, and the
// elements.
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

// vertexOf is the inverse of words, with the node behind them. The list is another rank's, which
// may be wrong in any way.
func (c *Comm) vertexOf(list []int) (v vertex, node uint64, err error) {
	for _, part := range []*[]int{&v.sources, &v.sourceWeights, &v.dests, &v.destWeights} {
		if len(list) == 0 || list[0] < 0 || list[0] > len(list) {
			return v, 0, fmt.Errorf("%w: a length is none in %d words", ErrArgument, len(list))
		}
		if n := list[0]; n > 0 {
			*part, list = list[1:n], list[n-1:]
		}
		list = list[1:]
	}
	if len(list) != 1 {
		return v, 0, fmt.Errorf("%w: %d words behind them", ErrArgument, len(list))
	}
	for _, part := range [][2][]int{{v.sources, v.sourceWeights}, {v.dests, v.destWeights}} {
		if err := c.checkEdges(part[0], part[1]); err != nil {
			return v, 0, err
		}
	}
	return v, uint64(list[0]), nil
}

// checkList refuses edges of CreateGraph, with the node behind them, that cannot be. The list is
// another rank's.
func (c *Comm) checkList(list []int) error {
	if len(list)%edgeWords != 1 {
		return fmt.Errorf("%w: %d words", ErrArgument, len(list))
	}
	for ; len(list) > edgeWords; list = list[edgeWords:] {
		if err := c.checkEdges(list[:2], nil); err != nil {
			return err
		}
		if list[2] < 0 {
			return fmt.Errorf("%w: weight %d", ErrArgument, list[2])
		}
	}
	return nil
}

// exchangeLists returns the lists of all members. Their lengths may differ.
func (c *Comm) exchangeLists(mine []int) ([][]int, error) {
	a := agreement{comm: c, ranks: c.members(), rank: c.rank, tag: tagGraph}
	lengths, err := a.allgather([]uint64{uint64(len(mine))})
	if err != nil {
		return nil, err
	}
	longest := slices.Max(lengths)
	if longest > wordsMax {
		return nil, fmt.Errorf("%w: %d words of rank %d, at most %d are possible", ErrArgument, longest, slices.Index(lengths, longest), wordsMax)
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
