// Package actors joins the ranks of a job into one address space of actors. The actors are those of
// protoactor-go. Every rank can send messages and requests to all of these actors, watch them and
// stop them.
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
// A System is a protoactor ActorSystem, so actors that were written for protoactor need no change;
// only the way to get PIDs differs. The first call of Of in a World makes its System. A program that does not
// import this package still contains protoactor, because transport/rdma uses it for its connections. With
// the build tag gorun_shm such a program does not contain protoactor (docs/adr/0012).
//
// # Addresses
//
// The actors of rank 3 have the address "rank:3". In generation 1 of the job, after a rank of the job
// was started again once (World.Resume), they have the address "rank:3@1". A PID of an earlier
// generation never reaches an actor of a later generation; a message to such a PID becomes a dead
// letter with the reason ErrStale. PIDs within messages are valid at every rank. System.PID returns a
// PID of an actor that need not exist yet. Messages wait for the actor, within the bounds below,
// until Config.Patience has passed. Then the messages become dead letters.
//
// Messages to an actor of this rank wait in the same way if System.PID has made the PID before the actor
// existed. If the PID was made otherwise and its actor does not exist, a message to the PID becomes a dead
// letter at once.
//
// A *actor.PID caches its Process. Therefore two ranks of runtime.Local must not share a *actor.PID.
// Make a copy for each rank with actor.NewPID.
//
// # Messages between ranks
//
//	*runtime.Message   within a node, arena memory of more than 256 bytes is handed
//	                   over, and a shorter message is copied, which costs less;
//	                   between nodes, the bytes are copied, or read from the
//	                   sender's memory. The receiving actor owns the message and
//	                   releases it
//	[]byte, string     copied; between nodes, a long one is read from the sender's memory
//	proto.Message      marshalled
//	registered types   T and *T of RegisterType[T]: encoded by the codec of T, if one is
//	                   registered; otherwise their bytes if T is plain data, else gob
//
// A T arrives as a T, and a *T arrives as a *T. If T is short plain data, a *T that arrives shares an allocation
// of up to 512 bytes with other values of the same type from the same rank. A reference to one of these values
// keeps the whole allocation in memory. Bool and the number types, except uintptr, are
// registered. A type that is defined as one of these types, such as time.Duration (an int64), is not
// registered. A message of any other type becomes a dead letter at
// the sender with the reason ErrUnregistered. The sender must not change a message, including the
// bytes of a []byte, after it was sent. A message that needs arena memory and is too large for the
// arena becomes a dead letter, too.
//
// An actor gets the parts of an actor.MessageBatch before the batch, as with protoactor. A batch whose method
// GetMessages panics becomes a dead letter. A batch to an actor of the same rank with a mailbox of another package is
// an exception: the panic may occur in the sending goroutine, as with protoactor.
//
// As long as both ranks live, messages of one sender to one receiver arrive in the order in which
// they were sent. Each message that does not become a dead letter arrives once.
//
// # Delivery
//
// By default (Worker) an actor runs on one of a few persistent workers. When all workers block, more
// workers are started. With Inline the actor runs on the serving goroutine, which also polls the
// rank's transports. Inline saves one goroutine switch, but the rank's other arrivals wait while the
// actor runs. An inline handler must not block: receives, collectives and other waits in it fail with
// runtime.ErrInline. This package cannot refuse the wait of a protoactor Future. Suppose that an
// inline handler waits with a Future for the answer of another rank. During the wait no message
// arrives, so the wait ends with the Future's timeout. Use ReenterAfter instead. If an inline actor
// handles one message for longer than one to two seconds, the Logger reports this actor once.
//
// The end of a World waits for at most two seconds for handlers that do not return. If such a handler is that of an
// inline actor, the Logger names the actor.
//
// # Bounds
//
// The messages that wait for an actor are bounded in bytes. Config.Mailbox is the bound for the
// messages from the actor's own rank. For every other rank, 256 KiB is the bound for the messages
// from that rank. Every message counts a fixed number of bytes. A message of another rank also counts the
// bytes that were sent for it, but at most 64 KiB in all. Of the messages from the actor's own rank, only
// those of the types []byte, string and *runtime.Message also count their length. Beyond these bounds
//
//   - a Tell of an actor does not block. The message waits in the sending actor's outbox, and that
//     actor does not run until its outbox is empty. A further message that would make the outbox
//     exceed Config.Outbox bytes becomes a dead letter with the reason ErrMailboxFull;
//   - a Tell of any other goroutine waits.
//
// A router, or the PID of an actor of SpawnAmong, forwards the messages of other ranks at once. If a
// message has only one receiver, and this receiver is of the router's rank, the message counts until the receiver
// takes it. It counts against the 256 KiB of its sender's rank at the router. So if one receiver takes no messages,
// the messages for it can use up all of these 256 KiB. Then the senders of that rank to this router wait, even
// if their messages are for other receivers. The messages that a router forwards to further ranks, to
// another router or to several receivers are not bounded.
//
// A rank that has not called Of stores messages for its actors, up to 4 MiB and for 30 s. Messages beyond
// 4 MiB become dead letters at their senders with the reason ErrNoActors. When 30 s have passed since the
// first message arrived, all stored messages become such dead letters, and so do all later messages until
// the rank calls Of. While the rank refuses messages, their senders do not block, and a Watch is answered
// by Terminated.
//
// Probes find actors that wait for each other in a cycle. Such actors run although their outboxes are
// not empty. So they do not wait for ever. If their outboxes overflow, messages become dead letters.
// System messages (Watch, Unwatch, Terminated, Stop) and answers to futures consume no credit and are
// always sent.
//
// # Dead letters
//
// A message that cannot be delivered is published in the EventStream twice: as a *DeadLetter with its
// Reason, and as protoactor's DeadLetterEvent. If the message is a request, its RequestFuture ends
// with actor.ErrDeadLetter. The RequestFuture ends in the same way if the answer cannot be encoded.
// An undelivered *runtime.Message is released after the events were published.
//
// One kind of message is published only as protoactor's event: a message to an actor of the sender's own rank that
// does not exist or has ended, if the message has not waited for the actor (see Addresses). If it is a
// *runtime.Message, it is released one second later.
//
// Config.Logger gets a log line for each *DeadLetter, except those of a DeadLetterResponse, and for each panic
// of an actor, at most ten lines a second in all. The line for a panic contains its source lines. The default
// Logger writes to standard error. The limit does not apply to dead letters that the end of an actor or of a
// rank causes. They have the level Info, which the default Logger does not print. protoactor logs its events, too,
// with the level Info, but at most one in 100 ms. A message that is published only as protoactor's event has no other
// log line.
//
// # Death
//
// Supervision is local to a rank, with all of protoactor's strategies; watching works between ranks. When a
// rank is lost, every watcher of one of its actors gets one Terminated with the reason AddressTerminated.
// Suppose that an actor watches an actor of another rank, and the watched actor ends. If the watcher begins to watch
// a later actor with the same PID before it has got the Terminated of the ended actor, it gets no Terminated for the
// later actor.
//
// Every unanswered RequestFuture to a lost rank ends with actor.ErrDeadLetter, whether the request was handled or not.
// The *DeadLetter names the lost rank. The rank of a request is the rank to which the request was sent, directly
// or through an actor or a router of the requester's own rank. An actor of that rank may forward the request
// to a third rank. If the third rank is lost, the loss is not reported, and the request ends with its
// timeout. If the forwarding rank is lost, the request ends at once, and a later answer of the third rank is
// dropped.
//
// After the loss of a rank under gorun -on-failure respawn, all actors of all ranks end with their
// World (World.Resume). Watchers get Terminated with the reason AddressTerminated. Registered names
// are removed, too. An actor of the new World has a name only after RegisterName was called in that
// World.
//
// System.SpawnAmong starts an actor that exists once among some ranks. When the actor's rank is lost,
// the actor is started again at the next of these ranks. A Store keeps snapshots of Persistent actors
// in the memory of two ranks. An actor that is started again, at another rank or in the next World,
// continues from its newest snapshot.
package actors
