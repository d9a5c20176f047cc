package stripe

// Path is one of the two connections of a pair of ranks.
type Path uint8

const (
	// Main is the main connection. It carries messages, and parts of transfers.
	Main Path = iota
	// Side is the side connection, which carries only parts.
	Side
	paths
)

// Part is a part of a transfer: Len bytes, from the offset Off on.
type Part struct{ Off, Len int }

// Transfer is the state of the bytes of one Get or Put. The zero value is a transfer of no bytes.
// A Transfer allocates only if its lists grow, and Begin keeps their memory.
type Transfer struct {
	// put is true for a Put: its parts have to be confirmed.
	put bool
	// size is the number of bytes of the transfer. The bytes from the offset next on have never
	// been posted.
	size, next int
	// again contains the parts before the offset next that are to be posted once more. held contains the
	// parts of a Put that have to wait: Release moves them from the field held to the field again.
	again, held []Part
	lists       [paths]list
}

// list contains the parts that were posted on a path and are not done, in the order of posting. The
// fields done, sure and marked are numbers of parts, counted from the beginning of the list. done
// counts the complete parts, and sure the confirmed parts. While marking is true, a mark is in
// transit, and marked counts the parts that were posted before this mark.
type list struct {
	parts      []Part
	done, sure int
	marked     int
	marking    bool
}

// Begin makes t a transfer of size bytes, of which no byte is posted yet. The argument put is true
// for a Put, whose parts have to be confirmed.
func (t *Transfer) Begin(size int, put bool) {
	t.size, t.next, t.put = size, 0, put
	t.again, t.held = t.again[:0], t.held[:0]
	for i := range t.lists {
		t.lists[i] = list{parts: t.lists[i].parts[:0]}
	}
}

// Left returns the number of bytes that can be posted now. Held parts do not count.
func (t *Transfer) Left() int {
	n := t.size - t.next
	for _, p := range t.again {
		n += p.Len
	}
	return n
}

// Next returns the next part to post. The argument most is the maximum length of this part. The
// part is empty if no bytes are left to post.
func (t *Transfer) Next(most int) Part {
	if len(t.again) > 0 {
		p := t.again[0]
		p.Len = min(p.Len, most)
		return p
	}
	return Part{t.next, min(t.size-t.next, most)}
}

// Post records that the first n bytes of the part that Next returned were posted on a path.
func (t *Transfer) Post(on Path, n int) {
	p := Part{t.next, n}
	if len(t.again) > 0 {
		first := &t.again[0]
		p.Off = first.Off
		first.Off, first.Len = first.Off+n, first.Len-n
		if first.Len == 0 {
			t.again = t.again[:copy(t.again, t.again[1:])]
		}
	} else {
		t.next += n
	}
	l := &t.lists[on]
	l.parts = append(l.parts, p)
}

// Completed records that Oldest, the oldest incomplete part on a path, is complete.
func (t *Transfer) Completed(on Path) {
	l := &t.lists[on]
	if l.done == len(l.parts) {
		return
	}
	l.done++
	t.trim(l)
}

// Oldest returns the oldest incomplete part on a path, or an empty part if there is no incomplete
// part. The next call of Completed for this path concerns this part.
func (t *Transfer) Oldest(on Path) Part {
	if l := &t.lists[on]; l.done < len(l.parts) {
		return l.parts[l.done]
	}
	return Part{}
}

// MarkDue reports whether a mark is to be sent after the parts of a Put on a path. A mark is due
// if all bytes of the Put are posted, the path has unconfirmed parts, and no mark is in transit on
// it.
func (t *Transfer) MarkDue(on Path) bool {
	l := &t.lists[on]
	return t.put && t.Left() == 0 && len(t.held) == 0 && !l.marking && l.sure < len(l.parts)
}

// Mark records that a mark was sent on a path.
func (t *Transfer) Mark(on Path) {
	l := &t.lists[on]
	l.marking, l.marked = true, len(l.parts)
}

// Confirmed records that the owner has confirmed the mark on a path: all parts that were posted
// before the mark are in place.
func (t *Transfer) Confirmed(on Path) {
	l := &t.lists[on]
	if !l.marking {
		return
	}
	l.sure, l.marking = l.marked, false
	t.trim(l)
}

// trim removes the parts that are done from a list.
func (t *Transfer) trim(l *list) {
	n := l.done
	if t.put {
		n = min(n, l.sure)
		l.sure -= n
		l.marked -= min(n, l.marked)
	}
	l.done -= n
	l.parts = l.parts[:copy(l.parts, l.parts[n:])]
}

// Lost takes back parts that were posted on the side connection. The caller must have freed the
// connection before, so that its adapter does not access the memory any more. The parts of a Get
// that are not complete are to be posted again. The parts of a Put that are not confirmed are held
// until Release.
func (t *Transfer) Lost() {
	l := &t.lists[Side]
	if t.put {
		t.held = append(t.held, l.parts[l.sure:]...)
	} else {
		t.again = append(t.again, l.parts[l.done:]...)
	}
	*l = list{parts: l.parts[:0]}
}

// Release moves the held parts to the parts that are to be posted again. The caller calls Release
// when none of their Writes can arrive any more.
func (t *Transfer) Release() {
	t.again = append(t.again, t.held...)
	t.held = t.held[:0]
}

// Under returns the number of posted parts on a path whose completion has not been recorded.
func (t *Transfer) Under(on Path) int { return len(t.lists[on].parts) - t.lists[on].done }

// Placed reports whether all bytes of a Put are in place. Some Writes of the Put may not have
// completed yet.
func (t *Transfer) Placed() bool {
	for i := range t.lists {
		if t.lists[i].sure < len(t.lists[i].parts) {
			return false
		}
	}
	return t.put && t.posted()
}

// posted reports whether all bytes are posted and no part has to be posted again.
func (t *Transfer) posted() bool { return t.next == t.size && len(t.again)+len(t.held) == 0 }

// Done reports whether every part is done.
func (t *Transfer) Done() bool {
	return t.posted() && len(t.lists[Main].parts)+len(t.lists[Side].parts) == 0
}
