package engine

import (
	"encoding/binary"
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
)

// kind says what a frame is.
type kind uint8

const (
	kindEager     kind = 1 + iota // a message with its bytes
	kindRTS                       // a message without its bytes; body: envelope
	kindHandover                  // a message that is arena memory; body: envelope
	kindCTS                       // answer to RTS: send the bytes; body: clearance
	kindData                      // bytes requested by CTS; B is their offset
	kindFIN                       // the bytes of a rendezvous have been transferred, or the receiver takes none
	kindACK                       // a synchronous eager message was matched
	kindCredit                    // no content except the limit in C
	kindTypedef                   // the text of a type
	kindWithdraw                  // forget the envelope, if it is not yet matched
	kindWithdrawn                 // the envelope is forgotten, or the message was dropped (Engine.drop)
	kindRelease                   // handed-over memory is returned; body: Addr of its key
	kindNotice                    // for Config.Notice; the tag is the number, the body the text
	kindActor                     // for the ActorReceiver, see stream.go; with flagKey the body begins with an envelope
	kindGrant                     // new limit of a stream; the context is the number of the stream, the id the limit
	kindRefuse                    // an actor message was dropped; its words, and the first bytes of its body
	kindBatch                     // actor messages that share a frame, see batch.go
	kindClose                     // a stream has ended; the context is the number of the stream
	kindClosed                    // answer to kindClose: the number of the stream may be reused
	kindEnd
)

// Flags of a frame.
const (
	flagSync    = 1 << iota // kindEager: the sender waits for kindACK
	flagKey                 // kindRTS, kindCTS, kindActor: the key in the body is valid
	flagStarved             // kindRTS: short enough for eager, but the sender had no credit left
	flagsKnown  = flagSync | flagKey | flagStarved
)

// header is the unpacked transport.Header of every frame:
//
//	word  bits   what
//	A     0-7    kind
//	A     8-15   flags
//	A     16-31  zero
//	A     32-63  context
//	B     0-31   tag (two's complement, never negative)   } kindData: the offset
//	B     32-63  type in terms of the sender              } in bytes, 64 bits
//	C     0-31   id: in a frame that begins or withdraws an operation, of the sender's
//	             operation; in a frame that answers, of the addressee's operation;
//	             kindActor, kindRefuse and kindGrant use these bits for other data
//	C     32-63  limit: the cumulative credit, in bytes mod 2^32, up to which the
//	             addressee may send to the sender of this frame
type header struct {
	kind    kind
	flags   uint8
	context uint32
	tag     int32
	typ     Type
	id      uint32
	limit   uint32
}

// pack returns the three words of h. Functions that send a frame take these words and not the header. The
// compiler passes the words in registers, but copies a header of seven fields through memory for every call.
// This copy loads pieces that are wider than the fields. The processor cannot forward the stores of several
// fields to one load, so the load waits until the stores have reached the cache.
func (h header) pack() transport.Header {
	return words(h.kind, h.flags, h.context, h.tag, h.typ, h.id, h.limit)
}

// words returns the words of a header with these fields. A caller that needs no header calls words; the fields then
// stay in registers.
func words(k kind, flags uint8, context uint32, tag int32, typ Type, id, limit uint32) transport.Header {
	return transport.Header{
		A: uint64(k) | uint64(flags)<<8 | uint64(context)<<32,
		B: uint64(uint32(tag)) | uint64(typ)<<32,
		C: uint64(id) | uint64(limit)<<32,
	}
}

// kindOf returns the kind of a frame with the words w.
func kindOf(w transport.Header) kind { return kind(w.A) }

// isSync reports whether the words w have flagSync.
func isSync(w transport.Header) bool { return w.A>>8&flagSync != 0 }

// withLimit returns w with this limit.
func withLimit(w transport.Header, limit uint32) transport.Header {
	w.C = uint64(uint32(w.C)) | uint64(limit)<<32
	return w
}

// withOffset returns w, the words of a kindData frame, with this offset.
func withOffset(w transport.Header, offset int) transport.Header {
	w.B = uint64(offset)
	return w
}

