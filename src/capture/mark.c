/* mark.c - the functions behind the macros of mark.h */
#include "heddle/mark.h"

#include "capture/session/impl.h"

static _Atomic(hd_session *) used;

void hd_mark_use(hd_session *session)
{
    atomic_store_explicit(&used, session, memory_order_release);
}

/* The id of a text at its place, with its session in the upper half. A child of fork keeps the ids. */
static uint32_t id_of(hd_session *session, uint64_t *known, const char *text)
{
    if (!text) return 0;
    uint64_t both = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (both >> 32 == session->serial) return (uint32_t)both;
    uint32_t id = hd_session_intern(session, text);
    if (id) __atomic_store_n(known, (uint64_t)session->serial << 32 | id, __ATOMIC_RELAXED);
    return id;
}

/* NULL: nothing to do. */
static hd_session *session_for(hd_mark_place *place, uint32_t *name, uint32_t *category)
{
    hd_session *session = atomic_load_explicit(&used, memory_order_acquire);
    if (!session) return NULL;
    *name = id_of(session, &place->ids[0], place->name);
    *category = id_of(session, &place->ids[1], place->category);
    return session;
}

hd_session *hd_mark_begin(hd_mark_place *place)
{
    uint32_t name, category;
    hd_session *session = session_for(place, &name, &category);
    if (session) hd_session_begin(session, name, category);
    return session;
}

void hd_mark_instant(hd_mark_place *place)
{
    uint32_t name, category;
    hd_session *session = session_for(place, &name, &category);
    if (session) hd_session_instant(session, name, category);
}

void hd_mark_counter(hd_mark_place *place, double value)
{
    uint32_t name, category;
    hd_session *session = session_for(place, &name, &category);
    if (session) hd_session_counter(session, name, value);
}

void hd_mark_flow(hd_mark_place *place, char phase, uint64_t id)
{
    uint32_t name, category;
    hd_session *session = session_for(place, &name, &category);
    if (!session) return;
    if (phase == 's')
        hd_session_flow_start(session, name, category, id);
    else if (phase == 't')
        hd_session_flow_step(session, name, category, id);
    else
        hd_session_flow_end(session, name, category, id);
}
