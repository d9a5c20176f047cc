/* A computation of known length, as in bench/internal/osu/work.go. */
#ifndef WORK_H
#define WORK_H

#include <mpi.h>

static double compute(long terms) {
    double start = MPI_Wtime();
    volatile double sink;
    double sum = 0;
    for (long i = 1; i <= terms; i++) sum += 1.0 / i;
    sink = sum;
    (void)sink;
    return MPI_Wtime() - start;
}

static double shortest(long terms) {
    double least = compute(terms);
    for (int i = 0; i < 10; i++) {
        double took = compute(terms);
        if (took < least) least = took;
    }
    return least;
}

/* Returns the number of terms whose computation takes about the given number of seconds. */
static long work(double seconds) { return (long)((1 << 20) * seconds / shortest(1 << 20)); }

#endif
