package main

import (
	"bufio"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// kill ends all processes in the process group of the process that leads a command's session. After the session is
// closed, kill does not kill another process whose pidfd has the same descriptor number.
func TestSessionOfACommand(t *testing.T) {
	c := exec.Command("sh", "-c", "sleep 600 & echo $!; wait")
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	s := newSession(c)
	s.kill() // the command has not started: kill does nothing
	require.NoError(t, c.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	fd, err := unix.PidfdOpen(child, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(fd)) }()
	s.kill()
	require.Error(t, c.Wait())
	require.Equal(t, syscall.SIGKILL, c.ProcessState.Sys().(syscall.WaitStatus).Signal())
	ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	require.Eventually(t, func() bool {
		n, err := unix.Poll(ended, 1000)
		return err == nil && n == 1
	}, time.Minute, time.Millisecond, "the other process of the session goes on")
	s.kill() // the process was reaped: kill does nothing
	s.close()

	// The next descriptor gets the number of the closed descriptor, but refers to another
	// process.
	other := exec.Command("cat")
	in, err := other.StdinPipe()
	require.NoError(t, err)
	another := newSession(other)
	require.NoError(t, other.Start())
	defer another.close()
	s.fd = another.fd
	s.kill()
	require.NoError(t, in.Close())
	require.NoError(t, other.Wait(), "it was not killed")
}
