// Package runtime lets the ranks of a job exchange messages.
//
// A program calls Main (or Init), gets its World, and communicates with the other ranks through a
// communicator:
//
//	func main() {
//		runtime.Main(func(w *runtime.World) error {
//			c := w.Comm()
//			if c.Rank() == 0 {
//				return runtime.Send(c, []float64{1, 2, 3}, 1, 0)
//			}
//			buf := make([]float64, 3)
//			_, err := runtime.Recv(c, buf, 0, 0)
//			return err
//		})
//	}
//
// If gorun starts the program, each process is one rank of a job. Other launchers, such as mpiexec, can
// also start the ranks of a job. A process that no launcher has started is a World of one rank. Local runs
// several ranks as goroutines of one process, so that programs can be tested under the race detector.
//
// # Messages
//
// A message has a source, a tag and a sequence of elements, and travels within one communicator.
// If a receive can match several messages from one source, it gets the message that was sent first,
// whatever their sizes.
//
// Any type without pointers that is smaller than 2 GiB can be an element type: numbers, complex numbers,
// bool, arrays and structs of them. The types of sender and receiver must have the same layout. The names of types do
// not matter. On 64-bit machines, int has the same layout as int64. An array has the layout of its elements in
// sequence. A []byte on either side matches any layout. Padding of structs is sent as zeros.
//
// # Values
//
// SendValue and RecvValue transfer one value of any type and length, such as a map or a struct with
// strings and slices. The value is encoded, unless it is sent as its bytes (see SendValue). Package
// collectives has BcastValue, GatherValues and so on. Sender and receiver must use types and codecs
// of the same names. RegisterCodec selects another codec than gob for a type. SendStream and Stream
// transfer a sequence of values, which the receiver takes one after the other.
//
// # Ownership
//
//	memory                      may be accessed by
//	slice given to Send, Recv   the call, until it returns
//	slice given to Isend, Irecv the request, until Wait or Test reports its end
//	Buffer given to SendBuffer  only the receiver, from the call on
//	Message's Buffer            the receiver, until Close
//	result of a Request         the first Wait or Test that reports its end, once
//
// # Ends
//
// Close ends everything that a program has to end: a World, a Comm, a Shared, a Persistent, a
// Buffer, a Message. There is no Free or Release. Close returns an error where it can fail. A
// Request has no Close: the program takes its result or drops the Request. Functions for several
// operations take a slice (WaitAll, WaitAny, WaitSome, TestAll, TestAny, StartAll). A function that takes
// the result of a request sets this request in the slice to the zero Request.
//
// # Goroutines
//
// Every function may be called from any goroutine. A Request, a Matched message, a Persistent, a
// Buffer and a Message belong to one goroutine at a time. All members of a communicator make its collective calls,
// such as Dup, Split and NewShared, in the same order. Create is called only by the members of the new group.
// Comm.Close is local: it does not wait for Close at other members.
//
// # Two groups
//
// CreateIntercomm connects two groups of ranks, such as the two parts of a coupled program.
// Messages in the Comm of an Intercomm go to ranks of the other group. Merge makes a communicator
// of both groups.
//
// # Topologies
//
// SplitType groups the ranks that share a node or a NUMA node. CreateCart makes a grid of the ranks, for which
// DimsCreate computes balanced sizes. CreateGraph and CreateGraphAdjacent make a graph.
// Comm.Neighbors returns the ranks with which the neighborhood operations of package collectives
// exchange data. On request, ranks are renumbered so that the ranks of a node are close to each
// other in the grid or graph.
//
// # Errors
//
// errors.Is and errors.As distinguish errors: PeerError for a lost rank,
// TruncatedError, TypeMismatchError, ErrCanceled, ErrCommBroken and the other errors of this
// package. An error of a send or a receive does not affect other operations. A collective operation
// that fails at one member may break its communicator: then the operations on that communicator end
// with ErrCommBroken, except Agree, Shrink, Ack, Failed, Revoke and Close.
//
// # Going on after a failure
//
// Under gorun -on-failure continue, a job continues when ranks are lost. Operations that need a lost rank end with
// PeerError. Other operations go on, unless their communicator is broken. Communicators to which the lost rank
// does not belong are not affected. The semantics are those of ULFM, the User Level Failure Mitigation of MPI:
//
//	Comm.Failed   which members are lost, as far as this rank knows
//	Comm.Ack      acknowledges their loss: receives from AnySource wait for the others again
//	Comm.Revoke   ends the operations of all members, which may wait for this rank
//	Comm.Agree    the same result at all members that live, even if members fail meanwhile
//	Comm.Shrink   a communicator of the members that live
//	World.Handled the loss does not affect the exit code of the job
//
// To go on with the ranks that are left, a rank whose operation fails calls Revoke. Agree tells all living
// ranks whether the operation has failed at any rank. If so, they call Shrink and continue with the communicator that
// Shrink returns:
//
//	for step := 0; step < steps; {
//		err := compute(c, step)
//		if err != nil {
//			c.Revoke(err) // the others may wait for this rank
//		}
//		if all, _ := c.Agree(flag(err == nil)); all == 1 {
//			step++
//			continue
//		}
//		if c, err = c.Shrink(); err != nil {
//			return err
//		}
//		restore(c, step)
//	}
//
// # For libraries
//
// The following is for libraries that add operations on communicators, as package collectives does.
// Programs do not need it:
//
//	messages of their own     [Comm.Private], [Label], [LabelMax], [LabelError],
//	                          [Comm.SendLabeled], [Comm.RecvLabeled], [Comm.SendRecvLabeled],
//	                          [Comm.IsendLabeled], [Comm.IrecvLabeled]
//	a state per communicator  [Comm.Attribute]
//	nonblocking operations    [NewRequest], [NewRequestUsing]
//	persistent operations     [NewPersistent]
//	abandoned operations      [Comm.Break], [Comm.Broken], [Comm.Inquire], [Answerer],
//	                          [AnswerMax], [ErrNoAnswer]
//	reports                   [Describer], [Explainer], [Comm.AwaitedRanks],
//	                          [Comm.Unreceived], [Unreceived], [Comm.Recorder]
//	checks at the beginning   [Element], [Comm.Oversubscribed], [Comm.Remote]
//	neighbors                 [Comm.SendOrder]
//	ranks of one node         [Comm.Placement], [NewSharedAmong], [CacheDomain]
//	values of any type        [AppendValue], [AppendFailure], [DecodeValue], [AllocateValues]
//
// # Environment
//
// gorun describes the job to a rank in variables that only package bootstrap reads. The following
// variables configure a rank:
//
//	GORUN_CHECK=1         World.Close reports mistakes in the use of this package, see CheckError
//	GORUN_DEBUG=1         access to memory that was given away or freed faults, if ranks are processes
//	GORUN_CMA=0           no process_vm_readv, as in containers that forbid it
//	GORUN_TRANSPORT=rdma  the transport: shm, rdma or auto, as with gorun -transport; also for Local
//	GORUN_NET=eth0        the network between nodes: an interface or a prefix, as with gorun -net
//	GORUN_RDMA_DEVICE=rxe0
//	                      the RDMA adapter of each node, as with gorun -rdma-device: its name, its
//	                      interface, or an address of its interface. auto means all adapters that can
//	                      be used, and none means no adapter. iWARP over TCP is the last resort
//	GORUN_RDMA_LIBRARY=1  libibverbs drives all adapters. If it is not set, siw and rxe are driven
//	                      without a library
//	GORUN_ENCRYPT=yes     TLS on the connections between nodes, which then use only TCP. no means no
//	                      TLS. auto, the default, means TLS on the connections over TCP if the address of
//	                      any rank is public. gorun -encrypt sets GORUN_ENCRYPT
//	GORUN_CRC=0           no CRC on connections over TCP if both sides set it. 1 means a CRC. If it
//	                      is not set, the connections of a job on several nodes have a CRC, and
//	                      those of a job on one node have none
//	GORUN_COMPRESS=0      no compression of payload over TCP to other nodes, including the
//	                      copies of package checkpoint. If it is not set, a connection compresses
//	                      as long as the link is slower than the compression and the payload
//	                      gets shorter
//	GORUN_NET_TIMEOUT=20s how long data sent to another node may stay unacknowledged, or wait
//	                      for a rank that does not read, before the connection is made again
//	GORUN_NET_IDLE=10m    connections between nodes are closed after this time without traffic
//	                      and made again for the next message. If it is not set, they stay open
//	GORUN_NET_GIVEUP=30s  how long a rank tries to connect to a rank of another node before
//	                      the tried rank counts as lost. A rank that does not answer although
//	                      its host accepts connections, for example because a debugger has
//	                      stopped the rank, does not count as lost
//	GORUN_SPIN=50us       how long a waiting rank polls without yielding its processor
//	GORUN_YIELD=100us     how long the rank then polls and yields its processor, before it sleeps
//	GORUN_EXPLAIN=1       World.Close prints World.Explain of the peers to standard
//	                      error: of all peers in a World of up to 8 ranks, else of up to 16 peers
//	                      with which the rank has exchanged messages or has tried to. Then World.Close
//	                      prints refused connections, actors, dead letters and the algorithms of
//	                      collectives. One rank on each host also prints, for each RDMA adapter, which
//	                      driver serves it or why no driver does. gorun -explain sets GORUN_EXPLAIN
//	GORUN_COLL            see package collectives
//	GORUN_REPRODUCIBLE=1  see package collectives; gorun -reproducible sets it
//	GORUN_COMPARE=0       see package collectives
//	GORUN_COLL_TABLE      see package collectives
//
// A variable with the value 1 or 0 here also accepts the other values of strconv.ParseBool, such as
// true and false. Init returns an error for any other value that is not empty. For GORUN_REPRODUCIBLE
// and GORUN_COMPARE, which package collectives reads, collective operations return this error.
//
// Durations have the syntax of time.ParseDuration, with a unit: 500ns, 50us, 2ms. GORUN_SPIN=0 skips
// the phase of a wait in which the rank spins, and GORUN_YIELD=0 skips the phase in which the rank
// yields. Init returns an error for a negative value or a value with another syntax. By default, a rank
// with a processor of its own spins for 50us, and a rank that shares a processor does not spin. A rank
// yields for 100us times the number of ranks per processor, rounded up. A rank that spins measures how long
// its yields take. If the durations show that a process outside of the job uses the rank's processor and gives it
// back within 0.5ms, the rank stops spinning. As long as such processes use the processor, the rank
// yields for up to 10ms. In a wait for a rank of another node, over TCP, a rank that would spin yields
// instead, and polls three times as long before it sleeps. After a yield of 0.5ms or more, the rank spins in such
// waits, too, until 64 shorter yields have followed. By default, the ranks of Local do not spin, and yield for 20us.
//
// The package has the same name as package runtime of the standard library. Programs that need both
// import the package of the standard library as goruntime.
package runtime
