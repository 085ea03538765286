/* open.c - the open traces as ranks of the job: their clock offsets, and their collectives in the job
 *
 * Clocks are estimated as in `heddle clocks`, from the collectives of these traces, or, if the job's summaries are one
 * file of moderate size, of all its ranks. A trace is drawn with one shift, that at its middle; drift and steps of its
 * clock are included in the error bar.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "report/clocks/clocks.h"
#include "report/job/clock_events.h"
#include "report/job/job.h"
#include "trace/clock.h"
#include "view/ranks/impl.h"
#include "view/session/session.h"

/* ---- the collectives of each ---- */

typedef struct ranks_open {
    hd_collectives *list;
    view_meeting *meetings;
    uint64_t of; /* the number of the picture, 0: of none yet */
} ranks_open;

/* Of all members of a job. */
typedef struct ranks_clocks {
    const hd_job *of;
    clock_job job;
    hd_clocks *solved; /* NULL: not yet, or without the reference */
    uint32_t reference;
} ranks_clocks;

void ranks_open_free(view_ranks *r)
{
    if (r->clocks) {
        hd_clocks_free(r->clocks->solved);
        clock_job_deinit(&r->clocks->job);
    }
    free(r->clocks);
    for (size_t i = 0; i < r->open_count; i++) {
        hd_collectives_free(r->open[i].list);
        free(r->open[i].meetings);
    }
    free(r->open);
}

void ranks_open_drop(view_ranks *r, uint32_t trace)
{
    pthread_mutex_lock(&r->open_lock);
    if (trace < r->open_count) {
        hd_collectives_free(r->open[trace].list);
        free(r->open[trace].meetings);
        r->open[trace] = (ranks_open){0};
    }
    pthread_mutex_unlock(&r->open_lock);
}

/* The data of an open trace, with its list. The lock is held. Errors: MEMORY; LIMIT: not laid out yet. */
static hd_status take_open(ranks_open **out, view_ranks *r, uint32_t trace, const view_scene *scene, hd_error *err)
{
    const hd_report_input input = {.trace = view_scene_trace(scene), .launches = view_scene_launches(scene)};
    while (r->open_count <= trace) {
        if (!hd_grow((void **)&r->open, &r->open_capacity, r->open_count, sizeof *r->open)) return HD_NOMEM(err);
        r->open[r->open_count++] = (ranks_open){0};
    }
    *out = &r->open[trace];
    if ((*out)->list) return HD_OK;
    if (input.launches) return job_collectives_new(&(*out)->list, &input, err);
    return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                        "the launches of the trace are still being found: ask again in a moment");
}

/* ---- clocks ---- */

/* A row of the trace in the picture; NULL: none. */
static const view_picture_row *row_of_trace(const view_ranks *r, const view_picture *p, view_session *session,
                                            uint32_t trace)
{
    const char *name = view_session_name(session, trace), *path = view_session_path(session, trace);
    for (size_t i = 0; i < p->row_count; i++) {
        const view_picture_row *row = &p->rows[i];
        const hd_string file = row->about->file;
        char *own;
        if (row->trace == (int64_t)trace) return row;
        if (row->trace >= 0 || !path || file.size != strlen(name) || memcmp(file.data, name, file.size) != 0) continue;
        bool is_it = view_ranks_file(&own, r, row, NULL) == HD_OK && strcmp(own, path) == 0;
        free(own);
        if (is_it) return row;
    }
    return NULL;
}

/* Steps to the collective of a trace that is so long; false: it has none, from *at on. */
static bool step_to(size_t *at, const hd_collectives *list, int64_t base, int64_t start_ns, int64_t end_ns)
{
    int64_t start, end;
    if (__builtin_sub_overflow(start_ns, base, &start) || __builtin_sub_overflow(end_ns, base, &end)) return false;
    while (*at < hd_collectives_count(list) &&
           (hd_collectives_at(list, *at)->start_ns != start || hd_collectives_at(list, *at)->end_ns != end))
        (*at)++;
    return (*at)++ < hd_collectives_count(list);
}

/* Whether the events from `first` on, and those without names, which come from a summary, are some of the trace's own,
 * in order. */
static bool are_of(const clock_job *j, size_t first, size_t first_alike, const hd_collectives *list, int64_t base)
{
    bool fine = true;
    size_t at = 0;
    for (size_t i = first; i < j->count && fine; i++)
        fine = step_to(&at, list, base, j->events[i].start_ns, j->events[i].end_ns);
    at = 0;
    for (size_t i = first_alike; i < j->alike.count && fine; i++)
        fine = step_to(&at, list, base, j->alike.rows[i].start_ns, j->alike.rows[i].end_ns);
    return fine;
}

