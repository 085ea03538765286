/* tracks.c - the tracks of a trace while it is built */
#include "trace/tracks.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"

void hd_tracks_init(hd_tracks *tracks)
{
    *tracks = (hd_tracks){0};
    pthread_mutex_init(&tracks->lock, NULL);
}

void hd_tracks_deinit(hd_tracks *tracks)
{
    hd_slots_deinit(&tracks->slots);
    hd_large_free(tracks->list);
    tracks->list = NULL;
    pthread_mutex_destroy(&tracks->lock);
}

static uint64_t hash_of(hd_ident pid, hd_ident tid, bool process)
{
    uint32_t key[5] = {(uint32_t)pid.type, pid.text, (uint32_t)tid.type, tid.text, process};
    return hd_hash(key, sizeof key);
}

static bool same_ident(hd_ident a, hd_ident b)
{
    return a.type == b.type && a.text == b.text;
}

/* HD_NONE: none. */
uint32_t hd_tracks_find(const hd_tracks *tracks, hd_ident pid, hd_ident tid, bool process)
{
    uint32_t at;
    uint64_t hash = hash_of(pid, tid, process);
    const hd_track *list = tracks->list;
    HD_SLOTS_FIND(at, &tracks->slots, hash,
                  same_ident(list[at].pid, pid) && same_ident(list[at].tid, tid) &&
                      (list[at].kind == HD_TRACK_PROCESS) == process);
    return at;
}

static uint64_t large_of(const hd_tracks *tracks)
{
    return tracks->large ? tracks->large : UINT64_MAX;
}

static uint32_t add_track(hd_tracks *tracks, hd_ident pid, hd_ident tid, bool process)
{
    if (tracks->count == tracks->capacity) {
        uint32_t capacity = tracks->capacity ? tracks->capacity * 2 : 4;
        if (!hd_large_resize((void **)&tracks->list, tracks->count, capacity, sizeof *tracks->list, large_of(tracks)))
            return HD_NONE;
        tracks->capacity = capacity;
    }
    uint32_t id = tracks->count;
    if (!hd_slots_add(&tracks->slots, hash_of(pid, tid, process), id)) return HD_NONE;
    tracks->count++;
    tracks->list[id] = (hd_track){
        .id = id,
        .parent = HD_NONE,
        .kind = process ? HD_TRACK_PROCESS : HD_TRACK_THREAD,
        .pid = pid,
        .tid = tid,
        .same_as = id,
        .sort_index = HD_NO_NUMBER,
        .device = HD_NO_NUMBER,
        .stream = HD_NO_NUMBER,
        .rank = HD_NO_NUMBER,
        .start_ns = HD_NO_TIME,
        .end_ns = HD_NO_TIME,
    };
    return id;
}

static uint32_t get(hd_tracks *tracks, hd_ident pid, hd_ident tid, bool process)
{
    uint32_t found = hd_tracks_find(tracks, pid, tid, process);
    return found != HD_NONE ? found : add_track(tracks, pid, tid, process);
}

uint32_t hd_tracks_get(hd_tracks *tracks, hd_ident pid, hd_ident tid, bool process)
{
    pthread_mutex_lock(&tracks->lock);
    uint32_t id = get(tracks, pid, tid, process);
    pthread_mutex_unlock(&tracks->lock);
    return id;
}

bool hd_tracks_identify(hd_tracks *tracks, uint32_t track, hd_ident pid, hd_ident tid, bool *out_failed)
{
    pthread_mutex_lock(&tracks->lock);
    hd_track *t = &tracks->list[track];
    bool was_process = t->kind == HD_TRACK_PROCESS;
    bool process = was_process || (tid.type == HD_IDENT_NONE && pid.type != HD_IDENT_NONE);
    uint32_t found = hd_tracks_find(tracks, pid, tid, process);
    *out_failed = found == HD_NONE && !hd_slots_add(&tracks->slots, hash_of(pid, tid, process), track);
    if (found == HD_NONE && !*out_failed) {
        hd_slots_remove(&tracks->slots, hash_of(t->pid, t->tid, was_process), track);
        if (process) t->kind = HD_TRACK_PROCESS;
        t->pid = pid;
        t->tid = tid;
        found = track;
    }
    pthread_mutex_unlock(&tracks->lock);
    return found == track;
}

bool hd_tracks_keep(hd_tracks *tracks, const uint32_t *map, uint32_t count)
{
    hd_track *list = hd_large_new((size_t)count + 1, sizeof *list, large_of(tracks));
    if (!list) return false;
    for (uint32_t i = 0; i < tracks->count; i++) {
        if (map[i] == HD_NONE) continue;
        list[map[i]] = tracks->list[i];
        list[map[i]].id = list[map[i]].same_as = map[i];
    }
    hd_large_free(tracks->list);
    tracks->list = list;
    tracks->capacity = count + 1;
    tracks->count = 0;
    hd_slots_clear(&tracks->slots);
    for (; tracks->count < count; tracks->count++) {
        const hd_track *t = &list[tracks->count];
        if (!hd_slots_add(&tracks->slots, hash_of(t->pid, t->tid, t->kind == HD_TRACK_PROCESS), tracks->count))
            return false;
    }
    return true;
}

/* Viewers do not distinguish 7 and "7": the twin is the track with each ident converted to the other type. */
static uint32_t twin_of(const hd_tracks *tracks, const hd_track *track)
{
    uint32_t lowest = track->id;
    for (int mask = 1; mask < 4; mask++) {
        hd_ident pid = track->pid, tid = track->tid;
        if ((mask & 1 && pid.type == HD_IDENT_NONE) || (mask & 2 && tid.type == HD_IDENT_NONE)) continue;
        if (mask & 1) pid.type = pid.type == HD_IDENT_NUMBER ? HD_IDENT_STRING : HD_IDENT_NUMBER;
        if (mask & 2) tid.type = tid.type == HD_IDENT_NUMBER ? HD_IDENT_STRING : HD_IDENT_NUMBER;
        uint32_t found = hd_tracks_find(tracks, pid, tid, track->kind == HD_TRACK_PROCESS);
        if (found < lowest) lowest = found;
    }
    return lowest;
}

hd_status hd_tracks_finish(hd_tracks *tracks, hd_error *err)
{
    for (uint32_t i = 0; i < tracks->count; i++) {
        if (tracks->list[i].kind == HD_TRACK_PROCESS) continue;
        uint32_t parent = get(tracks, tracks->list[i].pid, (hd_ident){0}, true);
        if (parent == HD_NONE) return HD_NOMEM(err);
        tracks->list[i].parent = parent;
    }
    for (uint32_t i = 0; i < tracks->count; i++) tracks->list[i].same_as = twin_of(tracks, &tracks->list[i]);
    return HD_OK;
}
