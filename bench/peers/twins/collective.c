#include "twin.h"

static void *send, *recv;
static int *counts, *displs; /* of the operations with a count for each rank */

/* Sets the counts: the portion of each rank in n elements, or n for each rank. */
static void divide(int n, int portions) {
    for (int i = 0, at = 0; i < twin.size; i++) {
        counts[i] = portions ? n / twin.size + (i < n % twin.size) : n;
        displs[i] = at;
        at += counts[i];
    }
}

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
    else if (!strcmp(op, "scan")) MPI_Scan(send, recv, n, t, MPI_SUM, all);
    else if (!strcmp(op, "exscan")) MPI_Exscan(send, recv, n, t, MPI_SUM, all);
    else if (!strcmp(op, "reducescatter")) MPI_Reduce_scatter(send, recv, counts, t, MPI_SUM, all);
    else if (!strcmp(op, "reducescatterblock"))
        MPI_Reduce_scatter_block(send, recv, n < twin.size ? 1 : n / twin.size, t, MPI_SUM, all);
    else if (!strcmp(op, "allgatherv")) MPI_Allgatherv(send, n, t, recv, counts, displs, t, all);
    else if (!strcmp(op, "gatherv")) MPI_Gatherv(send, n, t, recv, counts, displs, t, 0, all);
    else if (!strcmp(op, "scatterv")) MPI_Scatterv(send, counts, displs, t, recv, n, t, 0, all);
    else if (!strcmp(op, "alltoallv")) MPI_Alltoallv(send, counts, displs, t, recv, counts, displs, t, all);
    else if (!strcmp(op, "iallreduce")) MPI_Iallreduce(send, recv, n, t, MPI_SUM, all, &request);
    else if (!strcmp(op, "ibarrier")) MPI_Ibarrier(all, &request);
    else if (!strcmp(op, "ibcast")) MPI_Ibcast(send, n, t, 0, all, &request);
    else twin_check(0, "unknown operation");
    if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Returns the number of blocks that a rank sends. A block has the message size. */
static int blocks(void) {
    return !strncmp(twin.op, "scatter", 7) || !strncmp(twin.op, "alltoall", 8) ? twin.size : 1;
}

/* Writes n elements by one store each, as bench/collective does. A memset would take less
   time, and more of the buffer would still be in the caches when the next call reads it. */
#define RENEW(type) for (size_t k = 0; k < n; k++) ((volatile type *)buffer)[k] = value
static void renew(void *buffer, size_t n, int value) {
    if (twin.type == MPI_FLOAT) RENEW(float);
    else if (twin.type == MPI_DOUBLE) RENEW(double);
    else if (twin.type == MPI_CHAR) RENEW(char);
    else RENEW(long long);
}

int main(int argc, char **argv) {
    twin_init(&argc, &argv, "1:1M", COLLECTIVE);
    int barrier = strstr(twin.op, "barrier") != NULL;
    if (barrier) twin_sizes("0");
    send = twin_memory(twin_largest() * twin.size);
    recv = twin_memory(twin_largest() * twin.size);
    counts = twin_memory(twin.size * sizeof *counts);
    displs = twin_memory(twin.size * sizeof *displs);
    for (int k = 0; k < twin.count; k++) {
        int timed, warmup, n = twin_elements(twin.sizes[k]);
        double total = 0, sum;
        twin_loops(twin.sizes[k], &timed, &warmup);
        divide(n, !strcmp(twin.op, "reducescatter"));
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < warmup + timed; i++) {
            double start = MPI_Wtime();
            call(n);
            if (i >= warmup) total += MPI_Wtime() - start;
            if (twin.write) renew(send, (size_t)n * blocks(), i % 64 + 1);
            if (!barrier) MPI_Barrier(MPI_COMM_WORLD);
        }
        total = total * 1e6 / timed;
        MPI_Allreduce(&total, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        twin_row(twin.sizes[k], sum / twin.size);
    }
    MPI_Finalize();
    return 0;
}