/* Adds the collectives of a trace, whose host becomes out->host. A summary of another file is ignored. */
static hd_status add_trace(clock_job *j, view_clock *out, view_ranks *r, const view_picture_row *row,
                           view_session *session, hd_error *err)
{
    const size_t before = j->count, alike = j->alike.count;
    const view_scene *scene = view_session_scene_again(session, out->trace);
    ranks_open *open;
    out->why = "its rank in the job, or its time, is unknown";
    const int64_t base = hd_trace_clock_base(view_scene_trace(scene));
    if (!row || row->about->rank == HD_NO_NUMBER) return HD_OK; /* several ranks in one trace have a clock each */
    if (row->about->base_ns != base) return HD_OK;
    pthread_mutex_lock(&r->open_lock);
    hd_status status = take_open(&open, r, out->trace, scene, err);
    const hd_collectives *own = status == HD_OK ? open->list : NULL;
    pthread_mutex_unlock(&r->open_lock);
    if (status != HD_OK) return status;
    HD_TRY(clock_job_add(j, r->shown[row->source].job, row->member, out->trace, NULL, err));
    if (are_of(j, before, alike, own, base == HD_NO_TIME ? 0 : base)) {
        out->host = j->last_host;
        return HD_OK;
    }
    j->count = before;
    j->alike.count = alike;
    out->why = "the job has another file of that rank";
    return HD_OK;
}

/* Time of a trace's start on its host's clock, as clock_job_add has it. */
static bool start_of(int64_t *out, const view_scene *scene)
{
    int64_t base = hd_trace_clock_base(view_scene_trace(scene));
    return !__builtin_add_overflow(view_scene_start(scene), base == HD_NO_TIME ? 0 : base, out);
}

static int64_t distance(int64_t a, int64_t b)
{
    int64_t by;
    if (__builtin_sub_overflow(a > b ? a : b, a > b ? b : a, &by)) return INT64_MAX;
    return by;
}

/* Few collectives do not prove that the clock did not step before or after them: it is extrapolated anyway, with an
 * error that grows by the drift of a clock (200 ppm, like the bar outside of the evidence). */
static bool clock_at(int64_t *out_offset, int64_t *out_bar, const hd_clocks *solved, uint32_t host, int64_t time)
{
    const hd_host_clock *clock = hd_clocks_host(solved, host);
    const hd_clock_piece *piece = clock->pieces;
    const double drift = 200e-6;
    if (clock->piece_count != 1 || clock->collectives >= CLOCK_LINE_MIN)
        return hd_clocks_at(out_offset, out_bar, solved, host, time);
    int64_t near = time < piece->from_ns ? piece->from_ns : time > piece->until_ns ? piece->until_ns : time;
    bool known = hd_clocks_at(out_offset, out_bar, solved, host, near);
    double more = ceil((piece->rate + drift) * (double)distance(time, near));
    *out_bar = more < (double)(INT64_MAX / 2 - *out_bar) ? *out_bar + (int64_t)more : INT64_MAX / 2;
    return known;
}

/* The error of the shift at a time, if that is in the trace. false: unknown. */
static bool widen(view_clock *c, const hd_clocks *solved, int64_t time, int64_t from, int64_t until)
{
    int64_t offset, bar = 0;
    if (time < from || time > until) return true;
    if (!clock_at(&offset, &bar, solved, c->host, time)) return false;
    int64_t off = distance(offset, c->shift_ns);
    off = off > INT64_MAX - bar ? INT64_MAX : off + bar;
    if (off > c->bar_ns) c->bar_ns = off;
    return true;
}

/* `zero`: of the first trace, on the clock of its host, which is the reference. */
static void place(view_clock *c, const clock_job *j, const hd_clocks *solved, const view_scene *scene, int64_t zero)
{
    const hd_host_clock *clock = hd_clocks_host(solved, c->host);
    int64_t from, until, bar;
    c->basis = clock->basis;
    c->collectives = clock->collectives;
    c->why = clock_job_why(j, solved, c->host);
    bool fine = clock->piece_count && start_of(&from, scene) &&
                !__builtin_add_overflow(from, view_scene_span(scene), &until) &&
                clock_at(&c->shift_ns, &bar, solved, c->host, from + (until - from) / 2) &&
                widen(c, solved, from, from, until) && widen(c, solved, until, from, until);
    for (size_t i = 0; fine && i < clock->piece_count; i++) {
        const hd_clock_piece *piece = &clock->pieces[i];
        fine = widen(c, solved, piece->from_ns, from, until) && widen(c, solved, piece->first_ns, from, until) &&
               widen(c, solved, piece->last_ns, from, until) &&
               (piece->until_ns == INT64_MIN || widen(c, solved, piece->until_ns - 1, from, until));
    }
    fine = fine && !__builtin_add_overflow(from, c->shift_ns, &c->place_ns) &&
           !__builtin_sub_overflow(c->place_ns, zero, &c->place_ns);
    if (!fine && !c->why) c->why = "the clock steps, and between what is known of it lies more of the trace";
    if (!fine && c->basis != HD_CLOCK_REFUSED) c->basis = HD_CLOCK_UNKNOWN;
}

