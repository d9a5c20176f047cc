package probe

import "strings"

// Explain describes in a few lines which address would carry RDMA between hosts for the given -net
// preference, and lists the devices and interfaces of the host. Every line is indented by two
// spaces and ends with a line feed.
func (h *Host) Explain(wish string) string {
	var b strings.Builder
	say := func(what, text string) { b.WriteString("  " + what + ": " + text + "\n") }
	if c, err := h.Network(wish); err != nil {
		say("address", "none: "+err.Error())
	} else {
		say("address", c.String())
	}
	if err := h.Kernel(); err != nil {
		say("kernel", strings.TrimPrefix(err.Error(), "kernel RDMA: "))
	}
	for _, d := range h.Devices() {
		say("device", d.String())
	}
	if all, err := h.Interfaces(); err == nil {
		for i := range all {
			say("interface", all[i].String())
		}
	}
	return b.String()
}
