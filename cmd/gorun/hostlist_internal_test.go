package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// parseHosts parses lists of host names with optional numbers of slots, and refuses names that a
// shell or ssh could interpret.
func TestHostLists(t *testing.T) {
	for text, want := range map[string]hostList{
		"h1":                     {{"h1", 1}},
		"h1:4,h2":                {{"h1", 4}, {"h2", 1}},
		" h1:2 , h2:2 ":          {{"h1", 2}, {"h2", 2}},
		"h1,h2:3,h1:2":           {{"h1", 3}, {"h2", 3}},
		"user@h1.a-b.org:2":      {{"user@h1.a-b.org", 2}},
		"[fe80::1%eth0]:2":       {{"fe80::1%eth0", 2}},
		"[::1],10.0.0.1:3":       {{"::1", 1}, {"10.0.0.1", 3}},
		"ns/pod":                 nil,
		"":                       nil,
		"h1,":                    nil,
		",":                      nil,
		":2":                     nil,
		"[]:2":                   nil,
		"h1:":                    nil,
		"h1:0":                   nil,
		"h1:-1":                  nil,
		"h1:x":                   nil,
		"h1:99999999999":         nil,
		"h1:65536,h2":            nil,
		"::1":                    nil,
		"fe80::1:2":              nil,
		"[::1":                   nil,
		"[::1]2":                 nil,
		"-oProxyCommand=x":       nil,
		"[-oProxyCommand=x]":     nil,
		"h1;reboot":              nil,
		"h1 h2":                  nil,
		"h\u00e4":                nil,
		"$(reboot)":              nil,
		strings.Repeat("x", 256): nil,
	} {
		got, err := parseHosts(text)
		if want == nil {
			require.Error(t, err, "%q", text)
			continue
		}
		require.NoError(t, err, "%q", text)
		require.Equal(t, want, got, "%q", text)
	}
}

// readHostFile parses a host file. If a line is wrong, the error has its number.
func TestHostFiles(t *testing.T) {
	read := func(text string) (hostList, error) {
		name := filepath.Join(t.TempDir(), "hosts")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		return readHostFile(name)
	}
	got, err := read("# a comment\n\nh1 slots=4 # four\n  h2:2\r\nh3\n[fe80::1] slots=2\nh1\n")
	require.NoError(t, err)
	require.Equal(t, hostList{{"h1", 5}, {"h2", 2}, {"h3", 1}, {"fe80::1", 2}}, got)
	for text, want := range map[string]string{
		"":                                  "names no hosts",
		"# h1\n":                            "names no hosts",
		"h1\nh2 slots=0\n":                  "line 2",
		"h1 slots\n":                        "want slots=N",
		"h1 max_slots=2\n":                  "want slots=N",
		"h1\n\n-o slots=2":                  "line 3",
		"h1 slots=99999999":                 "line 1",
		"h1:2 slots=3":                      "has a number of slots already",
		"[::1]:2 slots=2":                   "has a number of slots already",
		"h1 slots=3 slots=1":                "want only slots=N",
		"h1\n" + strings.Repeat("x", 1<<17): "line 2: ",
	} {
		_, err := read(text)
		require.ErrorContains(t, err, want, "%q", text)
	}
	_, err = readHostFile(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// FuzzHostFile checks that each accepted host file has only valid hosts. If the hosts are written to a file
// and parsed again, they must be the same.
func FuzzHostFile(f *testing.F) {
	const whole = "# a comment\n\nh1 slots=4 # four\n  u@h2:2\r\n[fe80::1%eth0]:3\nh1 slots=2\n"
	for n := range len(whole) + 1 {
		f.Add(whole[:n])
	}
	f.Add("h1 slots=65536\nh2")
	f.Add("h1 slots=0")
	f.Add("h1 max_slots=2\n-o slots=2")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseHostFile(strings.NewReader(text))
		if err != nil {
			return
		}
		require.NotEmpty(t, l)
		require.LessOrEqual(t, l.slots(), ranksMax)
		var again strings.Builder
		for _, h := range l {
			require.NoError(t, checkHostName(h.name))
			require.Positive(t, h.slots)
			fmt.Fprintf(&again, "[%s] slots=%d\n", h.name, h.slots)
		}
		same, err := parseHostFile(strings.NewReader(again.String()))
		require.NoError(t, err)
		require.Equal(t, l, same)
	})
}

