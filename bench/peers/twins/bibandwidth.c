#include "twin.h"

int main(int argc, char **argv) {
    twin_init(&argc, &argv, "1:4M", BANDWIDTH);
    char *s = twin_memory(twin_largest()), *r = twin_memory(twin_largest());
    for (int k = 0; twin.rank < 2 && k < twin.count; k++) {
        int timed, warmup;
        twin_loops(twin.sizes[k], &timed, &warmup);
        double took = twin_stream(1 - twin.rank, s, r, twin_elements(twin.sizes[k]), timed, warmup);
        twin_row(twin.sizes[k], 2.0 * twin.sizes[k] * timed * WINDOW / 1e6 / took);
    }
    MPI_Finalize();
    return 0;
}
