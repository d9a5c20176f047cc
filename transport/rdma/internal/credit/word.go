package credit

// Word is the control field that every frame carries; doc.go has the table of its bits.
type Word uint64

func word(sequence, ack, limit, confirmed uint16) Word {
	return Word(sequence)<<48 | Word(ack)<<32 | Word(limit)<<16 | Word(confirmed)
}

// Sequence returns the sequence number of an eager frame, 0 for other frames.
func (w Word) Sequence() uint16 { return uint16(w >> 48) }

func (w Word) ack() uint16       { return uint16(w >> 32) }
func (w Word) limit() uint16     { return uint16(w >> 16) }
func (w Word) confirmed() uint16 { return uint16(w) }

// before reports whether serial number a comes before b (RFC 1982).
func before(a, b uint16) bool { return int16(a-b) < 0 }
