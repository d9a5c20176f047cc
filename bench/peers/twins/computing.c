#include "twin.h"

int main(int argc, char **argv) {
    twin_init(&argc, &argv, "64M", (counts_t){5, 1, 5, 1});
    char *memory = twin_memory(twin_largest());
    for (int k = 0; twin.rank < 2 && k < twin.count; k++) {
        int timed, warmup;
        double sum = 0;
        volatile double harmonic = 0;
        twin_loops(twin.sizes[k], &timed, &warmup);
        for (int i = 0; i < warmup + timed; i++) {
            MPI_Request request = MPI_REQUEST_NULL;
            if (twin.rank == 1) MPI_Irecv(memory, (int)twin.sizes[k], MPI_CHAR, 0, TAG_DATA, MPI_COMM_WORLD, &request);
            twin_sync(1 - twin.rank);
            double start = MPI_Wtime();
            if (twin.rank == 0) MPI_Send(memory, (int)twin.sizes[k], MPI_CHAR, 1, TAG_DATA, MPI_COMM_WORLD);
            if (i >= warmup) sum += MPI_Wtime() - start;
            if (twin.rank == 1)
                for (int j = 1; MPI_Wtime() - start < twin.seconds; j++) harmonic += 1.0 / j;
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        twin_row(twin.sizes[k], sum * 1e3 / timed);
    }
    MPI_Finalize();
    return 0;
}
