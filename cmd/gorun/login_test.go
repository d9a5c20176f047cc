package main_test

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// loginOf is a shell program that prints the login variables of its environment.
const loginOf = `echo "$GORUN_HOST $HOME $USER $LOGNAME $SHELL ${PATH%%:*} $FOO"`

// If gorun logs in as another user, the ranks keep the login variables (such as HOME and USER) of that user.
// A login variable that -x names gets gorun's value.
func TestLoginOfAnotherUserIsItsOwn(t *testing.T) {
	// This rsh command simulates a host on which the login as another user sets the login variables.
	theirs := script(t, `while :; do case $1 in -l) shift 2 ;; -*) shift ;; *) break ;; esac; done
h=$1; shift
export GORUN_HOSTID=$h HOME=/theirs USER=they LOGNAME=they SHELL=/theirs/sh PATH=/theirs/bin:$PATH
exec "$@"
`)
	mine := []string{"HOME=/mine", "USER=me", "LOGNAME=me", "SHELL=/mine/sh", "PATH=/mine/bin:" + os.Getenv("PATH"), "FOO=foo"}
	const me, they = "/mine me me /mine/sh /mine/bin foo", "/theirs they they /theirs/sh /theirs/bin foo"
	for name, c := range map[string]struct {
		rsh, host, want string
		flags           []string
	}{
		"no user is named":   {theirs, "a", me, nil},
		"with the host":      {theirs, "they@a", they, nil},
		"with the command":   {theirs + " they@%h", "a", they, nil},
		"by an option":       {theirs + " -l they", "a", they, nil},
		"joined to it":       {theirs + " -lthey", "a", they, nil},
		"by a setting":       {theirs + " -oUser=they", "a", they, nil},
		"but told otherwise": {theirs, "they@a", strings.Replace(they, "/theirs", "/mine", 1), []string{"-x", "HOME"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := slices.Concat([]string{"-host", c.host, "-rsh", c.rsh}, c.flags, []string{"sh", "-c", loginOf})
			r := command(t, mine, args...)
			require.NoError(t, r.Start())
			require.Zero(t, r.wait(t), r.err.String())
			require.Equal(t, c.host+" "+c.want+"\n", r.out.String())
		})
	}
}

// If only ssh's configuration names the other user, gorun learns of this user from the agent's user ID. gorun
// then does not send its own login variables.
func TestLoginOfAUserFromTheConfiguration(t *testing.T) {
	for _, user := range []int{os.Geteuid(), os.Geteuid() + 1} {
		rsh := strings.Join([]string{self, helperPrefix + "agent", gorunVersion(t), fmt.Sprint(user)}, " ")
		r := command(t, []string{"HOME=/mine", "FOO=foo"}, "-host", "a", "-rsh", rsh, "true")
		require.NoError(t, r.Start())
		require.Equal(t, 3, r.wait(t), r.err.String())
		require.Contains(t, r.err.String(), "|FOO=foo|")
		require.Equal(t, user == os.Geteuid(), strings.Contains(r.err.String(), "|HOME=/mine|"), r.err.String())
	}
}

// pretendToBeAgent simulates an agent of the given user. The agent starts no ranks and reports a failure. The
// text of the failure has the environment that the ranks would have got.
func pretendToBeAgent(version, user string) int {
	hello := link.Hello{Probe: link.Probe{PID: 1, Nonce: make([]byte, link.NonceBytes)}}
	var err error
	if hello.User, err = strconv.Atoi(user); err != nil {
		panic(err)
	}
	if _, err := os.Stdout.Write(link.Preamble(version)); err != nil {
		panic(err)
	}
	c := link.NewConn(bufio.NewReader(os.Stdin), os.Stdout)
	for {
		k, body, err := c.Receive()
		if err != nil {
			return 1
		}
		if k == link.KindGreet {
			c.Send(link.KindHello, link.Encode(hello))
		}
		if k != link.KindPlan {
			continue
		}
		p, err := link.Decode[link.Plan](body)
		if err != nil {
			panic(err)
		}
		c.Send(link.KindFailed, link.Encode(link.Failed{Code: 3, Text: "|" + strings.Join(link.Strings(p.Env), "|") + "|"}))
	}
}

// If -x names a variable without a value, no process has the value in its arguments, because every user of
// the machine can read arguments. If -x itself has a value, gorun's own arguments contain it.
func TestPassedVariablesAreInNoArgument(t *testing.T) {
	for name, flags := range map[string][]string{"here": {"-np", "2"}, "on hosts": {"-host", "a,b", "-rsh", rsh(t)}} {
		for _, contain := range contains {
			for flag, shows := range map[string]bool{"TOKEN": false, "TOKEN=by name": true} {
				value := fmt.Sprintf("secret%d", os.Getpid()) // unique: another test binary may run at the same time
				flag = strings.ReplaceAll(flag, "by name", value)
				args := slices.Concat(flags, []string{"-x", flag, "sh", "-c", "echo $TOKEN; exec sleep 1000"})
				r, _ := ready(t, 2, value, []string{"GORUN_CONTAIN=" + contain, "TOKEN=" + value}, args)
				require.Equal(t, shows, inArguments(t, value), "%s, %s, -x %s", name, contain, flag)
				kill9(r.Process.Pid)
				require.Equal(t, 137, r.wait(t))
				gone(t, r)
			}
		}
	}
}

// inArguments reports whether any process has a text in its arguments.
func inArguments(t *testing.T, text string) bool {
	t.Helper()
	names, err := os.ReadDir("/proc")
	require.NoError(t, err)
	return slices.ContainsFunc(names, func(n os.DirEntry) bool {
		pid, err := strconv.Atoi(n.Name())
		return err == nil && strings.Contains(commandLine(pid), text)
	})
}
