//go:build !linux

package hugepages

// FaultIn does nothing: this system has no call for it.
func FaultIn(_ []byte) {}
