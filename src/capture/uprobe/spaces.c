/* spaces.c - processes, threads, mappings */
#include "capture/uprobe/spaces.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/vector.h"
#include "base/sorted.h"

/* ---- modules ---- */

static bool is_same(const uprobe_module *module, const uprobe_mapped *mapped)
{
    if (module->build_id_bytes != mapped->build_id_bytes || strcmp(module->path, mapped->path) != 0) return false;
    if (mapped->build_id_bytes) return memcmp(module->build_id, mapped->build_id, mapped->build_id_bytes) == 0;
    return module->device == mapped->device && module->inode == mapped->inode;
}

/* *out_new: it is new. NULL: no memory. */
static uprobe_module *module_of(uprobe_spaces *spaces, const uprobe_mapped *mapped, bool *out_new)
{
    *out_new = false;
    for (uint32_t i = spaces->module_count; i-- > 0;) {
        if (is_same(spaces->modules[i], mapped)) return spaces->modules[i];
    }
    uprobe_module *module = calloc(1, sizeof *module);
    size_t capacity = spaces->module_capacity;
    if (!module || !(module->path = strdup(mapped->path)) ||
        !hd_grow((void **)&spaces->modules, &capacity, spaces->module_count, sizeof *spaces->modules)) {
        if (module) free(module->path);
        free(module);
        return NULL;
    }
    spaces->module_capacity = (uint32_t)capacity;
    module->number = spaces->module_count;
    module->device = mapped->device;
    module->inode = mapped->inode;
    module->build_id_bytes = mapped->build_id_bytes;
    if (mapped->build_id_bytes) memcpy(module->build_id, mapped->build_id, mapped->build_id_bytes);
    spaces->modules[spaces->module_count++] = module;
    *out_new = true;
    return module;
}

/* Is this the file that was mapped? By its build-id; of files without one by the inode. */
static bool is_that_file(const uprobe_module *module)
{
    const uprobe_elf *elf = &module->elf;
    if (module->build_id_bytes) {
        return elf->build_id_bytes <= module->build_id_bytes && elf->build_id_bytes &&
               memcmp(elf->build_id, module->build_id, elf->build_id_bytes) == 0;
    }
    return !module->inode || module->inode == elf->inode;
}

const uprobe_elf *uprobe_module_elf(uprobe_module *module, uint32_t pid)
{
    char path[4200];
    if (module->is_opened) return module->elf.data ? &module->elf : NULL;
    module->is_opened = true;
    if (module->path[0] != '/') return NULL;
    /* In a container the program's root is not ours. */
    for (int i = 0; i < 2; i++) {
        int size = i ? snprintf(path, sizeof path, "/proc/%u/root%s", pid, module->path)
                     : snprintf(path, sizeof path, "%s", module->path);
        if (size < 0 || (size_t)size >= sizeof path) continue;
        if (uprobe_elf_open(&module->elf, path, NULL) == HD_OK && is_that_file(module)) {
            if (!module->build_id_bytes) {
                memcpy(module->build_id, module->elf.build_id, sizeof module->build_id);
                module->build_id_bytes = module->elf.build_id_bytes;
            }
            return &module->elf;
        }
        uprobe_elf_close(&module->elf);
    }
    return NULL;
}

/* ---- mappings ---- */

/* The first mapping that ends after an address. */
static uint32_t place_of(const uprobe_process *process, uint64_t address)
{
    const uprobe_mapping *mappings = process->mappings;
    uint32_t begun = (uint32_t)hd_sorted_up_to(address, mappings, process->count, sizeof *mappings);
    return begun && mappings[begun - 1].end > address ? begun - 1 : begun;
}

const uprobe_mapping *uprobe_process_at(uprobe_process *process, uint64_t address)
{
    uint32_t at = process->last;
    if (at >= process->count || address < process->mappings[at].start || address >= process->mappings[at].end)
        at = place_of(process, address);
    if (at == process->count || address < process->mappings[at].start) return NULL;
    process->last = at;
    return &process->mappings[at];
}

/* The instructions behind the call: add $8, %rsp, ret; or pop %rbp, ret. On aarch64 there is a frame pointer, which
 * leads on. */
