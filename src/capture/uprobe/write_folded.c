/* write_folded.c - extended folded text: "timestamp_ns comm pid tid cpu frame;frame;frame"
 *
 * Names come from the files' own symbols (.symtab, else .dynsym), C++ ones demangled; an address without one is
 * MODULE+0xADDRESS. Source lines and build-ids are for `heddle symbolize`, which works on the capture.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle/demangle.h"
#include "base/error.h"
#include "base/sorted.h"
#include "capture/uprobe/write.h"

enum { TEXT_BYTES = 4096, TEXTS_MAX = 1 << 20 };

/* ---- symbols of a module ---- */

typedef struct symbol_list {
    uprobe_symbol *symbols; /* by address */
    uint64_t count;
} symbol_list;

static int by_address(const void *a, const void *b)
{
    const uprobe_symbol *x = a, *y = b;
    if (x->address != y->address) return x->address < y->address ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    if (x->name_bytes != y->name_bytes) return x->name_bytes < y->name_bytes ? -1 : 1;
    return memcmp(x->name, y->name, x->name_bytes);
}

static symbol_list *symbols_of(uprobe_module *module)
{
    uint64_t capacity = module->elf.tables[0].count + module->elf.tables[1].count, at = 0;
    if (module->symbols) return module->symbols;
    symbol_list *list = calloc(1, sizeof *list);
    if (!list) return NULL;
    list->symbols = malloc((size_t)(capacity + 1) * sizeof *list->symbols);
    while (list->symbols && list->count < capacity && uprobe_elf_next(&module->elf, &at, &list->symbols[list->count]))
        list->count++;
    if (list->symbols) hd_sort(list->symbols, list->count, sizeof *list->symbols, by_address);
    module->symbols = list;
    return list;
}

void uprobe_module_symbols_free(uprobe_module *module)
{
    symbol_list *list = module->symbols;
    if (list) free(list->symbols);
    free(list);
    module->symbols = NULL;
}

static const uprobe_symbol *symbol_at(uprobe_module *module, uint64_t address)
{
    const symbol_list *list = symbols_of(module);
    size_t begun = list ? hd_sorted_up_to(address, list->symbols, list->count, sizeof *list->symbols) : 0;
    if (!begun) return NULL;
    const uprobe_symbol *symbol = &list->symbols[begun - 1];
    return !symbol->bytes || address - symbol->address < symbol->bytes ? symbol : NULL;
}

/* ---- frames ---- */

static size_t write_name(char *out, const uprobe_stack_frame *frame)
{
    const uprobe_symbol *symbol = frame->module ? symbol_at(frame->module, frame->address) : NULL;
    const char *slash = frame->module ? strrchr(frame->module->path, '/') : NULL;
    bool is_cut;
    int size;
    if (symbol) {
        size_t written = hd_demangle(out, TEXT_BYTES - 1, &is_cut, symbol->name, symbol->name_bytes);
        if (written) return written;
        size = snprintf(out, TEXT_BYTES, "%.*s", (int)(symbol->name_bytes & 0xffff), symbol->name);
    } else if (frame->module) {
        size = snprintf(out, TEXT_BYTES, "%s+0x%llx", slash ? slash + 1 : frame->module->path,
                        (unsigned long long)frame->address);
    } else {
        size = snprintf(out, TEXT_BYTES, "0x%llx", (unsigned long long)frame->address);
    }
    return size < 0 ? 0 : size < TEXT_BYTES ? (size_t)size : TEXT_BYTES - 1;
}

/* A name may not part frames or lines. */
static void clean(char *text)
{
    for (; *text; text++) {
        if (*text == ';') *text = ':';
        if ((unsigned char)*text < ' ' || *text == 127) *text = ' ';
    }
}

/* Cached, since the same few hundred recur. */
static void put_frame(uprobe_writer *writer, const uprobe_stack_frame *frame)
{
    uint64_t key = frame->module ? (uint64_t)(frame->module->number + 1) << 40 ^ frame->address
                                 : UINT64_C(1) << 63 | frame->address;
    char text[TEXT_BYTES];
    const char *known = hd_map_pointer(&writer->texts, key, 0);
    if (!known) {
        text[write_name(text, frame)] = 0;
        clean(text);
        char *kept = writer->texts.count < TEXTS_MAX ? strdup(text) : NULL;
        if (kept && !hd_map_set_pointer(&writer->texts, key, 0, kept)) free(kept);
        known = text;
    }
    hd_bytes_put(&writer->line, known, strlen(known));
}

void uprobe_fold(uprobe_writer *writer, const uprobe_call *call, const uprobe_stack *stack)
{
    char head[128], comm[UPROBE_COMM_BYTES];
    if (writer->status != HD_OK) return;
    memcpy(comm, call->thread->name, sizeof comm);
    comm[sizeof comm - 1] = 0;
    clean(comm);
    int size = snprintf(head, sizeof head, "%lld %s %u %u %u ", (long long)call->time_ns, comm[0] ? comm : "-",
                        call->thread->pid, call->thread->tid, call->cpu);
    writer->line.size = 0;
    hd_bytes_put(&writer->line, head, (size_t)size);
    for (uint32_t i = stack->count; i-- > 1;) {
        put_frame(writer, &stack->frames[i]);
        hd_bytes_put_u8(&writer->line, ';');
    }
    const char *symbol = writer->plan->targets[call->target].symbol;
    hd_bytes_put(&writer->line, symbol, strlen(symbol));
    hd_bytes_put_u8(&writer->line, '\n');
    writer->status = writer->line.failed
                         ? HD_NOMEM(&writer->err)
                         : hd_output_write(writer->folded, writer->line.data, writer->line.size, &writer->err);
}

void uprobe_fold_deinit(uprobe_writer *writer)
{
    for (size_t i = 0; i < writer->texts.count; i++) free(writer->texts.entries[i].pointer);
    hd_map_deinit(&writer->texts);
    hd_bytes_deinit(&writer->line);
}
