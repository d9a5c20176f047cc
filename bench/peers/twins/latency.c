#include "twin.h"

enum { TAG_HELLO = 201, TAG_END = 202 };

int main(int argc, char **argv) {
    twin_init(&argc, &argv, "1:4M", LATENCY);
    int measuring = twin.pairs ? twin.size : 2, half = measuring / 2;
    long word = 0;
    twin_check(twin.size >= 2 + twin.heard && !(twin.pairs && twin.size % 2), "wrong number of ranks");
    if (twin.rank >= measuring) {
        for (int peer = 0; twin.rank < 2 + twin.heard && peer < 2; peer++)
            MPI_Send(&word, 1, MPI_LONG, peer, TAG_HELLO, MPI_COMM_WORLD);
        MPI_Recv(&word, 1, MPI_LONG, 0, TAG_END, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Finalize();
        return 0;
    }
    for (int i = 0; i < twin.heard; i++)
        MPI_Recv(&word, 1, MPI_LONG, MPI_ANY_SOURCE, TAG_HELLO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    void *s = twin_memory(twin_largest()), *r = twin_memory(twin_largest());
    for (int k = 0; k < twin.count; k++) {
        int timed, warmup;
        twin_loops(twin.sizes[k], &timed, &warmup);
        if (twin.pairs) MPI_Barrier(MPI_COMM_WORLD);
        double latency = twin_pingpong((twin.rank + half) % measuring, twin.rank < half, s, r,
                                       twin_elements(twin.sizes[k]), timed, warmup);
        if (twin.pairs) {
            double sum;
            MPI_Allreduce(&latency, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            latency = sum / twin.size;
        }
        twin_row(twin.sizes[k], latency);
    }
    for (int peer = 2; twin.rank == 0 && !twin.pairs && peer < twin.size; peer++)
        MPI_Send(&word, 1, MPI_LONG, peer, TAG_END, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