/* Added after those that are ready. */
typedef struct ready {
    view_clock *list;
    const view_picture_row **rows; /* NULL: none */
    size_t count;
    int64_t zero;
} ready;

static void place_all(const ready *all, view_clock *list, const clock_job *j, const hd_clocks *solved,
                      view_session *session)
{
    for (size_t i = 0; i < all->count; i++) {
        const view_scene *scene = view_session_scene_again(session, list[i].trace);
        if (list[i].host != HD_NONE) place(&list[i], j, solved, scene, all->zero);
    }
}

static hd_status solve_open(ready *all, clock_job *j, view_session *session, hd_error *err)
{
    hd_clocks *solved;
    const hd_clock_options options = {.size = sizeof options, .reference = all->list->host};
    HD_TRY(clock_job_solve(&solved, j, &options, err));
    place_all(all, all->list, j, solved, session);
    hd_clocks_free(solved);
    return HD_OK;
}

/* ---- by all ranks of the job ---- */

/* The amount that a core compares in about a second. */
enum { WHOLE_BYTES = 256 << 20 };

/* The file of summaries that the first trace is of; NULL: it is none, or too large. */
static const hd_job *job_of(const view_ranks *r, const ready *all)
{
    const hd_job *job = all->rows[0] ? r->shown[all->rows[0]->source].job : NULL;
    bool is_worth_it = job && hd_job_count(job) > all->count && job_table_bytes(job, "collectives") <= WHOLE_BYTES;
    return is_worth_it ? job : NULL;
}

/* A host of `own` among those of the job; HD_NONE: none. row: of a member that ran on it. */
static uint32_t find_host(const clock_job *job, const clock_job *own, uint32_t host, const view_picture_row *row)
{
    const clock_job_host *h = &own->hosts[host];
    const int64_t alone[3] = {row->member, h->rank, HD_NONE};
    for (uint32_t i = 0; i < job->host_keys.count; i++) {
        bool is_it = h->name == HD_NONE ? memcmp(gpu_group_key(&job->host_keys, i), alone, sizeof alone) == 0
                                        : clock_job_is_host(job, i, gpu_text_of(&own->texts, h->name));
        if (is_it) return i;
    }
    return HD_NONE;
}

/* Reads the job once, and solves it for another reference than before. */
static hd_status solve_job(ranks_clocks *c, const hd_job *job, const clock_job *own, const ready *all, hd_error *err)
{
    if (c->of != job) {
        hd_clocks_free(c->solved);
        clock_job_deinit(&c->job);
        *c = (ranks_clocks){.of = job};
        hd_status status = clock_job_init(&c->job, job, NULL, err);
        if (status != HD_OK) c->of = NULL;
        if (status != HD_OK) return status;
    }
    uint32_t reference = find_host(&c->job, own, all->list[0].host, all->rows[0]);
    if (c->solved && c->reference == reference) return HD_OK;
    const hd_clock_options options = {.size = sizeof options, .reference = reference};
    hd_clocks_free(c->solved);
    c->solved = NULL;
    c->reference = reference;
    return reference != HD_NONE ? clock_job_solve(&c->solved, &c->job, &options, err) : HD_OK;
}

/* Whether x knows more clocks than y, or as many, and the worst of them better. */
static bool is_better(const view_clock *x, const view_clock *y, size_t count)
{
    size_t known[2] = {0};
    int64_t bar[2] = {0};
    for (size_t i = 0; i < 2 * count; i++) {
        const view_clock *c = i < count ? &x[i] : &y[i - count];
        if (c->basis == HD_CLOCK_UNKNOWN || c->basis == HD_CLOCK_REFUSED) continue;
        known[i >= count]++;
        if (c->bar_ns > bar[i >= count]) bar[i >= count] = c->bar_ns;
    }
    return known[0] != known[1] ? known[0] > known[1] : bar[0] < bar[1];
}

