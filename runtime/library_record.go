package runtime

import "github.com/gorun-hpc/gorun/internal/flight"

// Recorder returns the flight recorder of this rank, in which libraries record their operations, and
// the engine's context (an integer) that identifies the communicator in the records. The type of the
// recorder is internal: only libraries of this module can use it.
func (c *Comm) Recorder() (r *flight.Recorder, context uint32) {
	return c.engine.Recorder(), c.core.number * contextStride
}
