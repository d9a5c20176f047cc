#include "twin.h"
#include "work.h"

int main(int argc, char **argv) {
    twin_init(&argc, &argv, "1M", COLLECTIVE);
    twin.type = MPI_FLOAT;
    float *send = twin_memory(twin_largest()), *recv = twin_memory(twin_largest());
    long terms = work(twin.seconds);
    for (int k = 0; k < twin.count; k++) {
        int timed, warmup, n = twin_elements(twin.sizes[k]);
        double total = 0, sum;
        twin_loops(twin.sizes[k], &timed, &warmup);
        for (int i = 0; i < warmup + timed; i++) {
            MPI_Request request;
            MPI_Barrier(MPI_COMM_WORLD);
            double start = MPI_Wtime();
            MPI_Iallreduce(send, recv, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
            compute(terms);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (i >= warmup) total += MPI_Wtime() - start;
        }
        total = total * 1e6 / timed;
        MPI_Allreduce(&total, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        twin_row(twin.sizes[k], sum / twin.size);
    }
    MPI_Finalize();
    return 0;
}
