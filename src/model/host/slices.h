/* slices.h - slices of host lanes by role, and those around a time */
#ifndef HD_MODEL_HOST_SLICES_H
#define HD_MODEL_HOST_SLICES_H

#include "model/scope/scope.h"

/* All of these roles (bits 1 << hd_role) and of the wanted ranks. Deinit either way. */
hd_status gpu_slices_init(gpu_slices *out, const gpu_scope *scope, unsigned roles, hd_error *err);
/* Only slices whose name has a nonzero entry in `names`, by string id; NULL: all. */
hd_status gpu_slices_named(gpu_slices *out, const gpu_scope *scope, unsigned roles, const uint8_t *names,
                           hd_error *err);
/* Prefix of the names of nn.Module Python frames. */
extern const char gpu_module_word[];
enum { GPU_MODULE_WORD = 11 };
bool gpu_is_module(hd_string name);
hd_status gpu_modules_init(gpu_slices *out, const gpu_scope *scope, hd_error *err);
void gpu_slices_deinit(gpu_slices *slices);
/* Keeps only those for which `keep` is true, which may set their `user`; and of these only those that do not begin
 * within another. */
typedef bool gpu_slice_keep(void *user, gpu_slice *slice);
void gpu_slices_keep_outermost(gpu_slices *slices, const gpu_scope *scope, gpu_slice_keep *keep, void *user);

/* Accumulates slices of one key, lane by lane in start order: a slice within another of its key, or the overlapping
 * part of one, counts once in totals of the key. */
typedef struct gpu_reach {
    int64_t end;
    uint32_t lane; /* HD_NONE: there was none yet */
} gpu_reach;
/* The time from which a slice covers what no earlier one did; its end: it is within one. */
static inline int64_t gpu_reach_add(gpu_reach *reach, uint32_t lane, int64_t start, int64_t end)
{
    bool is_first = reach->lane != lane;
    int64_t from = is_first || reach->end <= start ? start : reach->end < end ? reach->end : end;
    if (is_first || end > reach->end) reach->end = end;
    reach->lane = lane;
    return from;
}

typedef struct gpu_place {
    int64_t time;
    uint32_t lane; /* HD_NONE: nowhere */
    uint32_t id;
} gpu_place;

/* The innermost slices of a role around places, whose ids are below `count` and which get sorted: out[id] is the string
 * of its name, HD_STRING_NONE if there is none. */
hd_status gpu_innermost_names(uint32_t *out, gpu_place *places, size_t count, const gpu_scope *scope, hd_role role,
                              hd_error *err);
/* A stretch of a lane. */
typedef struct gpu_cover {
    int64_t start, end;
    uint32_t lane; /* HD_NONE: nowhere */
} gpu_cover;
/* Stretches and the roles (bits) that count for them. out[i] is the string of the name of the innermost slice that
 * covers more than half of stretch i, HD_STRING_NONE if none does: the slice that took its time, not one that happened
 * to be open at some moment. Spans of steps and of a whole recording do not count. */
typedef struct gpu_covering {
    uint32_t *out;
    gpu_cover (*cover)(const void *user, size_t i);
    const void *user;
    unsigned roles;
} gpu_covering;
/* For `lists` of them, each of `count` stretches, by one walk over the slices. O(n log n). Errors: MEMORY, LIMIT. */
hd_status gpu_covering_names(const gpu_covering *coverings, uint32_t lists, size_t count, const gpu_scope *scope,
                             hd_error *err);
/* As gpu_slices_init, but only slices around one of the sorted places: mostly far fewer. */
hd_status gpu_slices_around(gpu_slices *out, const gpu_scope *scope, unsigned roles, const gpu_place *places,
                            size_t count, hd_error *err);
/* Called for sorted places, one after the other: all slices around, outermost first. Any status but HD_OK ends it. */
typedef hd_status gpu_around_found(void *user, uint32_t id, const uint32_t *slices, size_t count, hd_error *err);
hd_status gpu_around(const gpu_slices *slices, const gpu_place *places, size_t count, gpu_around_found *found,
                     void *user, hd_error *err);
/* The launches and the origins of counted activities as sorted places; a launch requested by an operator of another
 * thread is where that operator begins; id is the launch. The caller frees them with hd_large_free. */
hd_status gpu_launch_places(gpu_place **out, size_t *out_count, const gpu_scope *scope, hd_error *err);
/* Activities by their origin: those of launch i are works[first[i]] … works[first[i + 1]], in order of launches->works.
 */
typedef struct gpu_origins {
    uint32_t *first, *works;
} gpu_origins;
bool gpu_origins_init(gpu_origins *out, const gpu_scope *scope); /* false: no memory; deinit either way */
void gpu_origins_deinit(gpu_origins *origins);
/* Of these places those of launches within a backward operator are where its forward operator began; sorted again. */
hd_status gpu_places_to_forward(gpu_place *places, size_t count, const gpu_scope *scope, hd_error *err);
/* By launch, the innermost slice around it. The caller frees it with hd_large_free. */
hd_status gpu_innermost_of_launches(uint32_t **out, const gpu_scope *scope, const gpu_slices *slices, hd_error *err);

#endif
