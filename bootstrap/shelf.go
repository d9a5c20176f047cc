package bootstrap

import "os"

// Shelf is the part of the node memory in which the agent stores the book for the ranks of the node. It is
// outside the ranges of the ranks. All ranks map the shelf, so that a node needs only one copy of the book.
type Shelf struct {
	file  *os.File // the node memory, by a descriptor that belongs to the shelf
	at    int64    // offset of the shelf in file
	bytes int64    // size of the shelf
}

// put writes the book to the shelf. put returns false if the shelf is nil or too small, or if the write
// fails, for example because memory is short. The caller then has to send the book to the ranks.
func (s *Shelf) put(book []byte) bool {
	if s == nil || int64(len(book)) > s.bytes {
		return false
	}
	_, err := s.file.WriteAt(book, s.at)
	return err == nil
}

// close closes the shelf's descriptor, after the end of its generation of the job.
func (s *Shelf) close() {
	if s != nil {
		_ = s.file.Close() // an error of closing a memfd is harmless
	}
}
