package bootstrap

import (
	"encoding/binary"
	"fmt"
)

// bookOf returns the book that a book frame contains, or the book on the shelf that a shelved frame
// announces.
func (s *Session) bookOf(k kind, body []byte) (*Book, error) {
	if k == kindBook {
		return parseBook(body)
	}
	s.sending.Lock()
	shelf := s.shelf
	s.sending.Unlock()
	if len(body) != 8 {
		return nil, fmt.Errorf("bootstrap: message of %d bytes about a book on a shelf of %d bytes: %w", len(body), len(shelf), ErrMalformed)
	}
	length := binary.LittleEndian.Uint64(body)
	if length > uint64(len(shelf)) {
		return nil, fmt.Errorf("bootstrap: book of %d bytes on a shelf of %d bytes: %w", length, len(shelf), ErrMalformed)
	}
	return openBook(shelf[:length])
}
