package main

import (
	"encoding/binary"
	"fmt"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// componentsOfBytes does what components does, but sends bytes instead of typed values.
func componentsOfBytes(c *runtime.Comm, graph map[int][]int) (map[int]int, error) {
	parts := make([][]byte, c.Size())
	for v, to := range graph {
		b := binary.LittleEndian.AppendUint64(parts[v%len(parts)], uint64(v))
		b = binary.LittleEndian.AppendUint64(b, uint64(len(to)))
		for _, u := range to {
			b = binary.LittleEndian.AppendUint64(b, uint64(u))
		}
		parts[v%len(parts)] = b
	}
	var all []byte
	var counts []int
	for _, b := range parts {
		all, counts = append(all, b...), append(counts, len(b))
	}
	if c.Rank() != 0 {
		counts = nil
	}
	length := make([]int, 1)
	if err := collectives.Scatter(c, counts, length, 0); err != nil {
		return nil, err
	}
	b := make([]byte, length[0])
	if err := collectives.ScatterV(c, all, counts, nil, b, 0); err != nil {
		return nil, err
	}
	mine, err := graphOf(b)
	if err != nil {
		return nil, err
	}
	f := forest(mine)
	for step := 1; step < c.Size(); step <<= 1 {
		if c.Rank()&step != 0 {
			if err := runtime.Send(c, pairs(f), c.Rank()-step, 0); err != nil {
				return nil, err
			}
			break
		}
		if c.Rank()+step >= c.Size() {
			continue
		}
		m, err := runtime.Mprobe(c, c.Rank()+step, 0)
		if err != nil {
			return nil, err
		}
		other := make([]int, runtime.CountOf[int](m.Status()))
		if _, err := runtime.RecvMatched(m, other); err != nil {
			return nil, err
		}
		for i := 0; i < len(other); i += 2 {
			join(f, other[i], other[i+1])
		}
	}
	sum := pairs(f)
	total := []int{len(sum)}
	if err := collectives.Bcast(c, total, 0); err != nil {
		return nil, err
	}
	if c.Rank() != 0 {
		sum = make([]int, total[0])
	}
	if err := collectives.Bcast(c, sum, 0); err != nil {
		return nil, err
	}
	f = map[int]int{}
	for i := 0; i < len(sum); i += 2 {
		f[sum[i]] = sum[i+1]
	}
	return f, nil
}

// graphOf decodes a part of the graph.
func graphOf(b []byte) (map[int][]int, error) {
	part := map[int][]int{}
	for len(b) > 0 {
		if len(b) < 16 || (len(b)-16)/8 < int(binary.LittleEndian.Uint64(b[8:])) {
			return nil, fmt.Errorf("the part of the graph is cut off")
		}
		v, n := int(binary.LittleEndian.Uint64(b)), int(binary.LittleEndian.Uint64(b[8:]))
		b = b[16:]
		part[v] = make([]int, n)
		for i := range part[v] {
			part[v][i] = int(binary.LittleEndian.Uint64(b[8*i:]))
		}
		b = b[8*n:]
	}
	return part, nil
}

// pairs returns the vertices of a forest, each followed by its parent.
func pairs(f map[int]int) []int {
	list := make([]int, 0, 2*len(f))
	for v, u := range f {
		list = append(list, v, u)
	}
	return list
}
