package doctor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Machine is the source of the facts that the checks of one machine examine.
type Machine struct {
	// Root is the directory with the machine's files: "/", or a directory of a test.
	Root string
	// Superuser reports whether this process runs as the root user. Processors is the number of
	// processors that this process may use.
	Superuser  bool
	Processors int
	// Memfd tries memfd_create(2), and ReadMemory tries process_vm_readv(2).
	Memfd, ReadMemory func() error
}

// Check runs all checks that need only this machine.
func (m *Machine) Check() []Finding {
	found := []Finding{m.memfd(), m.readMemory()}
	found = append(found, m.limits()...)
	found = append(found, m.tasks(), m.quota(), m.hugePages())
	return append(found, m.adapters()...)
}

// read returns the words of a file below Root, or nil if the file cannot be read.
func (m *Machine) read(name string) []string {
	text, err := os.ReadFile(filepath.Join(m.Root, name))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// number returns the number at the beginning of a file below Root, or the argument absent if there is no number.
func (m *Machine) number(name string, absent int64) int64 {
	words := m.read(name)
	if len(words) == 0 {
		return absent
	}
	n, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return absent
	}
	return n
}

// Capabilities (capabilities(7)).
const (
	capIPCLock   = 14
	capSysPtrace = 19
)

// capable reports whether this process has a capability. The root user of a container lacks most
// capabilities, so Superuser is used only if the capabilities cannot be read.
func (m *Machine) capable(capability int) bool {
	words := m.read("proc/self/status")
	for i, w := range words[:max(0, len(words)-1)] {
		if w == "CapEff:" {
			set, err := strconv.ParseUint(words[i+1], 16, 64)
			return err == nil && set>>capability&1 != 0
		}
	}
	return m.Superuser
}

// memfd checks whether the shared memory of a node can be allocated.
func (m *Machine) memfd() Finding {
	if err := m.Memfd(); err != nil {
		return fail("memory", "let the container's seccomp profile permit memfd_create", "no shared memory can be made (memfd_create: %v)", err)
	}
	return ok("memory", "shared memory is made by memfd_create; /dev/shm is not used")
}

// readMemory checks whether a rank may copy long messages directly from the memory of another rank
// of the node.
func (m *Machine) readMemory() Finding {
	const (
		check  = "copies"
		slower = "long messages within this machine are copied twice, through shared memory"
	)
	if err := m.ReadMemory(); err != nil {
		return warn(check, "let the container permit process_vm_readv (docker run --cap-add=SYS_PTRACE)", "process_vm_readv: %v; %s", err, slower)
	}
	if scope := m.number("proc/sys/kernel/yama/ptrace_scope", 0); scope > 0 && !m.capable(capSysPtrace) {
		return warn(check, "sysctl kernel.yama.ptrace_scope=0, or the capability SYS_PTRACE for a container of root", "kernel.yama.ptrace_scope is %d; %s", scope, slower)
	}
	return ok(check, "ranks read each other's memory by process_vm_readv")
}

// hugePages checks whether the kernel can use transparent huge pages for memory that is copied often.
func (m *Machine) hugePages() Finding {
	const check = "huge pages"
	text := strings.Join(m.read("sys/kernel/mm/transparent_hugepage/enabled"), " ")
	switch {
	case text == "":
		return warn(check, "a kernel with CONFIG_TRANSPARENT_HUGEPAGE copies long messages faster", "the kernel has no transparent huge pages")
	case strings.Contains(text, "[never]"):
		return warn(check, "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled", "transparent huge pages are switched off; long messages take longer")
	default:
		return ok(check, "transparent: %s", text)
	}
}
