/* watch.h - who is informed of how far a pass over a trace is: set by what runs passes, called by what copies events */
#ifndef HD_TRACE_WATCH_H
#define HD_TRACE_WATCH_H

#include "heddle/trace.h"

/* `events` more are copied. */
typedef void hd_trace_watcher(void *user, uint64_t events);

/* Until the trace is freed, or another is set; NULL: none. */
void hd_trace_watch(hd_trace *trace, hd_trace_watcher *watcher, void *user);
void hd_trace_say_copied(const hd_trace *trace, uint64_t events);

#endif
