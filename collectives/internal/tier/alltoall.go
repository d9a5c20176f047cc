package tier

// AllToAll implements Tier. The leaders (the first ranks of the groups) gather the blocks of their
// groups, exchange the blocks between groups in one AllToAll, and scatter the received blocks
// within their groups. AllToAll is best for short blocks, because a leader copies the blocks of its
// whole group.
func (n *Nested) AllToAll(send, recv []byte) error {
	if !n.leads() {
		if err := n.inner.Gather(send, nil, 0); err != nil {
			return err
		}
		return n.inner.Scatter(nil, recv, 0)
	}
	row, size := len(send), len(send)/n.Size()
	members := n.groups[n.mine()]
	square := n.widest * n.widest * size // the bytes that one group sends to another one
	room := n.space(len(members)*row + 2*len(n.groups)*square)
	rows, out, in := room[:len(members)*row], room[len(members)*row:][:len(n.groups)*square], room[len(members)*row+len(n.groups)*square:]
	if err := n.inner.Gather(send, rows, 0); err != nil {
		return err
	}
	n.blocks(func(i, r, at int) { n.Copy(out[at*size:][:size], rows[i*row+r*size:]) }, false)
	if err := n.outer.AllToAll(out, in); err != nil {
		return err
	}
	n.blocks(func(i, r, at int) { n.Copy(rows[i*row+r*size:][:size], in[at*size:]) }, true)
	return n.inner.Scatter(rows, recv, 0)
}

// blocks calls do for every member i of this group and every rank r. The leader has a buffer with the
// blocks for, or from, all groups; at is the number of a block in this buffer. The block goes from i to
// r if back is false, and from r to i if back is true. For each group the buffer has a square of widest
// x widest blocks. The row of a block is the sender's place in its group. The column is the receiver's
// place in its group.
func (n *Nested) blocks(do func(i, r, at int), back bool) {
	w := n.widest
	for i := range n.groups[n.mine()] {
		for g, ranks := range n.groups {
			for j, r := range ranks {
				if back {
					do(i, r, g*w*w+j*w+i)
				} else {
					do(i, r, g*w*w+i*w+j)
				}
			}
		}
	}
}