static uprobe_code read_code(uint32_t pid, uint64_t address)
{
    uprobe_code code = UPROBE_CODE_OTHER;
#if defined(__x86_64__)
    static const uint8_t pads[] = {0x48, 0x83, 0xc4, 0x08, 0xc3}, pushes[] = {0x5d, 0xc3};
    uint8_t bytes[sizeof pads];
    char path[32];
    snprintf(path, sizeof path, "/proc/%u/mem", pid);
    int memory = open(path, O_RDONLY | O_CLOEXEC);
    if (memory < 0) return UPROBE_CODE_GONE;
    if (pread(memory, bytes, sizeof bytes, (off_t)address) == (ssize_t)sizeof bytes) {
        if (memcmp(bytes, pads, sizeof pads) == 0) code = UPROBE_CODE_PADS;
        if (memcmp(bytes, pushes, sizeof pushes) == 0) code = UPROBE_CODE_PUSHES;
    } else {
        code = UPROBE_CODE_GONE;
    }
    close(memory);
#else
    (void)pid, (void)address;
#endif
    return code;
}

uprobe_code uprobe_process_code(uprobe_process *process, uint64_t address)
{
    if (!uprobe_process_at(process, address)) return UPROBE_CODE_OTHER;
    uprobe_mapping *mapping = &process->mappings[process->last];
    if (mapping->module || mapping->is_trampoline) return UPROBE_CODE_OTHER;
    if (mapping->code == UPROBE_CODE_NEW) mapping->code = read_code(process->pid, address);
    return mapping->code;
}

static bool room_for(uprobe_process *process, uint32_t more)
{
    if (process->capacity - process->count >= more) return true;
    uint32_t capacity = (process->count + more) * 2;
    uprobe_mapping *mappings = realloc(process->mappings, capacity * sizeof *mappings);
    if (!mappings) return false;
    process->mappings = mappings;
    process->capacity = capacity;
    return true;
}

static void insert(uprobe_process *process, uint32_t at, const uprobe_mapping *mapping)
{
    memmove(process->mappings + at + 1, process->mappings + at, (process->count - at) * sizeof *mapping);
    process->mappings[at] = *mapping;
    process->count++;
}

/* Parts covered by the new mapping are removed; the kernel does not report munmap. */
static bool put_mapping(uprobe_process *process, const uprobe_mapping *mapping)
{
    if (!room_for(process, 2)) return false;
    uint32_t at = place_of(process, mapping->start);
    while (at < process->count && process->mappings[at].start < mapping->end) {
        uprobe_mapping *old = &process->mappings[at];
        uprobe_mapping right = *old;
        bool has_left = old->start<mapping->start, has_right = old->end> mapping->end;
        if (has_right) {
            right.offset += mapping->end - old->start;
            right.start = mapping->end;
        }
        if (has_left) {
            old->end = mapping->start;
            at++;
            if (has_right) insert(process, at, &right);
        } else if (has_right) {
            *old = right;
        } else {
            memmove(old, old + 1, (process->count - at - 1) * sizeof *old);
            process->count--;
        }
        if (has_right) break;
    }
    insert(process, at, mapping);
    return true;
}

uprobe_module *uprobe_spaces_map(uprobe_spaces *spaces, const uprobe_mapped *mapped)
{
    uprobe_process *process = uprobe_spaces_process(spaces, mapped->pid);
    bool is_new = false;
    if (!process || !mapped->bytes || mapped->start > UINT64_MAX - mapped->bytes) return NULL;
    uprobe_mapping mapping = {.start = mapped->start,
                              .end = mapped->start + mapped->bytes,
                              .offset = mapped->offset,
                              .is_trampoline = strcmp(mapped->path, "[uprobes]") == 0};
    if (strncmp(mapped->path, "//anon", 6) != 0 && mapped->path[0]) {
        mapping.module = module_of(spaces, mapped, &is_new);
        if (!mapping.module) spaces->failed = true;
    }
    if (!put_mapping(process, &mapping)) spaces->failed = true;
    return is_new ? mapping.module : NULL;
}

/* ---- processes and threads ---- */

uprobe_process *uprobe_spaces_process(const uprobe_spaces *spaces, uint32_t pid)
{
    return hd_map_pointer(&spaces->processes, pid, 0);
}

uprobe_process *uprobe_spaces_begin(uprobe_spaces *spaces, uint32_t pid)
{
    uprobe_process *process = hd_map_pointer(&spaces->processes, pid, 0);
    if (process) return process;
    process = calloc(1, sizeof *process);
    if (!process || !hd_map_set_pointer(&spaces->processes, pid, 0, process)) {
        free(process);
        spaces->failed = true;
        return NULL;
    }
    process->pid = pid;
    process->threads = 1;
    spaces->process_count++;
    return process;
}

