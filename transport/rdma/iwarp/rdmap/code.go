package rdmap

import (
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
)

// Fault returns the error that the code stands for, or nil if the layer is unknown. CodeOf is the
// inverse of Fault.
func (c Code) Fault() error {
	packed := uint16(c.Type)<<8 | uint16(c.Code)
	switch c.Layer {
	case LayerRDMAP:
		return FaultError(packed)
	case LayerDDP:
		return ddp.FaultError(packed)
	case LayerLLP:
		return mpa.FaultError(c.Code)
	default:
		return nil
	}
}

// Text returns a description of the code.
func (c Code) Text() string {
	if err := c.Fault(); err != nil {
		return err.Error()
	}
	return "unknown layer"
}

// Unwrap returns the error that the code stands for, so that errors.Is finds it.
func (e *RemoteError) Unwrap() error { return e.Code.Fault() }
