/* fidelity.c - how much of the trace the viewer shows, and lists of every anomalous event */
#include "view/fidelity/impl.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "report/check/check.h"
#include "trace/event.h"
#include "trace/lazy.h"

const char *view_doubt_name(view_doubt doubt)
{
    static const char *const names[VIEW_DOUBTS] = {[VIEW_ON_LANES] = "on-lanes",
                                                   [VIEW_BEFORE_LAUNCH] = "before-launch",
                                                   [VIEW_NO_END] = "no-end",
                                                   [VIEW_NEGATIVE] = "negative",
                                                   [VIEW_UNBOUND_FLOWS] = "unbound-flows",
                                                   [VIEW_NO_TIME] = "no-time",
                                                   [VIEW_BACKWARD_FLOWS] = "backward-flows",
                                                   [VIEW_FLOWS_WITHOUT_START] = "flows-without-start",
                                                   [VIEW_FLOWS_WITHOUT_END] = "flows-without-end",
                                                   [VIEW_WITHOUT_LAUNCH] = "without-launch",
                                                   [VIEW_BEFORE_RECORDING] = "before-recording",
                                                   [VIEW_AFTER_RECORDING] = "after-recording",
                                                   [VIEW_WITHOUT_WORK] = "without-work"};
    return names[doubt];
}

bool view_doubt_add(view_fidelity *fidelity, view_doubt doubt, uint64_t row, uint64_t other)
{
    view_doubtful **list = &fidelity->doubts[doubt].list;
    size_t *count = &fidelity->doubts[doubt].count;
    if (!hd_grow((void **)list, &fidelity->doubts[doubt].capacity, *count, sizeof **list)) return false;
    (*list)[(*count)++] = (view_doubtful){(uint32_t)row, (uint32_t)other};
    return true;
}

/* ---- slices ---- */

static bool look_at_slice(view_fidelity *fidelity, const hd_block *block, uint32_t i)
{
    const hd_column *columns = block->columns;
    uint64_t row = block->first_row + i;
    int64_t duration = hd_column_at(&columns[HD_COL_DURATION], i);
    bool fine = true;
    if (hd_column_at(&columns[HD_COL_START], i) == HD_NO_TIME)
        fine = view_doubt_add(fidelity, VIEW_NO_TIME, row, HD_KIND_SLICE);
    if ((uint32_t)hd_column_at(&columns[HD_COL_TRACK], i) == HD_NONE) return fine;
    if (hd_never_ends(duration, hd_column_at(&columns[HD_COL_PHASE], i)))
        fine = fine && view_doubt_add(fidelity, VIEW_NO_END, row, HD_NONE);
    if (check_is_negative(duration)) fine = fine && view_doubt_add(fidelity, VIEW_NEGATIVE, row, HD_NONE);
    return fine;
}

static bool look_at_slices(view_fidelity *fidelity, const hd_block *block)
{
    enum { CHUNK = 1024 };
    int64_t starts[CHUNK], durations[CHUNK];
    for (uint32_t first = 0, n; first < block->row_count; first += n) {
        n = block->row_count - first < CHUNK ? block->row_count - first : CHUNK;
        hd_column_decode(starts, &block->columns[HD_COL_START], first, n);
        hd_column_decode(durations, &block->columns[HD_COL_DURATION], first, n);
        for (uint32_t i = 0; i < n; i++) {
            if (starts[i] != HD_NO_TIME && durations[i] >= 0) continue;
            if (!look_at_slice(fidelity, block, first + i)) return false;
        }
    }
    return true;
}

static bool look_at_others(view_fidelity *fidelity, const hd_block *block)
{
    for (uint32_t i = 0; i < block->row_count; i++) {
        int64_t start = hd_column_at(&block->columns[HD_COL_START], i);
        if (!check_is_without_time(start, hd_column_at(&block->columns[HD_COL_PHASE], i))) continue;
        if (!view_doubt_add(fidelity, VIEW_NO_TIME, block->first_row + i, HD_KIND_OTHER)) return false;
    }
    return true;
}

static bool look_at_events(view_fidelity *fidelity, const hd_trace *trace, const atomic_bool *stop)
{
    bool fine = true;
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_SLICE) && fine && !atomic_load(stop); b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_SLICE, b);
        fine = look_at_slices(fidelity, block);
        hd_trace_release(trace, block);
    }
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_OTHER) && fine && !atomic_load(stop); b++)
        fine = look_at_others(fidelity, hd_trace_block_at(trace, HD_KIND_OTHER, b));
    return fine;
}

