package rdmacm

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestOpenSaysWhatHelps(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		loaded bool
		device bool
		want   string
	}{
		{"no module, no device", unix.ENOENT, false, false, "no such file or directory: there is no such file, nor an RDMA device; needed is the kernel module rdma_ucm: modprobe rdma_ucm"},
		{"no module", unix.ENOENT, false, true, "no such file or directory: there is no such file; needed is the kernel module rdma_ucm: modprobe rdma_ucm"},
		{"no file", unix.ENOENT, true, true, "there is the module rdma_ucm, but no such file; needed is the device file of the kernel's connection manager: run the container with --device "},
		{"no driver", unix.ENXIO, false, true, "there is the file without its driver; needed is the kernel module rdma_ucm: modprobe rdma_ucm"},
		{"no driver behind it", unix.ENODEV, true, true, "no such device: there is the file without its driver"},
		{"not in the group", unix.EACCES, true, true, "permission denied: there is mode -rw-r-----, user "},
		{"not in the container", unix.EPERM, true, true, "there is a device cgroup that forbids it; needed is a container that has the device: run the container with --device "},
		{"no descriptors", unix.EMFILE, true, true, "there is no descriptor left; needed is one descriptor: raise the limit of open files (ulimit -n, "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			p := place{device: filepath.Join(dir, "rdma_cm"), class: filepath.Join(dir, "class"), devices: filepath.Join(dir, "devices")}
			if test.loaded {
				require.NoError(t, os.Mkdir(p.class, 0o755))
			}
			if test.device {
				require.NoError(t, os.MkdirAll(filepath.Join(p.devices, "siw0"), 0o755))
			}
			if errors.Is(test.err, unix.EACCES) {
				require.NoError(t, os.WriteFile(p.device, nil, 0o640))
			}
			u := p.unavailable(test.err)
			require.ErrorContains(t, u, "rdma_cm: open "+p.device+": ")
			require.ErrorContains(t, u, test.want)
			require.ErrorIs(t, u, test.err)
		})
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	p := place{device: filepath.Join(dir, "rdma_cm"), class: dir, devices: dir}
	_, err := p.open()
	require.ErrorIs(t, err, unix.ENOENT)
	var u *UnavailableError
	require.ErrorAs(t, err, &u)
	require.Equal(t, p.device, u.Device)

	require.NoError(t, os.WriteFile(p.device, nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "abi_version"), []byte("4\n"), 0o644))
	c, err := p.open()
	require.NoError(t, err)
	flags, err := unix.FcntlInt(uintptr(c.Descriptor()), unix.F_GETFL, 0)
	require.NoError(t, err)
	require.Equal(t, unix.O_NONBLOCK|unix.O_RDWR, flags&(unix.O_NONBLOCK|unix.O_ACCMODE))
	flags, err = unix.FcntlInt(uintptr(c.Descriptor()), unix.F_GETFD, 0)
	require.NoError(t, err)
	require.Equal(t, unix.FD_CLOEXEC, flags)
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.Close(), os.ErrClosed)
	_, err = c.Create(nil)
	require.ErrorIs(t, err, os.ErrClosed)
	_, err = c.Next(new(Event))
	require.ErrorIs(t, err, os.ErrClosed)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "abi_version"), []byte("5\n"), 0o644))
	_, err = p.open()
	require.ErrorIs(t, err, unix.EPROTONOSUPPORT)
	require.ErrorContains(t, err, "there is version 5 of its ABI; needed is version 4")
}
