package actors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// The words of an actor message:
//
//	Stream  the number of the stream at the sender; 0: the head names the addressee
//	Tag   bits 0-7 what the actor message is, 8-30 the length of the head in bytes
//	Type  of the message, in terms of the sender
//	ID    the epoch of the rank that is addressed
//
// The body is the head, if it has a length, and then what Tag says.
const (
	tagName   = 1 + iota // no head; the name of the actor that the stream leads to
	tagUser              // a message
	tagSystem            // a message of protoactor itself: typeWatch and the following
	tagDefine            // no head; what Type means from now on: a definition
	tagProbe             // no head; an actor that waits asks who it waits for: a probe
	tagLarge             // the announcement of a message, see large.go
	tagSettle            // no head; what was spent of the credit of the stream: 32 bits, little endian
	tagEnd
)

// headMax bounds the length of a head.
const headMax = 1<<23 - 1

// errWire refuses what no correct peer sends.
var errWire = errors.New("malformed actor message")

// tagOf packs a tag.
func tagOf(tag, head int) uint32 { return uint32(tag) | uint32(head)<<8 }

// splitTag is the inverse of tagOf.
func splitTag(t uint32) (tag, head int) { return int(t & 0xff), int(t >> 8) }

// head is what accompanies a message. All of it is optional.
//
//	byte 0  which follow: 1 name, 2 sender's id, 4 sender's address, 8 headers
//	then    each as a string, the headers as a count and so many pairs; lengths
//	        and counts are 16 bits, little endian
type head struct {
	name    string // of the addressee, where no stream says so
	sender  *actor.PID
	headers map[string]string
}

// What a head contains.
const (
	headName = 1 << iota
	headSender
	headAddress
	headHeaders
	headAll = headName | headSender | headAddress | headHeaders
)

// empty reports whether the head need not travel.
func (h *head) empty() bool { return h.name == "" && h.sender == nil && len(h.headers) == 0 }

// append appends the head to dst. own is the address of this rank, which is not
// spelled out. Strings beyond 65535 bytes do not fit.
func (h *head) append(dst []byte, own string) ([]byte, error) {
	if one, form := h.sole(own); form != 0 {
		return append(append(dst, form, byte(len(one)), 0), one...), nil
	}
	at := len(dst)
	dst = append(dst, 0)
	fits := true
	put := func(bit byte, s string) {
		dst[at] |= bit
		fits = fits && len(s) <= math.MaxUint16
		dst = append(binary.LittleEndian.AppendUint16(dst, uint16(len(s))), s...)
	}
	if h.name != "" {
		put(headName, h.name)
	}
	if h.sender != nil {
		put(headSender, h.sender.Id)
		if h.sender.Address != own {
			put(headAddress, h.sender.Address)
		}
	}
	if n := len(h.headers); n > 0 {
		fits = fits && n <= math.MaxUint16
		dst = binary.LittleEndian.AppendUint16(dst, uint16(n))
		for k, v := range h.headers {
			put(headHeaders, k)
			put(headHeaders, v)
		}
	}
	if !fits || len(dst)-at > headMax {
		return dst[:at], fmt.Errorf("%w: a name or header of more than %d bytes", errWire, math.MaxUint16)
	}
	return dst, nil
}

// sole returns what the head has, if that is one string and short, as in most heads, and
// which; else 0.
func (h *head) sole(own string) (one string, form byte) {
	switch {
	case h.sender == nil:
		one, form = h.name, headName
	case h.name == "" && h.sender.Address == own:
		one, form = h.sender.Id, headSender
	}
	if one == "" || len(one) > math.MaxUint8 || len(h.headers) > 0 {
		return "", 0
	}
	return one, form
}

// sole is the inverse of head.sole: it returns the string that is all a head has, if it
// is of that form, else nil.
func sole(head []byte, form byte) []byte {
	if n := len(head); n < 4 || head[0] != form || int(binary.LittleEndian.Uint16(head[1:])) != n-3 {
		return nil
	}
	return head[3:]
}

// rawHead is a head as it arrives. Its slices are those of the body.
type rawHead struct {
	name, sender, address []byte
	hasSender             bool
	headers               map[string]string
}

// parseHead is the inverse of head.append.
func parseHead(b []byte) (rawHead, error) {
	var h rawHead
	if len(b) == 0 {
		return h, nil
	}
	form := b[0]
	b = b[1:]
	ok := form&^byte(headAll) == 0
	take := func() []byte {
		if len(b) < 2 || len(b)-2 < int(binary.LittleEndian.Uint16(b)) {
			ok = false
			return nil
		}
		n := int(binary.LittleEndian.Uint16(b))
		s := b[2 : 2+n]
		b = b[2+n:]
		return s
	}
	if form&headName != 0 {
		h.name = take()
	}
	if form&headSender != 0 {
		h.sender, h.hasSender = take(), true
	}
	if form&headAddress != 0 {
		h.address = take()
		ok = ok && h.hasSender
	}
	if form&headHeaders != 0 && len(b) >= 2 {
		n := int(binary.LittleEndian.Uint16(b))
		b = b[2:]
		h.headers = make(map[string]string)
		for i := 0; i < n && ok; i++ {
			k := string(take())
			h.headers[k] = string(take())
		}
	} else if form&headHeaders != 0 {
		ok = false
	}
	if !ok || len(b) != 0 {
		return rawHead{}, fmt.Errorf("%w: head", errWire)
	}
	return h, nil
}

// actorOverhead is charged for every message besides its bytes: about what a
// receiver spends on one that waits.
const actorOverhead = 128

// costOf is what a message of n bytes takes of the credit of a stream. At most a
// quarter of the window, so that some long ones are on their way at a time; and a
// message that does not fit waits for bytes of which the receiver will tell, because
// it tells of each half.
func costOf(n int) uint32 {
	return uint32(min(n+actorOverhead, engine.StreamWindow/4))
}
