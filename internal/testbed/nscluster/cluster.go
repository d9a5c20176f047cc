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

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/cgroup"
)

// script is the shell script that the first process of a host executes.
//
//go:embed host.sh
var script string

// TB is the part of testing.TB that a Cluster uses. A program that is not a test has a TB of its own. As with
// testing.TB, its methods Skip, Skipf, Fatal and Fatalf do not return.
type TB interface {
	Helper()
	TempDir() string
	Cleanup(f func())
	Skip(args ...any)
	Skipf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Cluster is a set of emulated hosts. If a method of Cluster cannot do its work, it fails the test that
// started the cluster. Only one goroutine may call methods at a time.
type Cluster struct {
	tb    TB
	dir   string
	hosts map[string]*host
	names []string
	hub   *process      // the process whose network namespace contains the bridge
	spawn chan func()   // functions for the thread that starts the processes; the end of the thread kills them
	sshd  bool          // the hosts run sshd
	close chan struct{} // closed to end the thread of spawn
	group string        // directory of the hosts' cgroup, "" if they have none
}

// host is one host.
type host struct {
	first *process // the host's first process, which holds its namespaces
	cable string   // name of the bridge's end of the veth pair to the host
	index int
}

// process is a process that holds namespaces.
type process struct {
	outer *exec.Cmd // the command unshare, the parent of the process
	pid   int       // process ID in this machine's PID namespace
	say   *os.File
	hear  *bufio.Reader
}

// hostsMax is the largest number of hosts, because one byte of the address numbers them.
const hostsMax = 200

// Start makes count hosts, named h0, h1 and so on, and removes them when the test ends. It skips the test if
// this machine cannot make such hosts.
func Start(tb TB, count int) *Cluster {
	return start(tb, count, false)
}

// StartSSH makes hosts as Start does, and starts an sshd on each, so that SSH can be used.
func StartSSH(tb TB, count int) *Cluster {
	return start(tb, count, true)
}

func start(tb TB, count int, ssh bool) *Cluster {
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
		goruntime.LockOSThread() // the kernel kills the processes when this thread ends (Pdeathsig)
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

// missing returns a description of what this machine lacks for a cluster, or "" if it lacks nothing.
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

// unshare starts a process in new namespaces and waits until it prints "ready". flags are those
// of unshare(1). If the last element of flags is not "-n", it is the name of a host, and the process
// is the first process of that host.
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

// power starts host number i, whose name is the argument name, and waits until its network is up.
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

// down ends all processes of the cluster, waits for their end, and removes the cgroup.
func (c *Cluster) down() {
	for _, name := range c.names {
		if c.hosts[name] != nil {
			c.Kill(name)
		}
	}
	if c.hub != nil {
		_ = c.hub.outer.Process.Kill()
		_ = c.hub.outer.Wait() // its error only reports the kill
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
	_ = h.first.outer.Wait() // its error only reports the kill
	h.first = nil
}

// Cut takes the link of a host's network interface down. Join takes it up again.
func (c *Cluster) Cut(name string) { c.tb.Helper(); c.cable(name, "down") }

// Join reverts Cut or Lose: it connects the network interface of a host again.
func (c *Cluster) Join(name string) { c.tb.Helper(); c.cable(name, "up") }

func (c *Cluster) cable(name, state string) {
	c.tb.Helper()
	c.ip(c.hub.pid, "link set "+c.host(name).cable+" master br0 "+state)
}

// Lose drops every frame to and from a host until Join is called. The link of the host's network
// interface stays up, so that the host is not notified.
func (c *Cluster) Lose(name string) {
	c.tb.Helper()
	c.ip(c.hub.pid, "link set "+c.host(name).cable+" nomaster")
}

// Hosts returns the names of the hosts. Only the hosts themselves can resolve these names.
func (c *Cluster) Hosts() []string { return c.names }

// Network returns the IPv4 network that connects the hosts.
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

// Add assigns another address, such as 203.0.113.1/24, to the host's interface on the common network.
func (c *Cluster) Add(name string, p netip.Prefix) {
	c.tb.Helper()
	c.ip(c.host(name).first.pid, fmt.Sprintf("addr add %v dev eth0", p))
}

// Rsh returns a remote shell command. Its arguments are the name of a host and a command. It runs the command
// on the host with its own standard streams, and does not use the network.
func (c *Cluster) Rsh() string { return filepath.Join(c.dir, "rsh") }

// Command returns an exec.Cmd that runs a command on a host through Rsh.
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

// table returns the contents of /etc/hosts on the hosts.
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

// ip runs commands of ip(8) in the network namespace of process pid.
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
