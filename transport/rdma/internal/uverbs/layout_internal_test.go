package uverbs

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// layout is a structure of the kernel's headers with its golden values: its size and the offsets of its fields.
// The golden values are taken from linux-libc-dev 6.1. They are part of the kernel's ABI, and are the same on
// amd64 and arm64.
type layout struct {
	c         string
	size      int
	want      int
	hasHeader bool // this package's structure begins with struct ib_uverbs_cmd_hdr, the kernel's does not
	fields    []field
}

type field struct {
	c      string
	offset uintptr
	want   int
}

// numbers are constants of the headers.
var numbers = []struct {
	c    string
	ours int64
	want int64
}{
	{"IB_USER_VERBS_CMD_GET_CONTEXT", cmdGetContext, 0},
	{"IB_USER_VERBS_CMD_QUERY_DEVICE", cmdQueryDevice, 1},
	{"IB_USER_VERBS_CMD_QUERY_PORT", cmdQueryPort, 2},
	{"IB_USER_VERBS_CMD_ALLOC_PD", cmdAllocPD, 3},
	{"IB_USER_VERBS_CMD_DEALLOC_PD", cmdDeallocPD, 4},
	{"IB_USER_VERBS_CMD_REG_MR", cmdRegMR, 9},
	{"IB_USER_VERBS_CMD_DEREG_MR", cmdDeregMR, 13},
	{"IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL", cmdCreateChannel, 17},
	{"IB_USER_VERBS_CMD_CREATE_CQ", cmdCreateCQ, 18},
	{"IB_USER_VERBS_CMD_DESTROY_CQ", cmdDestroyCQ, 20},
	{"IB_USER_VERBS_CMD_REQ_NOTIFY_CQ", cmdRequestNotify, 23},
	{"IB_USER_VERBS_CMD_CREATE_QP", cmdCreateQP, 24},
	{"IB_USER_VERBS_CMD_QUERY_QP", cmdQueryQP, 25},
	{"IB_USER_VERBS_CMD_MODIFY_QP", cmdModifyQP, 26},
	{"IB_USER_VERBS_CMD_DESTROY_QP", cmdDestroyQP, 27},
	{"IB_USER_VERBS_CMD_POST_SEND", cmdPostSend, 28},
	{"IB_USER_VERBS_CMD_CREATE_SRQ", cmdCreateSRQ, 32},
	{"IB_USER_VERBS_CMD_DESTROY_SRQ", cmdDestroySRQ, 35},
	{"sizeof(struct ib_uverbs_send_wr)", sendRequestSize, 56},
	{"sizeof(struct ib_uverbs_cmd_hdr)", int64(sizeOf[header]()), 8},
	{"sizeof(struct ib_uverbs_async_event_desc)", eventSize, 16},
	{"IB_USER_VERBS_EX_CMD_QUERY_DEVICE", cmdQueryDevice, 1},
	{"IB_USER_VERBS_CMD_FLAG_EXTENDED", cmdExtended, 1 << 31},
	{"sizeof(struct ib_uverbs_cmd_hdr) + sizeof(struct ib_uverbs_ex_cmd_hdr)", extendedHeader, 24},
	{"sizeof(struct ib_uverbs_ex_query_device)", extendedBody, 8},
	{"offsetof(struct ib_uverbs_ex_query_device_resp, response_length)", lengthOffset, 180},
	{"offsetof(struct ib_uverbs_ex_query_device_resp, odp_caps.general_caps)", pagingOffset, 184},
	{"offsetof(struct ib_uverbs_ex_query_device_resp, odp_caps.per_transport_caps.rc_odp_caps)", reliableOffset, 192},
	{"offsetof(struct ib_uverbs_ex_query_device_resp, timestamp_mask)", pagingEnd, 208},
	{"IB_UVERBS_ACCESS_ON_DEMAND", int64(AccessOnDemand), 64},
	{"IB_UVERBS_WR_RDMA_WRITE", int64(OpWrite), 0},
	{"IB_UVERBS_WR_RDMA_WRITE_WITH_IMM", int64(OpWriteImmediate), 1},
	{"IB_UVERBS_WR_SEND", int64(OpSend), 2},
	{"IB_UVERBS_WR_SEND_WITH_IMM", int64(OpSendImmediate), 3},
	{"IB_UVERBS_WR_RDMA_READ", int64(OpRead), 4},
	{"IB_UVERBS_WR_ATOMIC_CMP_AND_SWP", int64(OpCompareSwap), 5},
	{"IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD", int64(OpFetchAdd), 6},
	{"IB_UVERBS_WR_SEND_WITH_INV", int64(OpSendInvalidate), 9},
	{"IB_UVERBS_WC_RDMA_READ", int64(CompletedRead), 2},
	{"IB_UVERBS_ACCESS_REMOTE_WRITE", int64(AccessRemoteWrite), 2},
	{"IB_UVERBS_ACCESS_REMOTE_READ", int64(AccessRemoteRead), 4},
	{"IB_UVERBS_ACCESS_REMOTE_ATOMIC", int64(AccessRemoteAtomic), 8},
	{"IB_UVERBS_ACCESS_RELAXED_ORDERING", int64(AccessRelaxedOrdering), 1 << 20},
	{"RDMA_DRIVER_RXE", int64(DriverRXE), 14},
	{"RDMA_DRIVER_SIW", int64(DriverSIW), 18},
	{"RDMA_NLDEV_CMD_GET", nldevGet, 1},
	{"RDMA_NLDEV_CMD_GET_CHARDEV", nldevGetCharDevice, 15},
	{"RDMA_NLDEV_CMD_PORT_GET", nldevGetPort, 5},
	{"RDMA_NLDEV_ATTR_PORT_INDEX", nldevPort, 3},
	{"RDMA_NLDEV_ATTR_NDEV_NAME", nldevInterface, 51},
	{"RDMA_NLDEV_ATTR_DEV_INDEX", nldevIndex, 1},
	{"RDMA_NLDEV_ATTR_DEV_NAME", nldevName, 2},
	{"RDMA_NLDEV_ATTR_CHARDEV_TYPE", nldevCharDeviceType, 69},
	{"RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID", nldevDriver, 73},
	{"SIW_ABI_VERSION", siwABI, 1},
	{"SIW_MAX_SGE", siwMaxSegments, 6},
	{"SIW_MAX_INLINE", siwMaxInline, 80},
	{"SIW_WQE_VALID", siwValid, 1},
	{"SIW_WQE_INLINE", siwInline, 2},
	{"SIW_WQE_SIGNALLED", siwSignalled, 4},
	{"SIW_WQE_SOLICITED", siwSolicited, 8},
	{"SIW_WQE_READ_FENCE", siwFence, 16},
	{"SIW_OP_WRITE", siwOpWrite, 0},
	{"SIW_OP_READ", siwOpRead, 1},
	{"SIW_OP_SEND", siwOpSend, 3},
	{"SIW_OP_SEND_REMOTE_INV", siwOpSendInvalidate, 5},
	{"SIW_OP_RECEIVE", siwOpReceive, 8},
	{"SIW_NOTIFY_SOLICITED", siwNotifySolicited, 1},
	{"SIW_NOTIFY_NEXT_COMPLETION", siwNotifyNext, 2},
	{"SIW_NUM_WC_STATUS", int64(len(siwStatuses)), 10},
	{"sizeof(struct siw_uresp_alloc_ctx)", int64(siw{}.rooms().context), 8},
	{"sizeof(struct siw_uresp_reg_mr)", int64(siw{}.rooms().region), 8},
	{"sizeof(struct siw_ureq_reg_mr)", int64(len(siw{}.region(0))), 8},
	{"sizeof(struct siw_uresp_create_cq)", int64(siw{}.rooms().completions), 16},
	{"sizeof(struct siw_uresp_create_qp)", int64(siw{}.rooms().pair), 32},
	{"sizeof(struct siw_uresp_create_srq)", int64(siw{}.rooms().shared), 16},
	{"offsetof(struct siw_uresp_create_cq, num_cqe)", 4, 4},
	{"offsetof(struct siw_uresp_create_cq, cq_key)", 8, 8},
	{"offsetof(struct siw_uresp_create_qp, num_sqe)", 4, 4},
	{"offsetof(struct siw_uresp_create_qp, num_rqe)", 8, 8},
	{"offsetof(struct siw_uresp_create_qp, sq_key)", 16, 16},
	{"offsetof(struct siw_uresp_create_qp, rq_key)", 24, 24},
	{"offsetof(struct siw_uresp_create_srq, num_rqe)", 0, 0},
	{"offsetof(struct siw_uresp_create_srq, srq_key)", 8, 8},
	{"offsetof(struct siw_sqe, num_sge) - offsetof(struct siw_sqe, flags)", siwSegments / 8, 2},
	{"offsetof(struct siw_sqe, opcode) - offsetof(struct siw_sqe, flags)", siwOpcode / 8, 3},
	{"offsetof(struct siw_rqe, num_sge) - offsetof(struct siw_rqe, flags)", siwSegments / 8, 2},
	{"offsetof(struct siw_cqe, opcode) - offsetof(struct siw_cqe, flags)", siwResultOpcode / 8, 1},
	{"offsetof(struct siw_cqe, status) - offsetof(struct siw_cqe, flags)", siwResultStatus / 8, 2},
	{"sizeof(struct rxe_create_cq_resp)", int64(rxe{}.rooms().completions), 16},
	{"sizeof(struct rxe_create_qp_resp)", int64(rxe{}.rooms().pair), 32},
	{"sizeof(struct rxe_create_srq_resp)", int64(rxe{}.rooms().shared), 24},
	{"offsetof(struct rxe_create_qp_resp, rq_mi)", 0, 0},
	{"offsetof(struct rxe_create_qp_resp, sq_mi)", 16, 16},
	{"offsetof(struct mminfo, size)", 8, 8},
	{"sizeof(struct rxe_queue_buf)", rxeHeader, 384},
	{"offsetof(struct rxe_send_wqe, dma.sge)", int64(sizeOf[rxeSend]()), 208},
	{"offsetof(struct rxe_send_wqe, dma.inline_data)", int64(sizeOf[rxeSend]()), 208},
	{"offsetof(struct rxe_recv_wqe, dma.sge)", int64(sizeOf[rxeReceive]()), 40},
}

