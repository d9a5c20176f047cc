/* What the twins have in common: the flags, the counts of iterations and the
 * table of package bench/internal/osu, so that a twin does in C over MPI what
 * the program of the same name does in Go: the same loops, the same counts. */
#ifndef TWIN_H
#define TWIN_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES_MAX = 64, LARGE_SIZE = 8192, WINDOW = 64 };
enum { TAG_DATA = 1, TAG_ACK = 101, TAG_SYNC = 102 };

/* Numbers of timed iterations, and of untimed iterations before them, for sizes up to 8 KiB and for larger
 * sizes. */
typedef struct { int small, small_warmup, large, large_warmup; } counts_t;

static const counts_t LATENCY = {10000, 100, 1000, 10};
static const counts_t BANDWIDTH = {100, 10, 20, 2};
static const counts_t COLLECTIVE = {1000, 100, 100, 10};
static const counts_t MESSAGE_RATE = {1000, 100, 100, 10};

static struct {
    size_t sizes[SIZES_MAX];
    int count;            /* of sizes */
    int iterations;       /* 0: by counts */
    int warmup;           /* -1: by counts */
    MPI_Datatype type;
    const char *op;
    int pairs, heard, block, write;
    double seconds;
    counts_t counts;
    int rank, size;
} twin;

static void twin_check(int ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "twin: %s\n", what);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static size_t twin_size(const char *s, char **end) {
    size_t n = strtoull(s, end, 10);
    if (**end == 'K') { n <<= 10; ++*end; }
    if (**end == 'M') { n <<= 20; ++*end; }
    return n;
}

/* Parses "min:max", which means min, 2*min, 4*min and so on up to max, or a list. */
static void twin_sizes(const char *s) {
    char *end;
    size_t n = twin_size(s, &end);
    twin.count = 0;
    if (*end == ':') {
        size_t last = twin_size(end + 1, &end);
        for (; n <= last && twin.count < SIZES_MAX; n *= 2) twin.sizes[twin.count++] = n;
        return;
    }
    twin.sizes[twin.count++] = n;
    while (*end == ',' && twin.count < SIZES_MAX) twin.sizes[twin.count++] = twin_size(end + 1, &end);
}

static MPI_Datatype twin_type(const char *name) {
    if (!strcmp(name, "int64")) return MPI_LONG_LONG;
    if (!strcmp(name, "float32")) return MPI_FLOAT;
    if (!strcmp(name, "float64")) return MPI_DOUBLE;
    return MPI_CHAR;
}

static void twin_init(int *argc, char ***argv, const char *sizes, counts_t counts) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &twin.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &twin.size);
    twin.counts = counts;
    twin.warmup = -1;
    twin.type = MPI_CHAR;
    twin.op = "allreduce";
    twin.block = 16;
    twin.seconds = 10;
    twin_sizes(sizes);
    for (int i = 1; i < *argc; i++) {
        const char *flag = (*argv)[i];
        if (!strcmp(flag, "-pairs")) { twin.pairs = 1; continue; }
        if (!strcmp(flag, "-write")) { twin.write = 1; continue; }
        twin_check(i + 1 < *argc, "a flag without a value");
        const char *value = (*argv)[++i];
        if (!strcmp(flag, "-m")) twin_sizes(value);
        else if (!strcmp(flag, "-i")) twin.iterations = atoi(value);
        else if (!strcmp(flag, "-x")) twin.warmup = atoi(value);
        else if (!strcmp(flag, "-type")) twin.type = twin_type(value);
        else if (!strcmp(flag, "-op")) twin.op = value;
        else if (!strcmp(flag, "-heard")) twin.heard = atoi(value);
        else if (!strcmp(flag, "-n")) twin.block = atoi(value);
        else if (!strcmp(flag, "-for")) {
            char *unit;
            twin.seconds = strtod(value, &unit);
            if (!strcmp(unit, "ms")) twin.seconds /= 1000;
        } else twin_check(0, "an unknown flag");
    }
}

static void twin_loops(size_t size, int *timed, int *warmup) {
    *timed = size > LARGE_SIZE ? twin.counts.large : twin.counts.small;
    *warmup = size > LARGE_SIZE ? twin.counts.large_warmup : twin.counts.small_warmup;
    if (twin.iterations > 0) *timed = twin.iterations;
    if (twin.warmup >= 0) *warmup = twin.warmup;
}

static size_t twin_largest(void) {
    size_t largest = 0;
    for (int i = 0; i < twin.count; i++)
        if (twin.sizes[i] > largest) largest = twin.sizes[i];
    return largest;
}

/* Page-aligned memory, written once, with room for a rounded-up element. */
static void *twin_memory(size_t size) {
    void *p = NULL;
    twin_check(posix_memalign(&p, 4096, size + 64) == 0, "no memory");
    memset(p, 1, size + 64);
    return p;
}

/* The number of elements in size bytes. */
static int twin_elements(size_t size) {
    int width;
    MPI_Type_size(twin.type, &width);
    return (int)((size + width - 1) / width);
}

/* Waits until the peer also calls twin_sync. */
static void twin_sync(int peer) {
    char mine = 0, theirs;
    MPI_Sendrecv(&mine, 1, MPI_CHAR, peer, TAG_SYNC, &theirs, 1, MPI_CHAR, peer, TAG_SYNC,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void twin_row(size_t size, double value) {
    if (twin.rank == 0) {
        printf("%-10zu%20.3f\n", size, value);
        fflush(stdout);
    }
}

/* Returns the time of one way of a ping-pong in microseconds. */
static double twin_pingpong(int peer, int first, void *s, void *r, int n, int timed, int warmup) {
    twin_sync(peer);
    double start = 0;
    for (int i = 0; i < warmup + timed; i++) {
        if (i == warmup) start = MPI_Wtime();
        if (first) MPI_Send(s, n, twin.type, peer, TAG_DATA, MPI_COMM_WORLD);
        MPI_Recv(r, n, twin.type, peer, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!first) MPI_Send(s, n, twin.type, peer, TAG_DATA, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - start) * 1e6 / (2.0 * timed);
}

/* Sends windows of messages to a peer if s is not NULL, and receives windows from it if r is not NULL.
 * Returns the time of the timed windows in seconds. */
static double twin_stream(int peer, void *s, void *r, int n, int timed, int warmup) {
    MPI_Request requests[2 * WINDOW];
    char ack = 0;
    double start = 0;
    twin_sync(peer);
    for (int i = 0; i < warmup + timed; i++) {
        int k = 0;
        if (i == warmup) start = MPI_Wtime();
        for (int j = 0; r && j < WINDOW; j++)
            MPI_Irecv(r, n, twin.type, peer, TAG_DATA, MPI_COMM_WORLD, &requests[k++]);
        for (int j = 0; s && j < WINDOW; j++)
            MPI_Isend(s, n, twin.type, peer, TAG_DATA, MPI_COMM_WORLD, &requests[k++]);
        MPI_Waitall(k, requests, MPI_STATUSES_IGNORE);
        if (s && r) continue;
        if (s) MPI_Recv(&ack, 1, MPI_CHAR, peer, TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Send(&ack, 1, MPI_CHAR, peer, TAG_ACK, MPI_COMM_WORLD);
    }
    return MPI_Wtime() - start;
}

#endif
