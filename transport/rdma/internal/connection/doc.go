// Package connection makes connections of the kernel's RDMA devices, through package rdmacm.
// Providers of package verbs use this package: it implements those methods of QueuePair, Handshake
// and ServicePoint of package provider that concern connections. The package moves no data. A
// provider makes its queue pairs by uverbs or by a library, embeds a Connection in each and
// implements Pair.
//
//	Connect -> resolving -> routing -> connecting -> established -> ended
//	Accept  ->                         accepting  -> established -> ended
//	                         Disconnect: established -> disconnecting -> ended
//
// After the adapter has been opened, all methods except Stir and Device.Close are called under its
// lock. On iWARP, two commands block: siw makes its TCP connection within the command Connect, and
// destroying the id of an attempt waits for the peer's answer. Goroutines execute both commands, and
// Progress handles the result of Connect.
//
// # Two kinds of device
//
//	                     InfiniBand, RoCE                  iWARP
//	states of the pair   set here, by Pair.Modify          set by the kernel
//	established          active side: when it confirms     by an event
//	read depths          in events: as seen by this side   in an answer: swapped
//	private data         56, 196, 148 bytes, padded        251 bytes, not padded
//	no listener          rejected with reason 8            ECONNREFUSED: siw from Connect, others in an event
//
// (The row "private data" has the limits of a request, an accept and a reject.)
//
// On the passive side, siw serves as many Reads at a time as the active side has asked for, and
// sends this number in the answer (relaxed_ird_negotiation). siw ignores the depth that the program
// on the passive side puts into its answer. So on siw an answer cannot lower the number of Reads
// that the peer may have in flight. Consumers that need a lower limit exchange it in private data.
//
// The kernel offers only one way to decline a request: the rejection by the program.
// Handshake.Refuse therefore rejects with certain private data, by which this package recognizes a
// refusal on the active side. Other software on the active side sees an ordinary rejection. If a
// process is killed or calls Abort, the kernel reports an orderly disconnect to the other side, and no
// error.
package connection
