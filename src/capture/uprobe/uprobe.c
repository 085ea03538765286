/* uprobe.c - the tracer: its thread takes records out of the rings in the order of time, and makes calls of them
 *
 * A round takes the time first and looks at the rings afterwards, and goes up to that time: whatever happened before it
 * is then in some ring, so that a thread's records stay in order when it changes its CPU, and mappings come before what
 * is hit in them.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/vector.h"
#include "capture/uprobe/uprobe_perf.h"
#include "capture/uprobe/uprobe_plan.h"
#include "capture/uprobe/uprobe_record.h"
#include "capture/uprobe/uprobe_unwind.h"
#include "capture/uprobe/uprobe_write.h"

enum { ROUND_MS = 20, STACK_BYTES_MIN = 512, STACK_BYTES_MAX = 61440, OPEN_CALLS_MAX = 4096 };

struct hd_uprobe {
    hd_uprobe_plan *plan;
    hd_uprobe_options options;
    uprobe_perf perf;
    uprobe_spaces spaces;
    uprobe_writer writer;
    hd_uprobe_stats stats;
    uint64_t side_lost;
    pthread_t thread;
    atomic_bool ending;
    bool is_running;
    uprobe_stack stack;
    uprobe_cfi_cache *cache; /* NULL: there was no memory for it */
    uint8_t record[UPROBE_RECORD_BYTES];
};

static int64_t now_of(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* ---- calls ----------------------------------------------------------------------------------------------- */

static void write_open(hd_uprobe *t, uprobe_thread *thread, const uprobe_open_call *open, int64_t duration_ns)
{
    uprobe_call call = {
        uprobe_spaces_process(&t->spaces, thread->pid), thread, open->target, open->cpu, open->time_ns, duration_ns};
    if (call.process) uprobe_write_call(&t->writer, &call);
    t->stats.returned += duration_ns >= 0;
}

/* A call whose frame is gone did not return here: it was left by longjmp, an exception, the end of its thread; or the
 * record was lost. Of equal frames one jumped to the other (a tail call), and both return. */
static void drop_dead(hd_uprobe *t, uprobe_thread *thread, uint64_t stack_pointer, uint32_t target)
{
    while (thread->open_count) {
        const uprobe_open_call *open = &thread->open[thread->open_count - 1];
        if (open->stack_pointer > stack_pointer) return;
        if (open->stack_pointer == stack_pointer && open->target != target) return;
        write_open(t, thread, open, -1);
        thread->open_count--;
    }
}

static void drop_all(hd_uprobe *t, uprobe_thread *thread)
{
    while (thread->open_count) write_open(t, thread, &thread->open[--thread->open_count], -1);
}

static bool open_call(uprobe_thread *thread, const uprobe_open_call *open)
{
    size_t capacity = thread->open_capacity;
    if (thread->open_count == OPEN_CALLS_MAX) return false;
    if (!hd_grow((void **)&thread->open, &capacity, thread->open_count, sizeof *thread->open)) return false;
    thread->open_capacity = (uint32_t)capacity;
    thread->open[thread->open_count++] = *open;
    return true;
}

static void returned(hd_uprobe *t, const uprobe_event *event, const uprobe_hit *hit)
{
#if defined(__aarch64__)
    enum { POPPED = 0 };
#else
    enum { POPPED = 8 };
#endif
    uprobe_thread *thread = uprobe_map_get(&t->spaces.threads, hit->tid);
    uint64_t entered = hit->frame.at[UPROBE_STACK_POINTER] - POPPED;
    for (uint32_t i = thread ? thread->open_count : 0; i-- > 0;) {
        const uprobe_open_call *open = &thread->open[i];
        bool is_of = event->target == UPROBE_ANY_TARGET || open->target == event->target;
        if (open->stack_pointer != entered || !is_of) continue;
        while (thread->open_count > i + 1) write_open(t, thread, &thread->open[--thread->open_count], -1);
        thread->open_count--;
        write_open(t, thread, open, hit->time_ns - open->time_ns);
        return;
    }
}

/* ---- stacks ---------------------------------------------------------------------------------------------- */

static bool is_within_target(const hd_uprobe_plan *plan, const uprobe_stack_frame *frame)
{
    const uprobe_elf *elf = &frame->module->elf;
    for (uint32_t i = 0; i < plan->count; i++) {
        const uprobe_target *target = &plan->targets[i];
        if (target->inode == elf->inode && target->device == elf->device && frame->address >= target->address &&
            frame->address - target->address < target->bytes)
            return true;
    }
    return false;
}

/* Is it called by another probed function, as a driver's by the runtime's? Then that one has the sample. */
static bool is_nested(const hd_uprobe_plan *plan, const uprobe_stack *stack)
{
    const uprobe_module *without = NULL; /* a stack goes through few modules */
    for (uint32_t i = 1; i < stack->count; i++) {
        const uprobe_stack_frame *frame = &stack->frames[i];
        if (!frame->module || frame->module == without) continue;
        if (is_within_target(plan, frame)) return true;
        bool has_targets = false;
        for (uint32_t k = 0; k < plan->count && !has_targets; k++)
            has_targets = plan->targets[k].inode == frame->module->elf.inode;
        if (!has_targets) without = frame->module;
    }
    return false;
}

static void sample(hd_uprobe *t, const uprobe_call *call, uprobe_hit *hit)
{
    uprobe_process *process = uprobe_spaces_process(&t->spaces, call->thread->pid);
    if (t->options.stacks == HD_UPROBE_FRAMES) {
        uprobe_unwind_chain(&t->stack, process, call->thread, &hit->frame, &hit->stack, hit->chain, hit->chain_count);
    } else {
        uprobe_frame frame = hit->frame;
        uprobe_unwind(&t->stack, t->cache, process, call->thread, &frame, &hit->stack);
    }
    t->stats.cut += t->stack.end == UPROBE_END_CUT;
    t->stats.broken += t->stack.end == UPROBE_END_BROKEN;
    if (is_nested(t->plan, &t->stack)) {
        t->stats.nested++;
        return;
    }
    t->stats.samples++;
    uprobe_write_sample(&t->writer, call, &t->stack);
}

/* The function that begins at the address that was hit; false: none that we probe. */
static bool find_target(hd_uprobe *t, uprobe_process *process, uint64_t ip, uint32_t *out)
{
    const uprobe_mapping *mapping = uprobe_process_at(process, ip);
    const uprobe_elf *elf = mapping && mapping->module ? uprobe_module_elf(mapping->module, process->pid) : NULL;
    uint64_t offset = mapping ? ip - mapping->start + mapping->offset : 0;
    for (uint32_t i = 0; i < t->plan->count && mapping; i++) {
        const uprobe_target *target = &t->plan->targets[i];
        /* A file that cannot be read here is told by the offset alone. */
        if (target->offset != offset || (elf && elf->inode != target->inode)) continue;
        *out = i;
        return true;
    }
    return false;
}

static void entered(hd_uprobe *t, const uprobe_event *event, uprobe_hit *hit)
{
    uint32_t target = event->target;
    uprobe_process *process = uprobe_spaces_process(&t->spaces, hit->pid);
    t->stats.hits++;
    if (!process) {
        t->stats.foreign++;
        return;
    }
    if (target == UPROBE_ANY_TARGET && !find_target(t, process, hit->ip, &target)) {
        t->stats.unknown++;
        return;
    }
    t->stats.calls++;
    uprobe_thread *thread = uprobe_spaces_thread(&t->spaces, hit->pid, hit->tid);
    if (!thread) return;
    uint64_t stack_pointer = hit->frame.at[UPROBE_STACK_POINTER];
    uprobe_call call = {process, thread, target, hit->cpu, hit->time_ns, -1};
    t->stats.threads += !thread->has_called;
    thread->has_called = true;
    if (t->options.returns) drop_dead(t, thread, stack_pointer, target);
    if (t->options.stacks == HD_UPROBE_NONE)
        t->stats.bare++;
    else
        sample(t, &call, hit);
    uprobe_open_call open = {target, hit->cpu, stack_pointer, uprobe_return_address(&hit->frame, &hit->stack),
                             hit->time_ns};
    if (!t->options.returns || !open_call(thread, &open)) uprobe_write_call(&t->writer, &call);
}

/* ---- records --------------------------------------------------------------------------------------------- */

static uint32_t u32_at(const uint8_t *record, size_t at)
{
    uint32_t value;
    memcpy(&value, record + at, sizeof value);
    return value;
}

/* A file that no process had before: it may have what a preset wants. */
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
    uprobe_thread *thread = is_exec ? uprobe_map_get(&t->spaces.threads, u32_at(record, 12)) : NULL;
    if (thread) drop_all(t, thread);
    uprobe_spaces_name(&t->spaces, u32_at(record, 8), u32_at(record, 12), name, is_exec);
}

