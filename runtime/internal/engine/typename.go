package engine

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of the texts of types that a peer may announce: the length of one text in bytes, and the
// number of texts. The limit of every transport for a frame with its headers is at least 1 KiB (rdma.Config.Slot).
// So a text fits into a frame of every transport.
const (
	maxTypeText = 512
	maxTypes    = 1 << 16
)

// typeSet is the set of types whose text was sent to a peer.
type typeSet struct {
	last Type // argument of the last call of the method "has" that returned true
	all  map[Type]struct{}
}

// has reports whether t is in the set.
func (s *typeSet) has(t Type) bool {
	if s.last == t {
		return true
	}
	if _, ok := s.all[t]; !ok {
		return false
	}
	s.last = t
	return true
}

// typeTexts holds the texts of types that a peer has announced.
type typeTexts struct {
	texts map[Type]string
	// theirs is a type of the peer, and ours is a type of this rank. They are the last pair of types
	// that the method agree found equal by their texts.
	theirs, ours Type
}

// add handles a TYPEDEF, which announces the text of a type. It returns ErrProtocol for a type or
// a text that no correct peer announces, or if the text or the number of texts exceeds its limit.
func (x *typeTexts) add(t Type, text []byte) error {
	if !t.texted() || len(text) > maxTypeText || !utf8.Valid(text) || len(x.texts) >= maxTypes {
		return fmt.Errorf("%w: text of %d bytes for type %d", ErrProtocol, len(text), t)
	}
	if x.texts == nil {
		x.texts = make(map[Type]string)
	}
	x.texts[t] = string(text)
	if x.theirs == t {
		x.theirs, x.ours = 0, 0
	}
	return nil
}

// typeName returns the text of a type of this rank, as it is announced to peers. If the text is
// longer than maxTypeText, a digest of the whole text replaces its end.
func (e *Engine) typeName(t Type) string {
	if t == 0 {
		return "bytes"
	}
	if e.cfg.TypeName == nil {
		return "type " + strconv.FormatUint(uint64(t), 10)
	}
	text := e.cfg.TypeName(t)
	if len(text) <= maxTypeText {
		return text
	}
	end := fmt.Sprintf("... %x", sha256.Sum256([]byte(text)))
	return strings.ToValidUTF8(text[:maxTypeText-len(end)], "") + end
}

// announce sends the text of a type to a peer. It sends nothing if the peer has the text already or the
// type needs no text. It is called before a message with that type is sent.
func (e *Engine) announce(p *peer, t Type) {
	if !t.texted() || p.announced.has(t) {
		return
	}
	if p.announced.all == nil {
		p.announced.all = make(map[Type]struct{})
	}
	p.announced.all[t] = struct{}{}
	e.post(p, header{kind: kindTypedef, typ: t}.pack(), []byte(e.typeName(t)))
}

// agree reports whether theirs, a type of the peer, has the same layout as ours, a type of this
// rank. If both types have texts, it compares the texts, because the numbers of such types mean nothing
// to another rank. Otherwise, and for messages of this rank to itself, it compares the numbers.
func (e *Engine) agree(p *peer, theirs, ours Type) bool {
	if theirs == ours && theirs >= TypeLabel {
		return true
	}
	if p.tr == nil || !theirs.texted() || !ours.texted() {
		return theirs == ours
	}
	x := &p.types
	if x.theirs == theirs && x.ours == ours {
		return true
	}
	text, ok := x.texts[theirs]
	if !ok || text != e.typeName(ours) {
		return false
	}
	x.theirs, x.ours = theirs, ours
	return true
}

// mismatch returns the error of a receive with type ours that got a message with type theirs.
func (e *Engine) mismatch(p *peer, tag int, theirs, ours Type) error {
	if theirs >= TypeLabel && ours >= TypeLabel {
		return &LabelError{Source: p.rank, Tag: tag, Sent: uint32(theirs - TypeLabel), Want: uint32(ours - TypeLabel)}
	}
	sent := e.typeName(theirs)
	if p.tr != nil && theirs >= TypeNamed {
		var ok bool
		if sent, ok = p.types.texts[theirs]; !ok {
			sent = "an unknown type"
		}
	}
	return &TypeMismatchError{Source: p.rank, Tag: tag, Sent: sent, Want: e.typeName(ours)}
}
