package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// Scan combines the slices send of the members 0 to i, element by element, and stores the result in recv of
// member i. recv must have the length of send, and may be send itself.
func Scan[T any](c *runtime.Comm, send, recv []T, op Op) error {
	return scan(new(call), c, message.Scan, send, recv, op).wait()
}

// IScan starts a Scan.
func IScan[T any](c *runtime.Comm, send, recv []T, op Op) runtime.Request {
	return scan(new(call), c, message.Scan, send, recv, op).start()
}

// ScanInit sets up a Scan.
func ScanInit[T any](c *runtime.Comm, send, recv []T, op Op) *runtime.Persistent {
	return scan(new(call), c, message.Scan, send, recv, op).persist()
}

// ExScan combines the slices send of the members 0 to i-1, element by element, and stores the result in recv
// of member i. recv must have the length of send, and may be send itself. At member 0, recv stays
// unchanged.
func ExScan[T any](c *runtime.Comm, send, recv []T, op Op) error {
	return scan(new(call), c, message.ExScan, send, recv, op).wait()
}

// IExScan starts an ExScan.
func IExScan[T any](c *runtime.Comm, send, recv []T, op Op) runtime.Request {
	return scan(new(call), c, message.ExScan, send, recv, op).start()
}

// ExScanInit sets up an ExScan.
func ExScanInit[T any](c *runtime.Comm, send, recv []T, op Op) *runtime.Persistent {
	return scan(new(call), c, message.ExScan, send, recv, op).persist()
}

func scan[T any](k *call, c *runtime.Comm, which message.Operation, send, recv []T, op Op) *call {
	if !onFor[T](k, c, which) || !with[T](k, op) {
		return k
	}
	k.Send, k.Recv = kernel.Bytes(send), kernel.Bytes(recv)
	k.checkReduce(max(k.Reduction.Elem, 1))
	return k.of(len(k.Send), len(k.Send))
}
