package runtime

// SendOrder returns the order in which to send to the dests of Neighbors, as indices into dests. A
// neighbor may occur several times in dests. If messages are sent in this order, they arrive at the neighbor in
// the order in which this rank occurs among the neighbor's sources. SendOrder returns nil if there
// is no topology.
func (c *Comm) SendOrder() []int {
	if c == nil || c.core.topology == nil {
		return nil
	}
	return c.core.topology.order()
}