static void take_exit(hd_uprobe *t, const uint8_t *record)
{
    uprobe_thread *thread = uprobe_map_get(&t->spaces.threads, u32_at(record, 16));
    if (thread) drop_all(t, thread);
    uprobe_spaces_exit(&t->spaces, u32_at(record, 8), u32_at(record, 16));
}

static void take_sample(hd_uprobe *t, const uint8_t *record)
{
    uprobe_hit hit;
    uint64_t id;
    memcpy(&id, record + 8, sizeof id);
    uprobe_event *event = uprobe_map_get(&t->perf.events, id);
    if (!event) return;
    uint64_t type = event->is_return ? UPROBE_SAMPLE_TYPE | PERF_SAMPLE_REGS_USER : t->perf.hit_sample_type;
    event->read++;
    if (!uprobe_record_hit(&hit, record, type, t->perf.registers)) return;
    if (event->is_return)
        returned(t, event, &hit);
    else
        entered(t, event, &hit);
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

static void *run(void *tracer)
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

/* ---- start and stop -------------------------------------------------------------------------------------- */

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
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&t->thread, NULL, run, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
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
    hd_uprobe *t = calloc(1, sizeof *t);
    *out = NULL;
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

hd_status hd_uprobe_stop(hd_uprobe *t, hd_uprobe_stats *out, hd_error *err)
{
    uint32_t at = 0;
    atomic_store(&t->ending, true);
    pthread_join(t->thread, NULL);
    t->is_running = false;
    for (uprobe_thread *thread; (thread = uprobe_map_next(&t->spaces.threads, &at));) drop_all(t, thread);
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
    if (t->is_running) hd_uprobe_stop(t, NULL, NULL);
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
