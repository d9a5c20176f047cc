package main

import "time"

// writers records the source that wrote last (last), the time of that write (at), and the time at which
// another source last wrote (anotherAt).
type writers struct {
	last          *source
	at, anotherAt time.Time
}

// wrote records that s has written at time now.
func (w *writers) wrote(s *source, now time.Time) {
	if s != w.last {
		w.last, w.anotherAt = s, w.at
	}
	w.at = now
}

// others returns the time at which a source other than s last wrote.
func (w *writers) others(s *source) time.Time {
	if s == w.last {
		return w.anotherAt
	}
	return w.at
}

// stalled records that the copying goroutine took the time d to handle events, for example because a reader of gorun's
// output was slow. A source may have written during that time without being read. Therefore stalled extends all
// waiting times by d.
func (o *output) stalled(d time.Duration) {
	o.writers.at, o.writers.anotherAt = o.writers.at.Add(d), o.writers.anotherAt.Add(d)
	for _, s := range o.partial {
		s.lines.stalled(d)
	}
}
