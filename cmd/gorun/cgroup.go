package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/cgroup"
)

// ownCgroup is a containment that puts the job in a cgroup v2 of its own.
type ownCgroup struct {
	dir string
	fd  *os.File
}

// newCgroup chooses a directory for a job below the cgroup of this process.
func newCgroup(id string) (*ownCgroup, error) {
	parent, err := cgroup.Own()
	if err != nil {
		return nil, err
	}
	// To move a process into a child cgroup, gorun needs write permission for the file cgroup.procs of the
	// common ancestor (cgroups(7), "Delegation").
	if err := unix.Access(filepath.Join(parent, "cgroup.procs"), unix.W_OK); err != nil {
		return nil, fmt.Errorf("gorun cannot move processes in cgroup %s: %w", parent, err)
	}
	return &ownCgroup{dir: filepath.Join(parent, "gorun-"+id)}, nil
}

func (c *ownCgroup) make() error {
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return err
	}
	// cgroup.kill exists since Linux 5.14.
	_, err := os.Stat(filepath.Join(c.dir, "cgroup.kill"))
	if err == nil {
		c.fd, err = os.Open(c.dir)
	}
	if err != nil {
		return errors.Join(err, os.Remove(c.dir))
	}
	return nil
}

func (c *ownCgroup) name() string     { return containCgroup }
func (c *ownCgroup) orders() []string { return []string{"-cgroup", c.dir} }

func (c *ownCgroup) prepare(attr *syscall.SysProcAttr) {
	attr.UseCgroupFD, attr.CgroupFD = true, int(c.fd.Fd())
}

func (c *ownCgroup) kill() error { return cgroup.Kill(c.dir) }

func (c *ownCgroup) remove() error {
	if c.fd == nil {
		return nil // make was not called or has failed
	}
	return errors.Join(c.fd.Close(), cgroup.Remove(c.dir))
}
