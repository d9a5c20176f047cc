// Package messagetest is the oracle for the algorithms of package message. It returns the arguments
// of an operation at every rank. It compares the result of the operation with the result of a loop
// over the ranks. The tests of the algorithms and the tests of their simulation use the oracle for
// all algorithms of the catalog:
//
//	for _, a := range message.Algorithms() {
//		for _, k := range messagetest.Cases(&a, ranks, elements) {
//			call := k.Call(rank)
//			err := a.Run(peer, call)
//			err = errors.Join(err, k.Check(rank, call))
//		}
//	}
package messagetest
