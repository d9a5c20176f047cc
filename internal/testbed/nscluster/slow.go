package nscluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	goruntime "runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Slow describes a link with a limited rate, a delay and losses. The hosts' own links are limited only by the
// speed of this machine.
type Slow struct {
	Rate  int           // bits per second, in each direction
	Delay time.Duration // in each direction
	Loss  float64       // of the packets, from 0 to 1
}

// slowMTU is the MTU of slow links.
const slowMTU = 1500

// SlowNetwork returns the IPv4 network of the slow link.
func (c *Cluster) SlowNetwork() netip.Prefix { return netip.MustParsePrefix("10.78.0.0/24") }

// Slow connects two hosts by a slow link in addition to the bridge. Host a gets the address 10.78.0.1, and
// host b gets 10.78.0.2. The packets pass through this process, so that the kernel needs no netem. The link
// is removed when the test ends. Without /dev/net/tun the test is skipped.
func (c *Cluster) Slow(a, b string, link Slow) {
	c.tb.Helper()
	ends := [2]*os.File{}
	for i, name := range []string{a, b} {
		end, err := c.tap(c.host(name).first.pid)
		if err != nil {
			c.tb.Skipf("nscluster: cannot make a slow link: %v", err)
		}
		ends[i] = end
		c.ip(c.host(name).first.pid, fmt.Sprintf("addr add 10.78.0.%d/24 dev slow0", i+1), fmt.Sprintf("link set slow0 mtu %d txqueuelen 1000 up", slowMTU))
	}
	var carrying sync.WaitGroup
	carrying.Go(func() { link.carry(ends[0], ends[1]) })
	carrying.Go(func() { link.carry(ends[1], ends[0]) })
	c.tb.Cleanup(func() {
		_, _ = ends[0].Close(), ends[1].Close()
		carrying.Wait()
	})
}

// tap makes the TAP interface slow0 in the network namespace of process pid, and returns the file
// from which its frames are read and to which they are written.
func (c *Cluster) tap(pid int) (*os.File, error) {
	type result struct {
		f   *os.File
		err error
	}
	done := make(chan result)
	go func() {
		goruntime.LockOSThread() // never unlocked: the thread, now in another namespace, ends with the goroutine
		f, err := openTap(pid)
		done <- result{f, err}
	}()
	r := <-done
	return r.f, r.err
}

func openTap(pid int) (*os.File, error) {
	ns, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	err = errors.Join(unix.Setns(ns, unix.CLONE_NEWNET), unix.Close(ns))
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	request, err := unix.NewIfreq("slow0")
	if err == nil {
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "slow0"), nil
}

// packet is a frame in flight on the slow link. It is delivered at the time in the field due.
type packet struct {
	data []byte
	due  time.Time
}

// carry forwards frames. It reads them from the file in the argument from, and writes them to the file in the
// argument to. It ends when the file that it reads is closed.
func (s Slow) carry(from, to *os.File) {
	const frameMax = slowMTU + 14
	queue := make(chan packet, 2*int(float64(s.Rate)/8/frameMax*(s.Delay.Seconds()+0.02))+1000)
	defer close(queue)
	go func() {
		for p := range queue {
			if wait := time.Until(p.due); wait > 0 {
				time.Sleep(wait)
			}
			_, _ = to.Write(p.data) // an error means that the end is closed
		}
	}()
	free := time.Now() // when the link can take the next frame
	for {
		b := make([]byte, frameMax)
		n, err := from.Read(b)
		if err != nil {
			return
		}
		now := time.Now()
		if free.Before(now) {
			free = now
		}
		// The queue of the link is drop-tail. It holds the bytes that the link carries in 20 ms.
		if s.Loss > 0 && rand.Float64() < s.Loss || free.Sub(now) > 20*time.Millisecond {
			continue
		}
		free = free.Add(time.Duration(float64(n*8) / float64(s.Rate) * float64(time.Second)))
		queue <- packet{b[:n], free.Add(s.Delay)}
	}
}
