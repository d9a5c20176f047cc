package runtime

import "github.com/gorun-hpc/gorun/internal/flight"

// Recorder returns the flight recorder of this rank, in which libraries record their operations, and
// the context under which it knows the communicator. Its type is internal: it is for libraries of
// this module.
func (c *Comm) Recorder() (r *flight.Recorder, context uint32) {
	return c.engine.Recorder(), c.core.number * contextStride
}
