/* ftrace.c - ftrace as the list of formats sees it */
#include "format/ftrace/ftrace.h"

static bool is_dat(const unsigned char *head, size_t size)
{
    return size >= 11 && memcmp(head, "\x17\x08\x44tracing", 10) == 0;
}

static int sniff(const unsigned char *head, size_t size)
{
    if (is_dat(head, size)) return 100;
    return ftrace_is_text(head, size) ? 75 : 0;
}

static hd_status read_either(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    const uint8_t *head;
    size_t size;
    HD_TRY(hd_input_peek(input, &head, &size, err));
    hd_builder_facts(builder)->base_ns = HD_NO_TIME; /* since the machine started */
    return is_dat(head, size) ? ftrace_read_dat(builder, input, options, err)
                              : ftrace_read_text(builder, input, options, err);
}

hd_status ftrace_note(ftrace_reader *r, const char *code, hd_ledger_level level, uint64_t count, uint64_t offset)
{
    if (!count) return HD_OK;
    hd_builder_ledger(r->builder, "ftrace", code, level, count, offset);
    if (!r->options->strict || level == HD_LEDGER_NOTE) return HD_OK;
    return hd_error_set(r->err, HD_ERR_DAMAGED, NULL, offset, "%s, and --strict refuses repairs", code);
}

const hd_format hd_ftrace_format = {
    .info = {.name = "ftrace",
             .title = "ftrace of Linux: trace.dat of trace-cmd, and text",
             .extensions = ".dat .ftrace",
             .reads = true,
             .keeps = "scheduling, interrupts, GPU jobs; all other events with their fields",
             .loses = "symbols of the kernel"},
    .sniff = sniff,
    .read = read_either,
};
