// Package stripe divides long transfers between the two connections of a pair of ranks. The main
// connection carries the messages. The side connection, on a second adapter, carries only parts of
// Gets and Puts. The inputs of the package are events and the time, and its outputs are decisions.
// The package has no sockets, no goroutines and no clock, so that a test can search the
// interleavings.
//
// # A transfer
//
// A transfer is one Get or Put. Its bytes are divided into parts. Each part is in one of the
// following states. A method of Transfer, Completed for example, moves a part from one state to
// another:
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
// complete and the owner of the memory has confirmed a mark. A mark is a message that this side
// sends after the Write on the same connection. The mark is needed because some providers, such as
// iWARP, complete a Write as soon as it is in transit. With such a provider only the confirmation
// of the mark shows that the bytes of the Write are in place.
//
// When the side connection is lost, the parts that were posted on it have to be posted again. The
// parts of a Get return to the state left at once. A posted Write may still arrive at the owner of
// the memory, and must not arrive after the Put has ended. Therefore the parts of a Put are in the
// state held until the owner has reported that it has closed its end of the side connection.
//
// When the main connection is lost, the side connection is dropped. Every transfer then begins
// again or fails, like a transfer that uses only the main connection.
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
// Each connection takes the next part when the connection has room. So a faster connection carries
// more parts. At the end of a transfer a connection leaves a part to the other connection if the
// other connection would complete all remaining parts earlier (Judge.Takes). A measurement decides
// whether the side connection is used (Judge.Both). The measurement is needed because the two
// connections may share a port or the processors. In this case both connections together are no
// faster than the main connection alone.
package stripe
