#include "twin.h"

static void *send, *recv;

static void call(int n) {
    const char *op = twin.op;
    MPI_Comm all = MPI_COMM_WORLD;
    MPI_Datatype t = twin.type;
    MPI_Request request = MPI_REQUEST_NULL;
    if (!strcmp(op, "allreduce")) MPI_Allreduce(send, recv, n, t, MPI_SUM, all);
    else if (!strcmp(op, "barrier")) MPI_Barrier(all);
    else if (!strcmp(op, "bcast")) MPI_Bcast(send, n, t, 0, all);
    else if (!strcmp(op, "alltoall")) MPI_Alltoall(send, n, t, recv, n, t, all);
    else if (!strcmp(op, "allgather")) MPI_Allgather(send, n, t, recv, n, t, all);
    else if (!strcmp(op, "gather")) MPI_Gather(send, n, t, recv, n, t, 0, all);
    else if (!strcmp(op, "scatter")) MPI_Scatter(send, n, t, recv, n, t, 0, all);
    else if (!strcmp(op, "reduce")) MPI_Reduce(send, recv, n, t, MPI_SUM, 0, all);
    else if (!strcmp(op, "iallreduce")) MPI_Iallreduce(send, recv, n, t, MPI_SUM, all, &request);
    else if (!strcmp(op, "ibarrier")) MPI_Ibarrier(all, &request);
    else if (!strcmp(op, "ibcast")) MPI_Ibcast(send, n, t, 0, all, &request);
    else twin_check(0, "unknown operation");
    if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Blocks of the message size that a rank sends. */
static int blocks(void) {
    return !strcmp(twin.op, "scatter") || !strcmp(twin.op, "alltoall") ? twin.size : 1;
}

int main(int argc, char **argv) {
    twin_init(&argc, &argv, "1:1M", COLLECTIVE);
    int barrier = strstr(twin.op, "barrier") != NULL;
    if (barrier) twin_sizes("0");
    send = twin_memory(twin_largest() * twin.size);
    recv = twin_memory(twin_largest() * twin.size);
    for (int k = 0; k < twin.count; k++) {
        int timed, warmup, n = twin_elements(twin.sizes[k]);
        double total = 0, sum;
        twin_loops(twin.sizes[k], &timed, &warmup);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < warmup + timed; i++) {
            double start = MPI_Wtime();
            call(n);
            if (i >= warmup) total += MPI_Wtime() - start;
            if (twin.write) memset(send, i % 64 + 1, twin.sizes[k] * blocks());
            if (!barrier) MPI_Barrier(MPI_COMM_WORLD);
        }
        total = total * 1e6 / timed;
        MPI_Allreduce(&total, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        twin_row(twin.sizes[k], sum / twin.size);
    }
    MPI_Finalize();
    return 0;
}