uprobe_thread *uprobe_spaces_thread(uprobe_spaces *spaces, uint32_t pid, uint32_t tid)
{
    uprobe_thread *thread = hd_map_pointer(&spaces->threads, tid, 0);
    if (thread) return thread;
    const uprobe_process *process = uprobe_spaces_process(spaces, pid);
    thread = calloc(1, sizeof *thread);
    if (!thread || !hd_map_set_pointer(&spaces->threads, tid, 0, thread)) {
        free(thread);
        spaces->failed = true;
        return NULL;
    }
    thread->pid = pid;
    thread->tid = tid;
    if (process) memcpy(thread->name, process->name, sizeof thread->name);
    return thread;
}

static void remove_thread(uprobe_spaces *spaces, uint32_t tid)
{
    uprobe_thread *thread = hd_map_pointer(&spaces->threads, tid, 0);
    if (!thread) return;
    hd_map_remove(&spaces->threads, tid, 0);
    free(thread->open);
    free(thread);
}

static void remove_process(uprobe_spaces *spaces, uprobe_process *process)
{
    hd_map_remove(&spaces->processes, process->pid, 0);
    free(process->mappings);
    free(process);
}

/* A reused pid belonged to a process whose end was not seen. */
static void forget(uprobe_spaces *spaces, uint32_t pid, uint32_t tid)
{
    uprobe_process *stale = pid == tid ? uprobe_spaces_process(spaces, pid) : NULL;
    remove_thread(spaces, tid);
    if (stale) remove_process(spaces, stale);
}

void uprobe_spaces_fork(uprobe_spaces *spaces, uint32_t pid, uint32_t tid, uint32_t parent, uint32_t parent_tid)
{
    const uprobe_thread *from = hd_map_pointer(&spaces->threads, parent_tid, 0);
    if (pid == parent) {
        uprobe_process *process = uprobe_spaces_process(spaces, pid);
        if (!process) return;
        remove_thread(spaces, tid);
        process->threads++;
    } else {
        if (!uprobe_spaces_process(spaces, parent)) return;
        forget(spaces, pid, tid);
        uprobe_process *process = uprobe_spaces_begin(spaces, pid);
        const uprobe_process *source = uprobe_spaces_process(spaces, parent);
        if (!process || !source) return;
        memcpy(process->name, source->name, sizeof process->name);
        if (!room_for(process, source->count + 2)) {
            spaces->failed = true;
            return;
        }
        if (source->count) memcpy(process->mappings, source->mappings, source->count * sizeof *source->mappings);
        process->count = source->count;
    }
    uprobe_thread *thread = uprobe_spaces_thread(spaces, pid, tid);
    if (thread && from) memcpy(thread->name, from->name, sizeof thread->name);
}

void uprobe_spaces_name(uprobe_spaces *spaces, uint32_t pid, uint32_t tid, const char *name, bool is_exec)
{
    uprobe_process *process = uprobe_spaces_process(spaces, pid);
    uprobe_thread *thread = process ? uprobe_spaces_thread(spaces, pid, tid) : NULL;
    if (!thread) return;
    snprintf(thread->name, sizeof thread->name, "%s", name);
    if (pid == tid) snprintf(process->name, sizeof process->name, "%s", name);
    if (is_exec) {
        process->count = 0;
        process->threads = 1;
        thread->open_count = 0;
    }
    thread->track = 0; /* announced again, with the new name */
}

void uprobe_spaces_exit(uprobe_spaces *spaces, uint32_t pid, uint32_t tid)
{
    uprobe_process *process = uprobe_spaces_process(spaces, pid);
    remove_thread(spaces, tid);
    if (process && --process->threads == 0) remove_process(spaces, process);
}

void uprobe_spaces_deinit(uprobe_spaces *spaces)
{
    for (size_t i = 0; i < spaces->processes.count; i++) {
        uprobe_process *process = spaces->processes.entries[i].pointer;
        free(process->mappings);
        free(process);
    }
    for (size_t i = 0; i < spaces->threads.count; i++) {
        uprobe_thread *thread = spaces->threads.entries[i].pointer;
        free(thread->open);
        free(thread);
    }
    hd_map_deinit(&spaces->processes);
    hd_map_deinit(&spaces->threads);
    for (uint32_t i = 0; i < spaces->module_count; i++) {
        uprobe_elf_close(&spaces->modules[i]->elf);
        free(spaces->modules[i]->path);
        free(spaces->modules[i]);
    }
    free(spaces->modules);
    *spaces = (uprobe_spaces){0};
}
