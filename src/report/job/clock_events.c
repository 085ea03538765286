/* clock_events.c - converts the collectives of a job to events of hosts
 *
 * Members with the same host share a clock, if the zero of their times is known; any other member has a clock of its
 * own. Only operations that end for all members at once are used. Those without a number are matched by their index
 * within a step of the same number: a count from the beginning of a recording may be off by one for a whole rank.
 */
#include "report/job/clock_events.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/roles/trace_roles.h"
#include "report/job/groups.h"

enum { RANK, DEVICE, STEP, STEP_START, GROUP, STREAM, SEQUENCE, COUNTED, OPERATION, SIZE, START, END, COLUMNS };
static const job_wanted wanted[COLUMNS] = {
    {"rank", HD_VALUE_INT},         {"device", HD_VALUE_INT}, {"step", HD_VALUE_STRING},  {"step_start", HD_VALUE_TIME},
    {"group", HD_VALUE_STRING},     {"stream", HD_VALUE_INT}, {"sequence", HD_VALUE_INT}, {"counted", HD_VALUE_BOOL},
    {"operation", HD_VALUE_STRING}, {"size", HD_VALUE_INT},   {"start", HD_VALUE_TIME},   {"end", HD_VALUE_TIME}};

typedef struct collector {
    clock_job *job;
    const hd_job_member *about;
    int64_t place; /* of the member */
    uint32_t host; /* text, which all with that name share; HD_NONE: a clock of its own */
    uint32_t near_host, near_group, near_member;
    job_cells cells;
} collector;

/* A row of the table `collectives`. */
typedef struct row {
    int64_t rank, device, step_start, sequence, size, start, end;
    uint32_t step, operation; /* texts */
    clock_job_group group;
} row;

/* ---- hosts ---- */

/* With all members of its host. */
static bool shares_clock(const hd_job_member *m)
{
    return m->host.data && m->base_ns != HD_NO_TIME && m->rank != HD_NO_NUMBER;
}

/* HD_NONE: no memory. */
static uint32_t find_host(collector *c, int64_t rank)
{
    clock_job *j = c->job;
    const int64_t shared[3] = {-1, -1, c->host}, own[3] = {c->place, rank, c->host};
    uint32_t known = j->host_keys.count;
    uint32_t at = gpu_group_near(&j->host_keys, &c->near_host, c->host != HD_NONE ? shared : own);
    if (at == HD_NONE || !hd_grow((void **)&j->hosts, &j->host_capacity, at, sizeof *j->hosts)) return HD_NONE;
    if (at == known) j->hosts[at] = (clock_job_host){.name = c->host, .rank = rank, .ranks = c->host == HD_NONE};
    return at;
}

static int64_t rank_of(const collector *c, size_t at)
{
    int64_t rank = job_int(&c->cells, at, RANK);
    if (rank == HD_NO_NUMBER) rank = c->about->rank;
    return rank == HD_NO_NUMBER ? c->place : rank;
}

/* ---- one collective ---- */

static bool read_row(row *out, const collector *c, size_t at)
{
    const job_cells *cells = &c->cells;
    gpu_texts *texts = &c->job->texts;
    *out = (row){.rank = rank_of(c, at),
                 .device = job_int(cells, at, DEVICE),
                 .step_start = job_int(cells, at, STEP_START),
                 .sequence = job_int(cells, at, SEQUENCE),
                 .size = job_int(cells, at, SIZE),
                 .start = job_int(cells, at, START),
                 .end = job_int(cells, at, END)};
    out->group.is_counted = out->sequence == HD_NO_NUMBER || job_int(cells, at, COUNTED) == 1;
    bool fine = job_text(&out->step, texts, cells, at, STEP) && job_text(&out->group.name, texts, cells, at, GROUP) &&
                job_text(&out->operation, texts, cells, at, OPERATION);
    if (out->group.name == HD_NONE) out->group.stream = job_int(cells, at, STREAM);
    return fine;
}

static bool is_same_run(const row *x, const row *y)
{
    return x->rank == y->rank && x->device == y->device && x->step == y->step && x->step_start == y->step_start &&
           x->group.name == y->group.name && x->group.stream == y->group.stream;
}

