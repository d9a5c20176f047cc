package probe

import (
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// Interface is one network interface of the host.
type Interface struct {
	Name     string
	Up       bool
	Loopback bool
	// Virtual is true if the kernel names no hardware device for the interface.
	Virtual bool
	// Speed is the speed of the interface in Mbit/s. It is 0 if the speed is unknown.
	Speed int
	// Addresses are the addresses of the interface with the lengths of their network prefixes.
	Addresses []netip.Prefix
}

// String describes the interface in one line.
func (i *Interface) String() string {
	var b strings.Builder
	b.WriteString(i.Name)
	for _, a := range i.Addresses {
		b.WriteString(" " + a.String())
	}
	var notes []string
	if !i.Up {
		notes = append(notes, "down")
	}
	if i.Loopback {
		notes = append(notes, "loopback")
	}
	if len(i.Addresses) == 0 {
		notes = append(notes, "no address")
	}
	if len(notes) > 0 {
		b.WriteString(" (" + strings.Join(notes, ", ") + ")")
	}
	return b.String()
}

// Host is the source of all data that a probe reads. Tests replace its functions.
type Host struct {
	// Files is the root of the file system.
	Files fs.FS
	// Interfaces lists the network interfaces, in the kernel's order.
	Interfaces func() ([]Interface, error)
}

// System returns the Host on which this process runs.
func System() *Host {
	files := os.DirFS("/")
	return &Host{
		Files:      files,
		Interfaces: func() ([]Interface, error) { return interfaces(files) },
	}
}

// interfaces lists the network interfaces of the kernel.
func interfaces(files fs.FS) ([]Interface, error) {
	list, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list the network interfaces: %w", err)
	}
	all := make([]Interface, 0, len(list))
	for _, n := range list {
		i := Interface{
			Name: n.Name, Up: n.Flags&net.FlagUp != 0, Loopback: n.Flags&net.FlagLoopback != 0,
			Virtual: !exists(files, "sys/class/net/"+n.Name+"/device"), Speed: speed(files, n.Name),
		}
		addresses, err := n.Addrs()
		if err != nil {
			continue // the interface was removed after it was listed
		}
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				i.Addresses = append(i.Addresses, netip.PrefixFrom(p.Addr().Unmap(), p.Bits()))
			}
		}
		all = append(all, i)
	}
	return all, nil
}

// speed returns the speed of an interface in Mbit/s. It returns 0 if the kernel reports no speed,
// or a speed of -1, as for virtual interfaces.
func speed(files fs.FS, name string) int {
	n, err := strconv.Atoi(line(files, "sys/class/net/"+name+"/speed"))
	if err != nil {
		return 0
	}
	return max(n, 0)
}

func exists(files fs.FS, name string) bool {
	_, err := fs.Stat(files, name)
	return err == nil
}

// line returns the text of a small file without white space around it. It returns "" if the file
// cannot be read.
func line(files fs.FS, name string) string {
	b, err := fs.ReadFile(files, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
