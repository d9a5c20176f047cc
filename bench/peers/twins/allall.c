#include "twin.h"

int main(int argc, char **argv) {
    twin_init(&argc, &argv, "8", LATENCY);
    size_t n = (size_t)twin.block * twin.size;
    long *s = twin_memory(n * sizeof *s), *r = twin_memory(n * sizeof *r);
    for (size_t k = 0; k < n; k++)
        s[k] = ((long)twin.rank * twin.size + k / twin.block) * twin.block + k % twin.block;
    MPI_Alltoall(s, twin.block, MPI_LONG, r, twin.block, MPI_LONG, MPI_COMM_WORLD);
    for (size_t k = 0; k < n; k++)
        twin_check(r[k] == (long)((k / twin.block * twin.size + twin.rank) * twin.block + k % twin.block), "wrong data");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