/* Collectives with a root give little information by their ends. */
static bool is_of_all(hd_string operation)
{
    static const char *const names[] = {"AllReduce", "AllGather", "ReduceScatter", "AllToAll"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == operation.size && memcmp(names[i], operation.data, operation.size) == 0) return true;
    }
    return false;
}

/* index: within its step, of in_step. */
static clock_use use_of(hd_clock_event *out, const collector *c, row *r, int64_t index, int64_t in_step)
{
    const gpu_texts *texts = &c->job->texts;
    int64_t base = c->about->base_ns == HD_NO_TIME ? 0 : c->about->base_ns, step = 0;
    if (r->operation == HD_NONE || !is_of_all(gpu_text_of(texts, r->operation))) return CLOCK_ROOTED;
    if (r->group.name == HD_NONE && (r->size == HD_NO_NUMBER || r->size != c->about->world_size)) return CLOCK_UNNAMED;
    if (r->group.is_counted) {
        if (r->step == HD_NONE || !hd_step_number(&step, gpu_text_of(texts, r->step))) return CLOCK_UNNUMBERED;
        if (in_step >= INT64_C(1) << CLOCK_STEP_BITS) return CLOCK_UNNUMBERED;
        r->sequence = clock_step_sequence(step, index);
        r->group.in_step = in_step;
    }
    *out = (hd_clock_event){.operation = r->operation, .sequence = r->sequence};
    if (r->size > 0 && r->size <= UINT32_MAX) out->size = (uint32_t)r->size;
    bool is_timed = r->start != HD_NO_TIME && r->end != HD_NO_TIME &&
                    !__builtin_add_overflow(r->start, base, &out->start_ns) &&
                    !__builtin_add_overflow(r->end, base, &out->end_ns);
    return is_timed ? CLOCK_USED : CLOCK_UNTIMED;
}

/* Neither the group's name nor its size is known: it may be proven to include all ranks. An AllToAll is SendRecv
 * too. */
static bool may_be_alike(const collector *c, const row *r)
{
    if (r->group.name != HD_NONE || r->size != HD_NO_NUMBER || r->operation == HD_NONE) return false;
    hd_string operation = gpu_text_of(&c->job->texts, r->operation);
    bool is_exchange = operation.size == 8 && memcmp(operation.data, "SendRecv", 8) == 0;
    return (is_exchange || is_of_all(operation)) && r->start != HD_NO_TIME && r->end != HD_NO_TIME &&
           r->start <= r->end;
}

static bool add_alike(collector *c, const row *r)
{
    clock_job *j = c->job;
    int64_t base = c->about->base_ns == HD_NO_TIME ? 0 : c->about->base_ns, world = c->about->world_size;
    clock_alike_row alike = {.operation = r->operation};
    if (__builtin_add_overflow(r->start, base, &alike.start_ns) || __builtin_add_overflow(r->end, base, &alike.end_ns))
        return true;
    j->alike.world = world < 1 || (j->alike.world && j->alike.world != world) ? -1 : world;
    alike.host = find_host(c, r->rank);
    alike.member = gpu_group_near(&j->members, &c->near_member, &(clock_job_member){r->rank, r->device});
    if (alike.host == HD_NONE || alike.member == HD_NONE) return false;
    j->hosts[alike.host].has_alike = true;
    return clock_alike_add(j, &(clock_alike_key){c->place, r->rank, r->device, r->group.stream}, &alike);
}

static bool add_event(collector *c, row *r, int64_t index, int64_t in_step)
{
    clock_job *j = c->job;
    hd_clock_event event;
    clock_use use = use_of(&event, c, r, index, in_step);
    j->uses[use]++;
    if (use != CLOCK_USED) return !may_be_alike(c, r) || add_alike(c, r);
    uint32_t group = gpu_group_near(&j->groups, &c->near_group, &r->group);
    event.host = find_host(c, r->rank);
    event.group = group;
    event.member = gpu_group_near(&j->members, &c->near_member, &(clock_job_member){r->rank, r->device});
    if (group == HD_NONE || event.host == HD_NONE || event.member == HD_NONE ||
        !hd_grow((void **)&j->events, &j->capacity, j->count, sizeof *j->events))
        return false;
    j->events[j->count++] = event;
    return true;
}

/* ---- all of them ---- */

