package message

// ExScanRecursiveDoubling leaves at rank i, but rank 0, the combination of send of the ranks
// 0 to i-1, by the exchanges of ScanRecursiveDoubling. recv may be send; that of rank 0
// stays as it is.
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
