package uverbs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Constants of the kernel's RDMA netlink (rdma/rdma_netlink.h), which reports the driver and the
// network interface of a device.
const (
	nldevClient         = 5  // RDMA_NL_NLDEV
	nldevGet            = 1  // RDMA_NLDEV_CMD_GET
	nldevGetPort        = 5  // RDMA_NLDEV_CMD_PORT_GET
	nldevGetCharDevice  = 15 // RDMA_NLDEV_CMD_GET_CHARDEV
	nldevIndex          = 1  // RDMA_NLDEV_ATTR_DEV_INDEX
	nldevName           = 2  // RDMA_NLDEV_ATTR_DEV_NAME
	nldevPort           = 3  // RDMA_NLDEV_ATTR_PORT_INDEX
	nldevCharDeviceType = 69 // RDMA_NLDEV_ATTR_CHARDEV_TYPE
	nldevInterface      = 51 // RDMA_NLDEV_ATTR_NDEV_NAME
	nldevDriver         = 73 // RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID
)

// errMessage means that a netlink message or an attribute is malformed.
var errMessage = errors.New("truncated netlink message")

// particulars are the properties of a device that only netlink reports.
type particulars struct {
	driver Driver
	// on is the network interface of the first port, or "" if it has none.
	on string
}

// exchange sends a netlink request and passes each datagram of the answer to the function take. It
// ends when take returns true for the last datagram, or when take returns an error.
type exchange func(request []byte, take func([]byte) (bool, error)) error

// askKernel queries the particulars of all devices, by name.
func askKernel() (map[string]particulars, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_RDMA)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	return ask(func(request []byte, take func([]byte) (bool, error)) error {
		if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			return err
		}
		b := make([]byte, 1<<16)
		for {
			n, _, err := unix.Recvfrom(fd, b, 0)
			if err == unix.EINTR {
				continue
			}
			if err != nil {
				return err
			}
			if done, err := take(b[:n]); done || err != nil {
				return err
			}
		}
	})
}

// ask queries the particulars of all devices through an exchange.
func ask(e exchange) (map[string]particulars, error) {
	names := map[string]uint32{}
	err := e(nldevRequest(nldevGet, unix.NLM_F_DUMP), func(b []byte) (bool, error) {
		return messages(b, func(attributes map[uint16][]byte) error {
			name, index := attributes[nldevName], attributes[nldevIndex]
			if len(index) != 4 {
				return errMessage
			}
			names[text(name)] = binary.NativeEndian.Uint32(index)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	all := map[string]particulars{}
	for name, index := range names {
		var p particulars
		if err := e.one(nldevGetCharDevice, index, nldevCharDeviceType, []byte("uverbs\x00"), func(attributes map[uint16][]byte) {
			if id := attributes[nldevDriver]; len(id) == 4 { // some drivers do not report it
				p.driver = Driver(binary.NativeEndian.Uint32(id))
			}
		}); err != nil {
			return nil, fmt.Errorf("driver of %s: %w", name, err)
		}
		if err := e.one(nldevGetPort, index, nldevPort, []byte{1, 0, 0, 0}, func(attributes map[uint16][]byte) {
			p.on = text(attributes[nldevInterface])
		}); err != nil {
			return nil, fmt.Errorf("interface of %s: %w", name, err)
		}
		all[name] = p
	}
	return all, nil
}

// one sends a query about one device and passes the attributes of the answer to the function take.
// The argument index names the device. The arguments kind and value are one further attribute of
// the query. If the kernel answers with an error, the method returns nil and does not call take.
func (e exchange) one(command uint16, index uint32, kind uint16, value []byte, take func(map[uint16][]byte)) error {
	request := nldevRequest(command, 0)
	request = appendAttribute(request, nldevIndex, binary.NativeEndian.AppendUint32(nil, index))
	request = appendAttribute(request, kind, value)
	binary.NativeEndian.PutUint32(request, uint32(len(request)))
	err := e(request, func(b []byte) (bool, error) {
		_, err := messages(b, func(attributes map[uint16][]byte) error {
			take(attributes)
			return nil
		})
		return true, err // the answer is a single message
	})
	var refused unix.Errno
	if errors.As(err, &refused) {
		return nil // for example, the device was removed before the query, or has no verbs
	}
	return err
}

// text returns the string in an attribute, without the zeros at its end.
func text(b []byte) string { return string(bytes.TrimRight(b, "\x00")) }

// nldevRequest returns a request without attributes.
func nldevRequest(command, flags uint16) []byte {
	b := make([]byte, unix.NLMSG_HDRLEN)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], nldevClient<<10|command)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|flags)
	return b
}

// appendAttribute appends an attribute and its padding.
func appendAttribute(b []byte, kind uint16, value []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(unix.NLA_HDRLEN+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	return append(b, make([]byte, padding(len(value)))...)
}

// padding returns the number of bytes that pad n bytes to a multiple of four.
func padding(n int) int { return -n & 3 }

// messages passes the attributes of each message of a datagram to the function take. It reports
// whether the datagram contains the last message of the answer. If the datagram is an error
// message of the kernel, messages returns the errno in it.
func messages(b []byte, take func(map[uint16][]byte) error) (bool, error) {
	for len(b) > 0 {
		if len(b) < unix.NLMSG_HDRLEN {
			return false, errMessage
		}
		n := int(binary.NativeEndian.Uint32(b))
		if n < unix.NLMSG_HDRLEN || n > len(b) {
			return false, errMessage
		}
		body := b[unix.NLMSG_HDRLEN:n]
		switch binary.NativeEndian.Uint16(b[4:]) {
		case unix.NLMSG_DONE:
			return true, nil
		case unix.NLMSG_ERROR:
			if len(body) < 4 {
				return false, errMessage
			}
			if errno := int32(binary.NativeEndian.Uint32(body)); errno != 0 {
				return true, unix.Errno(-errno)
			}
			return true, nil
		default:
			attributes, err := parseAttributes(body)
			if err != nil {
				return false, err
			}
			if err := take(attributes); err != nil {
				return false, err
			}
		}
		b = b[min(n+padding(n), len(b)):]
	}
	return false, nil
}

// parseAttributes returns the values of the attributes of a message, by attribute type.
func parseAttributes(b []byte) (map[uint16][]byte, error) {
	all := map[uint16][]byte{}
	for len(b) > 0 {
		if len(b) < unix.NLA_HDRLEN {
			return nil, errMessage
		}
		n := int(binary.NativeEndian.Uint16(b))
		if n < unix.NLA_HDRLEN || n > len(b) {
			return nil, errMessage
		}
		all[binary.NativeEndian.Uint16(b[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER)] = b[unix.NLA_HDRLEN:n]
		b = b[min(n+padding(n), len(b)):]
	}
	return all, nil
}