/* Rows are by rank, device and group, then start: those of a step are a run. */
static bool add_rows(collector *c)
{
    row *run = NULL, next;
    size_t count = 0, capacity = 0;
    bool fine = true;
    for (size_t at = 0; at <= c->cells.rows && fine; at++) {
        bool is_row = at < c->cells.rows;
        fine = !is_row || read_row(&next, c, at);
        if (fine && count && (!is_row || !is_same_run(run, &next))) {
            for (size_t i = 0; i < count && fine; i++) fine = add_event(c, &run[i], (int64_t)i, (int64_t)count);
            count = 0;
        }
        if (!is_row || !fine) break;
        fine = hd_grow((void **)&run, &capacity, count, sizeof *run);
        if (fine) run[count++] = next;
    }
    free(run);
    return fine;
}

static bool add_member(clock_job *j, const hd_job_member *about, size_t at, int64_t place, const job_cells *cells)
{
    collector c = {.job = j, .about = about, .place = place, .host = HD_NONE, .cells = *cells};
    size_t before = j->count;
    bool fine = true, is_shared = shares_clock(about);
    if (is_shared) {
        c.host = gpu_text(&j->texts, about->host.data, about->host.size);
        fine = c.host != HD_NONE;
    }
    if (fine && (is_shared || about->rank != HD_NO_NUMBER || !c.cells.rows)) {
        uint32_t own = j->last_host = find_host(&c, about->rank == HD_NO_NUMBER ? place : about->rank);
        fine = own != HD_NONE;
        if (fine) j->hosts[own].ranks += is_shared;
        if (fine) j->hosts[own].has_any |= c.cells.rows > 0;
    }
    fine = fine && add_rows(&c);
    if (fine && j->count > before && at < j->first) {
        j->first = at;
        j->first_host = j->events[before].host;
    }
    return fine;
}

hd_status clock_job_add(clock_job *j, const hd_job *job, size_t at, int64_t place, hd_table_builder *lost,
                        hd_error *err)
{
    job_cells cells;
    HD_TRY(job_cells_of(&cells, job, at, "collectives", wanted, COLUMNS, lost, err));
    bool fine = add_member(j, hd_job_at(job, at), at, place, &cells);
    job_cells_deinit(&cells);
    return fine ? HD_OK : HD_NOMEM(err);
}

void clock_job_begin(clock_job *out)
{
    *out = (clock_job){.host_keys.key_size = 3 * sizeof(int64_t),
                       .groups.key_size = sizeof(clock_job_group),
                       .members.key_size = sizeof(clock_job_member),
                       .first = SIZE_MAX};
}

/* Packs the collected events: all of their hosts. */
static bool pack_events(clock_job *j)
{
    bool fine = clock_parts_add(&j->parts, j->events, j->count);
    j->count = 0;
    return fine;
}

/* Members by the first of those that share their clock. false: no memory. */
static bool order_by_host(uint32_t *order, uint32_t *hosts, const hd_job *job)
{
    size_t count = hd_job_count(job);
    gpu_texts names = {0};
    uint32_t *firsts = malloc((count + 1) * sizeof *firsts), *spare = malloc((count + 1) * sizeof *spare);
    bool fine = firsts && spare;
    for (size_t m = 0; m < count && fine; m++) {
        const hd_job_member *about = hd_job_at(job, m);
        uint32_t known = names.count, name = HD_NONE;
        order[m] = hosts[m] = (uint32_t)m;
        if (!shares_clock(about)) continue;
        name = gpu_text(&names, about->host.data, about->host.size);
        fine = name != HD_NONE;
        if (!fine) break;
        if (name == known) firsts[name] = (uint32_t)m;
        hosts[m] = firsts[name];
    }
    if (fine) HD_SORT_RUNS(order, spare, count, x, y, hosts[*x] < hosts[*y]);
    gpu_texts_deinit(&names);
    free(firsts);
    free(spare);
    return fine;
}

typedef struct by_host {
    clock_job *job;
    const hd_job *of;
    uint32_t *order, *hosts;
} by_host;

static hd_status take_member(void *user, size_t place, const job_cells *cells, hd_error *err)
{
    const by_host *b = user;
    const uint32_t at = b->order[place];
    bool is_last = place + 1 == hd_job_count(b->of) || b->hosts[at] != b->hosts[b->order[place + 1]];
    bool fine = add_member(b->job, hd_job_at(b->of, at), at, at, cells) && (!is_last || pack_events(b->job));
    return fine ? HD_OK : HD_NOMEM(err);
}

