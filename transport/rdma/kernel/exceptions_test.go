package kernel_test

// siwDepths is why rows on read depths differ: siw raises the IRD of an accept to what the
// peer has asked for, and its initiator takes the ORD of the answer even above its own
// (siw_accept, siw_proc_mpareply), so that an accept lowers nothing.
const siwDepths = "siw does not let an accept lower the read depths"

// siwSilent is why the side that has broken the rules sees an end in order.
const siwSilent = "siw tells nothing of a Terminate that has come: the connection counts as disconnected"

// siwLingers is why an accept of an attempt that was given up succeeds: siw's connect cannot be
// interrupted, so that the attempt goes on without its endpoint until the peer has answered.
const siwLingers = "an attempt that was given up is established first, and then disconnected"

var siwExceptions = map[string]string{
	"19": siwDepths, "20": siwDepths, "22": siwDepths, "34": siwDepths, "57": siwDepths, "66": siwDepths, "67": siwDepths,
	"30": siwLingers, "31": siwLingers,
	"40": siwSilent, "59": siwSilent, "rule_a_message_longer_than_its_receive": siwSilent,
}

// rxeAddress is why a host that is not there counts as silent: dummy0 asks for no addresses
// (NOARP), and a source bound to it makes every destination a neighbour.
const rxeAddress = "the request is sent to a host that is not there, until the consumer's timeout"

var rxeExceptions = map[string]string{
	"12": rxeAddress, "54": rxeAddress,
	"59": "the side that had no receive posted sees an end in order",
}
