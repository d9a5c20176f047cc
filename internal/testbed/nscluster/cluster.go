package nscluster

import (
	"bufio"
	_ "embed" // host.sh
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/cgroup"
)

// script is what the first process of a host runs.
//
//go:embed host.sh
var script string

// Cluster is a number of hosts. Its methods fail the test that has started it
// when something does not work. They are called from one goroutine at a time.
type Cluster struct {
	tb    testing.TB
	dir   string
	hosts map[string]*host
	names []string
	hub   *process      // whose namespace has the bridge
	spawn chan func()   // runs on the thread that the processes die with
	sshd  bool          // the hosts run sshd
	close chan struct{} // ends that thread
	group string        // directory of the cgroup of the hosts, "" without one
}

// host is one host.
type host struct {
	first *process // in the namespaces of the host
	cable string   // the bridge's end of it
	index int
}

// process is a process that holds namespaces.
type process struct {
	outer *exec.Cmd // unshare
	pid   int       // of its child, as seen from outside
	say   *os.File
	hear  *bufio.Reader
}

// hostsMax is the number of hosts that the addresses have room for.
const hostsMax = 200

// Start makes hosts h0, h1 and so on, and takes them down with the test. It skips
// the test if this machine cannot make them.
func Start(tb testing.TB, count int) *Cluster { //nolint:thelper // it is the package's purpose, not a detail of a test
	return start(tb, count, false)
}

// StartSSH is Start with an sshd on every host, for SSH.
func StartSSH(tb testing.TB, count int) *Cluster { //nolint:thelper // as Start
	return start(tb, count, true)
}

func start(tb testing.TB, count int, ssh bool) *Cluster {
	tb.Helper()
	if why := missing(ssh); why != "" {
		tb.Skip("nscluster: " + why)
	}
	if count < 1 || count > hostsMax {
		tb.Fatalf("nscluster: %d hosts: want 1 to %d", count, hostsMax)
	}
	c := &Cluster{
		tb: tb, dir: tb.TempDir(), hosts: map[string]*host{}, sshd: ssh,
		spawn: make(chan func()), close: make(chan struct{}), group: newCgroup(),
	}
	tb.Cleanup(c.down)
	go func() {
		goruntime.LockOSThread() // the processes get their death signal with this thread
		for {
			select {
			case f := <-c.spawn:
				f()
			case <-c.close:
				return
			}
		}
	}()
	for i := range count {
		c.names = append(c.names, "h"+strconv.Itoa(i))
	}
	c.write("host.sh", script, 0o644)
	c.write("hosts", c.table(), 0o644)
	enter := ""
	if c.group != "" {
		enter = "echo $$ >" + c.group + "/cgroup.procs\n"
	}
	c.write("rsh", fmt.Sprintf("#!/bin/sh\n%sh=$1; shift\nexec nsenter -t \"$(cat %s/$h.pid)\" -n -u -m -p -i -- \"$@\"\n", enter, c.dir), 0o755)
	if ssh {
		c.configureSSH()
	}
	hub, err := c.unshare("-n")
	if err != nil {
		tb.Skipf("nscluster: cannot make a network namespace: %v", err)
	}
	c.hub = hub
	if err := ip(hub.pid, "link add br0 type bridge", "link set br0 up"); err != nil {
		tb.Skipf("nscluster: cannot make a bridge: %v", err)
	}
	for i, name := range c.names {
		c.power(name, i)
	}
	return c
}

// missing says what this machine lacks, "" if nothing.
func missing(ssh bool) string {
	if os.Geteuid() != 0 {
		return "needs root"
	}
	tools := map[string]string{"ip": "iproute2", "unshare": "util-linux", "nsenter": "util-linux", "mount": "mount"}
	if ssh {
		tools["/usr/sbin/sshd"], tools["ssh"], tools["ssh-keygen"] = "openssh-server", "openssh-client", "openssh-client"
	}
	for tool, from := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Sprintf("needs %s (apt-get install %s)", filepath.Base(tool), from)
		}
	}
	return ""
}

// unshare starts a process in namespaces of its own and waits for its first
// line.
func (c *Cluster) unshare(flags ...string) (*process, error) {
	p := &process{}
	command := []string{"sh", "-c", "echo ready; exec sleep infinity"}
	if i := len(flags) - 1; flags[i] != "-n" {
		command, flags = []string{"sh", filepath.Join(c.dir, "host.sh"), c.dir, flags[i]}, flags[:i]
	}
	p.outer = exec.Command("unshare", append(append(flags, "--fork", "--kill-child", "--"), command...)...)
	p.outer.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	var errs strings.Builder
	p.outer.Stderr = &errs
	if c.group != "" {
		group, err := os.Open(c.group)
		if err != nil {
			return nil, err
		}
		defer func() { _ = group.Close() }()
		p.outer.SysProcAttr.UseCgroupFD, p.outer.SysProcAttr.CgroupFD = true, int(group.Fd())
	}
	in, say, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	hear, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.outer.Stdin, p.outer.Stdout, p.say, p.hear = in, out, say, bufio.NewReader(hear)
	done := make(chan error)
	c.spawn <- func() { done <- p.outer.Start() }
	err = <-done
	_, _ = in.Close(), out.Close()
	c.tb.Cleanup(func() { _, _ = say.Close(), hear.Close() })
	if err != nil {
		return nil, err
	}
	if word, err := p.hear.ReadString('\n'); word != "ready\n" {
		_ = p.outer.Process.Kill()
		_ = p.outer.Wait()
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(errs.String()))
	}
	pid := p.outer.Process.Pid
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err == nil {
		p.pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	return p, err
}

