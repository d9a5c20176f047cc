package message

// ExScanRecursiveDoubling combines c.Send of the ranks 0 to i-1 into c.Recv of rank i, for all
// i > 0, by the exchanges of ScanRecursiveDoubling. c.Recv may be the same memory as c.Send; c.Recv
// of rank 0 stays unchanged.
//
// Restrictions: none. Cost: ceil(log p) (alpha + n beta + 2 n gamma).
func ExScanRecursiveDoubling(p Peer, c *Call) error {
	begun := false
	return doubleScan(p, c.Send, c.Reduction, func(before []byte) {
		if begun {
			c.Reduction.Fn(c.Recv, before, c.Recv)
			return
		}
		p.Copy(c.Recv, before)
		begun = true
	})
}
