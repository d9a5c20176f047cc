package rdmacm

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// constant is a number of the C headers.
type constant struct {
	// expression is an expression of C.
	expression string
	// golden is the value that a C compiler has computed for linux/amd64 and linux/arm64. used is the
	// value that this package uses.
	golden, used int
}

// layout contains the constants whose expressions need rdma_user_cm.h, netinet/in.h and stddef.h, but no header of a
// library.
var layout = []constant{
	{"RDMA_USER_CM_ABI_VERSION", 4, abiVersion},
	{"RDMA_USER_CM_CMD_CREATE_ID", 0, commandCreate},
	{"RDMA_USER_CM_CMD_DESTROY_ID", 1, commandDestroy},
	{"RDMA_USER_CM_CMD_RESOLVE_ROUTE", 4, commandResolveRoute},
	{"RDMA_USER_CM_CMD_CONNECT", 6, commandConnect},
	{"RDMA_USER_CM_CMD_LISTEN", 7, commandListen},
	{"RDMA_USER_CM_CMD_ACCEPT", 8, commandAccept},
	{"RDMA_USER_CM_CMD_REJECT", 9, commandReject},
	{"RDMA_USER_CM_CMD_DISCONNECT", 10, commandDisconnect},
	{"RDMA_USER_CM_CMD_INIT_QP_ATTR", 11, commandAttributes},
	{"RDMA_USER_CM_CMD_GET_EVENT", 12, commandEvent},
	{"RDMA_USER_CM_CMD_NOTIFY", 15, commandNotify},
	{"RDMA_USER_CM_CMD_QUERY", 19, commandQuery},
	{"RDMA_USER_CM_CMD_BIND", 20, commandBind},
	{"RDMA_USER_CM_CMD_RESOLVE_ADDR", 21, commandResolve},
	{"RDMA_PS_TCP", 0x106, spaceTCP},
	{"RDMA_USER_CM_QUERY_ADDR", 0, queryAddress},
	{"RDMA_MAX_PRIVATE_DATA", 256, PrivateDataMax + 1},

	{"sizeof(struct rdma_ucm_cmd_hdr)", 8, headerSize},
	{"offsetof(struct rdma_ucm_cmd_hdr, cmd)", 0, headerCommand},
	{"offsetof(struct rdma_ucm_cmd_hdr, in)", 4, headerIn},
	{"offsetof(struct rdma_ucm_cmd_hdr, out)", 6, headerOut},
	{"sizeof(struct rdma_ucm_create_id)", 24, createSize},
	{"offsetof(struct rdma_ucm_create_id, uid)", 0, createUID},
	{"offsetof(struct rdma_ucm_create_id, response)", 8, createResponse},
	{"offsetof(struct rdma_ucm_create_id, ps)", 16, createSpace},
	{"offsetof(struct rdma_ucm_create_id, qp_type)", 18, createType},
	{"sizeof(struct rdma_ucm_create_id_resp)", 4, createdSize},
	{"offsetof(struct rdma_ucm_create_id_resp, id)", 0, createdID},
	{"sizeof(struct rdma_ucm_destroy_id)", 16, destroySize},
	{"offsetof(struct rdma_ucm_destroy_id, response)", 0, destroyResponse},
	{"offsetof(struct rdma_ucm_destroy_id, id)", 8, destroyID},
	{"sizeof(struct rdma_ucm_destroy_id_resp)", 4, destroyedSize},
	{"sizeof(struct rdma_ucm_bind)", 136, bindSize},
	{"offsetof(struct rdma_ucm_bind, id)", 0, bindID},
	{"offsetof(struct rdma_ucm_bind, addr_size)", 4, bindAddressSize},
	{"offsetof(struct rdma_ucm_bind, addr)", 8, bindAddress},
	{"sizeof(struct rdma_ucm_resolve_addr)", 272, resolveSize},
	{"offsetof(struct rdma_ucm_resolve_addr, id)", 0, resolveID},
	{"offsetof(struct rdma_ucm_resolve_addr, timeout_ms)", 4, resolveTimeout},
	{"offsetof(struct rdma_ucm_resolve_addr, src_size)", 8, resolveSourceSize},
	{"offsetof(struct rdma_ucm_resolve_addr, dst_size)", 10, resolveDestinationSize},
	{"offsetof(struct rdma_ucm_resolve_addr, src_addr)", 16, resolveSource},
	{"offsetof(struct rdma_ucm_resolve_addr, dst_addr)", 144, resolveDestination},
	{"sizeof(struct rdma_ucm_resolve_route)", 8, routeSize},
	{"offsetof(struct rdma_ucm_resolve_route, id)", 0, routeID},
	{"offsetof(struct rdma_ucm_resolve_route, timeout_ms)", 4, routeTimeout},
	{"sizeof(struct rdma_ucm_listen)", 8, listenSize},
	{"offsetof(struct rdma_ucm_listen, id)", 0, listenID},
	{"offsetof(struct rdma_ucm_listen, backlog)", 4, listenBacklog},
	{"sizeof(struct rdma_ucm_conn_param)", 272, parametersSize},
	{"offsetof(struct rdma_ucm_conn_param, qp_num)", 0, parametersQPNumber},
	{"offsetof(struct rdma_ucm_conn_param, private_data)", 8, parametersData},
	{"offsetof(struct rdma_ucm_conn_param, private_data_len)", 264, parametersLength},
	{"offsetof(struct rdma_ucm_conn_param, srq)", 265, parametersSRQ},
	{"offsetof(struct rdma_ucm_conn_param, responder_resources)", 266, parametersResources},
	{"offsetof(struct rdma_ucm_conn_param, initiator_depth)", 267, parametersDepth},
	{"offsetof(struct rdma_ucm_conn_param, flow_control)", 268, parametersFlow},
	{"offsetof(struct rdma_ucm_conn_param, retry_count)", 269, parametersRetry},
	{"offsetof(struct rdma_ucm_conn_param, rnr_retry_count)", 270, parametersRNRRetry},
	{"offsetof(struct rdma_ucm_conn_param, valid)", 271, parametersValid},
	{"sizeof(struct rdma_ucm_connect)", 288, connectSize},
	{"offsetof(struct rdma_ucm_connect, conn_param)", 0, connectParameters},
	{"offsetof(struct rdma_ucm_connect, id)", 272, connectID},
	{"sizeof(struct rdma_ucm_accept)", 296, acceptSize},
	{"offsetof(struct rdma_ucm_accept, uid)", 0, acceptUID},
	{"offsetof(struct rdma_ucm_accept, conn_param)", 8, acceptParameters},
	{"offsetof(struct rdma_ucm_accept, id)", 280, acceptID},
	{"sizeof(struct rdma_ucm_reject)", 264, rejectSize},
	{"offsetof(struct rdma_ucm_reject, id)", 0, rejectID},
	{"offsetof(struct rdma_ucm_reject, private_data_len)", 4, rejectLength},
	{"offsetof(struct rdma_ucm_reject, private_data)", 8, rejectData},
	{"sizeof(struct rdma_ucm_disconnect)", 4, disconnectSize},
	{"offsetof(struct rdma_ucm_disconnect, id)", 0, disconnectID},
	{"sizeof(struct rdma_ucm_init_qp_attr)", 16, attributesSize},
	{"offsetof(struct rdma_ucm_init_qp_attr, response)", 0, attributesResponse},
	{"offsetof(struct rdma_ucm_init_qp_attr, id)", 8, attributesID},
	{"offsetof(struct rdma_ucm_init_qp_attr, qp_state)", 12, attributesState},
	{"sizeof(struct rdma_ucm_notify)", 8, notifySize},
	{"offsetof(struct rdma_ucm_notify, id)", 0, notifyID},
	{"offsetof(struct rdma_ucm_notify, event)", 4, notifyEvent},
	{"sizeof(struct rdma_ucm_get_event)", 8, nextSize},
	{"offsetof(struct rdma_ucm_get_event, response)", 0, nextResponse},
	{"sizeof(struct rdma_ucm_query)", 16, querySize},
	{"offsetof(struct rdma_ucm_query, response)", 0, queryResponse},
	{"offsetof(struct rdma_ucm_query, id)", 8, queryID},
	{"offsetof(struct rdma_ucm_query, option)", 12, queryOption},

	{"sizeof(struct rdma_ucm_event_resp)", 336, eventSize},
	{"offsetof(struct rdma_ucm_event_resp, uid)", 0, eventUID},
	{"offsetof(struct rdma_ucm_event_resp, id)", 8, eventID},
	{"offsetof(struct rdma_ucm_event_resp, event)", 12, eventKind},
	{"offsetof(struct rdma_ucm_event_resp, status)", 16, eventStatus},
	{"offsetof(struct rdma_ucm_event_resp, param)", 20, eventParameters},
	{"sizeof(struct rdma_ucm_query_addr_resp)", 280, addressesSize},
	{"offsetof(struct rdma_ucm_query_addr_resp, node_guid)", 0, addressesGUID},
	{"offsetof(struct rdma_ucm_query_addr_resp, src_size)", 12, addressesSourceSize},
	{"offsetof(struct rdma_ucm_query_addr_resp, dst_size)", 14, addressesDestinationSize},
	{"offsetof(struct rdma_ucm_query_addr_resp, src_addr)", 16, addressesSource},
	{"offsetof(struct rdma_ucm_query_addr_resp, dst_addr)", 144, addressesDestination},

	{"sizeof(struct ib_uverbs_qp_attr)", 144, qpSize},
	{"offsetof(struct ib_uverbs_qp_attr, qp_attr_mask)", 0, qpMask},
	{"offsetof(struct ib_uverbs_qp_attr, qp_state)", 4, qpState},
	{"offsetof(struct ib_uverbs_qp_attr, path_mtu)", 12, qpPathMTU},
	{"offsetof(struct ib_uverbs_qp_attr, qkey)", 20, qpQKey},
	{"offsetof(struct ib_uverbs_qp_attr, rq_psn)", 24, qpReceivePSN},
	{"offsetof(struct ib_uverbs_qp_attr, sq_psn)", 28, qpSendPSN},
	{"offsetof(struct ib_uverbs_qp_attr, dest_qp_num)", 32, qpDestination},
	{"offsetof(struct ib_uverbs_qp_attr, qp_access_flags)", 36, qpAccess},
	{"offsetof(struct ib_uverbs_qp_attr, ah_attr)", 40, qpAddress},
	{"offsetof(struct ib_uverbs_qp_attr, pkey_index)", 124, qpPKeyIndex},
	{"offsetof(struct ib_uverbs_qp_attr, max_rd_atomic)", 130, qpReads},
	{"offsetof(struct ib_uverbs_qp_attr, max_dest_rd_atomic)", 131, qpReadsServed},
	{"offsetof(struct ib_uverbs_qp_attr, min_rnr_timer)", 132, qpMinRNRTimer},
	{"offsetof(struct ib_uverbs_qp_attr, port_num)", 133, qpPort},
	{"offsetof(struct ib_uverbs_qp_attr, timeout)", 134, qpTimeout},
	{"offsetof(struct ib_uverbs_qp_attr, retry_cnt)", 135, qpRetryCount},
	{"offsetof(struct ib_uverbs_qp_attr, rnr_retry)", 136, qpRNRRetryCount},
	{"sizeof(struct ib_uverbs_ah_attr)", 32, ahSize},
	{"offsetof(struct ib_uverbs_ah_attr, grh.dgid)", 0, ahDGID},
	{"offsetof(struct ib_uverbs_ah_attr, grh.flow_label)", 16, ahFlowLabel},
	{"offsetof(struct ib_uverbs_ah_attr, grh.sgid_index)", 20, ahSGIDIndex},
	{"offsetof(struct ib_uverbs_ah_attr, grh.hop_limit)", 21, ahHopLimit},
	{"offsetof(struct ib_uverbs_ah_attr, grh.traffic_class)", 22, ahTrafficClass},
	{"offsetof(struct ib_uverbs_ah_attr, dlid)", 24, ahDLID},
	{"offsetof(struct ib_uverbs_ah_attr, sl)", 26, ahServiceLevel},
	{"offsetof(struct ib_uverbs_ah_attr, src_path_bits)", 27, ahSourcePath},
	{"offsetof(struct ib_uverbs_ah_attr, static_rate)", 28, ahStaticRate},
	{"offsetof(struct ib_uverbs_ah_attr, is_global)", 29, ahGlobal},
	{"offsetof(struct ib_uverbs_ah_attr, port_num)", 30, ahPort},

	{"sizeof(struct sockaddr_in)", 16, socketSize4},
	{"offsetof(struct sockaddr_in, sin_port)", 2, socketPort},
	{"offsetof(struct sockaddr_in, sin_addr)", 4, socketIPv4},
	{"sizeof(struct sockaddr_in6)", 28, socketSize6},
	{"offsetof(struct sockaddr_in6, sin6_port)", 2, socketPort},
	{"offsetof(struct sockaddr_in6, sin6_addr)", 8, socketIPv6},
	{"offsetof(struct sockaddr_in6, sin6_scope_id)", 24, socketScope},
}

