/*
 * A libibverbs with one device, for tests. Each posted request completes at once. Its
 * completion contains the number of bytes in its segments, and values from the request.
 * The structures are those of infiniband/verbs.h, as far as they are used. Environment
 * variables FAKE_... change the results of functions; most of them make a function fail.
 * The macro NO_IOVA2 leaves out the function ibv_reg_mr_iova2.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sge { uint64_t addr; uint32_t length, lkey; };
struct send_wr {
	uint64_t id;
	struct send_wr *next;
	struct sge *list;
	int count;
	int opcode;
	unsigned flags;
	uint32_t imm;
	uint64_t remote;
	uint64_t word; /* rkey, or compare_add */
	uint64_t swap;
	uint32_t rkey;
	int pad;
	uint64_t rest[7];
};
struct recv_wr { uint64_t id; struct recv_wr *next; struct sge *list; int count; };
struct wc { uint64_t id; int status, opcode; uint32_t vendor, length, imm, qp, src; unsigned flags; uint64_t rest; };
struct cq;
struct qp;
struct srq;
struct context {
	void *device;
	void *ops[32];
	int cmd_fd, async_fd;
};
struct pd { struct context *context; };
struct mr { struct context *context; struct pd *pd; void *addr; size_t length; uint32_t handle, lkey, rkey; };
struct channel { struct context *context; int fd, count, write; };
#define ROOM 64
struct cq { struct context *context; struct channel *channel; void *user; uint32_t handle; int cqe; struct wc queue[ROOM]; int used, armed, unacked; };
struct qp { struct context *context; void *user; struct pd *pd; struct cq *send, *recv; struct srq *srq; uint32_t handle, number; int capacity; };
struct srq { struct context *context; void *user; struct pd *pd; struct cq *cq; };
struct cap { uint32_t sends, recvs, send_sge, recv_sge, inl; };
struct qp_init { void *user; struct cq *send, *recv; struct srq *srq; struct cap cap; int kind, all; };
struct srq_init { void *user; uint32_t max_wr, max_sge, limit; };
struct event { union { void *object; int port; } element; int kind; };

static const char *fails(const char *name) { return getenv(name); }
static int device;
static struct { int write; struct qp *last; int unacked; unsigned modified; int state; uint32_t limit; } now;

static int complete(struct cq *cq, struct wc *c) {
	if (cq->used == ROOM) return ENOMEM;
	cq->queue[cq->used++] = *c;
	if (cq->armed && cq->channel) {
		cq->armed = 0;
		if (write(cq->channel->write, &cq, sizeof cq) != sizeof cq) return errno;
	}
	return 0;
}

/* The result depends on the values of the bytes and on their order. */
static uint32_t sum(struct sge *s, int n) {
	uint32_t v = 0;
	for (int i = 0; i < n; i++)
		for (uint32_t j = 0; j < s[i].length; j++) v = v * 31 + ((unsigned char *)(uintptr_t)s[i].addr)[j];
	return v;
}

static int post_send(struct qp *q, struct send_wr *w, struct send_wr **bad) {
	now.last = q;
	for (; w; w = w->next) {
		struct wc c = { .id = w->id, .opcode = w->opcode, .qp = q->number, .imm = w->imm, .flags = 2, .src = w->count };
		int e = q->send->used >= q->capacity ? ENOMEM : w->opcode == 4 && (w->flags & 8) ? EINVAL : 0;
		for (int i = 0; i < w->count; i++) {
			if (!w->list[i].length) e = EINVAL;
			c.length += w->list[i].length;
		}
		if (w->opcode == 5 || w->opcode == 6) c.imm = __builtin_bswap32((uint32_t)(w->remote + 3 * w->word + 5 * w->swap + 7 * w->rkey));
		else if (w->opcode != 3 && w->opcode != 1 && w->opcode != 9) c.imm = __builtin_bswap32((uint32_t)(w->remote + 3 * (uint32_t)w->word));
		if (w->opcode == 9) c.flags = 8;
		if (w->flags & 8) c.imm = __builtin_bswap32(sum(w->list, w->count));
		if (w->flags & 1) c.status = 5;
		if (!e) e = complete(q->send, &c);
		if (e) { *bad = fails("FAKE_NO_BAD") ? NULL : w; return e; }
	}
	return 0;
}

