package nscluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// SSH returns an ssh command with its options. The command uses keys that were made for this cluster. The
// caller appends the name of a host and a command. The cluster must have been made by StartSSH. The
// connection uses the network of the hosts, so that Cut breaks it. The ssh command must run on a host,
// because this machine's own network has no route to the hosts.
func (c *Cluster) SSH() string {
	c.tb.Helper()
	if !c.sshd {
		c.tb.Fatal("nscluster: no sshd: use StartSSH")
	}
	return "ssh -F " + filepath.Join(c.dir, "ssh_config")
}

// configureSSH makes keys and configurations for all hosts.
func (c *Cluster) configureSSH() {
	c.tb.Helper()
	for _, name := range []string{"hostkey", "id"} {
		cmd := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(c.dir, name))
		if out, err := cmd.CombinedOutput(); err != nil {
			c.tb.Fatalf("nscluster: ssh-keygen: %v: %s", err, out)
		}
	}
	key, err := os.ReadFile(filepath.Join(c.dir, "hostkey.pub"))
	if err != nil {
		c.tb.Fatalf("nscluster: %v", err)
	}
	var known strings.Builder
	for i, name := range c.names {
		fmt.Fprintf(&known, "%s,10.77.0.%d %s", name, i+1, key)
		// HOME is a directory without start-up files of a shell. The start-up files of this
		// machine's user may wait for a lock that a killed host has left.
		c.write(name+".sshd", fmt.Sprintf(`ListenAddress 10.77.0.%d
HostKey %s/hostkey
AuthorizedKeysFile %s/id.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
PidFile none
UseDNS no
MaxStartups 500
MaxSessions 500
SetEnv HOME=%s
`, i+1, c.dir, c.dir, c.dir), 0o600)
	}
	c.write("known_hosts", known.String(), 0o644)
	c.write("ssh_config", fmt.Sprintf(`Host *
  User root
  IdentityFile %s/id
  IdentitiesOnly yes
  UserKnownHostsFile %s/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  BatchMode yes
  LogLevel ERROR
`, c.dir, c.dir), 0o644)
}
