// Package peering decides when two ranks connect, which of two connections is used, and when a peer
// is declared down. The inputs of the package are events and the time, and its outputs are actions.
// It has no sockets, no goroutines and no clock, so that a test can search every interleaving of
// two sides.
//
// A Machine (a state machine) is one rank's view of one other rank. At most one connection of the
// two ranks is in use at a time, and both ranks agree which connection is used.
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
//   - The active side uses a connection when it has received the reply, and then sends the first
//     message at once. The passive side uses the connection when it has received the first message.
//     So a connection that the passive side accepts after the active side has dropped the request
//     is never used.
//   - Of two simultaneous requests, the request of the lower rank wins. The lower rank refuses the
//     request of the higher rank with Simultaneous and keeps its own request. The higher rank drops
//     its own request silently and accepts the request of the lower rank. If the winning request
//     fails, the lower rank leaves the higher rank time for its next request, because connections
//     may be possible in one direction only.
//   - Every request of a rank to a peer has a new attempt number, and is made only when the rank
//     has no connection to that peer. So if a request has a newer number than all earlier requests
//     of the peer, and this side still has a connection, the peer has lost that connection. The new
//     request replaces the connection. A request without a newer number was abandoned, or is a
//     replay, and is refused with Duplicate.
//   - A rank that accepts a request abandons its own requests to the same peer, although one of
//     them may still be in transit. Therefore the reply contains the latest attempt number of the
//     accepting rank. When the abandoned request arrives at the peer, the peer recognizes the
//     request by this number and refuses it.
//   - A request or reply of a newer incarnation of the peer replaces everything that is known of
//     the peer, unless the machine is over or this side is ending. A request of an older incarnation
//     is refused with StaleEpoch.
//   - A connection ends by the control frames BYE and BYE-ACK before the FIN, because some providers
//     take a FIN as the end of both directions. The side that sent BYE closes when the answer has
//     arrived. If no answer arrives within Config.Goodbye, the side that sent BYE drops the
//     connection.
//   - A connection that is lost while in use is made again even if the engine has nothing to send.
//     Otherwise the death of the peer would not be detected. If no connection is made within
//     Config.GiveUp, the peer is declared down.
//   - A peer that refuses TCP connections is declared down after Config.Absence, because every rank
//     listens before it publishes its address. If a connection with the peer was in use, the peer
//     is declared down after a few refused attempts.
//   - If the host of a Supervised peer accepts TCP connections and the rank does not answer, the
//     peer is assumed to be stopped, and attempts continue. If the peer refuses TCP connections, or its host has
//     accepted none of them, the limits above apply. The Contact of a Lost attempt distinguishes the
//     cases. Time in which this side was stopped does not count towards Config.GiveUp, and TCP
//     connections that were refused before the stop do not count towards Config.Absence. The machine
//     detects such a stop by a Step that comes more than 1 s late.
//
// Attempt numbers and incarnations are compared as serial numbers mod 2^16 (RFC 1982). Because of
// the comparison, a recorded request counts as new again after 2^15 further attempts of one rank to
// one peer, if neither rank was restarted.
package peering
