package doctor

import (
	"os"
	"path/filepath"
	"strings"
)

// libraryPlaces lists the directories, as patterns relative to Machine.Root, in which dlopen(3)
// looks for libibverbs on the usual distributions.
var libraryPlaces = []string{"lib", "lib64", "usr/lib", "usr/lib64", "usr/local/lib", "lib/*-linux-gnu", "usr/lib/*-linux-gnu"}

// devices returns the names of the RDMA devices that the kernel knows.
func (m *Machine) devices() []string {
	entries, err := os.ReadDir(filepath.Join(m.Root, "sys/class/infiniband"))
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// software reports whether a device is one that the kernel implements in software (rxe, siw).
// Such a device does not need libibverbs.
func (m *Machine) software(device string) bool {
	target, err := os.Readlink(filepath.Join(m.Root, "sys/class/infiniband", device))
	return strings.HasPrefix(device, "rxe") || strings.HasPrefix(device, "siw") || err == nil && strings.Contains(target, "/virtual/")
}

// adapters checks the RDMA devices. None of its findings has the level Fail, because ranks use TCP if there is
// no RDMA.
func (m *Machine) adapters() []Finding {
	const check = "RDMA"
	devices := m.devices()
	if len(devices) == 0 {
		return []Finding{ok(check, "no adapter; between machines ranks use TCP")}
	}
	found := make([]Finding, 0, len(devices)+1)
	hardware := false
	for _, d := range devices {
		hardware = hardware || !m.software(d)
		found = append(found, m.adapter(d))
	}
	if nodes, _ := filepath.Glob(filepath.Join(m.Root, "dev/infiniband/uverbs*")); len(nodes) == 0 { // the pattern is valid
		found = append(found, warn(check, "modprobe ib_uverbs rdma_ucm; in a container pass /dev/infiniband through", "there is no /dev/infiniband/uverbsN, so that adapters cannot be opened; ranks use TCP"))
	}
	if !hardware {
		return found
	}
	for _, place := range libraryPlaces {
		if names, _ := filepath.Glob(filepath.Join(m.Root, place, "libibverbs.so.1")); len(names) > 0 { // the pattern is valid
			return append(found, ok(check, "libibverbs is there; programs need to be built with cgo to use it"))
		}
	}
	return append(found, warn(check, "apt-get install libibverbs1 ibverbs-providers", "hardware adapters need libibverbs.so.1, which is not there; ranks use TCP"))
}

// adapter checks whether a device has an active port.
func (m *Machine) adapter(device string) Finding {
	const check = "RDMA"
	ports, _ := filepath.Glob(filepath.Join(m.Root, "sys/class/infiniband", device, "ports/*/state")) // the pattern is valid
	for _, port := range ports {
		name, err := filepath.Rel(m.Root, port)
		if state := strings.Join(m.read(name), " "); err == nil && strings.HasSuffix(state, "ACTIVE") {
			return ok(check, "adapter %s has an active port", device)
		}
	}
	return warn(check, "look at the cable, at ip link, and on InfiniBand at the subnet manager", "adapter %s has no active port", device)
}
