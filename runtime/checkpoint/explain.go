package checkpoint

import (
	"fmt"

	"github.com/gorun-hpc/gorun/runtime"
)

// Volume is how much of a Store went where its copies are, in bytes since it was made.
type Volume struct {
	// Sent is the length of the copies for a keeper on another node, SentAs what was sent of them.
	Sent, SentAs int64
	// Filed is the length of the copies in files, FiledAs what was written of them.
	Filed, FiledAs int64
}

// Volume returns how much was compressed to what. It may be called at any time.
func (s *Store) Volume() Volume {
	return Volume{Sent: s.sent.from.Load(), SentAs: s.sent.to.Load(), Filed: s.filed.from.Load(), FiledAs: s.filed.to.Load()}
}

// Explain implements runtime.Explainer: gorun -explain prints what Volume returns.
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

// introduce has the World explain the store at its end.
func (s *Store) introduce(c *runtime.Comm) error {
	_, err := c.World().Comm().Attribute(s, func() (any, error) { return s, nil })
	return err
}