/* ---- tracks, launches, ledger ---- */

static void look_at_tracks(view_fidelity *fidelity, const view_scene *scene)
{
    uint32_t count = view_scene_track_count(scene);
    for (uint32_t i = 0; i < count; i++) {
        const view_track *track = view_scene_track(scene, i);
        if (track->derived || track->kind != VIEW_SLICES || track->events != HD_KIND_SLICE) continue;
        if (!atomic_load_explicit(&track->ready, memory_order_acquire)) continue;
        for (uint32_t r = 0; r < track->rows.count; r++) fidelity->shown += track->rows.rows[r].count;
    }
}

typedef struct launch_count {
    view_fidelity *fidelity;
    bool failed;
} launch_count;

static void found_launch(void *user, check_code code, const hd_work *work, const hd_launch *launch, int64_t lead_ns)
{
    launch_count *count = user;
    (void)lead_ns;
    view_doubt doubt = code == CHECK_GPU_BEFORE_LAUNCH      ? VIEW_BEFORE_LAUNCH
                       : code == CHECK_GPU_WITHOUT_LAUNCH   ? VIEW_WITHOUT_LAUNCH
                       : code == CHECK_GPU_BEFORE_RECORDING ? VIEW_BEFORE_RECORDING
                       : code == CHECK_GPU_AFTER_RECORDING  ? VIEW_AFTER_RECORDING
                                                            : VIEW_WITHOUT_WORK;
    if (!view_doubt_add(count->fidelity, doubt, work ? work->row : launch->row, work && launch ? launch->row : HD_NONE))
        count->failed = true;
}

static hd_status look_at_launches(view_fidelity *fidelity, const view_scene *scene, hd_error *err)
{
    const hd_launches *launches = view_scene_launches(scene);
    launch_count count = {.fidelity = fidelity};
    const gpu_trust *trust;
    if (!launches) return HD_OK;
    HD_TRY(gpu_trust_of(&trust, view_scene_trace(scene), launches, err));
    return check_launches_walk(launches, trust, found_launch, &count) && !count.failed ? HD_OK : HD_NOMEM(err);
}

static void look_at_ledger(view_fidelity *fidelity, const hd_trace *trace)
{
    fidelity->read = hd_trace_row_count(trace, HD_KIND_SLICE);
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        if (row->level == HD_LEDGER_LOSS) fidelity->lost += row->count;
        if (row->level == HD_LEDGER_REPAIR) fidelity->repaired += row->count;
    }
}

static hd_status find_all(view_fidelity *fidelity, view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    const hd_trace *trace = view_scene_trace(scene);
    look_at_ledger(fidelity, trace);
    look_at_tracks(fidelity, scene);
    HD_TRY(view_fidelity_lanes(fidelity, scene, stop, err));
    HD_TRY(look_at_launches(fidelity, scene, err));
    if (!look_at_events(fidelity, trace, stop)) return HD_NOMEM(err);
    return atomic_load(stop) ? HD_OK : view_fidelity_flows(fidelity, scene, err);
}

static void free_doubts(void *fidelity)
{
    view_fidelity *f = fidelity;
    for (int i = 0; f && i < VIEW_DOUBTS; i++) free(f->doubts[i].list);
    free(f);
}

/* Worker only, since it sets on_lanes of the tracks to the check's numbers. For a scene with laid-out tracks and known
 * launches; free_doubts frees it. *out is NULL if it was stopped. Errors: MEMORY, LIMIT. */
static hd_status find_doubts(view_fidelity **out, view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    view_fidelity *fidelity = calloc(1, sizeof *fidelity);
    *out = NULL;
    if (!fidelity) return HD_NOMEM(err);
    hd_status status = find_all(fidelity, scene, stop, err);
    if (status == HD_OK && !atomic_load(stop))
        *out = fidelity;
    else
        free_doubts(fidelity);
    return status;
}

hd_status view_derive_fidelity(view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    view_fidelity *fidelity;
    HD_TRY(find_doubts(&fidelity, scene, stop, err));
    if (fidelity) view_scene_set_note(scene, VIEW_NOTE_FIDELITY, fidelity, free_doubts);
    return HD_OK;
}