// FuzzHostList checks that each accepted list has only valid hosts, and has each host only once.
func FuzzHostList(f *testing.F) {
	for _, s := range []string{"h1:4,h2", "[fe80::1%eth0]:2", "user@h:1", "a,a,a", ":,:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseHosts(text)
		if err != nil {
			return
		}
		require.NotEmpty(t, l)
		seen := map[string]bool{}
		for _, h := range l {
			require.NoError(t, checkHostName(h.name))
			require.Positive(t, h.slots)
			require.False(t, seen[h.name])
			seen[h.name] = true
		}
	})
}

// splitCommand splits the value of -rsh into words as a shell does, and rshLine puts the host name
// in place of %h or at the end.
func TestRshCommands(t *testing.T) {
	for text, want := range map[string][]string{
		"ssh":                     {"ssh"},
		"  ssh -p  22 ":           {"ssh", "-p", "22"},
		`a 'b c' "d e" f\ g ""`:   {"a", "b c", "d e", "f g", ""},
		`a'b'"c"d`:                {"abcd"},
		`'\n' "\\\""`:             {`\n`, `\"`},
		"ip netns exec":           {"ip", "netns", "exec"},
		"kubectl exec -i\t%h\n--": {"kubectl", "exec", "-i", "%h", "--"},
		"":                        nil,
		"  ":                      nil,
		"'a":                      nil,
		`a "b`:                    nil,
		`a\`:                      nil,
	} {
		got, err := splitCommand(text)
		if want == nil {
			require.Error(t, err, "%q", text)
			continue
		}
		require.NoError(t, err, "%q", text)
		require.Equal(t, want, got, "%q", text)
	}
	for _, c := range []struct {
		o    options
		want string
	}{
		{options{rsh: []string{"ip", "netns", "exec"}}, "ip netns exec h1"},
		{options{rsh: []string{"kubectl", "exec", "-i", "%h", "--"}}, "kubectl exec -i h1 --"},
		{options{}, strings.Join(rshDefault, " ") + " h1"},
		// In an allocation the remote command itself names the host: for Flux by the rank of its broker, for Slurm by %h.
		{options{rsh: []string{"flux", "exec", "%g"}, groups: map[string]string{"h1": "--rank=0"}}, "flux exec --rank=0"},
		{options{rsh: []string{"srun", "%g", "--nodelist=%h"}, groups: map[string]string{"h1": ""}}, "srun --nodelist=h1"},
	} {
		require.Equal(t, c.want, strings.Join(c.o.rshLine("h1"), " "))
	}
	require.Equal(t, `'/a b/it'\''s'`, shellWord("/a b/it's"))
	require.Equal(t, "''", shellWord(""))
	require.Equal(t, "ssh -o 'ProxyCommand=none x' h1", shellLine([]string{"ssh", "-o", "ProxyCommand=none x", "h1"}))
}

// FuzzRsh checks that words which shellWord has quoted are split into the same words again.
func FuzzRsh(f *testing.F) {
	f.Add(`a 'b c' "d e" f\ g ""`)
	f.Fuzz(func(t *testing.T, text string) {
		words, err := splitCommand(text)
		if err != nil {
			return
		}
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = shellWord(w)
		}
		again, err := splitCommand(strings.Join(quoted, " "))
		require.NoError(t, err)
		require.Equal(t, words, again)
	})
}

