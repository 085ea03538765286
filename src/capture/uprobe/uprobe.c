/* uprobe.c - the tracer: its thread reads records from the rings in order of time
 *
 * A round reads the clock first and the rings afterwards, and processes records up to that time: everything before it
 * is then in some ring, so that a thread's records stay in order when it changes its CPU, and mappings come before hits
 * in them.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options.h"
#include "base/thread.h"
#include "capture/uprobe/impl.h"

enum { ROUND_MS = 20, STACK_BYTES_MIN = 512, STACK_BYTES_MAX = 61440 };

static int64_t now_of(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* ---- records ---- */

static uint32_t u32_at(const uint8_t *record, size_t at)
{
    uint32_t value;
    memcpy(&value, record + at, sizeof value);
    return value;
}

/* A file that no process had mapped before: it may have functions of a preset. */
static void look_into(hd_uprobe *t, const uprobe_module *module)
{
    uint32_t found = 0, probed = 0, first = t->plan->count;
    if (!t->plan->want_count || module->path[0] != '/') return;
    bool is_beyond = uprobe_plan_look(t->plan, module->path, &found, NULL) == HD_ERR_LIMIT;
    if (found) uprobe_perf_probe(&t->perf, t->plan->targets, first, found, &probed, NULL);
    t->stats.late += probed;
    t->stats.targets += probed;
    t->stats.unprobed += found - probed + is_beyond;
}

static void take_mapped(hd_uprobe *t, const uint8_t *record)
{
    uprobe_mapped mapped;
    if (!uprobe_record_mapped(&mapped, record)) return;
    const uprobe_module *fresh = uprobe_spaces_map(&t->spaces, &mapped);
    if (fresh) look_into(t, fresh);
}

static void take_name(hd_uprobe *t, const uint8_t *record, const struct perf_event_header *header)
{
    char name[UPROBE_COMM_BYTES] = "";
    size_t size = header->size < 16 + UPROBE_TRAILER ? 0 : header->size - 16 - UPROBE_TRAILER;
    memcpy(name, record + 16, size < sizeof name - 1 ? size : sizeof name - 1);
    bool is_exec = header->misc & PERF_RECORD_MISC_COMM_EXEC;
    uprobe_thread *thread = is_exec ? hd_map_pointer(&t->spaces.threads, u32_at(record, 12), 0) : NULL;
    if (thread) uprobe_calls_drop(t, thread, 0);
    uprobe_spaces_name(&t->spaces, u32_at(record, 8), u32_at(record, 12), name, is_exec);
}

static void take_exit(hd_uprobe *t, const uint8_t *record)
{
    uprobe_thread *thread = hd_map_pointer(&t->spaces.threads, u32_at(record, 16), 0);
    if (thread) uprobe_calls_drop(t, thread, 0);
    uprobe_spaces_exit(&t->spaces, u32_at(record, 8), u32_at(record, 16));
}

static void take_sample(hd_uprobe *t, const uint8_t *record)
{
    uprobe_hit hit;
    uint64_t id;
    memcpy(&id, record + 8, sizeof id);
    uprobe_event *event = hd_map_pointer(&t->perf.events, id, 0);
    if (!event) return;
    uint64_t type = event->is_return ? UPROBE_SAMPLE_TYPE | PERF_SAMPLE_REGS_USER : t->perf.hit_sample_type;
    event->read++;
    if (!uprobe_record_hit(&hit, record, type, t->perf.registers)) return;
    if (event->is_return)
        uprobe_call_returned(t, event, &hit);
    else
        uprobe_call_entered(t, event, &hit);
}

static void take(hd_uprobe *t, const uint8_t *record, const uprobe_ring *ring)
{
    struct perf_event_header header = uprobe_record_header(record);
    bool is_side = (ring - t->perf.rings) % 2;
    uint64_t lost;
    switch (header.type) {
    case PERF_RECORD_SAMPLE:
        if (header.size >= UPROBE_SAMPLE_FIXED) take_sample(t, record);
        break;
    case PERF_RECORD_MMAP2: take_mapped(t, record); break;
    case PERF_RECORD_COMM: take_name(t, record, &header); break;
    case PERF_RECORD_FORK:
        if (header.size >= 32)
            uprobe_spaces_fork(&t->spaces, u32_at(record, 8), u32_at(record, 16), u32_at(record, 12),
                               u32_at(record, 20));
        break;
    case PERF_RECORD_EXIT:
        if (header.size >= 32) take_exit(t, record);
        break;
    case PERF_RECORD_LOST: /* of hits the events' own counts are exact */
        memcpy(&lost, record + 16, sizeof lost);
        t->side_lost += is_side && header.size >= 24 ? lost : 0;
        break;
    default: break;
    }
}

static void round_of(hd_uprobe *t)
{
    int64_t until = now_of(CLOCK_MONOTONIC);
    uprobe_ring *ring;
    const uint8_t *record;
    uprobe_perf_look(&t->perf);
    while ((record = uprobe_perf_next(&t->perf, until, t->record, &ring))) {
        take(t, record, ring);
        uprobe_perf_done(&t->perf, ring);
    }
}

