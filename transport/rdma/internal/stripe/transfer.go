package stripe

// Path is one of the two connections.
type Path uint8

const (
	// Main carries messages, too.
	Main Path = iota
	// Side carries parts alone.
	Side
	paths
)

// Part is Len bytes at Off of a transfer.
type Part struct{ Off, Len int }

// Transfer is what has become of the bytes of one Get or Put. The zero value is a transfer of
// no bytes. It does not allocate but where its lists grow, and keeps them in Begin.
type Transfer struct {
	// put says that parts have to be confirmed.
	put        bool
	size, next int
	// again are parts that are left behind next, held those that will be.
	again, held []Part
	lists       [paths]list
}

// list is the parts posted on a path that are not done, in order. The first done of them are
// complete, the first sure are confirmed, the first marked of them are before the mark that is
// under way, if marking.
type list struct {
	parts      []Part
	done, sure int
	marked     int
	marking    bool
}

// Begin makes it a transfer of size bytes of which nothing has been posted. put says that parts
// have to be confirmed.
func (t *Transfer) Begin(size int, put bool) {
	t.size, t.next, t.put = size, 0, put
	t.again, t.held = t.again[:0], t.held[:0]
	for i := range t.lists {
		t.lists[i] = list{parts: t.lists[i].parts[:0]}
	}
}

// Left is the number of bytes that can be posted.
func (t *Transfer) Left() int {
	n := t.size - t.next
	for _, p := range t.again {
		n += p.Len
	}
	return n
}

// Held reports whether parts wait for Release.
func (t *Transfer) Held() bool { return len(t.held) > 0 }

// Next returns the next part to post, of at most so many bytes. It is empty when nothing is left.
func (t *Transfer) Next(most int) Part {
	if len(t.again) > 0 {
		p := t.again[0]
		p.Len = min(p.Len, most)
		return p
	}
	return Part{t.next, min(t.size-t.next, most)}
}

// Post notes that the first n bytes of what Next returned were posted on a path.
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

// Completed notes that the oldest part on a path of which that was not known is complete.
func (t *Transfer) Completed(on Path) {
	l := &t.lists[on]
	if l.done == len(l.parts) {
		return
	}
	l.done++
	t.trim(l)
}

// Oldest returns the part that the next Completed on a path concerns.
func (t *Transfer) Oldest(on Path) Part {
	if l := &t.lists[on]; l.done < len(l.parts) {
		return l.parts[l.done]
	}
	return Part{}
}

// MarkDue reports whether a mark is to be sent behind the parts of a Put on a path: when all its
// parts are posted, and none is under way.
func (t *Transfer) MarkDue(on Path) bool {
	l := &t.lists[on]
	return t.put && t.Left() == 0 && len(t.held) == 0 && !l.marking && l.sure < len(l.parts)
}

// Mark notes that a mark was sent on a path.
func (t *Transfer) Mark(on Path) {
	l := &t.lists[on]
	l.marking, l.marked = true, len(l.parts)
}

// Confirmed notes that the owner has said that what was before the mark on a path is in place.
func (t *Transfer) Confirmed(on Path) {
	l := &t.lists[on]
	if !l.marking {
		return
	}
	l.sure, l.marking = l.marked, false
	t.trim(l)
}

// trim forgets the parts that are done.
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

// Lost takes back what the side connection had and is not done: its adapter uses the memory no
// more. That of a Put is held.
func (t *Transfer) Lost() {
	l := &t.lists[Side]
	if t.put {
		t.held = append(t.held, l.parts[l.sure:]...)
	} else {
		t.again = append(t.again, l.parts[l.done:]...)
	}
	*l = list{parts: l.parts[:0]}
}

// Release says that nothing of what was held can arrive any more.
func (t *Transfer) Release() {
	t.again = append(t.again, t.held...)
	t.held = t.held[:0]
}

// Under is the number of parts on a path that are not known to be complete.
func (t *Transfer) Under(on Path) int { return len(t.lists[on].parts) - t.lists[on].done }

// Placed reports whether all bytes of a Put are in place, although some Writes may not be known
// to be complete.
func (t *Transfer) Placed() bool {
	for i := range t.lists {
		if t.lists[i].sure < len(t.lists[i].parts) {
			return false
		}
	}
	return t.put && t.posted()
}

// posted reports whether nothing is left to be posted, now or later.
func (t *Transfer) posted() bool { return t.next == t.size && len(t.again)+len(t.held) == 0 }

// Done reports whether every part is done.
func (t *Transfer) Done() bool {
	return t.posted() && len(t.lists[Main].parts)+len(t.lists[Side].parts) == 0
}
