package main

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/allocation"
)

// rshDefault runs a command on a host by ssh, without prompts, terminal and X11 forwarding. ssh has 15 s to
// connect.
var rshDefault = []string{"ssh", "-x", "-T", "-oBatchMode=yes", "-oConnectTimeout=15"}

// rshHost stands for the host in -rsh.
const rshHost = "%h"

// splitCommand splits the value of -rsh or -build-flags into words as a shell does: at blanks, with '...', "..."
// and backslashes. Unlike in a shell, a backslash within "..." quotes every character.
func splitCommand(text string) ([]string, error) {
	var words []string
	var word []byte
	inWord, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if inWord {
				words, word, inWord = append(words, string(word)), nil, false
			}
			continue
		case c == '\\' && quote != '\'':
			if i++; i == len(text) {
				return nil, errors.New("nothing after the last backslash")
			}
			word = append(word, text[i])
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		default:
			word = append(word, c)
		}
		inWord = true
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if inWord {
		words = append(words, string(word))
	}
	if len(words) == 0 {
		return nil, errors.New("the command is empty")
	}
	return words, nil
}

// rshLine returns the start of a command line that runs, on a host, the words that the caller appends. The name of
// the host replaces %h in the value of -rsh. If the value has no %h, the name follows the value. The command of an
// allocation names the host itself, by %h or by the argument of the host's group.
//
// A shell on the host may interpret the appended words. The caller therefore quotes a word that needs quotes
// (shellWord). It quotes no other word, because not every rsh command starts a shell.
func (o *options) rshLine(host string) []string {
	rsh, named := o.rsh, false
	switch {
	case o.groups != nil:
		rsh, named = allocation.Command(rsh, o.groups[host]), true
	case rsh == nil:
		rsh = rshDefault
	}
	line := make([]string, 0, len(rsh)+3)
	for _, w := range rsh {
		named = named || strings.Contains(w, rshHost)
		line = append(line, strings.ReplaceAll(w, rshHost, host))
	}
	if !named {
		line = append(line, host)
	}
	return line
}

// commandEnviron returns the environment of the commands that reach hosts.
func (o *options) commandEnviron() []string {
	env := rankEnviron(os.Environ())
	if o.hidden == nil {
		return env
	}
	return slices.DeleteFunc(env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return o.hidden(name)
	})
}

// shellWord quotes a word for a shell if it needs that.
func shellWord(w string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-._/@:+,=%", c)
	}
	if w != "" && strings.IndexFunc(w, func(c rune) bool { return !plain(c) }) < 0 {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// shellLine returns a command as a user types it into a shell.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellWord(w)
	}
	return strings.Join(quoted, " ")
}

// isThisMachine reports whether a name is a name of this machine, for which rsh is not needed. It compares
// names, which may be in upper or lower case (RFC 4343), and does not resolve them.
func isThisMachine(name string) bool {
	if strings.EqualFold(name, "localhost") || name == "127.0.0.1" || name == "::1" {
		return true
	}
	own, err := os.Hostname()
	return err == nil && strings.EqualFold(name, own)
}

// hostVariables are variables that describe the machine or the login on it. They are not
// passed to other hosts: a rank keeps the values of its own host.
var hostVariables = []string{
	"HOSTNAME", "HOST", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "MAIL", "OLDPWD", "SHLVL", "_",
	"SLURMD_NODENAME", "SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_GTIDS", "SLURM_TASK_PID",
}

// loginVariables are variables that name the user and the places of the user's files. They
// are not passed to a host where the ranks run as another user.
var loginVariables = []string{"HOME", "USER", "LOGNAME", "SHELL", "PATH"}

// namesUser reports whether the command line names the user to log in as, by user@host or by an option of
// ssh. It does not see a user that ssh's configuration names. The user ID in the agent's Hello shows that
// user.
func namesUser(rsh []string, host string) bool {
	return strings.Contains(host, "@") || slices.ContainsFunc(rsh, func(w string) bool {
		return strings.Contains(w, "@"+rshHost) || strings.HasPrefix(w, "-l") || strings.Contains(w, "User=")
	})
}

// ofLogin reports whether NAME=VALUE is one of loginVariables.
func ofLogin(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return slices.Contains(loginVariables, name)
}

// portable returns the variables of an environment that are valid on another host.
func portable(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(hostVariables, name) || strings.HasPrefix(name, "SSH_") || strings.HasPrefix(name, "XDG_")
	})
}
