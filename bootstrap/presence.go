package bootstrap

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// presence is the description that a rank sends to rank 0 if another launcher has started the ranks.
//
// Encoded, little endian: 16 bytes node, the witness, 128 bytes set of processors, the host's
// name.
type presence struct {
	node       NodeID
	file       Witness    // other ranks read this file to find out whether they are on the same node
	processors [16]uint64 // bit set of the processors that the rank may use
	host       string
}

const (
	// An encoded Witness, little endian, is 4 bytes process ID, 4 bytes descriptor, 16 bytes nonce.
	witnessBytes  = 8 + nonceBytes
	presenceBytes = 16 + witnessBytes + 128
)

// Witness identifies an open file of a process. The file contains a nonce. Another process that can read the
// nonce through /proc is on the same node. A process in a container with a PID namespace and a /proc of its own
// cannot read the nonce. A process on another machine cannot read it either, even if both machines have the
// same boot ID because they were started from one snapshot. The file has no name that could remain after the
// job.
type Witness struct {
	PID, FD int
	Nonce   [nonceBytes]byte
}

func (w Witness) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(w.PID))
	b = binary.LittleEndian.AppendUint32(b, uint32(w.FD))
	return append(b, w.Nonce[:]...)
}

// parseWitness decodes a witness at the start of b.
func parseWitness(b []byte) (Witness, error) {
	if len(b) < witnessBytes {
		return Witness{}, fmt.Errorf("bootstrap: witness in %d bytes: %w", len(b), ErrMalformed)
	}
	w := Witness{PID: int(binary.LittleEndian.Uint32(b)), FD: int(binary.LittleEndian.Uint32(b[4:])), Nonce: [nonceBytes]byte(b[8:])}
	if w.PID > 1<<31-1 || w.FD > 1<<31-1 {
		return w, fmt.Errorf("bootstrap: file %d of process %d: %w", w.FD, w.PID, ErrMalformed)
	}
	return w, nil
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
	p.file, err = parseWitness(b[16:])
	for i := range p.processors {
		p.processors[i] = binary.LittleEndian.Uint64(b[16+witnessBytes+8*i:])
	}
	p.host = string(b[presenceBytes:])
	return p, err
}

// company returns the ranks of each node in ascending order. The nodes are in the order of their lowest
// ranks.
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

// assign returns the identity of every rank. It sets all fields except NodeRange.
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

// alone changes the node ID in a presence, so that the rank is on a node of its own.
func (p *presence) alone(rank int) {
	sum := sha256.Sum256(binary.LittleEndian.AppendUint32(p.node[:], uint32(rank)))
	p.node = NodeID(sum[:len(p.node)])
}

// place is the identity of a rank and the location of the memory of its node.
//
// Encoded: the witness, then the variables of the identity with a zero byte between them.
type place struct {
	job    Job
	memory Witness // the node memory in the process that has made it; zero for the rank that makes it
}

func (p place) encode() []byte {
	return append(p.memory.append(nil), strings.Join(p.job.Environ(), "\x00")...)
}

func parsePlace(b []byte) (place, error) {
	memory, err := parseWitness(b)
	if err != nil {
		return place{}, err
	}
	variables := strings.Split(string(b[witnessBytes:]), "\x00")
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
