/* tracks.h - the tracks of a trace while it is built; find is safe from any thread */
#ifndef HD_TRACE_TRACKS_H
#define HD_TRACE_TRACKS_H

#include <pthread.h>

#include "heddle/trace.h"

typedef struct hd_tracks {
    pthread_mutex_t lock;
    hd_track *list; /* moves when it grows: read it only when no other thread adds */
    uint32_t count, capacity;
    uint32_t *slots; /* hash table of ids + 1 */
    uint32_t slot_count;
} hd_tracks;

hd_status hd_tracks_init(hd_tracks *tracks, hd_error *err);
void hd_tracks_deinit(hd_tracks *tracks);
/* The track of (pid, tid), made if need be; HD_NONE when memory ran out. */
uint32_t hd_tracks_get(hd_tracks *tracks, hd_ident pid, hd_ident tid, bool process);
/* Only the `count` tracks with map[id] != HD_NONE stay; map gives their new ids. false: memory ran out. */
bool hd_tracks_keep(hd_tracks *tracks, const uint32_t *map, uint32_t count);
/* Process tracks for all, parents, twins. No other thread may use the tracks. */
hd_status hd_tracks_finish(hd_tracks *tracks, hd_error *err);

#endif
