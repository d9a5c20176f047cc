package checkpoint

import (
	"fmt"

	"github.com/gorun-hpc/gorun/runtime"
)

// Volume counts the bytes that a Store has sent and written since New, before and after compression.
type Volume struct {
	// Sent is the length, in bytes, of the copies that were sent to a keeper on another node, before
	// compression. SentAs is their length after compression.
	Sent, SentAs int64
	// Filed is the length, in bytes, of the copies that were written to files, before compression.
	// FiledAs is their length after compression.
	Filed, FiledAs int64
}

// Volume returns the numbers of bytes that were sent and written so far. Any goroutine may call it at any time.
func (s *Store) Volume() Volume {
	return Volume{Sent: s.sent.from.Load(), SentAs: s.sent.to.Load(), Filed: s.filed.from.Load(), FiledAs: s.filed.to.Load()}
}

// Explain implements runtime.Explainer: gorun -explain prints the result of Volume.
func (s *Store) Explain() []string {
	const mib = 1 << 20
	var lines []string
	v := s.Volume()
	if v.Sent > 0 {
		lines = append(lines, fmt.Sprintf("checkpoint: copies of %.1f MiB sent to another node as %.1f MiB", float64(v.Sent)/mib, float64(v.SentAs)/mib))
	}
	if v.Filed > 0 {
		lines = append(lines, fmt.Sprintf("checkpoint: copies of %.1f MiB written to files as %.1f MiB", float64(v.Filed)/mib, float64(v.FiledAs)/mib))
	}
	return lines
}

// introduce makes the store an attribute of the World's communicator, so that under gorun -explain World.Close
// calls Explain. If that communicator is already broken or closed, introduce does nothing.
func (s *Store) introduce(c *runtime.Comm) {
	_, _ = c.World().Comm().Attribute(s, func() (any, error) { return s, nil })
}
