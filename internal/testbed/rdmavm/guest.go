package rdmavm

import (
	"bufio"
	"context"
	_ "embed" // init.sh
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// limitDefault is the time limit of a guest whose Config has none.
	limitDefault = 2 * time.Minute
	// memory is the size of a guest's memory in MiB.
	memory = 1024
	// processors is the number of a guest's processors. There are two, so that a thread that spins does not
	// prevent the other threads from running.
	processors = 2
)

// first is the shell script that a guest's first process executes.
//
//go:embed init.sh
var first string

// ErrGone is the error of a command that has no exit status because its guest has ended.
var ErrGone = errors.New("rdmavm: the guest has ended")

// Config configures a guest.
type Config struct {
	// Share is a directory of this machine that the guest mounts as /share. The guest's commands run there.
	// "" means no shared directory. The guest caches files. Programs of this machine must not change a file
	// that the guest has read. They see the output files of a command only after the command has ended.
	Share string
	// Devices are the RDMA devices, in the form TYPE:INTERFACE. The types are rxe and siw. The
	// interfaces are eth0, eth1 (only in guests of StartPair), and dummyN, which gets the address
	// 10.9.N.1. An empty list means rxe:dummy0 and siw:dummy1.
	Devices []string
	// Forward are TCP ports of the guest. For each of them, a port of this machine is forwarded to it. The
	// method Port returns the port of this machine.
	Forward []int
	// Limit is the time after which the guest is killed. 0 means two minutes.
	Limit time.Duration

	// wire is the directory of the sockets that connect the two guests of StartPair. number is the guest's
	// number, 1 or 2. For a guest that Start has made, wire is "" and number is 0.
	wire   string
	number int
}

// Guest is a running guest machine. Its methods may be called from any goroutine.
type Guest struct {
	dir   string // directory with the commands, their output, and the console
	ports map[int]int
	say   io.WriteCloser
	qemu  *exec.Cmd
	limit *time.Timer
	ready chan time.Duration // receives the guest's uptime by its own clock when it is ready
	ended chan struct{}      // closed when QEMU has ended

	// mu guards the variables below it.
	mu       sync.Mutex
	commands []*Command
}

// Start boots a guest and closes it when the test ends. It skips the test if GORUN_RDMA_VM is not 1,
// or if this machine lacks what a guest needs.
func Start(tb testing.TB, c Config) *Guest {
	tb.Helper()
	wanted(tb)
	g, err := Boot(tb.Context(), c)
	booted(tb, err)
	tb.Cleanup(g.Close)
	return g
}

// wanted skips the test if GORUN_RDMA_VM is not 1.
func wanted(tb testing.TB) {
	tb.Helper()
	if os.Getenv("GORUN_RDMA_VM") != "1" {
		tb.Skip("rdmavm: GORUN_RDMA_VM=1, with which the tests boot an emulated machine, is not set")
	}
}