hd_status clock_job_init(clock_job *out, const hd_job *job, hd_table_builder *lost, hd_error *err)
{
    size_t count = job ? hd_job_count(job) : 0;
    by_host b = {out, job, malloc((count + 1) * sizeof *b.order), malloc((count + 1) * sizeof *b.hosts)};
    clock_job_begin(out);
    hd_status status = b.order && b.hosts && (!count || order_by_host(b.order, b.hosts, job)) ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK && count)
        status = job_each_table(&job, 1, b.order, "collectives", wanted, COLUMNS, lost, take_member, &b, err);
    free(b.order);
    free(b.hosts);
    return status;
}

static hd_status solve_once(hd_clocks **out, clock_job *j, const hd_clock_options *options, hd_error *err)
{
    hd_clocks_free(*out);
    *out = NULL;
    if (!pack_events(j) || !clock_parts_order(&j->parts)) return HD_NOMEM(err);
    return clock_solve(out, j->host_keys.count, &j->parts, j->hints, j->hint_count, options, err);
}

static bool is_any_unknown(const hd_clocks *clocks)
{
    size_t host = 0;
    while (host < hd_clocks_count(clocks) && hd_clocks_host(clocks, host)->basis != HD_CLOCK_UNKNOWN) host++;
    return host < hd_clocks_count(clocks);
}

static bool prove_alike(clock_job *j)
{
    size_t before = j->count;
    j->alike.is_done = true;
    if (!clock_alike_prove(j)) return false;
    for (size_t i = before; i < j->count; i++)
        j->uses[is_of_all(gpu_text_of(&j->texts, j->events[i].operation)) ? CLOCK_UNNAMED : CLOCK_ROOTED]--;
    j->uses[CLOCK_PROVEN] += j->count - before;
    if (j->count > before && j->first == SIZE_MAX) j->first_host = j->events[before].host;
    return true;
}

static bool mark_shared(void *user, const clock_part *parts, size_t count)
{
    bool *shares = user;
    for (size_t i = 0; count > 1 && i < count; i++) shares[parts[i].host] = true;
    return true;
}

hd_status clock_job_solve(hd_clocks **out, clock_job *j, const hd_clock_options *options, hd_error *err)
{
    *out = NULL;
    HD_TRY(solve_once(out, j, options, err));
    if (!is_any_unknown(*out)) return HD_OK;
    if (!j->alike.is_done) {
        if (!prove_alike(j)) return HD_NOMEM(err);
        if (j->count) HD_TRY(solve_once(out, j, options, err));
    }
    if (!j->shares) j->shares = calloc(j->host_keys.count + 1, sizeof *j->shares);
    return j->shares && clock_parts_each(&j->parts, mark_shared, j->shares) ? HD_OK : HD_NOMEM(err);
}

const char *clock_job_why(const clock_job *j, const hd_clocks *solved, uint32_t host)
{
    const hd_clock_basis basis = hd_clocks_host(solved, host)->basis;
    const clock_job_host *h = &j->hosts[host];
    if (basis == HD_CLOCK_REFUSED)
        return hd_clocks_cycle_size(solved) ? "collectives contradict one another"
                                            : "a hint contradicts the collectives";
    if (basis != HD_CLOCK_UNKNOWN) return NULL;
    if (j->shares && j->shares[host])
        return solved->hosts[host].is_unsettled
                   ? "the ends of collectives that other ranks have too lie on no line"
                   : "collectives that other ranks have too do not lead to the clock that counts";
    if (solved->hosts[host].low_ns <= solved->hosts[host].high_ns)
        return "no other rank has a collective of the same group and number";
    if (h->has_alike) return clock_alike_text(j->alike.end);
    return h->has_any ? "no collective has a group, a number and an operation that ends for all at once"
                      : "no collectives are known";
}

void clock_job_deinit(clock_job *job)
{
    gpu_texts_deinit(&job->texts);
    gpu_groups_deinit(&job->host_keys);
    gpu_groups_deinit(&job->groups);
    gpu_groups_deinit(&job->members);
    clock_parts_deinit(&job->parts);
    clock_alike_deinit(&job->alike);
    free(job->shares);
    free(job->hosts);
    free(job->events);
    free(job->hints);
}