// TestLayouts compares this package's structures and constants with the golden values.
func TestLayouts(t *testing.T) {
	for _, l := range append(append([]layout(nil), commandLayouts...), queueLayouts...) {
		skip := 0
		if l.hasHeader {
			skip = sizeOf[header]()
		}
		require.Equal(t, l.want, l.size-skip, l.c)
		for _, f := range l.fields {
			require.Equal(t, f.want, int(f.offset)-skip, "%s.%s", l.c, f.c)
		}
	}
	for _, n := range numbers {
		require.Equal(t, n.want, n.ours, n.c)
	}
}

// TestLayoutsOfHeaders compares the golden values with the kernel headers that are installed on this host.
func TestLayoutsOfHeaders(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc)")
	}
	headers := []string{"stddef.h", "rdma/ib_user_verbs.h", "rdma/ib_user_ioctl_verbs.h", "rdma/rdma_netlink.h", "rdma/siw-abi.h", "rdma/rdma_user_rxe.h"}
	var program strings.Builder
	for _, h := range headers {
		fmt.Fprintf(&program, "#include <%s>\n", h)
	}
	compile := func(text string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), compiler, "-fsyntax-only", "-x", "c", "-")
		cmd.Stdin = strings.NewReader(text)
		return cmd.CombinedOutput()
	}
	if _, err := compile(program.String()); err != nil {
		t.Skip("no kernel headers with rdma/siw-abi.h (linux-libc-dev)")
	}
	for _, l := range append(append([]layout(nil), commandLayouts...), queueLayouts...) {
		fmt.Fprintf(&program, "_Static_assert(sizeof(%s) == %d, \"sizeof %s\");\n", l.c, l.want, l.c)
		for _, f := range l.fields {
			fmt.Fprintf(&program, "_Static_assert(offsetof(%s, %s) == %d, \"%s.%s\");\n", l.c, f.c, f.want, l.c, f.c)
		}
	}
	for _, n := range numbers {
		fmt.Fprintf(&program, "_Static_assert((%s) == %d, \"%s\");\n", n.c, n.want, n.c)
	}
	out, err := compile(program.String())
	require.NoError(t, err, "%s", out)
	out, err = compile(program.String() + "_Static_assert(sizeof(struct siw_sqe) == 1, \"control\");\n")
	require.Error(t, err, "%s", out)
}
