// Package messagetest holds the oracle of the algorithms of package message: the arguments
// of an operation at every rank, and the result that a loop over the ranks gives. The tests
// of the algorithms and those of their simulation walk the catalog with it:
//
//	for _, a := range message.Algorithms() {
//		for _, k := range messagetest.Cases(&a, ranks, elements) {
//			call := k.Call(rank)
//			err := a.Run(peer, call)
//			err = errors.Join(err, k.Check(rank, call))
//		}
//	}
package messagetest
