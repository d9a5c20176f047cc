package main

import "time"

// writers remembers which source has written last, and when another one did.
type writers struct {
	last          *source
	at, anotherAt time.Time
}

// wrote says that a source has written.
func (w *writers) wrote(s *source, now time.Time) {
	if s != w.last {
		w.last, w.anotherAt = s, w.at
	}
	w.at = now
}

// others returns when a source other than s has last written.
func (w *writers) others(s *source) time.Time {
	if s == w.last {
		return w.anotherAt
	}
	return w.at
}

// stalled says that no source was looked at for a time, since gorun was busy or its own output
// was not read: what the ranks have written meanwhile is not known yet.
func (o *output) stalled(d time.Duration) {
	o.writers.at, o.writers.anotherAt = o.writers.at.Add(d), o.writers.anotherAt.Add(d)
	for _, s := range o.partial {
		s.lines.stalled(d)
	}
}
