/* clock.h - elapsed time, by a clock that is never set */
#ifndef HD_BASE_CLOCK_H
#define HD_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t hd_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t hd_now_ms(void)
{
    return hd_now_ns() / 1000000;
}

#endif
