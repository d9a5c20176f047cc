// Package virtual runs the ranks of a collective algorithm on a network in virtual time.
//
// Every rank is a coroutine over message.Peer, so that the algorithm is the function that
// runs over a real network. One event at a time happens, in the order of a clock that no
// other clock drives: the same setup gives the same result to the last picosecond.
//
// The cost of a message follows LogGP (A. Alexandrov, M. Ionescu, K. Schauser and
// C. Scheiman, "LogGP: incorporating long messages into the LogP model", Symposium on
// Parallel Algorithms and Architectures 1995) and its extension LogGPS by synchronous long
// messages (F. Ino, N. Fujimoto and K. Hagihara, Symposium on Principles and Practice of
// Parallel Programming 2001). Model has the terms.
//
// With payload, memory is real and results can be compared with what they should be. Without,
// all ranks share address space without memory: lengths count, contents do not exist, and
// an algorithm that touches them in another way than by Peer.Copy and its Reduction fails.
package virtual
