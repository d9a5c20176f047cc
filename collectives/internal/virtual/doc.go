// Package virtual runs the ranks of a collective algorithm on a network in virtual time.
//
// Every rank is a coroutine that implements message.Peer, so that the simulated algorithm is the same
// function that runs over a real network. Events are processed one at a time, in the order of virtual
// time. Virtual time does not depend on real time, so that the same setup gives the same result to
// the picosecond.
//
// The cost of a message follows LogGP (A. Alexandrov, M. Ionescu, K. Schauser and
// C. Scheiman, "LogGP: incorporating long messages into the LogP model", Symposium on
// Parallel Algorithms and Architectures 1995) and its extension LogGPS, which adds synchronous long
// messages (F. Ino, N. Fujimoto and K. Hagihara, Symposium on Principles and Practice of
// Parallel Programming 2001). The parameters are fields of Model.
//
// With payload (Setup.Payload), buffers are real memory, and a test can check the results. Without
// payload, the buffers of all ranks are the same range of addresses, to which no memory is mapped.
// Such a buffer has a length but no contents. An algorithm may access buffers only by Peer.Copy and
// its Reduction; any other access fails with ErrTouched.
package virtual
