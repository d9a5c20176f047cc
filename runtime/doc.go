// Package runtime lets the ranks of a job exchange messages.
//
// A program calls Main (or Init), gets its World, and talks to the other ranks
// through a communicator:
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
// Started by gorun it is one rank of many; started alone it is a world of one.
// Local runs several ranks as goroutines of one process, which is how programs
// are tested under the race detector.
//
// # Messages
//
// A message has a source, a tag and a sequence of elements, and travels within
// one communicator. Messages of one source to one receiver in one communicator
// are received in the order in which they were sent, whatever their sizes.
//
// Any type without pointers can be an element: numbers, complex numbers, bool,
// arrays and structs of them. Sender and receiver agree when the layouts of
// their types agree: names do not matter, int is int64 on 64-bit machines, an
// array is its elements in a row, and a []byte on either side matches anything.
// Padding of structs travels as zeros.
//
// # Values
//
// SendValue and RecvValue take one value of any type, such as a map or a struct with strings and
// slices, of whatever length: the value is encoded. Package collectives has BcastValue,
// GatherValues and so on. Sender and receiver agree when the names of their types and codecs
// agree; RegisterCodec selects another codec than gob for a type. SendStream and Stream carry a
// sequence of values of which the receiver takes one after the other.
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
// Close ends whatever a program has to end, there is no Free or Release: a World, a Comm,
// a Shared, a Persistent, a Buffer, a Message. It returns an error where it can fail. A
// Request has no Close: its result is taken, or it is dropped. Functions over several
// operations take a slice (WaitAll, WaitAny, WaitSome, TestAll, TestAny, StartAll); those
// that take results make the requests in it zero.
//
// # Goroutines
//
// Every function may be called from any goroutine. A Request, a Matched message
// and a Persistent belong to one goroutine at a time. All members of a communicator
// make collective calls (Dup, Split, NewShared) in the same order; Create is called by
// the members of the new group. Comm.Close is local and does not wait.
//
// # Two groups
//
// CreateIntercomm connects two groups of ranks, such as the two parts of a coupled program:
// messages in the Comm of an Intercomm go to ranks of the other group, and Merge makes a
// communicator of both.
//
// # Topologies
//
// SplitType finds the ranks that share memory. CreateCart makes a grid of the ranks, whose
// sizes DimsCreate balances; CreateGraph and CreateGraphAdjacent make a graph. Their ranks have
// Neighbors, with which the neighborhood operations of package collectives exchange data. The
// ranks of a node can get places side by side.
//
// # Errors
//
// errors.Is and errors.As distinguish errors: PeerError for a lost rank,
// TruncatedError, TypeMismatchError, ErrCanceled, ErrCommBroken and the others of this
// package. An error of one operation does not affect other operations.
//
// # Going on after a failure
//
// Under gorun -on-failure continue a job outlives its ranks. What needs a lost rank ends with
// PeerError; everything else goes on, and a communicator without the rank is not disturbed. These
// are the semantics of ULFM, the User Level Failure Mitigation of MPI:
//
//	Comm.Failed   which members are lost, as far as this rank knows
//	Comm.Ack      acknowledges that: receives from AnySource wait for the others again
//	Comm.Revoke   ends the operations of all members, which may wait for this rank
//	Comm.Agree    the same answer at all members that live, whatever fails meanwhile
//	Comm.Shrink   a communicator of those that live
//	World.Handled the loss does not decide the exit code of the job
//
// A program that goes on with the ranks that are left calls Revoke when an operation fails, then
// all call Shrink, and continue with what that returns:
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
// A program needs none of the following. A library that adds operations on communicators,
// as package collectives does, uses:
//
//	messages of its own       [Comm.Private], [Label], [LabelMax], [LabelError],
//	                          [Comm.SendLabeled], [Comm.RecvLabeled], [Comm.SendRecvLabeled],
//	                          [Comm.IsendLabeled], [Comm.IrecvLabeled]
//	a state per communicator  [Comm.Attribute]
//	nonblocking operations    [NewRequest], [NewRequestUsing]
//	persistent operations     [NewPersistent]
//	abandoned operations      [Comm.Break], [Comm.Broken], [Comm.Inquire], [Answerer],
//	                          [AnswerMax], [ErrNoAnswer]
//	reports                   [Describer], [Explainer], [Comm.AwaitedRanks],
//	                          [Comm.Unreceived], [Unreceived], [Comm.Recorder]
//	checks before it begins   [Element], [Comm.Oversubscribed], [Comm.Remote]
//	neighbors                 [Comm.SendOrder]
//	ranks of one node         [Comm.Placement], [NewSharedAmong], [CacheDomain]
//	values of any type        [AppendValue], [AppendFailure], [DecodeValue], [AllocateValues]
//
// # Environment
//
// gorun describes the job to a rank in variables that only package bootstrap
// reads. These tune a rank:
//
//	GORUN_CHECK=1         mistakes in the use of this package are named at the end, see CheckError
//	GORUN_DEBUG=1         access to memory that was given away faults
//	GORUN_CMA=0           no process_vm_readv, as in containers that forbid it
//	GORUN_TRANSPORT=rdma  shm, rdma or auto: gorun -transport, also for Local
//	GORUN_NET=eth0        the network between nodes, an interface or a prefix: gorun -net
//	GORUN_RDMA_DEVICE=rxe0
//	                      the RDMA adapter of each node: its name, its interface or an
//	                      address of that; none; or auto, which is all that can be used:
//	                      gorun -rdma-device. iWARP over TCP is the last resort
//	GORUN_RDMA_LIBRARY=1  libibverbs drives the adapters siw and rxe, too, as it does all
//	                      others: those two need no library otherwise
//	GORUN_ENCRYPT=yes     TLS on the connections between nodes, which are over TCP alone then;
//	                      no; or auto, which is yes for TCP if an address is public: gorun -encrypt
//	GORUN_CRC=0           no checksums between nodes, where both sides agree
//	GORUN_COMPRESS=0      no compression of what goes by TCP to other nodes, nor of copies of
//	                      package checkpoint that do; without it a connection compresses as
//	                      long as that is faster: on links slower than a processor compresses,
//	                      for payload that gets shorter
//	GORUN_NET_TIMEOUT=20s how long another node may leave what was sent unacknowledged
//	                      before the connection is made again
//	GORUN_NET_IDLE=10m    connections between nodes end after that time without
//	                      traffic, until the next message; without it they stay
//	GORUN_NET_GIVEUP=30s  how long a connection to a rank of another node is attempted
//	                      before the rank counts as lost. A rank that was stopped, by a
//	                      debugger for example, is waited for as long as its node
//	                      reports it alive
//	GORUN_SPIN=50us       how long a waiting rank polls without yielding its processor
//	GORUN_YIELD=100us     how long after that it polls and yields, before it sleeps
//	GORUN_EXPLAIN=1       World.Close prints World.Explain of the peers to standard
//	                      error: of all in a World of up to 8, else of those it has
//	                      exchanged messages with; then what drives the RDMA adapters
//	                      of the node or is missing for that, refused connections, dead
//	                      letters, and the algorithms of collectives; gorun -explain
//	                      sets it
//	GORUN_COLL            see package collectives
//	GORUN_REPRODUCIBLE=1  see package collectives; gorun -reproducible sets it
//	GORUN_COMPARE=0       the same
//	GORUN_COLL_TABLE      the same
//
// Durations have the syntax of time.ParseDuration, with a unit: 500ns, 50us, 2ms.
// GORUN_SPIN=0 or GORUN_YIELD=0 skips that phase. Any other value is an error of Init.
// By default a rank with a processor of its own spins for 50us, and one that shares a
// processor does not spin; it yields for 100us times the ranks per processor.
//
// The package has the name of the standard library's; programs that need both
// import the other one as goruntime.
package runtime
