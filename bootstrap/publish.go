package bootstrap

import (
	"encoding/binary"
	"fmt"
)

// takeCards acts on a cards frame, whose body is packed cards that a relay has gathered. The parameter by is
// one of the relay's ranks.
func (s *Server) takeCards(by int, packed []byte) error {
	cards, err := unpackCards(packed, len(s.members))
	if err != nil {
		return err
	}
	for _, c := range cards {
		s.mu.Lock()
		own := s.beside(by, c.Rank)
		s.mu.Unlock()
		if !own {
			return fmt.Errorf("rank %d: bootstrap: its card comes from another node: %w", c.Rank, ErrMalformed)
		}
		raw, err := c.Append(make([]byte, 0, c.Len()))
		if err == nil {
			err = s.accept(c.Rank, raw)
		}
		if err != nil {
			return fmt.Errorf("rank %d: %w", c.Rank, err)
		}
		s.events(Event{Kind: EventJoined, Rank: c.Rank})
	}
	return nil
}

// publish sends the book of these cards to all ranks that have neither ended nor left. Callers hold mu.
func (s *Server) publish(cards [][]byte) {
	book := appendBook(nil, cards)
	var frame []byte
	for rank := range s.members {
		m := &s.members[rank]
		if m.linked != nil || m.state > RankJoined {
			continue
		}
		if frame == nil {
			frame = bookFrame(s.shelf, book)
		}
		m.out.push(frame)
	}
	if len(s.links) > 0 {
		packed, err := packBook(book, cards, s.books)
		if err != nil {
			panic(err) // the cards were checked when they arrived
		}
		frame := appendFrame(nil, kindPacked, packed)
		for _, l := range s.links {
			l.out.push(frame)
		}
	}
	s.books++
}

// bookFrame puts the book on a shelf and returns the frame that announces it to the ranks. If the shelf
// cannot hold the book, it returns a frame that contains the book.
func bookFrame(shelf *Shelf, book []byte) []byte {
	if !shelf.put(book) {
		return appendFrame(nil, kindBook, book)
	}
	return appendFrame(nil, kindShelved, binary.LittleEndian.AppendUint64(nil, uint64(len(book))))
}

// Shelve sets the shelf on which the server puts the book for the ranks of its own node. Shelve must be
// called before the first call of Serve.
func (s *Server) Shelve(shelf *Shelf) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shelf = shelf
}