// power starts a host.
func (c *Cluster) power(name string, i int) {
	c.tb.Helper()
	c.write(name+".boot_id", fmt.Sprintf("00000000-0000-4000-8000-%012x\n", i+1), 0o644)
	p, err := c.unshare("-n", "-u", "-m", "-p", "-i", "--propagation", "private", name)
	if err != nil {
		c.tb.Skipf("nscluster: cannot make a host of namespaces: %v", err)
	}
	h := &host{first: p, cable: "v" + strconv.Itoa(i), index: i}
	c.hosts[name] = h
	c.write(name+".pid", strconv.Itoa(p.pid)+"\n", 0o644)
	if err := ip(c.hub.pid, fmt.Sprintf("link add %s type veth peer name eth0 netns %d", h.cable, p.pid), "link set "+h.cable+" master br0 up"); err != nil {
		c.tb.Skipf("nscluster: cannot connect a host: %v", err)
	}
	c.ip(p.pid, fmt.Sprintf("addr add %v/24 dev eth0", c.Address(name)), fmt.Sprintf("addr add %v/64 dev eth0 nodad", c.Address6(name)))
	if _, err := p.say.WriteString("go\n"); err != nil {
		c.tb.Fatalf("nscluster: %s: %v", name, err)
	}
	if word, err := p.hear.ReadString('\n'); word != "up\n" {
		c.tb.Fatalf("nscluster: %s does not come up: %v", name, err)
	}
}

// down takes everything down and waits until it is gone.
func (c *Cluster) down() {
	for _, name := range c.names {
		if c.hosts[name] != nil {
			c.Kill(name)
		}
	}
	if c.hub != nil {
		_ = c.hub.outer.Process.Kill()
		_ = c.hub.outer.Wait() // killed, and that is known
	}
	close(c.close)
	if c.group != "" {
		if err := errors.Join(cgroup.Kill(c.group), cgroup.Remove(c.group)); err != nil {
			c.tb.Errorf("nscluster: %v", err)
		}
	}
}

// Kill ends every process of a host at once, as a power failure does.
func (c *Cluster) Kill(name string) {
	c.tb.Helper()
	h := c.host(name)
	if h.first == nil {
		return
	}
	_ = unix.Kill(h.first.pid, unix.SIGKILL)
	_ = h.first.outer.Wait() // killed, and that is known
	h.first = nil
}

// Cut disconnects a host's network interface, Join connects it again.
func (c *Cluster) Cut(name string) { c.tb.Helper(); c.cable(name, "down") }

// Join connects the network interface of a host again.
func (c *Cluster) Join(name string) { c.tb.Helper(); c.cable(name, "up") }

func (c *Cluster) cable(name, state string) {
	c.tb.Helper()
	c.ip(c.hub.pid, "link set "+c.host(name).cable+" master br0 "+state)
}

// Lose drops every frame to and from a host, whose network interface notices nothing. Join
// ends that.
func (c *Cluster) Lose(name string) {
	c.tb.Helper()
	c.ip(c.hub.pid, "link set "+c.host(name).cable+" nomaster")
}

// Hosts returns the names of the hosts. They are resolved on the hosts alone.
func (c *Cluster) Hosts() []string { return c.names }

// Network is the IPv4 network that the hosts are on.
func (c *Cluster) Network() netip.Prefix { return netip.MustParsePrefix("10.77.0.0/24") }

// Address returns the IPv4 address of a host.
func (c *Cluster) Address(name string) netip.Addr {
	c.tb.Helper()
	return netip.AddrFrom4([4]byte{10, 77, 0, byte(c.host(name).index + 1)})
}

// Address6 returns the IPv6 address of a host.
func (c *Cluster) Address6(name string) netip.Addr {
	c.tb.Helper()
	return netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x77, 15: byte(c.host(name).index + 1)})
}

// Add gives a host one more address on the network of all, such as 203.0.113.1/24.
func (c *Cluster) Add(name string, p netip.Prefix) {
	c.tb.Helper()
	c.ip(c.host(name).first.pid, fmt.Sprintf("addr add %v dev eth0", p))
}

// Rsh returns a command that takes the name of a host and a command, and runs
// that on the host with the same standard streams. The network has no part in it.
func (c *Cluster) Rsh() string { return filepath.Join(c.dir, "rsh") }

// Command returns a command that runs on a host.
func (c *Cluster) Command(name string, arg ...string) *exec.Cmd {
	return exec.Command(c.Rsh(), append([]string{name}, arg...)...)
}

func (c *Cluster) host(name string) *host {
	c.tb.Helper()
	h := c.hosts[name]
	if h == nil {
		c.tb.Fatalf("nscluster: there is no host %q", name)
	}
	return h
}

// table is the /etc/hosts of the hosts.
func (c *Cluster) table() string {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n::1 localhost\n")
	for i, name := range c.names {
		fmt.Fprintf(&b, "10.77.0.%d %s\n", i+1, name)
	}
	return b.String()
}

func (c *Cluster) write(name, text string, mode os.FileMode) {
	c.tb.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), mode); err != nil {
		c.tb.Fatalf("nscluster: %v", err)
	}
}

// ip runs commands of ip(8) in the network namespace of a process.
func (c *Cluster) ip(pid int, commands ...string) {
	c.tb.Helper()
	if err := ip(pid, commands...); err != nil {
		c.tb.Fatalf("nscluster: %v", err)
	}
}

func ip(pid int, commands ...string) error {
	cmd := exec.Command("nsenter", "-t", strconv.Itoa(pid), "-n", "--", "ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %q: %w: %s", commands, err, strings.TrimSpace(string(out)))
	}
	return nil
}
