package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// ownFile is the path of the executable that this process runs, even if the file was replaced after the
// process started.
const ownFile = "/proc/self/exe"

// digest returns a value that identifies the contents of a file, or the reason why there is none. For an
// executable with a build ID of the go command, the value is that ID (see buildID) with the length of the file. The
// last part of the ID (the content ID) is a hash of the whole file. digest uses the ID because reading tens of
// MB on each host takes longer than the start of the agent. For other files, and for all files if whole is
// true, the value is the SHA-256 of the file.
func digest(path string, whole bool) link.Digest {
	// With O_NONBLOCK, opening a FIFO does not wait for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return link.Digest{Why: err.Error()}
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	switch {
	case err != nil:
		return link.Digest{Why: err.Error()}
	case !st.Mode().IsRegular():
		return link.Digest{Why: path + " is no regular file"}
	}
	if id := buildID(f); id != "" && !whole {
		return link.Digest{Hash: fmt.Appendf(nil, "%s %d", id, st.Size())}
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return link.Digest{Why: err.Error()}
	}
	return link.Digest{Hash: sum.Sum(nil)}
}

// isContentID reports whether a build ID ends with a hash of the executable. A build ID with this hash has four
// parts of 20 characters (cmd/go/internal/work, buildid.go). The first and the last part are the action ID and
// the content ID of the executable. The parts between them are the action ID and the content ID of its main
// package. Other linkers make other IDs or no ID. With -ldflags=-buildid=, the user sets or removes the ID.
func isContentID(id string) bool {
	parts := strings.Split(id, "/")
	return len(parts) == 4 && !slices.ContainsFunc(parts, func(p string) bool {
		return len(p) != 20 || strings.IndexFunc(p, func(c rune) bool { return !alphanumeric(c) && c != '_' && c != '-' }) >= 0
	})
}

func digit(c rune) bool { return c >= '0' && c <= '9' }

func alphanumeric(c rune) bool { return digit(c) || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }

// buildID returns the build ID that the go command has given an executable. It returns "" if no build ID
// identifies the contents. It does not change the file offset.
func buildID(f io.ReaderAt) string {
	executable, err := elf.NewFile(f)
	if err != nil {
		return ""
	}
	note := executable.Section(".note.go.buildid")
	if note == nil || note.Size > buildIDBytesMax {
		return ""
	}
	b, err := note.Data()
	// The note has the lengths of name and description, type 4, name, description (cmd/internal/buildid).
	const header = 16
	if err != nil || len(b) < header || string(b[12:header]) != "Go\x00\x00" {
		return ""
	}
	id := string(b[header:])
	if n := int64(executable.ByteOrder.Uint32(b[4:])); n < int64(len(id)) {
		id = id[:n]
	}
	if !isContentID(id) {
		return ""
	}
	return id
}

// buildIDBytesMax is the largest size of the note with a build ID.
const buildIDBytesMax = 4096

// released reports whether a version identifies the source code of gorun. The go command's version "(devel)"
// and the version of a commit with uncommitted changes do not identify it.
func released(version string) bool {
	rest, named := strings.CutPrefix(version, "v")
	core, label, labelled := strings.Cut(rest, "-")
	numbers := strings.Split(core, ".")
	other := func(c rune) bool { return !alphanumeric(c) && c != '.' && c != '-' }
	return named && len(numbers) == 3 && (!labelled || label != "" && strings.IndexFunc(label, other) < 0) &&
		!slices.ContainsFunc(numbers, func(n string) bool {
			return n == "" || strings.IndexFunc(n, func(c rune) bool { return !digit(c) }) >= 0
		})
}

// platform returns the operating system and the processor architecture of this executable.
func platform() string { return goruntime.GOOS + "/" + goruntime.GOARCH }

// files has the files of this machine that are compared with the files of the hosts: the programs, and gorun
// itself if its version does not identify its code or -copy is given.
type files struct {
	paths   []string
	digests []link.Digest
	own     link.Digest   // digest of gorun; zero if the version identifies gorun's code and -copy is not given
	ready   chan struct{} // closed when digests and own are set

	packing sync.Mutex     // guards packed
	packed  map[int][]byte // the compressed files that pack has read, by index in paths
}

// newFiles returns the files of a job, and starts a goroutine that computes their digests.
func (j *job) newFiles() *files {
	f := &files{ready: make(chan struct{}), packed: map[int][]byte{}}
	for i, r := range j.ranks {
		if i == 0 || j.ranks[i-1].path != r.path {
			f.add(r.path)
		}
	}
	go func() {
		defer close(f.ready)
		for _, path := range f.paths {
			f.digests = append(f.digests, digest(path, j.opts.copies))
		}
		f.own = ownDigest(j.opts.copies)
	}()
	return f
}

// ownDigest returns the digest of gorun. The digest is zero if whole is false and the version identifies
// gorun's code. With -copy, whole is true, because a host could run a gorun that differs from the gorun that
// was sent to it.
func ownDigest(whole bool) link.Digest {
	if !whole && released(moduleVersion()) {
		return link.Digest{}
	}
	return digest(ownFile, whole)
}

// add adds a file to f if f does not have it yet.
func (f *files) add(path string) {
	for _, p := range f.paths {
		if p == path {
			return
		}
	}
	if path != "" { // path is "" in a dry run, which does not look for the programs
		f.paths = append(f.paths, path)
	}
}

// differ reports whether the digests prove that two files have different contents.
func differ(a, b link.Digest) bool {
	return len(a.Hash) > 0 && len(b.Hash) > 0 && !bytes.Equal(a.Hash, b.Hash)
}

// compare returns an error if gorun or a Go program on a host differs from the same program on this machine. If a
// program that is not Go code differs, such as the shell of another distribution, compare only prints a message. It
// ignores hosts of another platform and, with -copy, differences of programs.
func (j *job) compare(hosts []*host) error {
	<-j.files.ready
	var errs []error
	other := func(is func(h *host) bool) string {
		var names []string
		for _, h := range hosts {
			if h.hello.Platform == platform() && is(h) {
				names = append(names, h.name)
			}
		}
		return strings.Join(names, ", ")
	}
	if names := other(func(h *host) bool { return differ(h.hello.Gorun, j.files.own) }); names != "" {
		errs = append(errs, fmt.Errorf("host %s: its gorun is another build of version %s than this one: copy this one there, name the right one with -agent-path, or send it with -copy", names, moduleVersion()))
	}
	for i, path := range j.files.paths {
		names := other(func(h *host) bool {
			return i < len(h.hello.Programs) && differ(h.hello.Programs[i], j.files.digests[i])
		})
		if names == "" || j.opts.copies {
			continue
		}
		text := fmt.Sprintf("host %s: %s is not the file that it is here", names, path)
		if _, err := buildinfo.ReadFile(path); err != nil {
			complain("%s", text)
			continue
		}
		errs = append(errs, errors.New(text+": copy it there, or send it with -copy"))
	}
	return errors.Join(errs...)
}
