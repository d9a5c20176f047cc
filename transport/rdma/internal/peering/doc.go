// Package peering decides when two ranks connect, which of two connections
// is used, and when a peer is declared down. Its inputs are events and the time, its outputs are
// actions. It has no sockets, no goroutines and no clock, so that a test can search every
// interleaving of two sides.
//
// A Machine is one rank's view of one other rank. At most one connection of the
// pair is in use at a time, and both ends agree which one.
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
// Every phase can lead to over: the peer is declared down (action Down), the peer has ended
// (Ended), or this side has ended (Finished).
//
// # Rules
//
//   - The active side uses a connection from the reply on and sends the first
//     message at once. The passive side uses it from that message on. So an accepted
//     connection whose request was already dropped is never used.
//   - Of two simultaneous requests, the request of the lower rank wins. The lower rank refuses the
//     other request with Simultaneous and keeps its own. The higher rank drops its own request
//     silently and accepts the other. If the winning request fails, the lower rank leaves the
//     higher rank time for its next request: the network may connect in one direction only.
//   - Every request of a rank to a peer has a new attempt number, and is made only
//     when the rank has no connection to that peer. So a request with a newer number than any
//     seen means that the peer has lost the connection that this side still has, and replaces
//     that connection. A request without a newer number was abandoned, or is a replay, and is
//     refused with Duplicate.
//   - A reply contains the responder's own latest attempt number. A request of the responder that
//     is still in transit was abandoned when the responder accepted. By this number it is
//     recognized, and refused when it arrives.
//   - A request or reply of a newer incarnation of the peer replaces everything that is known of
//     the peer. A request of an older incarnation is refused with StaleEpoch.
//   - A connection ends by BYE and BYE-ACK before the FIN, since some providers
//     take a FIN as the end of both directions. The side that sent BYE closes when the
//     answer has arrived. If no answer arrives, it drops the connection.
//   - A connection that is lost while in use is made again even if the engine has nothing to send:
//     otherwise the death of the peer would not be detected. After Config.GiveUp without an answer
//     the peer is declared down.
//   - A peer that refuses TCP connections is declared down after Config.Absence, since every rank
//     listens before it publishes its address. If a connection with the peer was in use, a few
//     attempts suffice.
//   - If the host of a Supervised peer accepts TCP connections and the rank does not answer, the
//     peer was stopped, and attempts continue. If the peer refuses, or its host does not accept,
//     the limits above apply. The Contact of a Lost attempt distinguishes the cases. Time in which
//     this side was stopped does not count; a late Step reveals it.
//
// Attempt numbers and incarnations are compared as serial numbers mod 2^16 (RFC
// 1982). A recorded request becomes new again after 2^15 attempts of one pair
// within one incarnation of both.
package peering
