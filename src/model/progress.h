/* progress.h - how far an analysis is, in percent of its time */
#ifndef HD_MODEL_PROGRESS_H
#define HD_MODEL_PROGRESS_H

#include "heddle/format.h"

enum { HD_ALL_PERCENT = 100 };

/* `progress` may be NULL. */
static inline void hd_say_percent(hd_progress *progress, void *user, unsigned percent)
{
    if (progress) progress(user, percent, HD_ALL_PERCENT);
}

/* The same, `done` of `total` parts into a phase. */
static inline void hd_say_part(hd_progress *progress, void *user, unsigned from, unsigned until, uint64_t done,
                               uint64_t total)
{
    hd_say_percent(progress, user, total ? from + (unsigned)((until - from) * done / total) : until);
}

#endif