/* Replaces the estimate from the open traces if that of the job is better. */
static hd_status use_job(ready *all, view_ranks *r, const clock_job *own, view_session *session, hd_error *err)
{
    const hd_job *job = job_of(r, all);
    view_clock *list = job ? malloc(all->count * sizeof *list) : NULL;
    if (!list) return job ? HD_NOMEM(err) : HD_OK;
    pthread_mutex_lock(&r->clock_lock);
    if (!r->clocks) r->clocks = calloc(1, sizeof *r->clocks);
    hd_status status = r->clocks ? solve_job(r->clocks, job, own, all, err) : HD_NOMEM(err);
    bool is_solved = status == HD_OK && r->clocks->solved;
    for (size_t i = 0; i < all->count && is_solved; i++) {
        const view_clock *known = &all->list[i];
        bool has_host = known->host != HD_NONE && all->rows[i]->source == all->rows[0]->source;
        list[i] = (view_clock){.trace = known->trace,
                               .host = has_host ? find_host(&r->clocks->job, own, known->host, all->rows[i]) : HD_NONE,
                               .why = known->why,
                               .ranks = hd_job_count(job),
                               .is_of_job = true};
    }
    if (is_solved) place_all(all, list, &r->clocks->job, r->clocks->solved, session);
    pthread_mutex_unlock(&r->clock_lock);
    if (is_solved && is_better(list, all->list, all->count)) memcpy(all->list, list, all->count * sizeof *list);
    free(list);
    return status;
}

hd_status view_ranks_clocks(view_clock **out, size_t *out_count, view_ranks *r, const view_picture *p,
                            view_session *session, hd_error *err)
{
    uint32_t traces = view_session_count(session);
    ready all = {.list = malloc((traces + 1) * sizeof *all.list), .rows = malloc((traces + 1) * sizeof *all.rows)};
    hd_status status = all.list && all.rows ? HD_OK : HD_NOMEM(err);
    view_scene *scene;
    clock_job j;
    clock_job_begin(&j);
    for (uint32_t trace = 0; status == HD_OK && trace < traces; trace++) {
        if (view_session_scene(&scene, session, trace) != VIEW_READY) continue;
        all.list[all.count] = (view_clock){.trace = trace, .host = HD_NONE, .basis = HD_CLOCK_UNKNOWN};
        all.rows[all.count] = row_of_trace(r, p, session, trace);
        status = add_trace(&j, &all.list[all.count], r, all.rows[all.count], session, err);
        all.count++;
    }
    for (size_t i = 0; i < all.count; i++) all.list[i].ranks = all.count;
    bool is_known = status == HD_OK && all.count && all.list->host != HD_NONE;
    if (is_known && start_of(&all.zero, view_session_scene_again(session, all.list->trace))) {
        status = solve_open(&all, &j, session, err);
        if (status == HD_OK) status = use_job(&all, r, &j, session, err);
    }
    clock_job_deinit(&j);
    free(all.rows);
    *out = status == HD_OK ? all.list : NULL;
    *out_count = all.count;
    if (status != HD_OK) free(all.list);
    return status;
}

/* ---- what they are in the job ---- */

static hd_status compare(ranks_open *o, const view_picture *p, hd_error *err)
{
    if (o->of == p->number) return HD_OK;
    size_t count = hd_collectives_count(o->list);
    if (!o->meetings) o->meetings = malloc((count + 1) * sizeof *o->meetings);
    if (!o->meetings) return HD_NOMEM(err);
    for (size_t i = 0; i < count; i++) {
        const hd_collective *c = hd_collectives_at(o->list, i);
        view_meeting *m = &o->meetings[i];
        *m = ranks_meeting_of(p, c);
        int64_t duration = c->end_ns - c->start_ns;
        if (duration < m->shortest || duration > m->longest) m->number = HD_NONE; /* the summary is of another file */
    }
    o->of = p->number;
    return HD_OK;
}

hd_status view_ranks_collectives(view_collectives *out, size_t *out_meetings, view_ranks *r, const view_picture *p,
                                 view_session *session, const uint32_t *traces, size_t count, hd_error *err)
{
    hd_status status = HD_OK;
    *out_meetings = ranks_meeting_count(p);
    pthread_mutex_lock(&r->open_lock);
    for (size_t i = 0; status == HD_OK && i < count; i++) {
        view_scene *scene;
        view_session_scene(&scene, session, traces[i]);
        out[i] = (view_collectives){0};
        if (!scene) continue;
        ranks_open *o;
        status = take_open(&o, r, traces[i], scene, err);
        if (status == HD_OK) status = compare(o, p, err);
        if (status == HD_OK) out[i] = (view_collectives){o->list, o->meetings};
    }
    if (status != HD_OK) pthread_mutex_unlock(&r->open_lock);
    return status;
}

void view_ranks_give_collectives(view_ranks *r)
{
    pthread_mutex_unlock(&r->open_lock);
}
