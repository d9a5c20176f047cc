// Package actors makes the ranks of a job one address space of actors: the
// actors of protoactor-go, which can be told, asked, watched and stopped from
// every rank.
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
// as they are; what differs is how they get their PIDs. It is made on first use.
// Programs that do not import this package have protoactor for the connections of
// transport/rdma alone, and none of it with the build tag gorun_shm (docs/adr/0012).
//
// # Addresses
//
// The actors of rank 3 have the address "rank:3", or "rank:3@1" after it was
// restarted once: a PID of an earlier life never reaches a later one. PIDs within
// messages are valid wherever they arrive. System.PID names an actor that need not
// exist yet: messages wait for it, within the bounds below and for
// Config.Patience, then they are dead letters.
//
// So it is for actors of the own rank, if System.PID made the PID: what else leads to
// one that is not there is a dead letter at once.
//
// A *actor.PID remembers the Process that it led to. The ranks of runtime.Local,
// which could share one, each need their own: copy it with actor.NewPID.
//
// # Messages between ranks
//
//	*runtime.Message   arena memory is given away and not copied on a node; the
//	                   receiving actor owns the message and releases it. Up to
//	                   256 bytes are copied, which costs less; between nodes it is
//	                   copied or read from where it lies
//	[]byte, string     copied; between nodes a long one is read from where it lies
//	proto.Message      marshalled
//	registered types   T and *T of Register[T]: their bytes if T is plain data,
//	                   else what the codec makes of them (gob by default)
//
// A T arrives as a T, a *T as a *T. A short *T that arrives shares up to 512 bytes of
// memory with others of its sender: who keeps one of them keeps so much. Numbers and
// bool are registered; types defined on them, such as time.Duration, are not. Anything
// else is a dead letter at the sender that is ErrUnregistered. The sender must not
// change a message afterwards, nor the slice of a []byte. What lies in memory of the
// arena and is too large for it is a dead letter too.
//
// Messages of one sender to one receiver arrive in their order, each once, as
// long as both ranks live.
//
// # Delivery
//
// An actor runs on one of a few persistent workers (Worker, the default), which
// become more when they block. With Inline it runs on the goroutine that polls the
// rank's transports: a hop less, and the rank's other arrivals wait for it. An
// inline handler cannot wait: receives, collectives and the like fail with
// runtime.ErrInline. A Future of protoactor waits by itself and cannot be refused: to
// wait for an answer of another rank there ends with its timeout, and nothing else
// arrives meanwhile. Use ReenterAfter. An inline actor that is at one message for more
// than a second is named in the log, once.
//
// # Bounds
//
// What waits for an actor is bounded in bytes: Config.Mailbox for what its own
// rank sent, 256 KiB for each other rank. Beyond that
//
//   - a Tell of an actor does not block: the message waits in the actor's outbox,
//     and the actor is not run until that is empty. Beyond Config.Outbox messages
//     are dead letters that are ErrMailboxFull;
//   - a Tell of any other goroutine waits.
//
// A rank that has not called Of keeps what comes for it, up to 4 MiB and for 30 s.
// Then that, and what comes later, are dead letters that are ErrNoActors at the
// senders, whom it holds up no more, and watches there end.
//
// Actors that wait for each other in a cycle are found by probes, and run: so a
// cycle that overflows loses messages, as dead letters, but never hangs. System
// messages (Watch, Unwatch, Terminated, Stop) and answers to futures take no room
// and always go.
//
// # Dead letters
//
// What cannot be delivered is published in the EventStream as a *DeadLetter with
// its Reason, and as protoactor's DeadLetterEvent, which ends a RequestFuture with
// actor.ErrDeadLetter; so does an answer that cannot travel. An undelivered
// *runtime.Message is released then. What is sent to an actor of this rank that has
// ended is protoactor's event alone.
//
// Config.Logger, by default standard error, is told of dead letters, unless it was the
// end of an actor or a rank that made them, and of panics of actors, with their lines:
// of ten a second.
//
// # Death
//
// Supervision is local, with all of protoactor's strategies; watching is remote.
// When a rank dies, every watcher of one of its actors gets one Terminated that
// says AddressTerminated, and every RequestFuture that was sent to it and is not
// answered ends with actor.ErrDeadLetter, whether the request was taken there or not;
// the *DeadLetter says which rank was lost. That is the rank that was asked, or was
// given the request by an actor or a router of the asker's own rank: who forwards a
// request to a third rank is not asked any more, so if that is lost the request ends
// with its timeout, and if he is lost an answer of the third one comes too late.
package actors
