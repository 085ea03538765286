/* tracers.h - functions of sessions for tracers inside the program (src/capture/cuda), in addition to
 * heddle/session.h */
#ifndef HD_CAPTURE_SESSION_TRACERS_H
#define HD_CAPTURE_SESSION_TRACERS_H

#include <stdatomic.h>

#include "heddle/session.h"

/* alone.c: +1 at the beginning of each thread of ours, -1 at its end; exit_when_alone counts them. */
void session_own_thread(int change);

/* live.c: counts of a tracer: launches whose activity is due, and those whose activity came, which session_deliver
 * counts. If the process is killed, the difference is a loss in its file. Of this process: get them anew each time. */
enum { SESSION_LAUNCHED, SESSION_DELIVERED, SESSION_DUES };
atomic_uint_least64_t *session_due(hd_session *session, int which);

/* live.c: requests that the process that records writes out what is kept: false: none records. */
bool session_ask_recorder(hd_session *session, hd_session_message why);

/* tracer.c: hd_session_emit, and with `delivers` this is the activity of a launch. By one thread of a process. */
void session_deliver(hd_session *session, const hd_session_record *record, bool delivers);

/* writer.c: CPU time of the session's thread, 0 while it does not run in this process. */
uint64_t session_cpu_ns(hd_session *session);

/* writer.c: wait until *word differs from `value`, or is woken, or for so long. */
int session_futex_wait(atomic_uint *word, unsigned value, unsigned milliseconds);
void session_futex_wake(atomic_uint *word);

#endif
