package bootstrap

import "os"

// Shelf is where a node keeps the book for its ranks: a part of the node memory that no rank
// has for itself. The ranks map it, so that the node has one copy.
type Shelf struct {
	file  *os.File // of its own
	at    int64
	bytes int64
}

// put writes the book. It reports false if there is no room, or no memory, and the ranks are
// then sent the book.
func (s *Shelf) put(book []byte) bool {
	if s == nil || int64(len(book)) > s.bytes {
		return false
	}
	_, err := s.file.WriteAt(book, s.at)
	return err == nil
}

// close ends the use of a shelf whose generation of the job is over.
func (s *Shelf) close() {
	if s != nil {
		_ = s.file.Close() // a descriptor of a memfd
	}
}
