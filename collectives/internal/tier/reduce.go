package tier

import "github.com/gorun-hpc/gorun/collectives/internal/message"

// Reduce implements Tier. It reduces each piece within each group to the leader, the first rank of
// the group. Then it reduces between the leaders to the leader of root's group. That leader sends
// the result to root.
func (n *Nested) Reduce(send, recv []byte, root int, r message.Reduction) error {
	return pieces(len(send), r.Elem, func(from, to int) error {
		if n.Rank() != root {
			return n.reduce(send[from:to], nil, root, r)
		}
		return n.reduce(send[from:to], recv[from:to], root, r)
	})
}

func (n *Nested) reduce(send, recv []byte, root int, r message.Reduction) error {
	of := n.group[root]
	leader := n.groups[of][0]
	var acc []byte
	if n.leads() {
		acc = n.space(len(send))
		if n.Rank() == root {
			acc = recv
		}
	}
	if err := n.inner.Reduce(send, acc, 0, r); err != nil {
		return err
	}
	if n.leads() {
		if err := n.outer.Reduce(acc, acc, of, r); err != nil {
			return err
		}
	}
	switch {
	case leader == root:
	case n.Rank() == leader:
		return n.Send(root, acc)
	case n.Rank() == root:
		return n.Recv(leader, recv)
	}
	return nil
}

// AllReduce implements Tier. It executes three operations for each piece. A Reduce within each group
// gives the leader the result of the group. An AllReduce between the leaders combines the results of
// the groups. A Bcast within each group distributes the combined result.
func (n *Nested) AllReduce(send, recv []byte, r message.Reduction) error {
	return pieces(len(send), r.Elem, func(from, to int) error { return n.allReduce(send[from:to], recv[from:to], r) })
}

func (n *Nested) allReduce(send, recv []byte, r message.Reduction) error {
	if err := n.inner.Reduce(send, recv, 0, r); err != nil {
		return err
	}
	if n.leads() {
		if err := n.outer.AllReduce(recv, recv, r); err != nil {
			return err
		}
	}
	return n.inner.Bcast(recv, 0)
}