static int receives(struct cq *cq, uint32_t number, struct recv_wr *w, struct recv_wr **bad) {
	for (; w; w = w->next) {
		struct wc c = { .id = w->id, .opcode = 128, .qp = number, .src = w->count };
		for (int i = 0; i < w->count; i++) c.length += w->list[i].length;
		int e = complete(cq, &c);
		if (e) { *bad = w; return -e; } /* some providers return a negative errno */
	}
	return 0;
}
static int post_recv(struct qp *q, struct recv_wr *w, struct recv_wr **bad) { return receives(q->recv, q->number, w, bad); }
static int post_srq(struct srq *s, struct recv_wr *w, struct recv_wr **bad) { return receives(now.last->recv, 0, w, bad); }
static int poll_cq(struct cq *cq, int n, struct wc *out) {
	if (fails("FAKE_POLL")) return -2;
	if (n > cq->used) n = cq->used;
	memcpy(out, cq->queue, n * sizeof *out);
	memmove(cq->queue, cq->queue + n, (cq->used - n) * sizeof *out);
	cq->used -= n;
	return n;
}
static int notify(struct cq *cq, int solicited) { cq->armed = 1 + solicited; return fails("FAKE_ARM") ? EIO : 0; }

void **ibv_get_device_list(int *n) {
	static void *none[1], *one[2] = { &device };
	if (fails("FAKE_MODULE")) { errno = ENOSYS; return NULL; }
	*n = !fails("FAKE_NONE");
	return *n ? one : none;
}
void ibv_free_device_list(void **l) {}
const char *ibv_get_device_name(void *d) { return d == &device ? "fake0" : NULL; }
struct context *ibv_open_device(void *d) {
	if (fails("FAKE_OPEN")) { errno = EACCES; return NULL; }
	struct context *c = calloc(1, 336);
	int fd[2];
	if (pipe2(fd, O_CLOEXEC)) return NULL;
	c->device = d, c->cmd_fd = -1, c->async_fd = fd[0], now.write = fd[1];
	if (!fails("FAKE_OPS")) c->ops[11] = poll_cq, c->ops[12] = notify, c->ops[20] = post_srq, c->ops[25] = post_send, c->ops[26] = post_recv;
	return c;
}
int ibv_close_device(struct context *c) { close(c->async_fd); close(now.write); free(c); return 0; }
int ibv_query_device(struct context *c, char *a) {
	if (fails("FAKE_QUERY")) return EIO;
	memset(a, 0, 232);
	uint32_t v[] = { 0x15b3, 4119, 0, 100, 200, 0, 30, 29, 10, 1000, 11, 12, 16, 0, 0, 17, 0, 1 };
	memcpy(a + 96, v, sizeof v);
	uint32_t s[] = { 21, 22, 23 };
	memcpy(a + 212, s, sizeof s);
	a[227] = 2;
	return 0;
}
int ibv_query_port(struct context *c, uint8_t port, char *a) {
	if (port != 1) return EINVAL;
	memset(a, 0, 56);
	((uint32_t *)a)[0] = 4, ((uint32_t *)a)[2] = 5, ((uint32_t *)a)[5] = 1 << 30;
	((uint16_t *)a)[17] = 99, a[46] = 2;
	return 0;
}
int ibv_get_async_event(struct context *c, struct event *e) {
	if (read(c->async_fd, e, sizeof *e) != sizeof *e) return -1;
	now.unacked++;
	return 0;
}
void ibv_ack_async_event(struct event *e) { now.unacked--; }
struct pd *ibv_alloc_pd(struct context *c) { struct pd *p = calloc(1, 16); p->context = c; return p; }
int ibv_dealloc_pd(struct pd *p) { free(p); return 0; }
__attribute__((unused)) static struct mr *reg(struct pd *pd, void *addr, size_t n, uint64_t iova, unsigned access) {
	if (fails("FAKE_MEMORY")) { errno = ENOMEM; return NULL; }
	if (access & 64 && !fails("FAKE_ODP")) { errno = EOPNOTSUPP; return NULL; }
	struct mr *m = calloc(1, sizeof *m);
	m->context = pd->context, m->pd = pd, m->addr = addr, m->length = n, m->lkey = 0x100, m->rkey = access;
	return m;
}
#ifndef NO_IOVA2
struct mr *ibv_reg_mr_iova2(struct pd *pd, void *addr, size_t n, uint64_t iova, unsigned access) { return reg(pd, addr, n, iova, access); }
#endif
static int gone; /* true if the library cannot destroy an object of a removed device */
__attribute__((constructor)) static void begin(void) { gone = !getenv("RDMAV_ALLOW_DISASSOC_DESTROY"); }
int ibv_dereg_mr(struct mr *m) {
	if (fails("FAKE_DEREG")) return EBUSY;
	if (fails("FAKE_GONE") && gone) return EIO;
	free(m);
	return 0;
}
struct channel *ibv_create_comp_channel(struct context *c) {
	int fd[2];
	if (pipe2(fd, O_CLOEXEC)) return NULL;
	struct channel *h = calloc(1, sizeof *h);
	h->context = c, h->fd = fd[0], h->write = fd[1];
	return h;
}
int ibv_destroy_comp_channel(struct channel *h) { if (h->count) return EBUSY; close(h->fd); close(h->write); free(h); return 0; }
int ibv_get_cq_event(struct channel *h, struct cq **cq, void **user) {
	if (read(h->fd, cq, sizeof *cq) != sizeof *cq) return -1;
	(*cq)->unacked++;
	*user = (*cq)->user;
	return 0;
}
void ibv_ack_cq_events(struct cq *cq, unsigned n) { cq->unacked -= n; }
struct cq *ibv_create_cq(struct context *c, int cqe, void *user, struct channel *h, int vector) {
	struct cq *q = calloc(1, sizeof *q);
	q->context = c, q->channel = h, q->user = user, q->cqe = fails("FAKE_SMALL") ? cqe - 1 : cqe + 1;
	if (h) h->count++;
	return q;
}
int ibv_destroy_cq(struct cq *q) { if (q->unacked) return EBUSY; if (q->channel) q->channel->count--; free(q); return 0; }
struct qp *ibv_create_qp(struct pd *pd, struct qp_init *i) {
	static uint32_t number = 0x1234;
	if (fails("FAKE_MEMORY")) { errno = ENOMEM; return NULL; }
	if (i->kind != 2 || i->all) { errno = EINVAL; return NULL; }
	struct qp *q = calloc(1, sizeof *q);
	q->context = pd->context, q->user = i->user, q->pd = pd, q->send = i->send, q->recv = i->recv, q->srq = i->srq, q->number = number++;
	q->capacity = i->cap.sends;
	if (fails("FAKE_SMALL_PAIR")) i->cap.inl--;
	now.last = q;
	return q;
}
int ibv_modify_qp(struct qp *q, char *a, int mask) {
	int state = *(int *)a;
	struct event e = { .element.object = q, .kind = 1 }; /* the state 6 is reported as an event */
	if (mask == 1 && state == 6 && write(now.write, &e, sizeof e) != sizeof e) return errno;
	struct event p = { .element.port = a[129], .kind = 10 };
	if (mask & 1 << 5 && write(now.write, &p, sizeof p) != sizeof p) return errno;
	if (mask & 1 << 20) { /* a completion reports the sum of all attributes to the test */
		struct wc c = { .id = sum(&(struct sge){ .addr = (uintptr_t)a, .length = 144 }, 1), .qp = 1 };
		return complete(q->send, &c);
	}
	return mask & 1 << 19 ? -1 : 0;
}
int ibv_query_qp(struct qp *q, int *a, int mask, struct qp_init *i) {
	if (mask != 1) return EINVAL;
	*a = 3, i->kind = 2;
	return fails("FAKE_QUERY") ? EIO : 0;
}
int ibv_destroy_qp(struct qp *q) { if (now.unacked) return EBUSY; free(q); return 0; }
struct srq *ibv_create_srq(struct pd *pd, struct srq_init *i) {
	struct srq *s = calloc(1, sizeof *s);
	s->context = pd->context, s->user = i->user, s->pd = pd;
	i->max_wr += 2;
	return s;
}
int ibv_destroy_srq(struct srq *s) { free(s); return 0; }
