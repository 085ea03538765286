/* tracks.c - the tracks of a trace while it is built */
#include "trace/tracks.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory/large.h"

hd_status hd_tracks_init(hd_tracks *tracks, hd_error *err)
{
    *tracks = (hd_tracks){.slot_count = 256};
    tracks->slots = calloc(tracks->slot_count, sizeof *tracks->slots);
    if (!tracks->slots) return HD_NOMEM(err);
    pthread_mutex_init(&tracks->lock, NULL);
    return HD_OK;
}

void hd_tracks_deinit(hd_tracks *tracks)
{
    if (!tracks->slots) return;
    free(tracks->slots);
    hd_large_free(tracks->list);
    tracks->slots = NULL;
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

static uint32_t *find_slot(const hd_tracks *tracks, hd_ident pid, hd_ident tid, bool process)
{
    uint32_t i = (uint32_t)hash_of(pid, tid, process) & (tracks->slot_count - 1);
    for (;; i = (i + 1) & (tracks->slot_count - 1)) {
        uint32_t *slot = &tracks->slots[i];
        if (*slot == 0) return slot;
        const hd_track *t = &tracks->list[*slot - 1];
        if (same_ident(t->pid, pid) && same_ident(t->tid, tid) && (t->kind == HD_TRACK_PROCESS) == process) return slot;
    }
}

static bool grow_slots(hd_tracks *tracks)
{
    uint32_t *slots = calloc((size_t)tracks->slot_count * 2, sizeof *slots);
    if (!slots) return false;
    free(tracks->slots);
    tracks->slots = slots;
    tracks->slot_count *= 2;
    tracks->stale = 0;
    for (uint32_t i = 0; i < tracks->count; i++) {
        const hd_track *t = &tracks->list[i];
        *find_slot(tracks, t->pid, t->tid, t->kind == HD_TRACK_PROCESS) = i + 1;
    }
    return true;
}

static uint64_t large_of(const hd_tracks *tracks)
{
    return tracks->large ? tracks->large : UINT64_MAX;
}

static uint32_t add_track(hd_tracks *tracks, hd_ident pid, hd_ident tid, bool process)
{
    if ((tracks->count + tracks->stale) * 2 >= tracks->slot_count && !grow_slots(tracks)) return HD_NONE;
    if (tracks->count == tracks->capacity) {
        uint32_t capacity = tracks->capacity ? tracks->capacity * 2 : 64;
        if (!hd_large_resize((void **)&tracks->list, tracks->count, capacity, sizeof *tracks->list, large_of(tracks)))
            return HD_NONE;
        tracks->capacity = capacity;
    }
    uint32_t id = tracks->count++;
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
    *find_slot(tracks, pid, tid, process) = id + 1;
    return id;
}

static uint32_t get(hd_tracks *tracks, hd_ident pid, hd_ident tid, bool process)
{
    uint32_t *slot = find_slot(tracks, pid, tid, process);
    return *slot ? *slot - 1 : add_track(tracks, pid, tid, process);
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
    bool process = t->kind == HD_TRACK_PROCESS;
    *out_failed = (tracks->count + tracks->stale) * 2 >= tracks->slot_count && !grow_slots(tracks);
    uint32_t *slot = *out_failed ? NULL : find_slot(tracks, pid, tid, process);
    bool free_slot = slot && *slot == 0;
    if (free_slot) { /* the old slot stays and points at what it no longer names, which no search takes for a match */
        t->pid = pid;
        t->tid = tid;
        *slot = track + 1;
        tracks->stale++;
    }
    pthread_mutex_unlock(&tracks->lock);
    return free_slot || (slot && *slot == track + 1);
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
    tracks->stale = 0;
    memset(tracks->slots, 0, tracks->slot_count * sizeof *tracks->slots);
    for (; tracks->count < count; tracks->count++) {
        const hd_track *t = &list[tracks->count];
        *find_slot(tracks, t->pid, t->tid, t->kind == HD_TRACK_PROCESS) = tracks->count + 1;
    }
    return true;
}

/* 7 and "7" read the same to every viewer: the twin is the track with each ident turned to the other type. */
static uint32_t twin_of(const hd_tracks *tracks, const hd_track *track)
{
    uint32_t lowest = track->id;
    for (int mask = 1; mask < 4; mask++) {
        hd_ident pid = track->pid, tid = track->tid;
        if ((mask & 1 && pid.type == HD_IDENT_NONE) || (mask & 2 && tid.type == HD_IDENT_NONE)) continue;
        if (mask & 1) pid.type = pid.type == HD_IDENT_NUMBER ? HD_IDENT_STRING : HD_IDENT_NUMBER;
        if (mask & 2) tid.type = tid.type == HD_IDENT_NUMBER ? HD_IDENT_STRING : HD_IDENT_NUMBER;
        uint32_t found = *find_slot(tracks, pid, tid, track->kind == HD_TRACK_PROCESS);
        if (found && found - 1 < lowest) lowest = found - 1;
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
