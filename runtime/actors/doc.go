// Package actors joins the ranks of a job into one address space of actors. The actors are
// those of protoactor-go. Every rank can send messages and requests to all of them, watch
// them and stop them.
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
// unchanged; only the way to get PIDs differs. A System is made on first use. Programs that
// do not import this package still contain protoactor, but only for the connections of
// transport/rdma. With the build tag gorun_shm they do not contain it (docs/adr/0012).
//
// # Addresses
//
// The actors of rank 3 have the address "rank:3", or "rank:3@1" in generation 1 of the job,
// that is, after any rank of the job was started again once (World.Resume). A PID of an earlier
// generation never reaches an actor of a later generation; a message to such a PID becomes a
// dead letter with the reason ErrStale. PIDs within messages are valid at every rank.
// System.PID returns a PID of an actor that need not exist yet: messages wait for the actor,
// within the bounds below and for Config.Patience; then they become dead letters.
//
// The same holds for actors of this rank, if System.PID made the PID. If any other PID of
// this rank has no actor, a message to it becomes a dead letter at once.
//
// A *actor.PID caches its Process. The ranks of runtime.Local could share a *actor.PID, but
// each rank needs its own: copy it with actor.NewPID.
//
// # Messages between ranks
//
//	*runtime.Message   arena memory is handed over and not copied within a node; the
//	                   receiving actor owns the message and releases it. Up to
//	                   256 bytes are copied, which costs less; between nodes the
//	                   bytes are copied or read in place
//	[]byte, string     copied; between nodes a long one is read in place
//	proto.Message      marshalled
//	registered types   T and *T of RegisterType[T]: their bytes if T is plain data,
//	                   else encoded by the codec (gob by default)
//
// A T arrives as a T, a *T as a *T. A short *T that arrives shares an allocation of up to 512
// bytes with other values of the same type from the same rank: a reference to one of them keeps
// the whole allocation in memory. The number types and bool are registered; types defined on
// them, such as time.Duration, are not. A message of any other type becomes a dead letter at
// the sender with the reason ErrUnregistered. The sender must not change a message after it
// was sent, nor the bytes of a []byte. A message that needs arena memory and is too large for
// the arena becomes a dead letter, too.
//
// As long as both ranks live, messages of one sender to one receiver arrive in the order in
// which they were sent, each once.
//
// # Delivery
//
// An actor runs on one of a few persistent workers (Worker, the default); when all of
// them block, more are started. With Inline the actor runs on the serving goroutine, which
// also polls the rank's transports. This saves one goroutine switch, but the rank's other
// arrivals wait while the actor runs. An inline handler must not block: receives,
// collectives and other waits in it fail with runtime.ErrInline. The wait of a protoactor
// Future cannot be refused. If an inline handler waits for the answer of another rank, the
// wait ends with the Future's timeout, and nothing else arrives meanwhile. Use ReenterAfter
// instead. If an inline actor handles one message for more than a second, the actor is
// logged once.
//
// # Bounds
//
// The messages that wait for an actor are bounded in bytes: Config.Mailbox bounds the
// messages from the actor's own rank, and 256 KiB bound those from each other rank. Beyond
// that
//
//   - a Tell of an actor does not block: the message waits in the sending actor's
//     outbox, and that actor does not run until its outbox is empty. Beyond
//     Config.Outbox messages become dead letters with the reason ErrMailboxFull;
//   - a Tell of any other goroutine waits.
//
// A rank that has not called Of stores messages for its actors, up to 4 MiB and for
// 30 s. Messages beyond 4 MiB, and after 30 s all stored and later messages, become dead
// letters at their senders with the reason ErrNoActors. Then senders do not block any
// longer, and watches end.
//
// Probes find actors that wait for each other in a cycle. These actors run although their
// outboxes are not empty, so a cycle that overflows may lose messages, as dead letters, but
// never hangs. System messages (Watch, Unwatch, Terminated, Stop) and answers to futures
// consume no credit and are always sent.
//
// # Dead letters
//
// A message that cannot be delivered is published in the EventStream twice: as a
// *DeadLetter with its Reason, and as protoactor's DeadLetterEvent. If the message is a
// request, its RequestFuture ends with actor.ErrDeadLetter; it also does so if the answer
// cannot be encoded. An undelivered *runtime.Message is released afterwards. A message that
// is sent to an actor of this rank after the actor has ended is published only as
// protoactor's event.
//
// Config.Logger, by default standard error, logs dead letters, and panics of actors with
// their source lines: together at most ten a second. Dead letters that are caused by the end
// of an actor or of a rank have the level Info, which the default Logger does not print.
//
// # Death
//
// Supervision is local to a rank, with all of protoactor's strategies; watching works
// between ranks. When a rank is lost, every watcher of one of its actors gets one Terminated
// with the reason AddressTerminated. Every unanswered RequestFuture to that rank ends with
// actor.ErrDeadLetter, whether the request was handled or not; the *DeadLetter names the
// lost rank. The rank of a request is the rank to which it was sent, directly or through an
// actor or a router of the requester's own rank. If an actor of that rank forwards the
// request to a third rank, the loss of the third rank is not reported, and the request
// ends with its timeout. If the forwarding rank is lost, the request ends at once, and a
// later answer of the third rank is dropped.
//
// After the loss of a rank under gorun -on-failure respawn, all actors of all ranks end with their World
// (World.Resume). Watchers get Terminated with the same reason. Registered names end, too: an actor of
// the new World has a name only after RegisterName in that World.
//
// System.SpawnAmong starts an actor that exists once among some ranks, and starts it again at the next of
// these ranks when its rank is lost. A Store keeps snapshots of Persistent actors in the memory of two
// ranks. An actor that is started again, at another rank or in the next World, continues from its newest
// snapshot.
package actors