// portable removes the variables that are valid on only one machine. It leaves its argument unchanged.
func TestPortableEnvironment(t *testing.T) {
	env := []string{"A=1", "SSH_CONNECTION=x", "HOSTNAME=h", "HOME=/r", "XDG_RUNTIME_DIR=x", "_=x", "DISPLAY=:0", "HOSTNAMES=y"}
	require.Equal(t, []string{"A=1", "HOME=/r", "HOSTNAMES=y"}, portable(env))
	require.Len(t, env, 8)
}

// The flags for hosts and networks are parsed, and each wrong value gets an error that names the
// wanted form or the reason.
func TestOptionsOfHosts(t *testing.T) {
	o, err := parse("-host h1:2,h2 -rsh r -agent-path /g -answer-within 3 -net 10.1.0.0/16 -transport rdma prog")
	require.NoError(t, err)
	require.Equal(t, hostList{{"h1", 2}, {"h2", 1}}, o.hosts)
	require.Equal(t, []string{"r"}, o.rsh)
	require.Equal(t, "/g", o.agentPath)
	require.Equal(t, 3, int(o.answer.Seconds()))
	require.Equal(t, 3, o.size(), "one rank for each slot")
	require.Equal(t, []string{"GORUN_NET=10.1.0.0/16", "GORUN_TRANSPORT=rdma"}, o.environ())
	o, err = parse("-host h1:2 -np 5 a")
	require.NoError(t, err)
	require.Equal(t, 5, o.size())
	o, err = parse("-host h1:4,h2:4 a : -n 2 b")
	require.NoError(t, err)
	require.Equal(t, 3, o.size(), "of several programs, one without -n has one rank")
	for _, v := range []string{"eth0", "ib0.8001", "10.0.0.0/8", "fd00::/8", "10.1.2.3/24", "::1", "127.0.0.1,::1", "lo,fe80::1%eth0"} {
		_, err := parse("-net " + v + " a")
		require.NoError(t, err, v)
	}
	for v, want := range map[string]string{
		"::ffff:10.0.0.0/104": "10.0.0.0/8", "::ffff:0:0/96,lo": "0.0.0.0/0,lo", "eth0,::ffff:10.1.0.7/128": "eth0,10.1.0.7/32",
		"::ffff:10.1.0.7": "10.1.0.7", "::/64": "::/64", "::a01:7": "::a01:7",
	} {
		o, err := parse("-net " + v + " a")
		require.NoError(t, err, v)
		require.Equal(t, want, o.net, "the IPv6 form of an IPv4 address is compared with IPv4 addresses")
	}
	for line, want := range map[string]string{
		"-net 10.0.0.0/33 a":           "want networks",
		"-net lo,::ffff:10.0.0.0/95 a": "-net lo,::ffff:10.0.0.0/95: ::ffff:10.0.0.0/95: an IPv4 network in IPv6 form has a prefix of 96 to 128 bits",
		"-net 10.0.0/8 a":              "want networks",
		"-net fe80:::1 a":              "want networks",
		"-net lo,10.0.0.0/33 a":        "want networks",
		"-net lo, a":                   "want networks",
		"-net interface-too-long a":    "want networks",
		"-net= a":                      "want networks",
		"-transport tcp a":             "one of shm, rdma, auto",
		"-host h1:x a":                 "number of slots",
		"-hostfile /no/such a":         "no such file",
		"-rsh 'x a":                    "not closed",
		"-answer-within 0 a":           "want a duration",
		"-mca plm_rsh_agent a":         "no MCA",
	} {
		_, err := parse(line)
		require.ErrorContains(t, err, want, line)
	}
}

// This machine is recognized by its name in upper or lower case.
func TestThisMachineByName(t *testing.T) {
	own, err := os.Hostname()
	require.NoError(t, err)
	for _, name := range []string{"localhost", "LocalHost", "127.0.0.1", "::1", own, strings.ToUpper(own), strings.ToLower(own)} {
		require.True(t, isThisMachine(name), name)
	}
	for _, name := range []string{"", "localhos", "user@localhost", "x" + own} {
		require.False(t, isThisMachine(name), name)
	}
}
