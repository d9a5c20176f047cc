package tier

// Gather implements Tier: a Gather within the groups, then a Gather between the leaders, the first
// ranks of the groups. Every block of the second Gather is as long as the block of the largest
// group. The leader of root's group sends the result to root.
func (n *Nested) Gather(send, recv []byte, root int) error {
	of, size := n.group[root], len(send)
	leader := n.groups[of][0]
	if !n.leads() {
		if err := n.inner.Gather(send, nil, 0); err != nil || n.Rank() != root {
			return err
		}
		return n.Recv(leader, recv)
	}
	block := n.widest * size
	room := n.space(block + len(n.groups)*block + n.Size()*size)
	mine, all, ranks := room[:block], room[block:][:len(n.groups)*block], room[block+len(n.groups)*block:]
	if err := n.inner.Gather(send, mine[:len(n.groups[n.mine()])*size], 0); err != nil {
		return err
	}
	if err := n.outer.Gather(mine, all, of); err != nil || n.mine() != of {
		return err
	}
	if n.Rank() == root {
		n.unpack(recv, all, size)
		return nil
	}
	n.unpack(ranks, all, size)
	return n.Send(root, ranks)
}

// unpack copies blocks of size bytes from the buffer all to the buffer ranks. The blocks are in the order
// of the groups in the buffer all, and in the order of the ranks in the buffer ranks.
func (n *Nested) unpack(ranks, all []byte, size int) {
	for g, members := range n.groups {
		for i, r := range members {
			n.Copy(ranks[r*size:][:size], all[(g*n.widest+i)*size:])
		}
	}
}

// pack is the inverse of unpack.
func (n *Nested) pack(all, ranks []byte, size int) {
	for g, members := range n.groups {
		for i, r := range members {
			n.Copy(all[(g*n.widest+i)*size:][:size], ranks[r*size:])
		}
	}
}

// Scatter implements Tier: root sends all blocks to the leader of its group, which scatters them to the
// leaders. Each leader scatters its blocks within its group.
func (n *Nested) Scatter(send, recv []byte, root int) error {
	of, size := n.group[root], len(recv)
	leader := n.groups[of][0]
	if !n.leads() {
		if n.Rank() == root {
			if err := n.Send(leader, send); err != nil {
				return err
			}
		}
		return n.inner.Scatter(nil, recv, 0)
	}
	block := n.widest * size
	room := n.space(block + len(n.groups)*block + n.Size()*size)
	mine, all, ranks := room[:block], room[block:][:len(n.groups)*block], room[block+len(n.groups)*block:]
	switch {
	case n.Rank() == root:
		n.pack(all, send, size)
	case n.Rank() == leader:
		if err := n.Recv(root, ranks); err != nil {
			return err
		}
		n.pack(all, ranks, size)
	}
	if err := n.outer.Scatter(all, mine, of); err != nil {
		return err
	}
	return n.inner.Scatter(mine[:len(n.groups[n.mine()])*size], recv, 0)
}

// AllGather implements Tier: a Gather within the groups, an AllGather between the leaders, and a
// Bcast within the groups.
func (n *Nested) AllGather(send, recv []byte) error {
	size := len(send)
	if !n.leads() {
		if err := n.inner.Gather(send, nil, 0); err != nil {
			return err
		}
		return n.inner.Bcast(recv, 0)
	}
	block := n.widest * size
	room := n.space(block + len(n.groups)*block)
	mine, all := room[:block], room[block:]
	if err := n.inner.Gather(send, mine[:len(n.groups[n.mine()])*size], 0); err != nil {
		return err
	}
	if err := n.outer.AllGather(mine, all); err != nil {
		return err
	}
	n.unpack(recv, all, size)
	return n.inner.Bcast(recv, 0)
}
