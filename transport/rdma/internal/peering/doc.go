// Package peering decides when two ranks connect, which of two connections
// wins, and when a peer is given up. It is pure: events and the time go in,
// actions come out. There are no sockets, no goroutines and no clock, so that
// every interleaving of two sides can be searched.
//
// A Machine is one rank's view of one other rank. At most one connection of the
// pair is in use at a time, and both ends agree which.
//
//	        Want                Established
//	idle ---------> dialing ------------------> connected
//	 ^  \              | ^ Tick                  |  |  ^
//	 |   \ Requested   v |                  Lost |  |  | Heard
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
//     and accepts. When the winner comes to nothing, the lower rank leaves the
//     other the time for its next request: the network may carry one way only.
//   - Every request of a rank to a peer has a new attempt number, and is made only
//     when the rank has no connection to that peer. So a request with a newer
//     number than any seen says that the peer has lost what this side still holds,
//     and replaces it. One that is not newer was given up, or is a replay, and is
//     refused with Duplicate.
//   - A reply carries the responder's own latest attempt number: a request of its
//     that is still on its way was given up when it accepted, and is refused when
//     it arrives.
//   - A newer incarnation of the peer replaces everything; an older one is refused
//     with StaleEpoch.
//   - A connection ends by BYE and BYE-ACK before the FIN, since some providers
//     take a FIN as the end of both directions. Whoever said BYE closes when the
//     answer is there; when it does not come, the connection is dropped.
//   - A connection that is lost while in use is made again by itself: a peer that
//     died would otherwise not be missed. Unanswered for Config.GiveUp, the peer
//     is down.
//   - A peer at whose address nobody listens is given up after Config.Absence, since
//     every rank listens before others know where; after a few attempts if a connection
//     with it was in use.
//   - A Supervised peer whose host takes requests that nobody answers was stopped, and
//     is waited for. One that refuses, or whose host takes no request, is not: what
//     tells them apart is the Contact of a Lost attempt. The time in which this side
//     was stopped, which a late Step shows, is not counted.
//
// Attempt numbers and incarnations are compared as serial numbers mod 2^16 (RFC
// 1982). A recorded request becomes new again after 2^15 attempts of one pair
// within one incarnation of both.
package peering