// booted handles the error of Boot: it skips the test on ErrMissing, and fails it on other errors.
func booted(tb testing.TB, err error) {
	tb.Helper()
	if errors.Is(err, ErrMissing) {
		tb.Skip(err.Error())
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// attempts is how many guests Boot starts before it gives up. Boot starts another guest if the clock of a
// guest is wrong.
const attempts = 5

// Boot boots a guest, which runs until Close. On a busy machine the guest's kernel may calibrate its
// clock wrongly. The clock then runs several times too fast. Boot closes such a guest and tries
// again.
func Boot(ctx context.Context, c Config) (*Guest, error) {
	if err := need([2]string{"qemu-system-x86_64", "qemu-system-x86"}); err != nil {
		return nil, err
	}
	image, err := Image(ctx)
	if err != nil {
		return nil, err
	}
	for range attempts {
		start := time.Now()
		g, up, err := bootOne(ctx, image, c)
		if err != nil {
			return nil, err
		}
		if up <= time.Since(start) {
			return g, nil
		}
		g.Close()
	}
	return nil, missing("the clocks of %d guests ran too fast: this machine is too busy", attempts)
}

// bootOne boots a guest. It also returns the guest's uptime by the guest's own clock.
func bootOne(ctx context.Context, image string, c Config) (*Guest, time.Duration, error) {
	dir, err := os.MkdirTemp("", "rdmavm-")
	if err != nil {
		return nil, 0, err
	}
	g := &Guest{dir: dir, ports: map[int]int{}, ready: make(chan time.Duration, 1), ended: make(chan struct{})}
	if err := g.boot(image, c); err != nil {
		_ = os.RemoveAll(dir)
		return nil, 0, err
	}
	select {
	case up := <-g.ready:
		return g, up, nil
	case <-g.ended:
		err = g.gone()
	case <-ctx.Done():
		err = ctx.Err()
	}
	g.Close()
	return nil, 0, err
}

// boot starts QEMU, and does not wait until the guest is ready.
func (g *Guest) boot(image string, c Config) error {
	if len(c.Devices) == 0 {
		c.Devices = []string{"rxe:dummy0", "siw:dummy1"}
	}
	share := "no"
	if c.Share != "" {
		share = "yes"
	}
	number := ""
	if c.number > 0 {
		number = strconv.Itoa(c.number)
	}
	config := fmt.Sprintf("share=%s\ndevices='%s'\nnumber=%s\n", share, strings.Join(c.Devices, " "), number)
	for name, text := range map[string]string{"config": config, "init.sh": first} {
		if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	args, err := g.arguments(image, &c)
	if err != nil {
		return err
	}
	g.qemu = exec.Command("qemu-system-x86_64", args...)
	g.qemu.Dir = c.wire // the working directory, so that the socket names are short
	g.qemu.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	errs, err := os.Create(filepath.Join(g.dir, "qemu"))
	if err != nil {
		return err
	}
	defer func() { _ = errs.Close() }()
	g.qemu.Stderr = errs
	if g.say, err = g.qemu.StdinPipe(); err != nil {
		return err
	}
	hear, err := g.qemu.StdoutPipe()
	if err != nil {
		return err
	}
	started := make(chan error)
	go func() {
		goruntime.LockOSThread() // the kernel kills QEMU when this thread ends (Pdeathsig)
		err := g.qemu.Start()
		started <- err
		if err == nil {
			g.listen(hear)
			_ = g.qemu.Wait() // nobody needs the exit status
			close(g.ended)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	if c.Limit <= 0 {
		c.Limit = limitDefault
	}
	g.limit = time.AfterFunc(c.Limit, func() { _ = g.qemu.Process.Kill() })
	return nil
}

// arguments returns the arguments of QEMU, and chooses the forwarded ports.
func (g *Guest) arguments(image string, c *Config) ([]string, error) {
	network := "user,id=net"
	for _, inside := range c.Forward {
		outside, err := freePort()
		if err != nil {
			return nil, err
		}
		g.ports[inside] = outside
		network += fmt.Sprintf(",hostfwd=tcp:127.0.0.1:%d-:%d", outside, inside)
	}
	args := []string{
		"-accel", "tcg,thread=multi", "-cpu", "max", "-machine", "q35", "-smp", strconv.Itoa(processors), "-m", strconv.Itoa(memory),
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
		"-kernel", filepath.Join(image, "vmlinux"), "-initrd", filepath.Join(image, "initrd"),
		"-append", "console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable random.trust_cpu=on net.ifnames=0 cryptomgr.notests no_timer_check",
		"-serial", "file:" + filepath.Join(g.dir, "console"),
		"-chardev", "stdio,id=control,signal=off", "-device", "virtio-serial-pci", "-device", "virtserialport,chardev=control,name=control",
		"-device", "virtio-rng-pci", "-netdev", network, "-device", "virtio-net-pci,netdev=net,romfile=",
		"-virtfs", "local,path=" + g.dir + ",mount_tag=job,security_model=none",
	}
	if c.Share != "" {
		args = append(args, "-virtfs", "local,path="+c.Share+",mount_tag=share,security_model=none,multidevs=remap")
	}
	if c.number > 0 {
		args = append(args, "-device", fmt.Sprintf("virtio-net-pci,netdev=wire,romfile=,mac=52:54:00:00:00:%02x", c.number), "-netdev",
			fmt.Sprintf("dgram,id=wire,local.type=unix,local.path=%d,remote.type=unix,remote.path=%d", c.number, 3-c.number))
	}
	return args, nil
}

// freePort returns a TCP port of 127.0.0.1 that was free during the call.
func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// listen reads the lines of the guest's first process: first "ready" with the guest's uptime in
// seconds, then the number and exit status of each command that has ended.
func (g *Guest) listen(hear io.Reader) {
	lines := bufio.NewScanner(hear)
	for lines.Scan() {
		number, status, _ := strings.Cut(lines.Text(), " ")
		if number == "ready" {
			up, err := time.ParseDuration(status + "s")
			if err == nil {
				g.ready <- up
			}
			continue
		}
		n, err1 := strconv.Atoi(number)
		s, err2 := strconv.Atoi(status)
		if err1 != nil || err2 != nil {
			continue
		}
		g.mu.Lock()
		if n < len(g.commands) {
			g.commands[n].status = s
			close(g.commands[n].ended)
		}
		g.mu.Unlock()
	}
}

// gone returns an ErrGone with the last output of QEMU and of the guest's console.
func (g *Guest) gone() error {
	said := func(file string) []byte {
		text, err := os.ReadFile(filepath.Join(g.dir, file))
		if err != nil {
			return nil
		}
		return text[max(0, len(text)-2000):]
	}
	return fmt.Errorf("%w: %s%s", ErrGone, said("qemu"), said("console"))
}

// Close kills the guest, waits for its end and removes its directory.
func (g *Guest) Close() {
	g.limit.Stop()
	_ = g.qemu.Process.Kill()
	<-g.ended
	_ = os.RemoveAll(g.dir)
}

// Port returns the port of 127.0.0.1 on this machine that is forwarded to a port of the guest. The
// argument inside is the guest's port, an element of Config.Forward.
func (g *Guest) Port(inside int) int { return g.ports[inside] }