// libraryLayout contains the constants whose expressions need the headers of libibverbs and
// librdmacm.
var libraryLayout = []constant{
	{"IBV_QPT_RC", 2, queuePairRC},
	{"IBV_EVENT_COMM_EST", 4, eventCommunicationEstablished},
	{"IBV_QPS_INIT", 1, int(StateInit)},
	{"IBV_QPS_RTR", 2, int(StateReady)},
	{"IBV_QPS_RTS", 3, int(StateSend)},
	{"IBV_QPS_ERR", 6, int(StateError)},
	{"RDMA_CM_EVENT_ADDR_RESOLVED", 0, int(AddressResolved)},
	{"RDMA_CM_EVENT_ADDR_ERROR", 1, int(AddressError)},
	{"RDMA_CM_EVENT_ROUTE_RESOLVED", 2, int(RouteResolved)},
	{"RDMA_CM_EVENT_ROUTE_ERROR", 3, int(RouteError)},
	{"RDMA_CM_EVENT_CONNECT_REQUEST", 4, int(ConnectRequest)},
	{"RDMA_CM_EVENT_CONNECT_RESPONSE", 5, int(ConnectResponse)},
	{"RDMA_CM_EVENT_CONNECT_ERROR", 6, int(ConnectError)},
	{"RDMA_CM_EVENT_UNREACHABLE", 7, int(Unreachable)},
	{"RDMA_CM_EVENT_REJECTED", 8, int(Rejected)},
	{"RDMA_CM_EVENT_ESTABLISHED", 9, int(Established)},
	{"RDMA_CM_EVENT_DISCONNECTED", 10, int(Disconnected)},
	{"RDMA_CM_EVENT_DEVICE_REMOVAL", 11, int(DeviceRemoval)},
	{"RDMA_CM_EVENT_ADDR_CHANGE", 14, int(AddressChange)},
	{"RDMA_CM_EVENT_TIMEWAIT_EXIT", 15, int(TimewaitExit)},
}

