//go:build !linux

package hugepages

// FaultIn does nothing, because this system has no call to map pages in advance.
func FaultIn(_ []byte, _ bool) {}
