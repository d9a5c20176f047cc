#include "twin.h"

int main(int argc, char **argv) {
    twin_init(&argc, &argv, "1:4K", MESSAGE_RATE);
    int half = twin.size / 2;
    twin_check(twin.size >= 2 && twin.size % 2 == 0, "wrong number of ranks");
    char *memory = twin_memory(twin_largest());
    for (int k = 0; k < twin.count; k++) {
        int timed, warmup, sends = twin.rank < half;
        twin_loops(twin.sizes[k], &timed, &warmup);
        MPI_Barrier(MPI_COMM_WORLD);
        double sum, took = twin_stream((twin.rank + half) % twin.size, sends ? memory : NULL, sends ? NULL : memory,
                                       twin_elements(twin.sizes[k]), timed, warmup);
        if (!sends) took = 0;
        MPI_Allreduce(&took, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        twin_row(twin.sizes[k], (double)half * timed * WINDOW / (sum / half));
    }
    MPI_Finalize();
    return 0;
}
