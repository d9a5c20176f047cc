//go:build !portable

package bootstrap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// EnvRendezvous is the variable with the path of a directory that all hosts of a job share. Ranks that a
// launcher without PMI has started meet through a file in this directory. If the variable is unset, the
// directory is gorun in the user's cache directory.
const EnvRendezvous = "GORUN_RENDEZVOUS"

// meetingFile is the exchange through a file that only the user can read, in a directory that all hosts
// share.
type meetingFile struct {
	name string
	own  string // the text that this process has written, "" if it has written none

	missed uint // number of calls of find that found no file
}

// newMeetingFile returns the meetingFile of a job, and makes its directory.
func newMeetingFile(job string) (*meetingFile, error) {
	dir := os.Getenv(EnvRendezvous)
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("bootstrap: %w: %s names a directory that all hosts share", err, EnvRendezvous)
		}
		dir = filepath.Join(cache, "gorun")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("bootstrap: %w: %s names a directory that all hosts share", err, EnvRendezvous)
	}
	return &meetingFile{name: filepath.Join(dir, "meeting-"+job)}, nil
}

// publish writes the file. An earlier job of the same name may have left a file, which publish replaces.
func (f *meetingFile) publish(p point) error {
	part, err := os.CreateTemp(filepath.Dir(f.name), "part-") // with mode 0600
	if err != nil {
		return fmt.Errorf("bootstrap: %w: %s names a directory that all hosts share", err, EnvRendezvous)
	}
	f.own = p.encode()
	_, err = part.WriteString(f.own)
	err = errors.Join(err, part.Close())
	if err == nil {
		err = os.Rename(part.Name(), f.name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("bootstrap: place to meet: %w", err), os.Remove(part.Name()))
	}
	return nil
}

// find reads the file that rank 0 has written. It refuses a file that other users can access.
func (f *meetingFile) find() (point, error) {
	fd, err := unix.Open(f.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f.refresh()
		return point{}, fmt.Errorf("there is no %s: if rank 0 is on another host, %s must name a directory that all share (mpirun -x %s passes it on): %w",
			f.name, EnvRendezvous, EnvRendezvous, err)
	}
	if err != nil {
		return point{}, fmt.Errorf("%s: %w", f.name, err)
	}
	file := os.NewFile(uintptr(fd), f.name)
	defer func() { _ = file.Close() }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return point{}, fmt.Errorf("%s: %w", f.name, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 {
		return point{}, fmt.Errorf("%s is not a file of this user alone (user %d, mode %o)", f.name, st.Uid, st.Mode)
	}
	text := make([]byte, 2048)
	n, err := file.ReadAt(text, 0)
	if n == 0 {
		return point{}, fmt.Errorf("%s: %w", f.name, err)
	}
	return parsePoint(string(text[:n]))
}

// refresh makes and removes a file in the directory. An NFS client remembers for a minute that a file does
// not exist, but asks the server again after a change of the directory (nfs(5), "Directory entry caching").
// refresh changes the directory only at calls 1, 2, 4, 8 and so on (exponential back-off).
func (f *meetingFile) refresh() {
	f.missed++
	if f.missed&(f.missed-1) != 0 {
		return
	}
	if part, err := os.CreateTemp(filepath.Dir(f.name), "part-"); err == nil {
		_ = part.Close()
		_ = os.Remove(part.Name())
	}
}

// over removes the file that publish has written.
func (f *meetingFile) over() error {
	now, err := os.ReadFile(f.name)
	if err != nil || string(now) != f.own {
		return err // if err is nil, another job with the same name has replaced the file
	}
	return os.Remove(f.name)
}
