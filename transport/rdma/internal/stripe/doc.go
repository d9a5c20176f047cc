// Package stripe divides long transfers between the two connections of a pair of ranks. The main
// connection carries the messages. The side connection, on a second adapter, carries only parts of
// Gets and Puts. The package is pure: events and the time are its input, and decisions its output.
// It has no sockets, no goroutines and no clock, so that a test can search the interleavings.
//
// # A transfer
//
// Each part of a Transfer is in one of these states:
//
//	        Post            Completed (Get)
//	left ---------> posted -----------------> done
//	 ^  ^             |  |                      ^
//	 |  |   Lost, Get |  | Completed and        |
//	 |  +-------------+  | Confirmed (Put)      |
//	 |                   +----------------------+
//	 |    Release            Lost, Put
//	 +------------- held <------- posted
//
// A part of a Get is done when its Read is complete. A part of a Put is done when its Write is
// complete and the owner of the memory has confirmed a mark that was sent behind the Write on the
// same connection. The mark is needed where a Write completes as soon as it is in transit, as with
// iWARP: there only the confirmation shows that the Write is in place.
//
// When the side connection is lost, the parts that were posted on it have to be posted again. The
// parts of a Get are left again at once. A posted Write may still arrive at the owner of the
// memory, and must not do so after the Put has ended. Therefore the parts of a Put are held until
// the owner has reported that it has closed its end.
//
// When the main connection is lost, the side connection is dropped. Every transfer then begins
// again or fails, as without stripes.
//
// # The side connection
//
//	       Want          Attach        Lost           Closed
//	none --------> asked -------> up --------> lost --------> none
//	  ^              | Refused     |             |
//	  +--------------+-------------+-------------+ Drop
//
// # Shares
//
// Each connection takes the next part when it has room, so that the shares follow the rates. At
// the end of a transfer a connection does not take a part if the other connection would complete
// this part and all others that are left earlier (Judge.Takes). A measurement decides whether the
// side connection is used (Judge.Both): both connections may share a port or the processors, and
// then carry no more than the main connection alone.
package stripe
