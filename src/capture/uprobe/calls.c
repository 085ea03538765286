/* calls.c - converts hits of probes to calls, with stacks and durations */
#include "base/memory/vector.h"
#include "capture/uprobe/impl.h"

enum { OPEN_CALLS_MAX = 4096 };

/* ---- returns ---- */

static void write_open(hd_uprobe *t, uprobe_thread *thread, const uprobe_open_call *open, int64_t duration_ns)
{
    uprobe_call call = {
        uprobe_spaces_process(&t->spaces, thread->pid), thread, open->target, open->cpu, open->time_ns, duration_ns};
    if (call.process) uprobe_write_call(&t->writer, &call);
    t->stats.returned += duration_ns >= 0;
}

void uprobe_calls_drop(hd_uprobe *t, uprobe_thread *thread, uint32_t left)
{
    while (thread->open_count > left) write_open(t, thread, &thread->open[--thread->open_count], -1);
}

/* Drops calls whose frame is gone without a return: by longjmp, an exception, the end of the thread, or a lost record.
 * Of equal frames one jumped to the other (a tail call), and both return. */
static void drop_dead(hd_uprobe *t, uprobe_thread *thread, uint64_t stack_pointer, uint32_t target)
{
    uint32_t left = thread->open_count;
    for (; left; left--) {
        const uprobe_open_call *open = &thread->open[left - 1];
        if (open->stack_pointer > stack_pointer) break;
        if (open->stack_pointer == stack_pointer && open->target != target) break;
    }
    uprobe_calls_drop(t, thread, left);
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

void uprobe_call_returned(hd_uprobe *t, const uprobe_event *event, const uprobe_hit *hit)
{
#if defined(__aarch64__)
    enum { POPPED = 0 };
#else
    enum { POPPED = 8 };
#endif
    uprobe_thread *thread = hd_map_pointer(&t->spaces.threads, hit->tid, 0);
    uint64_t entered = hit->frame.at[UPROBE_STACK_POINTER] - POPPED;
    for (uint32_t i = thread ? thread->open_count : 0; i-- > 0;) {
        const uprobe_open_call *open = &thread->open[i];
        bool is_of = event->target == UPROBE_ANY_TARGET || open->target == event->target;
        if (open->stack_pointer != entered || !is_of) continue;
        uprobe_calls_drop(t, thread, i + 1);
        thread->open_count = i;
        write_open(t, thread, open, hit->time_ns - open->time_ns);
        return;
    }
}

/* ---- stacks ---- */

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

/* Whether another probed function calls it, as the runtime calls the driver. Then that one has the sample. */
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

/* ---- entries ---- */

/* The function that begins at the address that was hit; false: none that we probe. */
static bool find_target(hd_uprobe *t, uprobe_process *process, uint64_t ip, uint32_t *out)
{
    const uprobe_mapping *mapping = uprobe_process_at(process, ip);
    const uprobe_elf *elf = mapping && mapping->module ? uprobe_module_elf(mapping->module, process->pid) : NULL;
    uint64_t offset = mapping ? ip - mapping->start + mapping->offset : 0;
    for (uint32_t i = 0; i < t->plan->count && mapping; i++) {
        const uprobe_target *target = &t->plan->targets[i];
        /* A file that cannot be read here is identified by the offset alone. */
        if (target->offset != offset || (elf && elf->inode != target->inode)) continue;
        *out = i;
        return true;
    }
    return false;
}

void uprobe_call_entered(hd_uprobe *t, const uprobe_event *event, uprobe_hit *hit)
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
