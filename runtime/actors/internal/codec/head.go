package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/asynkron/protoactor-go/actor"
)

// ErrMalformed is the error for bytes that no correct peer sends.
var ErrMalformed = errors.New("malformed actor message")

// ErrHead is the error for a head that is too long, or whose parts are too long or too many.
var ErrHead = fmt.Errorf("the name, the sender or the headers are too long for a message to another rank: "+
	"at most %d bytes each, at most %d headers, and at most %d bytes in all", math.MaxUint16, math.MaxUint16, headMax)

// Kinds of actor messages. Bits 0-7 of the tag contain the kind, bits 8-30 the length of the head in
// bytes. The body consists of the head, which may be empty, and the contents. The comment of each
// kind describes the contents. In a message of KindLarge, the contents precede the head. So the sender can read
// the announcement of a refused message, of which it gets only the first bytes.
const (
	KindName   = 1 + iota // no head; the name of the actor to which the stream leads
	KindUser              // a message of the program
	KindSystem            // a system message of protoactor, whose type is NumberWatch to NumberStop
	KindDefine            // no head; the Definition of a type
	KindProbe             // no head; a probe of package deadlock
	KindLarge             // the announcement of a long message of the program
	KindSettle            // no head; the credit spent on the stream: 32 bits, little endian
	KindEnd               // no kind: the first unused value
)

// headMax bounds the length of a head in bytes.
const headMax = 1<<23 - 1

// Tag returns the tag of a kind and a length of the head.
func Tag(kind, head int) uint32 { return uint32(kind) | uint32(head)<<8 }

// SplitTag is the inverse of Tag.
func SplitTag(t uint32) (kind, head int) { return int(t & 0xff), int(t >> 8) }

// Split splits the body of a message with the tag t. If the body is too short or, in a message of KindLarge, too long,
// whole is false. In this case, head and contents are nil, except in a message of KindLarge whose announcement is
// complete.
func Split(t uint32, body []byte) (kind int, head, contents []byte, whole bool) {
	kind, n := SplitTag(t)
	switch {
	case kind != KindLarge && n <= len(body):
		return kind, body[:n], body[n:], true
	case kind == KindLarge && len(body) >= announcementSize:
		contents, head = body[:announcementSize], body[announcementSize:]
		return kind, head, contents, len(head) == n
	}
	return kind, nil, nil, false
}

// Head is the head of a message. All of its parts are optional. The encoding of a head without any part is
// empty. The encoding of any other head is
//
//	byte 0  a bit for each part that follows: 1 name, 2 sender's id, 4 sender's address, 8 headers
//	then    the parts in this order: each is the length of a string and the string; the headers
//	        are a count and that many pairs of such strings; lengths and counts are 16 bits,
//	        little endian
type Head struct {
	Name    string // the addressee's name, in a message that does not go to the actor of a stream
	Sender  *actor.PID
	Headers map[string]string
}

// Bits of the parts of a head.
const (
	HeadName = 1 << iota
	HeadSender
	headAddress
	headHeaders
	headAll = HeadName | HeadSender | headAddress | headHeaders
)

// Append appends the encoded head to dst, or nothing if the head is empty. The argument own is the address
// of this rank. If own is the sender's address, Append omits the sender's address. Append returns ErrHead if
// a string has more than 65535 bytes, there are more than 65535 headers, or the head exceeds headMax.
func (h *Head) Append(dst []byte, own string) ([]byte, error) {
	if h.Name == "" && h.Sender == nil && len(h.Headers) == 0 {
		return dst, nil
	}
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
	if h.Name != "" {
		put(HeadName, h.Name)
	}
	if h.Sender != nil {
		put(HeadSender, h.Sender.Id)
		if h.Sender.Address != own {
			put(headAddress, h.Sender.Address)
		}
	}
	if n := len(h.Headers); n > 0 {
		fits = fits && n <= math.MaxUint16
		dst = binary.LittleEndian.AppendUint16(dst, uint16(n))
		for k, v := range h.Headers {
			put(headHeaders, k)
			put(headHeaders, v)
		}
	}
	if !fits || len(dst)-at > headMax {
		return dst[:at], ErrHead
	}
	return dst, nil
}

// sole returns the only part of a head, and the bit of this part, if the head consists of one string
// of at most 255 bytes. Most heads are of this kind. For any other head, form is 0.
func (h *Head) sole(own string) (one string, form byte) {
	switch {
	case h.Sender == nil:
		one, form = h.Name, HeadName
	case h.Name == "" && h.Sender.Address == own:
		one, form = h.Sender.Id, HeadSender
	}
	if one == "" || len(one) > math.MaxUint8 || len(h.Headers) > 0 {
		return "", 0
	}
	return one, form
}

// Sole returns the string of an encoded head if this string is not empty and is the head's only part. The
// argument form is the bit of this part. For any other head, Sole returns nil.
func Sole(head []byte, form byte) []byte {
	if n := len(head); n < 4 || head[0] != form || int(binary.LittleEndian.Uint16(head[1:])) != n-3 {
		return nil
	}
	return head[3:]
}

// RawHead is a parsed head. Its slices refer to the body that was parsed.
type RawHead struct {
	Name, Sender, Address []byte
	HasSender             bool
	Headers               map[string]string
}

// ParseHead is the inverse of Head.Append.
func ParseHead(b []byte) (RawHead, error) {
	var h RawHead
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
	if form&HeadName != 0 {
		h.Name = take()
	}
	if form&HeadSender != 0 {
		h.Sender, h.HasSender = take(), true
	}
	if form&headAddress != 0 {
		h.Address = take()
		ok = ok && h.HasSender
	}
	if form&headHeaders != 0 && len(b) >= 2 {
		n := int(binary.LittleEndian.Uint16(b))
		b = b[2:]
		h.Headers = make(map[string]string)
		for i := 0; i < n && ok; i++ {
			k := string(take())
			h.Headers[k] = string(take())
		}
	} else if form&headHeaders != 0 {
		ok = false
	}
	if !ok || len(b) != 0 {
		return RawHead{}, fmt.Errorf("%w: head", ErrMalformed)
	}
	return h, nil
}

// announcementSize is the length of an announcement in bytes.
const announcementSize = 12

// AppendAnnouncement appends the announcement of a long message. It consists of the length of the long
// message (64 bits) and the tag of the engine's message that contains it (32 bits), both little endian.
func AppendAnnouncement(b []byte, length int, tag uint32) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(b, uint64(length)), tag)
}

// ParseAnnouncement is the inverse of AppendAnnouncement.
func ParseAnnouncement(b []byte) (length int, tag uint32, err error) {
	if len(b) != announcementSize || binary.LittleEndian.Uint64(b) > 1<<46 || binary.LittleEndian.Uint32(b[8:]) > math.MaxInt32 {
		return 0, 0, fmt.Errorf("%w: announcement of a long message", ErrMalformed)
	}
	return int(binary.LittleEndian.Uint64(b)), binary.LittleEndian.Uint32(b[8:]), nil
}
