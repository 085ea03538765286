/* fast_clock.c - preloaded: each microsecond is a second, so that a command shows at once what it shows later */
#include <dlfcn.h>
#include <stdint.h>
#include <time.h>

enum { FASTER = 1000000, SECOND_NS = 1000000000 };

int clock_gettime(clockid_t clock, struct timespec *out)
{
    static int64_t first_ns;
    int (*real)(clockid_t, struct timespec *);
    *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, out);
    if (status != 0 || clock != CLOCK_MONOTONIC) return status;
    int64_t now_ns = (int64_t)out->tv_sec * SECOND_NS + out->tv_nsec;
    int64_t zero = 0;
    __atomic_compare_exchange_n(&first_ns, &zero, now_ns, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    now_ns += (now_ns - __atomic_load_n(&first_ns, __ATOMIC_RELAXED)) * FASTER;
    *out = (struct timespec){.tv_sec = now_ns / SECOND_NS, .tv_nsec = now_ns % SECOND_NS};
    return 0;
}
