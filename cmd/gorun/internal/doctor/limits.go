package doctor

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	// A limit of open files below filesFew may be too low for a rank with some hundreds of peers. A limit
	// below filesNone is too low even for a job of a few ranks.
	filesFew, filesNone = 1024, 64
	// lockedFew is a limit of locked memory in bytes. A lower limit is too low for the queues and
	// posted receives of an adapter.
	lockedFew = 64 << 20
	// processesFew is a limit of threads. A lower limit is too low for ranks on all processors of a
	// large node.
	processesFew = 1024
	// threadsPerRank is the number of threads of an idle rank, rounded up.
	threadsPerRank = 8
)

// unlimited is the value of a limit that is not set.
const unlimited = math.MaxInt64

// limitsOf parses the text of /proc/self/limits and returns the hard limits by name.
func limitsOf(text string) map[string]int64 {
	hard := map[string]int64{}
	for line := range strings.Lines(text) {
		// The name has 25 columns and each value has 20. A blank follows each of them.
		const name, value = 26, 21
		if len(line) < name+value+1 {
			continue
		}
		words := strings.Fields(line[name:])
		if len(words) < 2 {
			continue
		}
		n, err := strconv.ParseInt(words[1], 10, 64)
		if words[1] == "unlimited" {
			n, err = unlimited, nil
		}
		if err == nil {
			hard[strings.TrimSpace(line[:name])] = n
		}
	}
	return hard
}

// limits checks the resource limits of this process. Ranks that are started in the same way, for
// example by ssh, get the same limits.
func (m *Machine) limits() []Finding {
	text, err := os.ReadFile(filepath.Join(m.Root, "proc/self/limits"))
	if err != nil {
		return []Finding{warn("limits", "mount /proc", "%v", err)}
	}
	hard := limitsOf(string(text))
	return []Finding{m.openFiles(hard), m.locked(hard), m.processes(hard)}
}

func (m *Machine) openFiles(hard map[string]int64) Finding {
	const (
		check  = "open files"
		remedy = "raise nofile in /etc/security/limits.conf or LimitNOFILE= of the service that starts gorun"
	)
	n, known := hard["Max open files"]
	switch {
	case !known:
		return warn(check, "", "the limit is not known")
	case n < filesNone:
		return fail(check, remedy, "a process may have %d", n)
	case n < filesFew:
		return warn(check, remedy, "a process may have %d, and a rank needs one for each peer on another machine", n)
	default:
		return ok(check, "a process may have %s", count(n))
	}
}

func (m *Machine) locked(hard map[string]int64) Finding {
	const check = "locked memory"
	n, known := hard["Max locked memory"]
	if known && n < lockedFew && len(m.devices()) > 0 && !m.capable(capIPCLock) {
		return warn(check, "ulimit -l unlimited: memlock in /etc/security/limits.conf, LimitMEMLOCK=infinity of sshd and slurmd, or the capability IPC_LOCK for a container of root",
			"%d KiB (ulimit -l) are too few for RDMA adapters; ranks use TCP then", n>>10)
	}
	if !known {
		return warn(check, "", "the limit is not known")
	}
	if n == unlimited {
		return ok(check, "unlimited")
	}
	return ok(check, "%d KiB, which matters to RDMA adapters alone", n>>10)
}

func (m *Machine) processes(hard map[string]int64) Finding {
	const check = "processes"
	n, known := hard["Max processes"]
	if known && n < processesFew && !m.Superuser {
		level := Warn
		if n < threadsPerRank {
			level = Fail
		}
		f := warn(check, "raise nproc in /etc/security/limits.conf", "a user may have %d threads, and a rank has about %d", n, threadsPerRank)
		f.Level = level
		return f
	}
	if !known {
		return warn(check, "", "the limit is not known")
	}
	return ok(check, "a user may have %s", count(n))
}

// count formats a limit.
func count(n int64) string {
	if n == unlimited {
		return "any number"
	}
	return strconv.FormatInt(n, 10)
}