// parseHeader is the inverse of pack. It returns ErrProtocol for an unknown kind or flag, for bits 16-31 of word A
// that are not zero, and for a negative tag, except in kindData.
func parseHeader(w transport.Header) (header, error) {
	h := header{
		kind:    kind(w.A),
		flags:   uint8(w.A >> 8),
		context: uint32(w.A >> 32),
		tag:     int32(uint32(w.B)),
		typ:     Type(w.B >> 32),
		id:      uint32(w.C),
		limit:   uint32(w.C >> 32),
	}
	if h.kind == 0 || h.kind >= kindEnd || h.flags&^flagsKnown != 0 || w.A>>16&0xffff != 0 {
		return header{}, fmt.Errorf("%w: frame header %#x", ErrProtocol, w.A)
	}
	if h.tag < 0 && h.kind != kindData {
		return header{}, fmt.Errorf("%w: frame of kind %d with tag %d", ErrProtocol, h.kind, h.tag)
	}
	return h, nil
}

// envelope is the body of kindRTS and kindHandover, and the beginning of the body of kindActor with flagKey.
// It contains the length of the message. With flagKey, or in kindHandover, it also contains the key of the
// memory that holds the bytes.
//
//	bytes 0-7 length, 8-15 key address, 16-23 key token, little endian
type envelope struct {
	length uint64
	key    transport.Key
}

// envelopeSize is the length of an envelope on the wire.
const envelopeSize = 24

// put writes v to b.
func (v envelope) put(b *[envelopeSize]byte) {
	binary.LittleEndian.PutUint64(b[0:], v.length)
	binary.LittleEndian.PutUint64(b[8:], v.key.Addr)
	binary.LittleEndian.PutUint64(b[16:], v.key.Token)
}

// envelope returns v as the body of a frame. The result is valid until the next use of e.body. The
// caller needs it only for one call of emit or transmit, which copies the body.
func (e *Engine) envelope(v envelope) []byte {
	body := (*[envelopeSize]byte)(e.body[:])
	v.put(body)
	return body[:]
}

// parseEnvelope is the inverse of put.
func parseEnvelope(b []byte) (envelope, error) {
	if len(b) != envelopeSize {
		return envelope{}, fmt.Errorf("%w: envelope of %d bytes", ErrProtocol, len(b))
	}
	v := envelope{
		length: binary.LittleEndian.Uint64(b[0:]),
		key:    transport.Key{Addr: binary.LittleEndian.Uint64(b[8:]), Token: binary.LittleEndian.Uint64(b[16:])},
	}
	if v.length > 1<<62 {
		return envelope{}, fmt.Errorf("%w: message of %d bytes", ErrProtocol, v.length)
	}
	return v, nil
}

// clearance is the body of kindCTS. It contains the number of bytes to send and the id of the receiver's
// operation. With flagKey, it also contains the key of the memory to write to.
//
//	bytes 0-7 room, 8-15 key address, 16-23 key token, 24-27 id, little endian
type clearance struct {
	room uint64
	key  transport.Key
	id   uint32
}

// clearanceSize is the length of a clearance on the wire.
const clearanceSize = 28

// put writes v to b.
func (v clearance) put(b *[clearanceSize]byte) {
	binary.LittleEndian.PutUint64(b[0:], v.room)
	binary.LittleEndian.PutUint64(b[8:], v.key.Addr)
	binary.LittleEndian.PutUint64(b[16:], v.key.Token)
	binary.LittleEndian.PutUint32(b[24:], v.id)
}

// parseClearance is the inverse of put.
func parseClearance(b []byte) (clearance, error) {
	if len(b) != clearanceSize {
		return clearance{}, fmt.Errorf("%w: clearance of %d bytes", ErrProtocol, len(b))
	}
	return clearance{
		room: binary.LittleEndian.Uint64(b[0:]),
		key:  transport.Key{Addr: binary.LittleEndian.Uint64(b[8:]), Token: binary.LittleEndian.Uint64(b[16:])},
		id:   binary.LittleEndian.Uint32(b[24:]),
	}, nil
}
