package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	goruntime "runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// writeHost writes the properties of this host and of gorun on which the figures depend.
func writeHost(out *page) {
	out.say("# gorun over RDMA adapters\n\n")
	root := os.DirFS("/")
	version := "unknown"
	if b, ok := debug.ReadBuildInfo(); ok {
		version = b.Main.Version
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" {
				version += " " + s.Value
			}
		}
	}
	out.say("gorun: %s, %s %s/%s\n", version, goruntime.Version(), goruntime.GOOS, goruntime.GOARCH)
	out.say("kernel: %s\n", line(root, "proc/sys/kernel/osrelease"))
	out.say("processor: %s, %d of them\n", processor(root), goruntime.NumCPU())
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err == nil {
		text := fmt.Sprintf("%d KiB", limit.Cur>>10)
		if limit.Cur == unix.RLIM_INFINITY {
			text = "unlimited"
		}
		out.say("memory that may be locked: %s\n", text)
	}
}

// line returns the text of a file with a single line, or "unknown" if the file cannot be read or is empty.
func line(files fs.FS, name string) string {
	b, err := fs.ReadFile(files, name)
	text := strings.TrimSpace(string(b))
	if err != nil || text == "" {
		return "unknown"
	}
	return text
}

// processor returns the model name of the processor from /proc/cpuinfo. On some architectures, this file has no model
// name.
func processor(files fs.FS) string {
	b, err := fs.ReadFile(files, "proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for l := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown model"
}

// emptyGID is the value of an unused entry of the GID table.
const emptyGID = "0000:0000:0000:0000:0000:0000:0000:0000"

// writeFiles writes to out what sysfs says about a device (Documentation/ABI/stable/sysfs-class-infiniband).
func writeFiles(out *page, files fs.FS, name string) {
	at := path.Join("sys/class/infiniband", name)
	for _, f := range []struct{ what, file string }{
		{"firmware", "fw_ver"}, {"board", "board_id"}, {"hardware", "hca_type"}, {"node of memory", "device/numa_node"},
	} {
		if text := line(files, path.Join(at, f.file)); text != "unknown" {
			out.say("%s: %s\n", f.what, text)
		}
	}
	ports, _ := fs.ReadDir(files, path.Join(at, "ports")) // after an error, the report lists no ports
	for _, p := range ports {
		port := path.Join(at, "ports", p.Name())
		out.say("port %s: %s, %s, %s\n", p.Name(), line(files, path.Join(port, "state")), line(files, path.Join(port, "rate")), line(files, path.Join(port, "link_layer")))
		gids, _ := fs.ReadDir(files, path.Join(port, "gids"))
		for _, g := range gids {
			gid := line(files, path.Join(port, "gids", g.Name()))
			if gid == emptyGID || gid == "unknown" {
				continue
			}
			out.say("  gid %s: %s, %s, on %s\n", g.Name(), gid,
				line(files, path.Join(port, "gid_attrs/types", g.Name())), line(files, path.Join(port, "gid_attrs/ndevs", g.Name())))
		}
	}
}

// writeAttributes writes which provider drives a device, and the limits of the device.
func writeAttributes(out *page, a verbs.Attributes) {
	out.say("driven by: provider %s, %s\n", a.Provider, a.Transport)
	out.say("limits: message %d, requests %d, receives %d, segments %d, inline %d, reads in %d, out %d, shared receives %d, completions %d\n",
		a.MaxMessage, a.MaxRequests, a.MaxReceives, a.MaxSegments, a.MaxInline, a.MaxReadsIn, a.MaxReadsOut, a.MaxSharedReceives, a.MaxCompletions)
	out.say("private data: %d, %d, %d; immediate data %t, atomics %t, waits for receives %t\n",
		a.MaxRequestData, a.MaxAcceptData, a.MaxRejectData, a.ImmediateData, a.Atomics, a.WaitsForReceive)
}
