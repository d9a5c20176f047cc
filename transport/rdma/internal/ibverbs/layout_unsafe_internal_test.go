package ibverbs

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// layouts maps expressions of C to sizes, offsets and constants of this package. Each expression computes
// the corresponding value of infiniband/verbs.h.
var layouts = []struct {
	c    string
	ours uintptr
}{
	{"offsetof(struct ibv_context, ops.poll_cq)", unsafe.Offsetof(contextObject{}.pollCQ)},
	{"offsetof(struct ibv_context, ops.req_notify_cq)", unsafe.Offsetof(contextObject{}.requestNotify)},
	{"offsetof(struct ibv_context, ops.post_srq_recv)", unsafe.Offsetof(contextObject{}.postShared)},
	{"offsetof(struct ibv_context, ops.post_send)", unsafe.Offsetof(contextObject{}.postSend)},
	{"offsetof(struct ibv_context, ops.post_recv)", unsafe.Offsetof(contextObject{}.postReceive)},
	{"offsetof(struct ibv_context, cmd_fd)", unsafe.Offsetof(contextObject{}.commandFD)},
	{"offsetof(struct ibv_context, async_fd)", unsafe.Offsetof(contextObject{}.asyncFD)},
	{"sizeof(struct ibv_mr)", unsafe.Sizeof(regionObject{})},
	{"offsetof(struct ibv_mr, lkey)", unsafe.Offsetof(regionObject{}.lkey)},
	{"offsetof(struct ibv_mr, rkey)", unsafe.Offsetof(regionObject{}.rkey)},
	{"sizeof(struct ibv_comp_channel)", unsafe.Sizeof(channelObject{})},
	{"offsetof(struct ibv_comp_channel, fd)", unsafe.Offsetof(channelObject{}.fd)},
	{"offsetof(struct ibv_cq, cqe)", unsafe.Offsetof(completionsObject{}.entries)},
	{"offsetof(struct ibv_qp, qp_context)", unsafe.Offsetof(pairObject{}.user)},
	{"offsetof(struct ibv_qp, qp_num)", unsafe.Offsetof(pairObject{}.number)},
	{"sizeof(struct ibv_qp_init_attr)", unsafe.Sizeof(pairRequest{})},
	{"offsetof(struct ibv_qp_init_attr, send_cq)", unsafe.Offsetof(pairRequest{}.sends)},
	{"offsetof(struct ibv_qp_init_attr, recv_cq)", unsafe.Offsetof(pairRequest{}.receives)},
	{"offsetof(struct ibv_qp_init_attr, srq)", unsafe.Offsetof(pairRequest{}.shared)},
	{"offsetof(struct ibv_qp_init_attr, cap)", unsafe.Offsetof(pairRequest{}.capacity)},
	{"offsetof(struct ibv_qp_init_attr, qp_type)", unsafe.Offsetof(pairRequest{}.kind)},
	{"offsetof(struct ibv_qp_cap, max_send_wr)", unsafe.Offsetof(capacity{}.sends)},
	{"offsetof(struct ibv_qp_cap, max_recv_wr)", unsafe.Offsetof(capacity{}.receives)},
	{"offsetof(struct ibv_qp_cap, max_send_sge)", unsafe.Offsetof(capacity{}.sendSegments)},
	{"offsetof(struct ibv_qp_cap, max_recv_sge)", unsafe.Offsetof(capacity{}.receiveSegments)},
	{"offsetof(struct ibv_qp_cap, max_inline_data)", unsafe.Offsetof(capacity{}.inline)},
	{"sizeof(struct ibv_srq_init_attr)", unsafe.Sizeof(sharedRequest{})},
	{"offsetof(struct ibv_srq_init_attr, attr)", unsafe.Offsetof(sharedRequest{}.limits)},
	{"offsetof(struct ibv_srq_attr, srq_limit)", unsafe.Offsetof(sharedLimits{}.limit)},
	{"sizeof(struct ibv_ah_attr)", unsafe.Sizeof(destination{})},
	{"offsetof(struct ibv_ah_attr, grh.flow_label)", unsafe.Offsetof(destination{}.flowLabel)},
	{"offsetof(struct ibv_ah_attr, grh.sgid_index)", unsafe.Offsetof(destination{}.gidIndex)},
	{"offsetof(struct ibv_ah_attr, grh.hop_limit)", unsafe.Offsetof(destination{}.hopLimit)},
	{"offsetof(struct ibv_ah_attr, grh.traffic_class)", unsafe.Offsetof(destination{}.trafficClass)},
	{"offsetof(struct ibv_ah_attr, dlid)", unsafe.Offsetof(destination{}.lid)},
	{"offsetof(struct ibv_ah_attr, sl)", unsafe.Offsetof(destination{}.serviceLevel)},
	{"offsetof(struct ibv_ah_attr, src_path_bits)", unsafe.Offsetof(destination{}.pathBits)},
	{"offsetof(struct ibv_ah_attr, static_rate)", unsafe.Offsetof(destination{}.staticRate)},
	{"offsetof(struct ibv_ah_attr, is_global)", unsafe.Offsetof(destination{}.global)},
	{"offsetof(struct ibv_ah_attr, port_num)", unsafe.Offsetof(destination{}.port)},
	{"sizeof(struct ibv_qp_attr)", unsafe.Sizeof(pairAttributes{})},
	{"offsetof(struct ibv_qp_attr, cur_qp_state)", unsafe.Offsetof(pairAttributes{}.currentState)},
	{"offsetof(struct ibv_qp_attr, path_mtu)", unsafe.Offsetof(pairAttributes{}.pathMTU)},
	{"offsetof(struct ibv_qp_attr, path_mig_state)", unsafe.Offsetof(pairAttributes{}.migration)},
	{"offsetof(struct ibv_qp_attr, qkey)", unsafe.Offsetof(pairAttributes{}.qkey)},
	{"offsetof(struct ibv_qp_attr, rq_psn)", unsafe.Offsetof(pairAttributes{}.receivePSN)},
	{"offsetof(struct ibv_qp_attr, sq_psn)", unsafe.Offsetof(pairAttributes{}.sendPSN)},
	{"offsetof(struct ibv_qp_attr, dest_qp_num)", unsafe.Offsetof(pairAttributes{}.remote)},
	{"offsetof(struct ibv_qp_attr, qp_access_flags)", unsafe.Offsetof(pairAttributes{}.access)},
	{"offsetof(struct ibv_qp_attr, ah_attr)", unsafe.Offsetof(pairAttributes{}.path)},
	{"offsetof(struct ibv_qp_attr, pkey_index)", unsafe.Offsetof(pairAttributes{}.pkeyIndex)},
	{"offsetof(struct ibv_qp_attr, max_rd_atomic)", unsafe.Offsetof(pairAttributes{}.readsOut)},
	{"offsetof(struct ibv_qp_attr, max_dest_rd_atomic)", unsafe.Offsetof(pairAttributes{}.readsIn)},
	{"offsetof(struct ibv_qp_attr, min_rnr_timer)", unsafe.Offsetof(pairAttributes{}.rnrTimer)},
	{"offsetof(struct ibv_qp_attr, port_num)", unsafe.Offsetof(pairAttributes{}.port)},
	{"offsetof(struct ibv_qp_attr, timeout)", unsafe.Offsetof(pairAttributes{}.timeout)},
	{"offsetof(struct ibv_qp_attr, retry_cnt)", unsafe.Offsetof(pairAttributes{}.retries)},
	{"offsetof(struct ibv_qp_attr, rnr_retry)", unsafe.Offsetof(pairAttributes{}.rnrRetries)},
	{"sizeof(struct ibv_sge)", unsafe.Sizeof(segment{})},
	{"offsetof(struct ibv_sge, length)", unsafe.Offsetof(segment{}.length)},
	{"offsetof(struct ibv_sge, lkey)", unsafe.Offsetof(segment{}.lkey)},
	{"sizeof(struct ibv_send_wr)", unsafe.Sizeof(sendWork{})},
	{"offsetof(struct ibv_send_wr, next)", unsafe.Offsetof(sendWork{}.next)},
	{"offsetof(struct ibv_send_wr, sg_list)", unsafe.Offsetof(sendWork{}.segments)},
	{"offsetof(struct ibv_send_wr, num_sge)", unsafe.Offsetof(sendWork{}.count)},
	{"offsetof(struct ibv_send_wr, opcode)", unsafe.Offsetof(sendWork{}.op)},
	{"offsetof(struct ibv_send_wr, send_flags)", unsafe.Offsetof(sendWork{}.flags)},
	{"offsetof(struct ibv_send_wr, imm_data)", unsafe.Offsetof(sendWork{}.extra)},
	{"offsetof(struct ibv_send_wr, invalidate_rkey)", unsafe.Offsetof(sendWork{}.extra)},
	{"offsetof(struct ibv_send_wr, wr.rdma.remote_addr)", unsafe.Offsetof(sendWork{}.remote)},
	{"offsetof(struct ibv_send_wr, wr.rdma.rkey)", unsafe.Offsetof(sendWork{}.remote) + unsafe.Offsetof(remoteMemory{}.operand)},
	{"offsetof(struct ibv_send_wr, wr.atomic.compare_add)", unsafe.Offsetof(sendWork{}.remote) + unsafe.Offsetof(remoteMemory{}.operand)},
	{"offsetof(struct ibv_send_wr, wr.atomic.swap)", unsafe.Offsetof(sendWork{}.remote) + unsafe.Offsetof(remoteMemory{}.swap)},
	{"offsetof(struct ibv_send_wr, wr.atomic.rkey)", unsafe.Offsetof(sendWork{}.remote) + unsafe.Offsetof(remoteMemory{}.atomicKey)},
	{"sizeof(struct ibv_recv_wr)", unsafe.Sizeof(receiveWork{})},
	{"offsetof(struct ibv_recv_wr, next)", unsafe.Offsetof(receiveWork{}.next)},
	{"offsetof(struct ibv_recv_wr, sg_list)", unsafe.Offsetof(receiveWork{}.segments)},
	{"offsetof(struct ibv_recv_wr, num_sge)", unsafe.Offsetof(receiveWork{}.count)},
	{"sizeof(struct ibv_wc)", unsafe.Sizeof(completion{})},
	{"offsetof(struct ibv_wc, status)", unsafe.Offsetof(completion{}.status)},
	{"offsetof(struct ibv_wc, opcode)", unsafe.Offsetof(completion{}.op)},
	{"offsetof(struct ibv_wc, byte_len)", unsafe.Offsetof(completion{}.length)},
	{"offsetof(struct ibv_wc, imm_data)", unsafe.Offsetof(completion{}.extra)},
	{"offsetof(struct ibv_wc, qp_num)", unsafe.Offsetof(completion{}.pair)},
	{"offsetof(struct ibv_wc, wc_flags)", unsafe.Offsetof(completion{}.flags)},
	{"sizeof(struct ibv_device_attr)", unsafe.Sizeof(deviceAnswer{})},
	{"offsetof(struct ibv_device_attr, sys_image_guid)", unsafe.Offsetof(deviceAnswer{}.imageGUID)},
	{"offsetof(struct ibv_device_attr, max_mr_size)", unsafe.Offsetof(deviceAnswer{}.maxRegion)},
	{"offsetof(struct ibv_device_attr, vendor_id)", unsafe.Offsetof(deviceAnswer{}.vendor)},
	{"offsetof(struct ibv_device_attr, vendor_part_id)", unsafe.Offsetof(deviceAnswer{}.part)},
	{"offsetof(struct ibv_device_attr, max_qp)", unsafe.Offsetof(deviceAnswer{}.maxQP)},
	{"offsetof(struct ibv_device_attr, max_qp_wr)", unsafe.Offsetof(deviceAnswer{}.maxQPWork)},
	{"offsetof(struct ibv_device_attr, max_sge)", unsafe.Offsetof(deviceAnswer{}.maxSegments)},
	{"offsetof(struct ibv_device_attr, max_sge_rd)", unsafe.Offsetof(deviceAnswer{}.maxReadSegments)},
	{"offsetof(struct ibv_device_attr, max_cq)", unsafe.Offsetof(deviceAnswer{}.maxCQ)},
	{"offsetof(struct ibv_device_attr, max_cqe)", unsafe.Offsetof(deviceAnswer{}.maxCQEntries)},
	{"offsetof(struct ibv_device_attr, max_mr)", unsafe.Offsetof(deviceAnswer{}.maxMR)},
	{"offsetof(struct ibv_device_attr, max_pd)", unsafe.Offsetof(deviceAnswer{}.maxPD)},
	{"offsetof(struct ibv_device_attr, max_qp_rd_atom)", unsafe.Offsetof(deviceAnswer{}.maxReadsIn)},
	{"offsetof(struct ibv_device_attr, max_qp_init_rd_atom)", unsafe.Offsetof(deviceAnswer{}.maxReadsOut)},
	{"offsetof(struct ibv_device_attr, atomic_cap)", unsafe.Offsetof(deviceAnswer{}.atomics)},
	{"offsetof(struct ibv_device_attr, max_srq)", unsafe.Offsetof(deviceAnswer{}.maxSRQ)},
	{"offsetof(struct ibv_device_attr, max_srq_wr)", unsafe.Offsetof(deviceAnswer{}.maxSRQWork)},
	{"offsetof(struct ibv_device_attr, max_srq_sge)", unsafe.Offsetof(deviceAnswer{}.maxSRQSegments)},
	{"offsetof(struct ibv_device_attr, phys_port_cnt)", unsafe.Offsetof(deviceAnswer{}.ports)},
	{"offsetof(struct ibv_port_attr, max_msg_sz)", unsafe.Offsetof(portAnswer{}.maxMessage)},
	{"sizeof(struct ibv_async_event)", unsafe.Sizeof(event{})},
	{"offsetof(struct ibv_async_event, event_type)", unsafe.Offsetof(event{}.kind)},
	{"IBV_QPT_RC", pairReliable},
	{"IBV_WC_WITH_IMM", flagImmediate},
	{"IBV_EVENT_PATH_MIG_ERR", eventPathError},
	{"IBV_EVENT_QP_LAST_WQE_REACHED", eventLastReceive},
	{"IBV_ACCESS_ON_DEMAND", uintptr(uverbs.AccessOnDemand)},
	{"IBV_ACCESS_RELAXED_ORDERING", uintptr(uverbs.AccessRelaxedOrdering)},
	{"IBV_SEND_INLINE", uintptr(uverbs.FlagInline)},
	{"IBV_QP_DEST_QPN", uintptr(uverbs.MaskRemote)},
}

// TestLayouts compares this package's structures with the header that is installed on this host. The package
// itself needs no header.
func TestLayouts(t *testing.T) {
	require.GreaterOrEqual(t, unsafe.Sizeof(portAnswer{}), uintptr(128), "later versions are longer")
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc)")
	}
	compile := func(text string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), compiler, "-fsyntax-only", "-x", "c", "-")
		cmd.Stdin = strings.NewReader(text)
		return cmd.CombinedOutput()
	}
	var program strings.Builder
	program.WriteString("#include <stddef.h>\n#include <infiniband/verbs.h>\n")
	if _, err := compile(program.String()); err != nil {
		t.Skip("no infiniband/verbs.h (libibverbs-dev)")
	}
	for _, l := range layouts {
		fmt.Fprintf(&program, "_Static_assert((%s) == %d, \"%s\");\n", l.c, l.ours, l.c)
	}
	out, err := compile(program.String())
	require.NoError(t, err, "%s", out)
	out, err = compile(program.String() + "_Static_assert(sizeof(struct ibv_wc) == 1, \"control\");\n")
	require.Error(t, err, "%s", out)
}
