package engine

// lateReceiver is the actor receiver of a rank that has refused messages before its ActorReceiver was set. A peer that
// does not know of a refusal yet may have sent more messages through the same stream. These messages are refused, too:
// the ActorReceiver may not know the addressee of the stream, and nothing is delivered after a gap.
type lateReceiver struct {
	ActorReceiver
	e *Engine
}

// ActorMessage implements ActorReceiver.
func (r *lateReceiver) ActorMessage(source int, w ActorMessage, body []byte, memory *Message) {
	if r.e.mail.early.has(streamKey{source, w.Stream}) {
		r.e.refuse(r.e.peers[source], w, body, memory)
		return
	}
	r.ActorReceiver.ActorMessage(source, w, body, memory)
}

// Closed implements ActorReceiver. When all streams in early.refused have ended, nothing is left to refuse.
func (r *lateReceiver) Closed(source int, stream uint32) {
	y, k := &r.e.mail.early, streamKey{source, stream}
	if known := y.refused[k]; known || !y.has(k) {
		r.ActorReceiver.Closed(source, stream)
	}
	if delete(y.refused, k); len(y.refused) == 0 {
		r.e.mail.actorReceiver = r.ActorReceiver
	}
}
