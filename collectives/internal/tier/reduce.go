package tier

import "github.com/gorun-hpc/gorun/collectives/internal/message"

// Reduce implements Tier: within the groups, then between the leaders, in pieces. The leader of
// root's group passes the result on.
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

// AllReduce implements Tier: within the groups to the leaders, between these, and back, in pieces.
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