// asserts returns static assertions of C.
func asserts(all []constant) string {
	var s strings.Builder
	for _, c := range all {
		fmt.Fprintf(&s, "_Static_assert(%s == %d, \"%s\");\n", c.expression, c.used, c.expression)
	}
	return s.String()
}

func TestLayout(t *testing.T) {
	for _, e := range append(layout, libraryLayout...) {
		require.Equal(t, e.golden, e.used, e.expression)
	}
}

// TestLayoutOfHeaders compiles the assertions with the C compiler and the headers of this host.
func TestLayoutOfHeaders(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler to compare layouts with the headers")
	}
	compile := func(text string) (string, error) {
		c := exec.CommandContext(t.Context(), cc, "-x", "c", "-fsyntax-only", "-")
		c.Stdin = strings.NewReader(text)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	for _, h := range []struct {
		name, includes string
		constants      []constant
	}{
		{"linux", "#include <stddef.h>\n#include <netinet/in.h>\n#include <rdma/rdma_user_cm.h>\n", layout},
		{"library", "#include <infiniband/verbs.h>\n#include <rdma/rdma_cma.h>\n", libraryLayout},
	} {
		t.Run(h.name, func(t *testing.T) {
			if out, err := compile(h.includes); err != nil {
				t.Skipf("the headers are missing (apt-get install linux-libc-dev libibverbs-dev librdmacm-dev): %s", strings.SplitN(out, "\n", 2)[0])
			}
			out, err := compile(h.includes + asserts(h.constants))
			require.NoError(t, err, out)
		})
	}
}
