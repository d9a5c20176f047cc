package bootstrap

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// presence is what a rank that another launcher has started tells rank 0 about itself.
//
// Encoded, little endian: 16 bytes node, the file, 128 bytes set of processors, the host's
// name.
type presence struct {
	node       NodeID
	file       foreignFile // a file with a nonce, for peers that may be on the same node
	processors [16]uint64  // a bit for each
	host       string
}

// foreignFile is an open file of another process, below /proc of the node.
//
// Encoded, little endian: 4 bytes each user, process and descriptor, 16 bytes nonce.
type foreignFile struct {
	user, pid, fd int
	nonce         [nonceBytes]byte
}

const (
	foreignFileBytes = 12 + nonceBytes
	presenceBytes    = 16 + foreignFileBytes + 128
)

func (f foreignFile) append(b []byte) []byte {
	for _, v := range [...]int{f.user, f.pid, f.fd} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return append(b, f.nonce[:]...)
}

// parseForeignFile decodes a file at the start of b.
func parseForeignFile(b []byte) (foreignFile, error) {
	if len(b) < foreignFileBytes {
		return foreignFile{}, fmt.Errorf("bootstrap: file in %d bytes: %w", len(b), ErrMalformed)
	}
	f := foreignFile{
		user: int(binary.LittleEndian.Uint32(b)), pid: int(binary.LittleEndian.Uint32(b[4:])), fd: int(binary.LittleEndian.Uint32(b[8:])),
		nonce: [nonceBytes]byte(b[12:]),
	}
	if f.pid > 1<<31-1 || f.fd > 1<<31-1 {
		return f, fmt.Errorf("bootstrap: file %d of process %d: %w", f.fd, f.pid, ErrMalformed)
	}
	return f, nil
}

func (p presence) encode() []byte {
	b := p.file.append(p.node[:])
	for _, w := range p.processors {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return append(b, clip(p.host, 255)...)
}

func parsePresence(b []byte) (presence, error) {
	if len(b) < presenceBytes || len(b) > presenceBytes+255 {
		return presence{}, fmt.Errorf("bootstrap: presence of %d bytes: %w", len(b), ErrMalformed)
	}
	p := presence{node: NodeID(b)}
	var err error
	p.file, err = parseForeignFile(b[16:])
	for i := range p.processors {
		p.processors[i] = binary.LittleEndian.Uint64(b[16+foreignFileBytes+8*i:])
	}
	p.host = string(b[presenceBytes:])
	return p, err
}

// company returns the ranks of each node, ascending, in the order of their lowest ranks.
func company(all []presence) [][]int {
	var nodes [][]int
	at := map[NodeID]int{}
	for rank := range all {
		i, known := at[all[rank].node]
		if !known {
			i = len(nodes)
			at[all[rank].node] = i
			nodes = append(nodes, nil)
		}
		nodes[i] = append(nodes[i], rank)
	}
	return nodes
}

// assign makes the identity of every rank but the range of its node's memory.
func assign(all []presence, id, onFailure string) []Job {
	jobs := make([]Job, len(all))
	nodes := company(all)
	for n, ranks := range nodes {
		var set [16]uint64
		processors := 0
		for i := range set {
			for _, rank := range ranks {
				set[i] |= all[rank].processors[i]
			}
			processors += bits.OnesCount64(set[i])
		}
		for local, rank := range ranks {
			jobs[rank] = Job{
				Rank: rank, Size: len(all), LocalRank: local, LocalSize: len(ranks), NodeRank: n, Nodes: len(nodes), ID: id,
				Node: all[rank].node, Host: all[rank].host, Peers: ranks, Processors: max(1, processors), OnFailure: onFailure,
			}
		}
	}
	return jobs
}

// alone makes a rank a node of its own.
func (p *presence) alone(rank int) {
	sum := sha256.Sum256(binary.LittleEndian.AppendUint32(p.node[:], uint32(rank)))
	p.node = NodeID(sum[:len(p.node)])
}

// place is the identity of a rank, and where the memory of its node is: nowhere for the rank
// that makes it.
//
// Encoded: the file, then the variables of the identity with a zero byte between them.
type place struct {
	job    Job
	memory foreignFile
}

func (p place) encode() []byte {
	return append(p.memory.append(nil), strings.Join(p.job.Environ(), "\x00")...)
}

func parsePlace(b []byte) (place, error) {
	memory, err := parseForeignFile(b)
	if err != nil {
		return place{}, err
	}
	variables := strings.Split(string(b[foreignFileBytes:]), "\x00")
	job, err := ParseJob(func(name string) string {
		i := slices.IndexFunc(variables, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		if i < 0 {
			return ""
		}
		return variables[i][len(name)+1:]
	})
	if err != nil {
		return place{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return place{job: job, memory: memory}, nil
}
