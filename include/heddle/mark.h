/* mark.h - macros that mark ranges and counters of a program in its trace; they expand to nothing unless HD_MARKS is 1
 *
 *     #define HD_MARKS 1            (or -DHD_MARKS=1, in the builds that trace)
 *     #include <heddle/mark.h>
 *
 *     void step(void)
 *     {
 *         HD_MARK_SCOPE("step");                       from here to the end of the block
 *         HD_MARK_COUNTER("queue", length);
 *     }
 *
 * Off, they evaluate nothing, need no library and add nothing to the object file. On, events go to the session of the
 * last hd_mark_use(); without one, a mark costs a call and a load. Names are literals, or live as long as the program;
 * each place interns its name once a session. GNU C or C++ (gcc, clang).
 */
#ifndef HEDDLE_MARK_H
#define HEDDLE_MARK_H

#ifndef HD_MARKS
#define HD_MARKS 0
#endif

#include "heddle/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The session of the process's marks; NULL: none. Any thread. Before the session is freed, name another. */
void hd_mark_use(hd_session *session);

/* The state that a macro keeps at its place in the program. */
typedef struct hd_mark_place {
    const char *name, *category;
    uint64_t ids[2]; /* internal */
} hd_mark_place;

/* Called by the macros. begin returns the session to pass to end. */
hd_session *hd_mark_begin(hd_mark_place *place);
void hd_mark_instant(hd_mark_place *place);
void hd_mark_counter(hd_mark_place *place, double value);
void hd_mark_flow(hd_mark_place *place, char phase, uint64_t id); /* 's', 't', 'f' */

static inline void hd_mark_scope_end(hd_session **session)
{
    hd_session_end(*session);
}

#ifdef __cplusplus
}
#endif

#if HD_MARKS
#define HD_MARK_JOIN_(a, b) a##b
#define HD_MARK_JOIN(a, b) HD_MARK_JOIN_(a, b)
#define HD_MARK_AT_(place, name, category) static hd_mark_place place = {name, category, {0, 0}}
#define HD_MARK_SCOPE_IN(name, category)                                                                               \
    HD_MARK_AT_(HD_MARK_JOIN(hd_mark_place_, __LINE__), name, category);                                               \
    __attribute__((cleanup(hd_mark_scope_end), unused)) hd_session *HD_MARK_JOIN(hd_mark_scope_, __LINE__) =           \
        hd_mark_begin(&HD_MARK_JOIN(hd_mark_place_, __LINE__))
#define HD_MARK_DO_(name, category, call)                                                                              \
    do {                                                                                                               \
        HD_MARK_AT_(hd_mark_place_here, name, category);                                                               \
        call;                                                                                                          \
    } while (0)
#define HD_MARK_INSTANT_IN(name, category) HD_MARK_DO_(name, category, hd_mark_instant(&hd_mark_place_here))
#define HD_MARK_COUNTER(name, value) HD_MARK_DO_(name, 0, hd_mark_counter(&hd_mark_place_here, (value)))
#define HD_MARK_FLOW_START(name, id) HD_MARK_DO_(name, 0, hd_mark_flow(&hd_mark_place_here, 's', (id)))
#define HD_MARK_FLOW_STEP(name, id) HD_MARK_DO_(name, 0, hd_mark_flow(&hd_mark_place_here, 't', (id)))
#define HD_MARK_FLOW_END(name, id) HD_MARK_DO_(name, 0, hd_mark_flow(&hd_mark_place_here, 'f', (id)))
#else
#define HD_MARK_SCOPE_IN(name, category) ((void)0)
#define HD_MARK_INSTANT_IN(name, category) ((void)0)
#define HD_MARK_COUNTER(name, value) ((void)0)
#define HD_MARK_FLOW_START(name, id) ((void)0)
#define HD_MARK_FLOW_STEP(name, id) ((void)0)
#define HD_MARK_FLOW_END(name, id) ((void)0)
#endif

#define HD_MARK_SCOPE(name) HD_MARK_SCOPE_IN(name, 0)
#define HD_MARK_INSTANT(name) HD_MARK_INSTANT_IN(name, 0)

#endif
