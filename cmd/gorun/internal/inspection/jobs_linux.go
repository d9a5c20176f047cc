package inspection

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// suffix ends the names of the sockets of this machine; the job's name is in front of it. Machines can share the
// directory, and from others all sockets look as if nobody listened.
func suffix() string {
	host, _ := os.Hostname() // of machines without a name all are one
	return fmt.Sprintf(".%08x", crc32.ChecksumIEEE([]byte(host)))
}

// Jobs lists the jobs of this user whose gorun runs on this machine, and removes the sockets of
// those whose gorun was killed. The error says which directories were not looked into; the jobs of
// the others are listed all the same.
func Jobs() ([]string, error) {
	var jobs []string
	var failed error
	for _, path := range Directories() {
		d, err := openDirectory(path, os.Geteuid())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			var more []string
			var removed bool
			if more, removed, err = d.jobs(); removed {
				err = errors.Join(err, d.leave())
			} else {
				err = errors.Join(err, d.close())
			}
			jobs = append(jobs, more...)
		}
		failed = errors.Join(failed, err)
	}
	slices.Sort(jobs)
	return slices.Compact(jobs), failed
}

// jobs lists the jobs of a directory and removes the sockets of those that have ended, if there are any.
func (d *directory) jobs() (jobs []string, removed bool, err error) {
	names, err := d.file.Readdirnames(-1)
	for _, name := range names {
		job, ours := strings.CutSuffix(name, suffix())
		if !ours {
			continue
		}
		switch conn, failure := d.dial(name); {
		case failure == nil:
			jobs = append(jobs, job)
			_ = conn.Close()
		case errors.Is(failure, unix.ECONNREFUSED):
			removed = true
			err = errors.Join(err, d.removeStale(name))
		case errors.Is(failure, unix.EAGAIN): // it has more clients than it takes
			jobs = append(jobs, job)
		}
	}
	return jobs, removed, err
}

// removeStale removes a socket to which nobody listens. Between its bind and its listen nobody does, either: then
// its gorun has the lock.
func (d *directory) removeStale(name string) error {
	if unix.Flock(int(d.file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil
	}
	defer func() { _ = unix.Flock(int(d.file.Fd()), unix.LOCK_UN) }()
	conn, err := d.dial(name)
	if err == nil {
		return conn.Close()
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return nil
	}
	return d.remove(name)
}

// find opens the directory with the socket of a job: one of this user, or for root of any. The error is ErrNoJob if there is none.
func find(job string) (*directory, error) {
	me := os.Geteuid()
	owners := map[string]int{}
	paths := Directories()
	for _, path := range paths {
		owners[path] = me
	}
	if me == 0 {
		for _, path := range ofOthers() {
			if _, own := owners[path]; !own {
				paths = append(paths, path)
				owners[path] = ownerOf(path)
			}
		}
	}
	for _, path := range paths {
		d, err := openDirectory(path, owners[path])
		if err != nil {
			continue // Jobs names it
		}
		var st unix.Stat_t
		if unix.Fstatat(int(d.file.Fd()), job+suffix(), &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			return d, nil
		}
		_ = d.close()
	}
	return nil, ErrNoJob
}

// ofOthers lists the directories of all users that are at the usual places.
func ofOthers() []string {
	var all []string
	for _, pattern := range []string{
		filepath.Join(runtimeDirectories, "*", underRuntime),
		filepath.Join(os.TempDir(), inTemporary+"*"),
		filepath.Join(temporary, inTemporary+"*"),
	} {
		some, _ := filepath.Glob(pattern) // no error but that of a pattern
		for _, path := range some {
			if ownerOf(path) >= 0 {
				all = append(all, path)
			}
		}
	}
	return all
}

// ownerOf returns the user whose directory has this path, -1 if it is none.
func ownerOf(path string) int {
	number, temporary := strings.CutPrefix(filepath.Base(path), inTemporary)
	if !temporary {
		number = filepath.Base(filepath.Dir(path))
	}
	user, err := strconv.Atoi(number)
	if err != nil {
		return -1
	}
	return user
}