static void *reader_main(void *tracer)
{
    hd_uprobe *t = tracer;
    while (!atomic_load(&t->ending)) {
        uprobe_perf_wait(&t->perf, ROUND_MS);
        round_of(t);
    }
    uprobe_perf_stop(&t->perf); /* a hit after the last look would count as lost */
    round_of(t);
    t->stats.helper_ns = now_of(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

/* ---- start and stop ---- */

static hd_status check_options(hd_uprobe_options *options, hd_error *err)
{
    if (!options->stack_bytes) options->stack_bytes = HD_UPROBE_STACK_BYTES;
    if (!options->capture && !options->folded)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "uprobes have no file to write to");
    if (options->folded && options->stacks == HD_UPROBE_NONE)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "folded text is of stacks, and none are asked for");
    if (options->stack_bytes < STACK_BYTES_MIN || options->stack_bytes > STACK_BYTES_MAX || options->stack_bytes % 8)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "stacks are %d to %d bytes, in eights; not %u",
                            STACK_BYTES_MIN, STACK_BYTES_MAX, options->stack_bytes);
    if (options->ring_bytes > 1u << 30 || (unsigned)options->stacks > HD_UPROBE_NONE)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "a ring has at most 1 GiB");
    return HD_OK;
}

static hd_status start_thread(hd_uprobe *t, hd_error *err)
{
    int failed = hd_thread_start(&t->thread, reader_main, t);
    t->is_running = !failed;
    return failed ? hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "no thread for uprobes: %s", strerror(failed))
                  : HD_OK;
}

static hd_status start(hd_uprobe *t, int pid, hd_error *err)
{
    HD_TRY(check_options(&t->options, err));
    HD_TRY(uprobe_perf_open(&t->perf, pid, &t->options, err));
    HD_TRY(uprobe_writer_open(&t->writer, t->plan, &t->options, err));
    t->cache = uprobe_cfi_cache_new();
    if (!uprobe_spaces_begin(&t->spaces, (uint32_t)pid)) return HD_NOMEM(err);
    if (t->options.is_running) HD_TRY(uprobe_running_read(t, (uint32_t)pid, look_into, err));
    if (t->plan->count)
        HD_TRY(uprobe_perf_probe(&t->perf, t->plan->targets, 0, t->plan->count, &t->stats.targets, err));
    return start_thread(t, err);
}

static void close_all(hd_uprobe *t)
{
    uprobe_perf_close(&t->perf);
    uprobe_writer_abort(&t->writer);
    for (uint32_t i = 0; i < t->spaces.module_count; i++) uprobe_module_symbols_free(t->spaces.modules[i]);
    uprobe_spaces_deinit(&t->spaces);
    uprobe_cfi_cache_free(t->cache);
}

hd_status hd_uprobe_start(hd_uprobe **out, hd_uprobe_plan *plan, int pid, const hd_uprobe_options *options,
                          hd_error *err)
{
    *out = NULL;
    HD_OWN_OPTIONS(hd_uprobe_options, options, err);
    hd_uprobe *t = calloc(1, sizeof *t);
    if (!t) return HD_NOMEM(err);
    t->plan = plan;
    t->options = *options;
    hd_status status = start(t, pid, err);
    if (status == HD_OK) {
        *out = t;
        return HD_OK;
    }
    bool has_capture = t->writer.session != NULL;
    close_all(t);
    if (has_capture) unlink(options->capture);
    free(t);
    return status;
}

hd_status hd_uprobe_stop(hd_uprobe_stats *out, hd_uprobe *t, hd_error *err)
{
    atomic_store(&t->ending, true);
    pthread_join(t->thread, NULL);
    t->is_running = false;
    for (size_t i = 0; i < t->spaces.threads.count; i++) uprobe_calls_drop(t, t->spaces.threads.entries[i].pointer, 0);
    t->stats.lost = uprobe_perf_lost(&t->perf);
    t->stats.processes = t->spaces.process_count;
    t->stats.ring_bytes = t->perf.ring_bytes;
    if (out) *out = t->stats;
    hd_status status = uprobe_writer_finish(&t->writer, &t->stats, t->side_lost, err);
    if (status == HD_OK && t->spaces.failed) status = HD_NOMEM(err);
    close_all(t);
    return status;
}

void hd_uprobe_free(hd_uprobe *t)
{
    if (!t) return;
    if (t->is_running) hd_uprobe_stop(NULL, t, NULL);
    free(t);
}

hd_status hd_uprobe_check(hd_error *err)
{
    hd_uprobe_options options = {.ring_bytes = 4096, .stack_bytes = STACK_BYTES_MIN};
    uprobe_perf perf;
    uprobe_elf self;
    uprobe_symbol symbol;
    uint64_t at = 0;
    uint32_t probed;
    HD_TRY(uprobe_perf_open(&perf, 0, &options, err));
    uprobe_target target = {.path = (char *)(uintptr_t) "/proc/self/exe", .symbol = (char *)(uintptr_t) "a function"};
    hd_status status = uprobe_elf_open(&self, target.path, err);
    bool has_one = status == HD_OK && uprobe_elf_next(&self, &at, &symbol) &&
                   uprobe_elf_offset(&self, symbol.address, &target.offset);
    if (has_one) status = uprobe_perf_probe(&perf, &target, 0, 1, &probed, err);
    uprobe_elf_close(&self);
    uprobe_perf_close(&perf);
    return status;
}
