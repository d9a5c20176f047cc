// Package actors joins the ranks of a job into one address space of actors: those of
// protoactor-go, to which every rank can send messages and requests, and which every
// rank can watch and stop.
//
//	runtime.Main(func(w *runtime.World) error {
//		s, err := actors.Of(w)
//		if err != nil {
//			return err
//		}
//		if w.Rank() == 1 {
//			_, err = s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
//				if text, ok := c.Message().(string); ok {
//					c.Respond("hello " + text)
//				}
//			}), "greeter")
//			return err
//		}
//		answer, err := s.Root.RequestFuture(s.PID(1, "greeter"), "you", time.Second).Result()
//		...
//	})
//
// A System is a protoactor ActorSystem, so programs written for protoactor run
// unchanged; only the way to get PIDs differs. It is made on first use. Programs that
// do not import this package contain protoactor for the connections of transport/rdma
// alone; with the build tag gorun_shm they do not contain it (docs/adr/0012).
//
// # Addresses
//
// The actors of rank 3 have the address "rank:3", or "rank:3@1" after a rank of the job was
// started again (World.Resume): a PID of an earlier generation of the job never reaches an actor
// of a later one; a message to it is a dead letter with the reason ErrStale. PIDs within
// messages are valid at every rank. System.PID names an actor that need not exist yet:
// messages wait for it, within the bounds below and for Config.Patience, then they
// become dead letters.
//
// The same holds for actors of this rank, if System.PID made the PID. A message to
// another PID of this rank without an actor is a dead letter at once.
//
// A *actor.PID caches its Process. The ranks of runtime.Local, which could share a
// *actor.PID, each need their own: copy it with actor.NewPID.
//
// # Messages between ranks
//
//	*runtime.Message   arena memory is handed over and not copied on a node; the
//	                   receiving actor owns the message and releases it. Up to
//	                   256 bytes are copied, which costs less; between nodes it is
//	                   copied or read in place
//	[]byte, string     copied; between nodes a long one is read in place
//	proto.Message      marshalled
//	registered types   T and *T of RegisterType[T]: their bytes if T is plain data,
//	                   else encoded by the codec (gob by default)
//
// A T arrives as a T, a *T as a *T. A short *T that arrives shares up to 512 bytes of
// memory with others of its sender: a reference to one of them keeps that memory. Numbers
// and bool are registered; types defined on them, such as time.Duration, are not. A
// message of any other type is a dead letter at the sender with the reason
// ErrUnregistered. The sender must not change a message after it was sent, nor the slice
// of a []byte. A message that needs arena memory and is too large for the arena is a dead
// letter, too.
//
// Messages of one sender to one receiver arrive in their order, each once, as
// long as both ranks live.
//
// # Delivery
//
// An actor runs on one of a few persistent workers (Worker, the default); when all of
// them block, more are started. With Inline it runs on the goroutine that polls the
// rank's transports: one goroutine switch less, but the rank's other arrivals wait for
// it. An inline handler must not block: receives, collectives and other waits fail with
// runtime.ErrInline. The wait of a protoactor Future cannot be refused: in an inline
// handler, waiting for an answer of another rank ends with the Future's timeout, and
// nothing else arrives meanwhile. Use ReenterAfter. The log names, once, an inline actor
// that handles one message for more than a second.
//
// # Bounds
//
// The messages that wait for an actor are bounded in bytes: Config.Mailbox for those
// of its own rank, 256 KiB for each other rank. Beyond that
//
//   - a Tell of an actor does not block: the message waits in the sending actor's
//     outbox, and that actor does not run until its outbox is empty. Beyond
//     Config.Outbox messages become dead letters with the reason ErrMailboxFull;
//   - a Tell of any other goroutine waits.
//
// A rank that has not called Of stores messages for its actors, up to 4 MiB and for
// 30 s. After that, these messages and all later ones become dead letters with the
// reason ErrNoActors at their senders; senders are blocked no longer, and watches end.
//
// Actors that wait for each other in a cycle are found by probes, and run: so a
// cycle that overflows loses messages, as dead letters, but never hangs. System
// messages (Watch, Unwatch, Terminated, Stop) and answers to futures consume no credit
// and are always sent.
//
// # Dead letters
//
// A message that cannot be delivered is published in the EventStream as a *DeadLetter
// with its Reason, and as protoactor's DeadLetterEvent, which ends a RequestFuture with
// actor.ErrDeadLetter; so does an answer that cannot be encoded. An undelivered
// *runtime.Message is released then. A message to an actor of this rank that has ended
// is published as protoactor's event alone.
//
// Config.Logger, by default standard error, logs dead letters, except those caused by
// the end of an actor or of a rank, and panics of actors with their source lines: at most
// ten a second.
//
// # Death
//
// Supervision is local, with all of protoactor's strategies; watching is remote.
// When a rank dies, every watcher of one of its actors gets one Terminated with the
// reason AddressTerminated, and every unanswered RequestFuture to that rank ends with
// actor.ErrDeadLetter, whether the request was handled or not; the *DeadLetter names the
// lost rank. The rank of a request is the one it was sent to, directly or through an
// actor or a router of the requester's own rank. If an actor of that rank forwards the
// request to a third rank, the loss of the third rank is not reported, and the request
// ends with its timeout; if the forwarding rank is lost, the request ends at once, and a
// later answer of the third rank is dropped.
//
// After the loss of a rank under gorun -on-failure respawn all actors of all ranks end with their World
// (World.Resume), and watchers are told of it, with the same reason. The names of before are gone: an
// actor of the new World has one from its RegisterName on.
//
// System.SpawnAmong starts an actor that exists once among some ranks, at the next one when its rank is
// lost. A Store keeps snapshots of Persistent actors in the memory of two ranks, from which they go on
// there, or in the next World.
package actors
