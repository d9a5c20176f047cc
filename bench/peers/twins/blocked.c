#include "twin.h"

#include <sys/resource.h>
#include <time.h>

static double processor_time(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec + 1e-6 * (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

int main(int argc, char **argv) {
    twin_init(&argc, &argv, "8", LATENCY);
    double share = 0;
    long word = 0;
    twin_check(twin.size == 2, "wrong number of ranks");
    twin_sync(1 - twin.rank);
    if (twin.rank == 1) {
        double before = processor_time(), start = MPI_Wtime();
        MPI_Recv(&word, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        share = 100 * (processor_time() - before) / (MPI_Wtime() - start);
        MPI_Send(&share, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
    } else {
        struct timespec wait = {(time_t)twin.seconds, (long)((twin.seconds - (time_t)twin.seconds) * 1e9)};
        nanosleep(&wait, NULL);
        MPI_Send(&word, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(&share, 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        twin_row(8, share);
    }
    MPI_Finalize();
    return 0;
}
