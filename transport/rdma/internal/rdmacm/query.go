package rdmacm

import (
	"encoding/binary"
	"net/netip"
)

// Addresses contains the two addresses of an id (rdma_get_local_addr(3), rdma_get_peer_addr(3))
// and its device.
type Addresses struct {
	// Source is invalid as long as the id has no local address. Destination is invalid as long as
	// the id has no address of the peer.
	Source, Destination netip.AddrPort
	// NodeGUID is the GUID of the device, the same as node_guid in sysfs. NodeGUID is 0 if the id
	// has no device.
	NodeGUID uint64
	// Device is the index of the device. Kernels before 5.8 report 0.
	Device uint32
	// Port is the port of the device, or 0 if the id has no device.
	Port uint8
	PKey uint16
}

// Addresses queries the addresses and the device of the id.
func (id *ID) Addresses() (Addresses, error) {
	const op = "query addresses"
	answer, err := id.query(op, commandQuery, queryAddress, addressesSize)
	if err != nil {
		return Addresses{}, err
	}
	a := Addresses{
		NodeGUID: binary.BigEndian.Uint64(answer[addressesGUID:]),
		Device:   answer.at32(addressesDevice),
		Port:     answer[addressesPort],
		PKey:     binary.BigEndian.Uint16(answer[addressesPKey:]),
	}
	if answer.at16(addressesSourceSize) > 0 {
		if a.Source, err = address(answer[addressesSource:]); err != nil {
			return Addresses{}, &Error{Op: op, ID: id.uid, Err: err}
		}
	}
	if answer.at16(addressesDestinationSize) > 0 {
		if a.Destination, err = address(answer[addressesDestination:]); err != nil {
			return Addresses{}, &Error{Op: op, ID: id.uid, Err: err}
		}
	}
	return a, nil
}

// Path is the path to the peer (struct ib_user_path_rec). On iWARP only the GIDs are set.
type Path struct {
	// Number is the number of paths that the kernel has: 0 before RouteResolved, and on iWARP.
	Number int
	// SGID and DGID are the GIDs of the ports of this side and of the peer. In RoCE v2 they are
	// IP addresses.
	SGID, DGID   [16]byte
	PKey         uint16
	FlowLabel    uint32
	HopLimit     uint8
	TrafficClass uint8
	ServiceLevel uint8
	// MTU is a value of enum ib_mtu, from 1 (256 bytes) to 5 (4096 bytes).
	MTU      uint32
	Rate     uint8
	LifeTime uint8
}

// Path queries the first path to the peer.
func (id *ID) Path() (Path, error) {
	answer, err := id.query("query path", commandQueryRoute, 0, pathsSize)
	if err != nil {
		return Path{}, err
	}
	first := answer[pathsFirst:]
	return Path{
		Number:    int(answer.at32(pathsNumber)),
		SGID:      [16]byte(first[pathSGID:]),
		DGID:      [16]byte(first[pathDGID:]),
		PKey:      binary.BigEndian.Uint16(first[pathPKey:]),
		FlowLabel: binary.BigEndian.Uint32(first[pathFlowLabel:]),
		HopLimit:  first[pathHopLimit], TrafficClass: first[pathTrafficClass], ServiceLevel: first[pathServiceLevel],
		MTU: first.at32(pathMTU), Rate: first[pathRate], LifeTime: first[pathLifeTime],
	}, nil
}

// query carries out a query of the id whose answer has size bytes.
func (id *ID) query(op string, number, option uint32, size int) (words, error) {
	body, answer := words(make([]byte, querySize)), words(make([]byte, size))
	body.put32(queryOption, option)
	err := id.do(op, queryID, &Command{Number: number, Body: body, Memory: answer, Pointer: queryResponse, Answers: true})
	return answer, err
}
