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
	if len(body) != 8 || binary.LittleEndian.Uint64(body) > uint64(len(shelf)) {
		return nil, fmt.Errorf("bootstrap: book on a shelf of %d bytes, told in %d: %w", len(shelf), len(body), ErrMalformed)
	}
	return openBook(shelf[:binary.LittleEndian.Uint64(body)])
}
