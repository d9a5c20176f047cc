package uverbs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Which driver a device has is said by the kernel's RDMA netlink alone
// (rdma/rdma_netlink.h).
const (
	nldevClient         = 5  // RDMA_NL_NLDEV
	nldevGet            = 1  // RDMA_NLDEV_CMD_GET
	nldevGetCharDevice  = 15 // RDMA_NLDEV_CMD_GET_CHARDEV
	nldevIndex          = 1  // RDMA_NLDEV_ATTR_DEV_INDEX
	nldevName           = 2  // RDMA_NLDEV_ATTR_DEV_NAME
	nldevCharDeviceType = 69 // RDMA_NLDEV_ATTR_CHARDEV_TYPE
	nldevDriver         = 73 // RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID
)

// errMessage says that a message of netlink is not one.
var errMessage = errors.New("truncated netlink message")

// askDrivers asks for the drivers of all devices, by name.
func askDrivers() (map[string]Driver, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_RDMA)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	return drivers(func(request []byte, take func([]byte) (bool, error)) error {
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

// drivers asks by means of exchange, which sends a request and hands over datagrams until
// take has the last one.
func drivers(exchange func(request []byte, take func([]byte) (bool, error)) error) (map[string]Driver, error) {
	names := map[string]uint32{}
	err := exchange(nldevRequest(nldevGet, unix.NLM_F_DUMP), func(b []byte) (bool, error) {
		return messages(b, func(attributes map[uint16][]byte) error {
			name, index := attributes[nldevName], attributes[nldevIndex]
			if len(index) != 4 {
				return errMessage
			}
			names[string(bytes.TrimRight(name, "\x00"))] = binary.NativeEndian.Uint32(index)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	all := map[string]Driver{}
	for name, index := range names {
		request := nldevRequest(nldevGetCharDevice, 0)
		request = appendAttribute(request, nldevIndex, binary.NativeEndian.AppendUint32(nil, index))
		request = appendAttribute(request, nldevCharDeviceType, []byte("uverbs\x00"))
		binary.NativeEndian.PutUint32(request, uint32(len(request)))
		err := exchange(request, func(b []byte) (bool, error) {
			_, err := messages(b, func(attributes map[uint16][]byte) error {
				if id := attributes[nldevDriver]; len(id) == 4 { // old drivers do not say
					all[name] = Driver(binary.NativeEndian.Uint32(id))
				}
				return nil
			})
			return true, err // one message is the answer
		})
		var refused unix.Errno
		if err != nil && !errors.As(err, &refused) { // refused: removed meanwhile, or without verbs
			return nil, fmt.Errorf("driver of %s: %w", name, err)
		}
	}
	return all, nil
}

// nldevRequest is a request without attributes.
func nldevRequest(command, flags uint16) []byte {
	b := make([]byte, unix.NLMSG_HDRLEN)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], nldevClient<<10|command)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|flags)
	return b
}

// appendAttribute appends an attribute and pads it.
func appendAttribute(b []byte, kind uint16, value []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(unix.NLA_HDRLEN+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	return append(b, make([]byte, padding(len(value)))...)
}

// padding is how many bytes follow n to be a multiple of four.
func padding(n int) int { return -n & 3 }

// messages hands the attributes of all messages of a datagram over. It reports whether the
// last one was there.
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

// parseAttributes splits the attributes of a message.
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
