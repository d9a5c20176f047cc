// Package stripe divides long transfers between the two connections of a pair of ranks: the
// main one, which carries the messages, and the side one on a second adapter, which carries
// parts of Gets and Puts alone. It is pure: events and the time are the input, decisions the
// output. There are no sockets, no goroutines and no clock, so that a test can search the
// interleavings.
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
// A Get's part is done when its Read is. A Put's part is done when its Write is and a mark that
// was sent behind it on the same connection has been confirmed: where a Write is done when it is
// on its way, as with iWARP, that alone says that it is in place.
//
// What a lost side connection had posted is left again, at once for a Get. A Write that was
// posted may still arrive at the owner of the memory, and must not do so after the Put has
// ended. So the parts of a Put are held until the owner has said that it has closed its end.
//
// When the main connection is lost, the side one is dropped, and every transfer begins again
// or fails, as without stripes.
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
// Each connection takes the next part when it has room, so that shares follow the rates. At the
// end of a transfer a connection takes no part that the other one would have done earlier,
// together with all that is left (Judge.Takes). Whether both connections together carry more
// than the main one alone is measured (Judge.Both): they may share a port, or the processors.
package stripe
