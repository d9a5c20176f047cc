package shm

// A reader that is as fast as the writer of a ring can read thousands of records, each as soon as the record is
// written: the reader polls the cache line of the next record while the writer is about to write this line. The
// writer then has to take the line back from the reader's cache, and the reader has to fetch it again.
// Such a record takes two transfers of a line, one after the other, and the rate of short messages is
// less than half of the rate when the reader is some records behind the writer (docs/adr/0071). So a
// reader that has emptied its busiest ring, the first in Transport.rings, waits for a moment before it
// polls the ring again. Meanwhile the writer writes several records.

// lagSteps is the number of steps of this wait. A step takes the 4 cycles of a multiplication and
// an addition. Therefore the wait takes 0.24 us at 3 GHz. It is not measured by a clock,
// because the clock does not advance in a bubble of testing/synctest.
const lagSteps = 180

// fallBehind waits after a read that has emptied the ring, so that the writer of the ring gets ahead. If the
// budget of the Poll is one record, fallBehind does not wait: a goroutine that waits makes such a Poll while it
// has found nothing yet, and in a dialogue the next record in the ring is the answer that it waits for.
func (l *lane) fallBehind(budget int) {
	l.emptied = false
	if budget == 1 {
		return
	}
	x := l.spent
	for range lagSteps {
		x = x*0x9e3779b97f4a7c15 + 1
	}
	l.spent = x // otherwise the compiler would omit the loop
}
