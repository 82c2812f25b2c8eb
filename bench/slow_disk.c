/* A disk whose fsync costs REMINDI_BENCH_FSYNC_US microseconds more: preloaded into the service under test. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void dawdle(void) {
    const char *text = getenv("REMINDI_BENCH_FSYNC_US");
    long us = text ? atol(text) : 0;
    struct timespec pause = {us / 1000000, (us % 1000000) * 1000};
    nanosleep(&pause, NULL);
}

int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fsync");
    dawdle();
    return real(fd);
}

int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
    dawdle();
    return real(fd);
}
