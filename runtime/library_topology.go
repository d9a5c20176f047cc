package runtime

// SendOrder returns the order in which to send to the dests of Neighbors, as indices of them: in
// this order, messages to a rank that is a neighbor several times arrive in the order in which it
// has this rank among its sources. It is nil without a topology.
func (c *Comm) SendOrder() []int {
	if c == nil || c.core.topology == nil {
		return nil
	}
	return c.core.topology.order()
}
