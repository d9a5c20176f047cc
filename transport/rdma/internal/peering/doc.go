// Package peering decides when two ranks connect, which of two connections
// is used, and when a peer is declared down. It is pure: events and the time are the
// input, actions the output. There are no sockets, no goroutines and no clock, so that
// a test can search every interleaving of two sides.
//
// A Machine is one rank's view of one other rank. At most one connection of the
// pair is in use at a time, and both ends agree which.
//
//	        Want                Established
//	idle ---------> dialing ------------------> connected
//	 ^  \              | ^ Tick                  |  |  ^
//	 |   \ Requested   v |                  Lost |  |  | FirstMessage
//	 |    \         waiting <--------------------+  |  |
//	 |     +-----------+--> accepted ---------------|--+
//	 |                                              | Idle, Shutdown, Bye
//	 +------------------ closing <------------------+
//
// and from everywhere to over: the peer is given up (Down), it ended (Ended), or
// this side did (Finished).
//
// # Rules
//
//   - The active side uses a connection from the reply on and sends the first
//     message at once. The passive side uses it from that message on: an accepted
//     connection whose request was already dropped is never used.
//   - Simultaneous requests: that of the lower rank wins. The lower one refuses
//     with Simultaneous and keeps its own; the higher one drops its own silently
//     and accepts. When the winning request fails, the lower rank leaves the other time
//     for its next request: the network may connect in one direction only.
//   - Every request of a rank to a peer has a new attempt number, and is made only
//     when the rank has no connection to that peer. So a request with a newer
//     number than any seen says that the peer has lost what this side still holds,
//     and replaces it. One that is not newer was given up, or is a replay, and is
//     refused with Duplicate.
//   - A reply carries the responder's own latest attempt number: a request of the
//     responder that is still in transit was abandoned when it accepted, and is refused
//     when it arrives.
//   - A newer incarnation of the peer replaces everything; an older one is refused
//     with StaleEpoch.
//   - A connection ends by BYE and BYE-ACK before the FIN, since some providers
//     take a FIN as the end of both directions. The side that sent BYE closes when the
//     answer has arrived; without an answer it drops the connection.
//   - A connection that is lost while in use is made again without a request of the
//     engine: otherwise the death of the peer would not be detected. After
//     Config.GiveUp without an answer the peer is down.
//   - A peer that refuses TCP connections is down after Config.Absence, since every rank
//     listens before it publishes its address; after a few attempts if a connection with
//     it was in use.
//   - A Supervised peer whose host accepts TCP connections without an answer from the
//     rank was stopped, and is waited for. A peer that refuses, or whose host does not
//     accept, is not: the Contact of a Lost attempt distinguishes them. Time in which
//     this side was stopped, which a late Step shows, is not counted.
//
// Attempt numbers and incarnations are compared as serial numbers mod 2^16 (RFC
// 1982). A recorded request becomes new again after 2^15 attempts of one pair
// within one incarnation of both.
package peering
