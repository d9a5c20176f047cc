package kernel_test

// siwDepths is the reason why statements on Read depths (docs/connection-model.md) do not hold. siw raises the
// IRD of an accept to the ORD that the peer has asked for. On the active side, siw takes the ORD of the answer
// even if its own ORD is smaller (siw_accept, siw_proc_mpareply). So an accept cannot lower a depth.
const siwDepths = "siw does not let an accept lower the read depths"

// siwSilent is the reason why a side that has violated the protocol sees an orderly end of the connection.
const siwSilent = "siw does not report a Terminate that has arrived: the connection counts as disconnected"

// siwLingers is the reason why an accept succeeds although the active side has given up its attempt. siw's
// connect cannot be interrupted, so the attempt continues without its endpoint until the peer has answered.
const siwLingers = "an attempt that was given up is established first, and then disconnected"

var siwExceptions = map[string]string{
	"19": siwDepths, "20": siwDepths, "22": siwDepths, "34": siwDepths, "57": siwDepths, "66": siwDepths, "67": siwDepths,
	"30": siwLingers, "31": siwLingers,
	"40": siwSilent, "59": siwSilent, "rule_a_message_longer_than_its_receive": siwSilent,
}

// rxeAddress is the reason why a host that does not exist is reported as a host that does not answer. The
// interface dummy0 resolves no addresses (NOARP). If the source address belongs to dummy0, every destination
// counts as a neighbour.
const rxeAddress = "the request is sent to a host that is not there, until the consumer's timeout"

var rxeExceptions = map[string]string{
	"12": rxeAddress, "54": rxeAddress,
	"59": "the side that had no receive posted sees an orderly end",
}
