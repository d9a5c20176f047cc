//go:build !portable

package bootstrap

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// ThisNode returns the identity of the node on which this process runs. The identity combines the kernel's
// boot ID and the device number of /dev/shm. Containers of one kernel that cannot share memory have different
// device numbers. If GORUN_HOSTID is set, the identity also contains a hash of its value.
func ThisNode() (NodeID, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return NodeID{}, fmt.Errorf("bootstrap: boot id: %w", err)
	}
	raw, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(string(text)), "-", ""))
	if err != nil || len(raw) != len(NodeID{}) {
		return NodeID{}, fmt.Errorf("bootstrap: boot id %q: %w", clip(string(text), 80), ErrMalformed)
	}
	node := NodeID(raw)
	var st unix.Stat_t
	if unix.Stat("/dev/shm", &st) == nil {
		low := binary.LittleEndian.Uint64(node[8:])
		binary.LittleEndian.PutUint64(node[8:], low^st.Dev)
	}
	if text := os.Getenv(EnvHostID); text != "" {
		for i, b := range sha256.Sum256([]byte(text)) {
			node[i%len(node)] ^= b
		}
	}
	return node, nil
}
