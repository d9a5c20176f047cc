#include "twin.h"
#include "work.h"

int main(int argc, char **argv) {
    twin_init(&argc, &argv, "8", (counts_t){50, 2, 50, 2});
    char *mine = twin_memory(twin_largest()), *theirs = twin_memory(twin_largest());
    long terms = work(twin.seconds);
    double alone = shortest(terms);
    int peer = twin.rank ^ 1;
    if (peer == twin.size) peer = MPI_PROC_NULL;
    for (int k = 0; k < twin.count; k++) {
        int timed, warmup, n = (int)twin.sizes[k];
        double total = 0, sum;
        twin_loops(twin.sizes[k], &timed, &warmup);
        for (int i = 0; i < warmup + timed; i++) {
            if (!strcmp(twin.op, "barrier")) MPI_Barrier(MPI_COMM_WORLD);
            else if (!strcmp(twin.op, "allreduce")) MPI_Allreduce(mine, theirs, n, MPI_UNSIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD);
            else if (!strcmp(twin.op, "exchange"))
                MPI_Sendrecv(mine, n, MPI_CHAR, peer, TAG_DATA, theirs, n, MPI_CHAR, peer, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            else twin_check(0, "unknown operation");
            double took = compute(terms);
            if (i >= warmup) total += took;
        }
        total = total / timed / alone;
        MPI_Allreduce(&total, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        twin_row(twin.sizes[k], sum / twin.size);
    }
    MPI_Finalize();
    return 0;
}
