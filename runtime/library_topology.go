package runtime

// SendOrder returns the order in which to send to the dests of Neighbors, as indices into dests. If
// a neighbor occurs several times in dests, messages that are sent in this order arrive at the neighbor in
// the order in which this rank occurs among the neighbor's sources. SendOrder returns nil if there
// is no topology.
func (c *Comm) SendOrder() []int {
	if c == nil || c.core.topology == nil {
		return nil
	}
	return c.core.topology.order()
}
