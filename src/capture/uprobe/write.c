/* write.c - writes a capture
 *
 * Addresses of several processes, and of one process at different times, are not comparable. So a frame's address in
 * the capture is not the process's: each mapped file has an address range of its own, far above those of processes, and
 * is one module there. Frames in no file keep the process's address.
 */
#include "capture/uprobe/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* User addresses end at 2^57, frames have 63 bits. */
#define MODULE_BASE (UINT64_C(1) << 60)
enum { MODULE_BITS = 40, MODULES_MAX = 1 << 20 };

hd_status uprobe_writer_open(uprobe_writer *out, const hd_uprobe_plan *plan, const hd_uprobe_options *options,
                             hd_error *err)
{
    hd_session_options session = {.policy = HD_RING_BLOCK}; /* the library's thread may wait, the program does not */
    *out = (uprobe_writer){.plan = plan};
    if (options->capture) HD_TRY(hd_session_start(&out->session, options->capture, &session, err));
    hd_status status = options->folded ? hd_output_create(&out->folded, options->folded, NULL, err) : HD_OK;
    if (status != HD_OK) {
        uprobe_writer_abort(out);
        if (options->capture) unlink(options->capture);
        return status;
    }
    out->category = hd_session_intern(out->session, "uprobe");
    return HD_OK;
}

static uint32_t track_of(uprobe_writer *writer, const uprobe_call *call)
{
    uprobe_thread *thread = call->thread;
    if (thread->track) return thread->track;
    hd_session_track_info process = {
        .kind = HD_SESSION_TRACK_PROCESS, .process = thread->pid, .name = call->process->name};
    hd_session_track_info info = {
        .kind = HD_SESSION_TRACK_THREAD, .process = thread->pid, .number = thread->tid, .name = thread->name};
    hd_session_track(writer->session, &process);
    return thread->track = hd_session_track(writer->session, &info);
}

static uint32_t name_of(uprobe_writer *writer, uint32_t target)
{
    if (!writer->names[target])
        writer->names[target] = hd_session_intern(writer->session, writer->plan->targets[target].symbol);
    return writer->names[target];
}

void uprobe_write_call(uprobe_writer *writer, const uprobe_call *call)
{
    bool is_slice = call->duration_ns >= 0;
    if (!writer->session) return;
    hd_session_record record = {.kind = is_slice ? HD_SESSION_SLICE : HD_SESSION_INSTANT,
                                .track = track_of(writer, call),
                                .time_ns = call->time_ns,
                                .value = is_slice ? (uint64_t)call->duration_ns : 0,
                                .name = name_of(writer, call->target),
                                .category = writer->category};
    hd_session_emit(writer->session, &record);
}

/* ---- stacks ---- */

static uint64_t base_of(const uprobe_module *module)
{
    return MODULE_BASE + ((uint64_t)module->number << MODULE_BITS);
}

static void tell_module(uprobe_writer *writer, uprobe_module *module)
{
    uint64_t end = 0, start = UINT64_MAX, offset = 0;
    for (uint32_t i = 0; i < module->elf.load_count; i++) {
        const uprobe_load *load = &module->elf.loads[i];
        if (load->address + load->size > end) end = load->address + load->size;
        if (load->address >= start) continue;
        start = load->address;
        offset = load->offset;
    }
    hd_session_module_info info = {.start = base_of(module) + start,
                                   .end = base_of(module) + end,
                                   .offset = offset,
                                   .bias = base_of(module),
                                   .path = module->path,
                                   .build_id = module->build_id,
                                   .build_id_bytes = module->build_id_bytes};
    module->is_told = hd_session_module(writer->session, &info) != 0;
}

static uint64_t frame_of(uprobe_writer *writer, const uprobe_stack_frame *frame)
{
    if (!frame->module || frame->module->number >= MODULES_MAX || frame->address >> MODULE_BITS) return frame->address;
    if (!frame->module->is_told) tell_module(writer, frame->module);
    return base_of(frame->module) + frame->address;
}

void uprobe_write_sample(uprobe_writer *writer, const uprobe_call *call, const uprobe_stack *stack)
{
    uint64_t frames[UPROBE_FRAMES_MAX];
    if (writer->folded) uprobe_fold(writer, call, stack);
    if (!writer->session) return;
    for (uint32_t i = 0; i < stack->count; i++) frames[i] = frame_of(writer, &stack->frames[i]);
    frames[0] = HD_SESSION_FRAME((uint64_t)name_of(writer, call->target));
    hd_session_record record = {.kind = HD_SESSION_SAMPLE,
                                .track = track_of(writer, call),
                                .time_ns = call->time_ns,
                                .name = name_of(writer, call->target),
                                .category = writer->category,
                                .stack = hd_session_stack(writer->session, frames, stack->count)};
    hd_session_emit(writer->session, &record);
}

/* ---- the end ---- */

static void note(uprobe_writer *writer, const char *code, hd_session_note_level level, uint64_t count)
{
    if (count) hd_session_note(writer->session, code, level, count);
}

static void write_losses(uprobe_writer *writer, const hd_uprobe_stats *stats, uint64_t side_lost)
{
    char json[512];
    note(writer, "uprobe.lost", HD_SESSION_LOSS, stats->lost);
    note(writer, "uprobe.unknown", HD_SESSION_LOSS, stats->unknown);
    note(writer, "uprobe.mappings-lost", HD_SESSION_LOSS, side_lost);
    note(writer, "uprobe.stacks-cut", HD_SESSION_NOTE, stats->cut);
    note(writer, "uprobe.stacks-broken", HD_SESSION_NOTE, stats->broken);
    note(writer, "uprobe.nested", HD_SESSION_NOTE, stats->nested);
    note(writer, "uprobe.found-late", HD_SESSION_NOTE, stats->late);
    note(writer, "uprobe.not-probed", HD_SESSION_LOSS, stats->unprobed);
    note(writer, "uprobe.other-programs", HD_SESSION_NOTE, stats->foreign);
    snprintf(json, sizeof json,
             "{\"functions\":%u,\"calls\":%llu,\"samples\":%llu,\"lost\":%llu,"
             "\"processes\":%llu,\"threads\":%llu,\"helperCpuNs\":%lld}",
             stats->targets, (unsigned long long)stats->calls, (unsigned long long)stats->samples,
             (unsigned long long)stats->lost, (unsigned long long)stats->processes, (unsigned long long)stats->threads,
             (long long)stats->helper_ns);
    hd_session_metadata(writer->session, "heddle.uprobe", json);
}

hd_status uprobe_writer_finish(uprobe_writer *writer, const hd_uprobe_stats *stats, uint64_t side_lost, hd_error *err)
{
    hd_status status = writer->status, last = HD_OK;
    if (status != HD_OK) hd_error_set(err, status, writer->err.path, HD_OFFSET_NONE, "%s", writer->err.message);
    write_losses(writer, stats, side_lost);
    if (writer->session) last = hd_session_stop(NULL, writer->session, err);
    hd_session_free(writer->session);
    writer->session = NULL;
    if (status == HD_OK && writer->folded) {
        status = hd_output_commit(writer->folded, err);
        writer->folded = NULL;
    }
    return status != HD_OK ? status : last;
}

void uprobe_writer_abort(uprobe_writer *writer)
{
    hd_session_free(writer->session);
    hd_output_abort(writer->folded);
    uprobe_fold_deinit(writer);
    *writer = (uprobe_writer){0};
}
