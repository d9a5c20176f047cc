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
}

// Addresses queries the addresses and the device of the id.
func (id *ID) Addresses() (Addresses, error) {
	const op = "query addresses"
	body, answer := words(make([]byte, querySize)), words(make([]byte, addressesSize))
	body.put32(queryOption, queryAddress)
	err := id.do(op, queryID, &Command{Number: commandQuery, Body: body, Memory: answer, Pointer: queryResponse})
	if err != nil {
		return Addresses{}, err
	}
	a := Addresses{NodeGUID: binary.BigEndian.Uint64(answer[addressesGUID:])}
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
