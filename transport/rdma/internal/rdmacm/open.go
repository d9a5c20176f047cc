package rdmacm

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// place contains the paths of the kernel's connection manager. Open uses the paths of Linux, and tests
// use other paths.
type place struct {
	device  string
	class   string // the directory in sysfs that exists if the module is loaded
	devices string // the directory of the RDMA devices in sysfs
}

var here = place{device: "/dev/infiniband/rdma_cm", class: "/sys/class/misc/rdma_cm", devices: "/sys/class/infiniband"}

// UnavailableError reports that the connection manager cannot be opened. Its text says what was
// found on this host, what is needed, and how the user can provide it.
type UnavailableError struct {
	Device             string
	Have, Need, Remedy string
	// Err is the cause.
	Err error
}

// Error implements error.
func (u *UnavailableError) Error() string {
	return fmt.Sprintf("rdma_cm: open %s: %v: there is %s; needed is %s: %s", u.Device, u.Err, u.Have, u.Need, u.Remedy)
}

// Unwrap returns the cause.
func (u *UnavailableError) Unwrap() error { return u.Err }

// Open opens /dev/infiniband/rdma_cm in nonblocking mode. Its error is an UnavailableError.
func Open() (*Channel, error) { return here.open() }

func (p place) open() (*Channel, error) {
	if err := p.version(); err != nil {
		return nil, err
	}
	fd, err := unix.Open(p.device, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, p.unavailable(err)
	}
	return New(&file{fd: fd, write: unix.Write}), nil
}

// version checks the version of the ABI. If sysfs does not contain the version, as in some
// containers, the check succeeds.
func (p place) version() error {
	text, err := os.ReadFile(p.class + "/abi_version")
	if err != nil {
		return nil
	}
	v := strings.TrimSpace(string(text))
	if v == strconv.Itoa(abiVersion) {
		return nil
	}
	return &UnavailableError{
		Device: p.device, Have: "version " + v + " of its ABI", Need: "version " + strconv.Itoa(abiVersion),
		Remedy: "use a kernel that has it", Err: unix.EPROTONOSUPPORT,
	}
}

// unavailable returns the error for a device file that could not be opened because of err.
func (p place) unavailable(err error) *UnavailableError {
	u := &UnavailableError{Device: p.device, Err: err, Have: "no such file", Need: "the device file of the kernel's connection manager"}
	_, loaded := os.Stat(p.class)
	switch {
	case errors.Is(err, unix.EACCES):
		u.Have, u.Need = p.owner(), "permission to read and write it"
		u.Remedy = "add the user to its group, or in a container run with that group (--group-add)"
	case errors.Is(err, unix.EPERM):
		u.Have, u.Need = "a device cgroup that forbids it", "a container that has the device"
		u.Remedy = "run the container with --device " + p.device
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		u.Have, u.Need, u.Remedy = "the file without its driver", "the kernel module rdma_ucm", "modprobe rdma_ucm"
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		u.Have, u.Need, u.Remedy = "no descriptor left", "one descriptor", "raise the limit of open files (ulimit -n, or sysctl fs.file-max for all processes)"
	case loaded == nil:
		u.Have = "the module rdma_ucm, but no such file"
		u.Remedy = "run the container with --device " + p.device + ", or let udev make it"
	default:
		if entries, err := os.ReadDir(p.devices); err != nil || len(entries) == 0 {
			u.Have += ", nor an RDMA device"
		}
		u.Need, u.Remedy = "the kernel module rdma_ucm", "modprobe rdma_ucm"
	}
	return u
}

// owner returns a text with the mode, the owner and the group of the device file.
func (p place) owner() string {
	info, err := os.Stat(p.device)
	if err != nil {
		return "a directory without search permission"
	}
	s := fmt.Sprintf("mode %v", info.Mode().Perm())
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		group := strconv.FormatUint(uint64(stat.Gid), 10)
		if g, err := user.LookupGroupId(group); err == nil {
			group = g.Name
		}
		s += fmt.Sprintf(", user %d, group %s", stat.Uid, group)
	}
	return s
}
