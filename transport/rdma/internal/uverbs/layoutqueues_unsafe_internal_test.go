package uverbs

import "unsafe"

// queueLayouts are the layouts of the structures in mapped memory.
var queueLayouts = []layout{
	{"struct siw_sge", sizeOf[siwSegment](), 16, false, []field{
		{"laddr", unsafe.Offsetof(siwSegment{}.address), 0},
		{"length", unsafe.Offsetof(siwSegment{}.length), 8},
		{"lkey", unsafe.Offsetof(siwSegment{}.lkey), 12},
	}},
	{"struct siw_sqe", sizeOf[siwSend](), 120, false, []field{
		{"id", unsafe.Offsetof(siwSend{}.id), 0},
		{"flags", unsafe.Offsetof(siwSend{}.control), 8},
		{"rkey", unsafe.Offsetof(siwSend{}.rkey), 12},
		{"raddr", unsafe.Offsetof(siwSend{}.remote), 16},
		{"sge", unsafe.Offsetof(siwSend{}.segments), 24},
	}},
	{"struct siw_rqe", sizeOf[siwReceive](), 112, false, []field{
		{"id", unsafe.Offsetof(siwReceive{}.id), 0},
		{"flags", unsafe.Offsetof(siwReceive{}.control), 8},
		{"sge", unsafe.Offsetof(siwReceive{}.segments), 16},
	}},
	{"struct siw_cqe", sizeOf[siwCompletion](), 32, false, []field{
		{"id", unsafe.Offsetof(siwCompletion{}.id), 0},
		{"flags", unsafe.Offsetof(siwCompletion{}.control), 8},
		{"bytes", unsafe.Offsetof(siwCompletion{}.bytes), 12},
		{"imm_data", unsafe.Offsetof(siwCompletion{}.unused), 16},
		{"qp_id", unsafe.Offsetof(siwCompletion{}.pair), 24},
	}},
	{"struct siw_cq_ctrl", sizeOf[siwNotify](), 8, false, []field{
		{"flags", unsafe.Offsetof(siwNotify{}.flags), 0},
	}},
	{"struct rxe_queue_buf", sizeOf[rxeIndices](), 384, false, []field{
		{"log2_elem_size", unsafe.Offsetof(rxeIndices{}.log2Size), 0},
		{"index_mask", unsafe.Offsetof(rxeIndices{}.mask), 4},
		{"producer_index", unsafe.Offsetof(rxeIndices{}.producer), 128},
		{"consumer_index", unsafe.Offsetof(rxeIndices{}.consumer), 256},
	}},
	{"struct rxe_sge", sizeOf[rxeSegment](), 16, false, []field{
		{"addr", unsafe.Offsetof(rxeSegment{}.address), 0},
		{"length", unsafe.Offsetof(rxeSegment{}.length), 8},
		{"lkey", unsafe.Offsetof(rxeSegment{}.lkey), 12},
	}},
	{"struct rxe_dma_info", sizeOf[rxeData](), 24, false, []field{
		{"length", unsafe.Offsetof(rxeData{}.length), 0},
		{"resid", unsafe.Offsetof(rxeData{}.resid), 4},
		{"cur_sge", unsafe.Offsetof(rxeData{}.current), 8},
		{"num_sge", unsafe.Offsetof(rxeData{}.segments), 12},
		{"sge_offset", unsafe.Offsetof(rxeData{}.offset), 16},
	}},
	{"struct rxe_send_wqe", sizeOf[rxeSend](), 208, false, []field{
		{"wr.wr_id", unsafe.Offsetof(rxeSend{}.id), 0},
		{"wr.opcode", unsafe.Offsetof(rxeSend{}.opcode), 12},
		{"wr.send_flags", unsafe.Offsetof(rxeSend{}.flags), 16},
		{"wr.ex.imm_data", unsafe.Offsetof(rxeSend{}.extra), 20},
		{"wr.ex.invalidate_rkey", unsafe.Offsetof(rxeSend{}.extra), 20},
		{"wr.wr.rdma.remote_addr", unsafe.Offsetof(rxeSend{}.remote), 24},
		{"wr.wr.rdma.rkey", unsafe.Offsetof(rxeSend{}.compare), 32},
		{"wr.wr.atomic.remote_addr", unsafe.Offsetof(rxeSend{}.remote), 24},
		{"wr.wr.atomic.compare_add", unsafe.Offsetof(rxeSend{}.compare), 32},
		{"wr.wr.atomic.swap", unsafe.Offsetof(rxeSend{}.swap), 40},
		{"wr.wr.atomic.rkey", unsafe.Offsetof(rxeSend{}.rkey), 48},
		{"status", unsafe.Offsetof(rxeSend{}.status), 144},
		{"state", unsafe.Offsetof(rxeSend{}.state), 148},
		{"iova", unsafe.Offsetof(rxeSend{}.iova), 152},
		{"mask", unsafe.Offsetof(rxeSend{}.mask), 160},
		{"ssn", unsafe.Offsetof(rxeSend{}.ssn), 176},
		{"has_rd_atomic", unsafe.Offsetof(rxeSend{}.atomic), 180},
		{"dma", unsafe.Offsetof(rxeSend{}.data), 184},
	}},
	{"struct rxe_recv_wqe", sizeOf[rxeReceive](), 40, false, []field{
		{"wr_id", unsafe.Offsetof(rxeReceive{}.id), 0},
		{"dma", unsafe.Offsetof(rxeReceive{}.data), 16},
	}},
	{"struct ib_uverbs_wc", sizeOf[rxeCompletion](), 48, false, []field{
		{"wr_id", unsafe.Offsetof(rxeCompletion{}.id), 0},
		{"status", unsafe.Offsetof(rxeCompletion{}.status), 8},
		{"opcode", unsafe.Offsetof(rxeCompletion{}.opcode), 12},
		{"vendor_err", unsafe.Offsetof(rxeCompletion{}.vendor), 16},
		{"byte_len", unsafe.Offsetof(rxeCompletion{}.bytes), 20},
		{"ex.imm_data", unsafe.Offsetof(rxeCompletion{}.extra), 24},
		{"ex.invalidate_rkey", unsafe.Offsetof(rxeCompletion{}.extra), 24},
		{"qp_num", unsafe.Offsetof(rxeCompletion{}.pair), 28},
		{"src_qp", unsafe.Offsetof(rxeCompletion{}.source), 32},
		{"wc_flags", unsafe.Offsetof(rxeCompletion{}.flags), 36},
	}},
}
