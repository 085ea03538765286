/* read.c - `xctrace export` -> trace
 *
 * Format   XML: nodes, each a schema (columns with mnemonic and engineering type) and rows, one child for each column.
 *             `id` defines a value, `ref` uses it again, <sentinel/> is null. Written by Apple's xctrace.
 *             docs/formats/xctrace.md has the mapping
 * Sniffs   <trace-query-result
 * Maps     tables.c; columns -> arguments
 * Units    ns since the run began        Shapes   n rows -> n events; a signpost interval -> 2
 * Limits   XCTRACE_COLUMNS columns, XCTRACE_DEPTH elements deep, 1,024 frames
 * Damage   after invalid XML, reading continues with the next row; a document type, and so any entity, is refused
 * Errors   FORMAT: a document type; DAMAGED: strict
 */
#include <stdlib.h>

#include "base/error.h"
#include "format/xctrace/xctrace.h"

hd_status xctrace_note(xctrace_reader *r, const char *code, hd_ledger_level level, uint64_t offset)
{
    hd_builder_ledger(r->builder, XCTRACE_STAGE, code, level, 1, offset);
    if (!r->options->strict || level == HD_LEDGER_NOTE) return HD_OK;
    return hd_error_set(r->err, HD_ERR_DAMAGED, NULL, offset, "%s, and --strict refuses repairs", code);
}

/* Rows that came before values they refer to. A value that is still missing is null. */
static hd_status add_pending(xctrace_reader *r)
{
    for (size_t i = 0; i < r->pending_count; i++) {
        const xctrace_pending *p = &r->pending[i];
        for (uint32_t c = 0; c < p->count; c++) {
            uint32_t cell = r->cells[p->first + c];
            if (!cell || r->values.list[cell - 1].is_null || xctrace_value_at(&r->values, cell)) continue;
            HD_TRY(xctrace_note(r, "xctrace.reference-missing", HD_LEDGER_LOSS, HD_OFFSET_NONE));
        }
        HD_TRY(xctrace_add_row(r, &r->tables[p->table], r->cells + p->first, p->count));
    }
    return HD_OK;
}

static hd_status read_all(xctrace_reader *r, hd_input *input)
{
    HD_TRY(hd_rows_out_init(&r->out, r->builder, r->options->threads, r->err));
    HD_TRY(hd_stacks_new(&r->stacks, r->err));
    HD_TRY(xctrace_parse(r, input));
    HD_TRY(add_pending(r));
    HD_TRY(hd_rows_out_flush(&r->out, r->err));
    if (r->runs.count > 1) HD_TRY(xctrace_note(r, "xctrace.several-runs", HD_LEDGER_NOTE, HD_OFFSET_NONE));
    hd_trace_facts *facts = hd_builder_facts(r->builder);
    facts->has_args = r->want_args;
    facts->base_ns = HD_NO_TIME;
    hd_stacks *stacks = r->stacks;
    r->stacks = NULL;
    return hd_stacks_give(stacks, r->builder, r->err);
}

static void deinit(xctrace_reader *r)
{
    hd_map *const maps[] = {&r->values.by_id, &r->stack_nodes, &r->gpus, &r->channels, &r->named, &r->runs};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) hd_map_deinit(maps[i]);
    hd_stacks_free(r->stacks);
    hd_rows_out_deinit(&r->out);
    free(r->values.list);
    free(r->tables);
    free(r->cells);
    free(r->pending);
}

hd_status xctrace_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    xctrace_reader r = {.builder = builder, .options = options, .err = err, .want_args = options->args == HD_ARGS_ALL};
    const struct {
        uint32_t *id;
        const char *text;
    } names[] = {{&r.text.thread, "thread"},
                 {&r.text.process, "process"},
                 {&r.text.pid, "pid"},
                 {&r.text.tid, "tid"},
                 {&r.text.addresses, "text-addresses"},
                 {&r.text.address, "text-address"},
                 {&r.text.backtrace, "backtrace"},
                 {&r.text.frame, "frame"},
                 {&r.text.sf, "sf"},
                 {&r.text.correlation, "correlation"},
                 {&r.text.unnamed, "table"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        *names[i].id = hd_builder_intern_text(builder, names[i].text);
    hd_status status = read_all(&r, input);
    deinit(&r);
    return status;
}
