package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// hostSlots is an entry of a list of hosts.
type hostSlots struct {
	name  string
	slots int // number of ranks that the host gets before the next host, with -map-by slot
}

// hostList is a list of hosts in the order in which they are filled.
type hostList []hostSlots

// slots returns the number of slots of all hosts.
func (l hostList) slots() int {
	n := 0
	for _, h := range l {
		n += h.slots
	}
	return n
}

// add adds the slots of h to the host of that name. A new host is appended to the list.
func (l hostList) add(h hostSlots) hostList {
	if i := slices.IndexFunc(l, func(o hostSlots) bool { return o.name == h.name }); i >= 0 {
		l[i].slots += h.slots
		return l
	}
	return append(l, h)
}

// parseHosts parses the value of -host: "h1:2,h2,user@h3:4,[fe80::1%eth0]:2". A host
// without a number has one slot. If a host is named repeatedly, its slots add up.
func parseHosts(text string) (hostList, error) {
	var l hostList
	for entry := range strings.SplitSeq(text, ",") {
		h, err := parseHost(strings.TrimSpace(entry))
		if err != nil {
			return nil, err
		}
		l = l.add(h)
	}
	return l, l.check()
}

func (l hostList) check() error {
	if n := l.slots(); n > ranksMax {
		return fmt.Errorf("%d slots: at most %d", n, ranksMax)
	}
	return nil
}

// parseHost parses one host with or without a number of slots.
func parseHost(entry string) (hostSlots, error) {
	name, number := entry, ""
	switch at := strings.LastIndexByte(entry, ':'); {
	case strings.HasPrefix(entry, "["):
		end := strings.IndexByte(entry, ']')
		if end < 0 || end+1 < len(entry) && entry[end+1] != ':' {
			return hostSlots{}, fmt.Errorf("%q: want [address] or [address]:slots", entry)
		}
		name = entry[1:end]
		if end+1 < len(entry) {
			number = entry[end+1:]
		}
	case strings.Count(entry, ":") > 1:
		return hostSlots{}, fmt.Errorf("%q: write an IPv6 address as [address]:slots", entry)
	case at >= 0:
		name, number = entry[:at], entry[at:]
	}
	h := hostSlots{name: name, slots: 1}
	if number != "" {
		n, err := strconv.Atoi(number[1:])
		if err != nil || n < 1 || n > ranksMax {
			return hostSlots{}, fmt.Errorf("%q: after the colon want a number of slots from 1 to %d", entry, ranksMax)
		}
		h.slots = n
	}
	return h, checkHostName(name)
}

// checkHostName returns an error for a name that the command of -rsh may misinterpret, for example a name that
// looks like an option of ssh.
func checkHostName(name string) error {
	switch {
	case name == "":
		return errors.New("a host name is empty")
	case name[0] == '-':
		return fmt.Errorf("%q: a host's name does not start with a dash", name)
	case len(name) > 255:
		return fmt.Errorf("%.20q...: a host's name has at most 255 bytes", name)
	}
	bad := func(c rune) bool {
		return c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("-._@:%", c)
	}
	if i := strings.IndexFunc(name, bad); i >= 0 {
		return fmt.Errorf("%q: a host's name has letters, digits and -._@:%% only", name)
	}
	return nil
}

// readHostFile reads a list of hosts in the formats of Open MPI ("h1 slots=4")
// and MPICH ("h1:4"), with comments after #.
func readHostFile(path string) (hostList, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return parseHostFile(f)
}

func parseHostFile(r io.Reader) (hostList, error) {
	var l hostList
	lines, number := bufio.NewScanner(r), 1
	for ; lines.Scan(); number++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		h, err := parseHost(fields[0])
		if err == nil && len(fields) > 2 {
			err = fmt.Errorf("%q: want only slots=N after the host", fields[2])
		}
		if err == nil && len(fields) > 1 && strings.Contains(fields[0], ":") && !strings.HasSuffix(fields[0], "]") {
			err = fmt.Errorf("%q: %q has a number of slots already", fields[1], fields[0])
		}
		for _, field := range fields[1:] {
			value, ok := strings.CutPrefix(field, "slots=")
			n, e := strconv.Atoi(value)
			if err == nil && (!ok || e != nil || n < 1 || n > ranksMax) {
				err = fmt.Errorf("%q: want slots=N", field)
			}
			h.slots = n
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		l = l.add(h)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", number, err)
	}
	if len(l) == 0 {
		return nil, errors.New("it names no hosts")
	}
	return l, l.check()
}
