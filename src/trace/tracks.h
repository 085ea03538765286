/* tracks.h - the tracks of a trace while it is built; find is safe from any thread */
#ifndef HD_TRACE_TRACKS_H
#define HD_TRACE_TRACKS_H

#include <pthread.h>

#include "base/map.h"
#include "heddle/trace.h"

typedef struct hd_tracks {
    pthread_mutex_t lock;
    hd_track *list; /* moves when it grows: read it only while no other thread adds */
    uint32_t count, capacity;
    hd_slots slots;
    uint64_t large; /* hd_trace_large_bytes, the limit of the list; 0: not set yet */
} hd_tracks;

void hd_tracks_init(hd_tracks *tracks);
void hd_tracks_deinit(hd_tracks *tracks);
/* The track of (pid, tid), made if need be; HD_NONE when memory ran out. */
uint32_t hd_tracks_get(hd_tracks *tracks, hd_ident pid, hd_ident tid, bool process);
/* HD_NONE: there is none. */
uint32_t hd_tracks_find(const hd_tracks *tracks, hd_ident pid, hd_ident tid, bool process);
/* Gives a track another (pid, tid); false if a track already has it, or memory ran out (then *out_failed). */
bool hd_tracks_identify(hd_tracks *tracks, uint32_t track, hd_ident pid, hd_ident tid, bool *out_failed);
/* Keeps only the `count` tracks with map[id] != HD_NONE; map has their new ids. false: memory ran out. */
bool hd_tracks_keep(hd_tracks *tracks, const uint32_t *map, uint32_t count);
/* Adds missing process tracks, sets parents and twins. No other thread may use the tracks. */
hd_status hd_tracks_finish(hd_tracks *tracks, hd_error *err);

#endif
