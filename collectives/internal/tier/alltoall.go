package tier

// AllToAll implements Tier: the leaders collect the blocks of their groups, exchange those of
// whole groups, and hand them out. Best for short blocks: a leader handles those of all its group.
func (n *Nested) AllToAll(send, recv []byte) error {
	if !n.leads() {
		if err := n.inner.Gather(send, nil, 0); err != nil {
			return err
		}
		return n.inner.Scatter(nil, recv, 0)
	}
	row, size := len(send), len(send)/n.Size()
	members := n.groups[n.mine()]
	square := n.widest * n.widest * size // what travels from a group to another one
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

// blocks calls do for every member i of this group and every rank r with the number, at, of their
// block among those of all groups, in which the sender's place counts more than the receiver's:
// member i sends, or receives if back is true.
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
