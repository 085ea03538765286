/* tables.c - roles of the columns of a table, by mnemonic and engineering type
 *
 * Format   schemas of Instruments: `xctrace export --toc`, and the head of each table
 * Maps     metal-gpu-intervals -> activities of a GPU's channels; submissions of command buffers -> their launches;
 *          signposts -> async slices; all other tables with a start and a duration -> slices, without one -> instants
 */
#include "format/xctrace/xctrace.h"
#include "trace/text.h"

static const struct {
    const char *schema, *category;
    xctrace_sort sort;
} known[] = {
    {"metal-gpu-intervals", "kernel", XCTRACE_QUEUES},
    {"metal-application-command-buffer-submissions", "metal_runtime", XCTRACE_LAUNCHES},
    {"metal-driver-intervals", "metal_driver", XCTRACE_INTERVALS},
    {"metal-driver-event-intervals", "metal_driver", XCTRACE_INTERVALS},
    {"metal-driver-event-per-thread-intervals", "metal_driver", XCTRACE_INTERVALS},
    {"OSSignpostIntervals", "user_annotation", XCTRACE_RANGES},
    {"os-signpost-interval", "user_annotation", XCTRACE_RANGES},
};

/* Engineering types; the first column of each holds. */
static const struct {
    const char *type;
    xctrace_role role;
} types[] = {
    {"start-time", XCTRACE_START}, {"event-time", XCTRACE_START}, {"sample-time", XCTRACE_START},
    {"thread", XCTRACE_THREAD},    {"process", XCTRACE_PROCESS},  {"tagged-backtrace", XCTRACE_STACK},
    {"kperf-bt", XCTRACE_STACK},   {"backtrace", XCTRACE_STACK},  {"metal-device-name", XCTRACE_GPU},
};

/* Mnemonics, the best one of a role first; they take precedence over types. */
static const struct {
    const char *key;
    xctrace_role role;
} keys[] = {
    {"start", XCTRACE_START},
    {"timestamp", XCTRACE_START},
    {"time", XCTRACE_START},
    {"duration", XCTRACE_DURATION},
    {"thread", XCTRACE_THREAD},
    {"start-thread", XCTRACE_THREAD},
    {"process", XCTRACE_PROCESS},
    {"cp-user-callstack", XCTRACE_STACK},
    {"cp-kernel-callstack", XCTRACE_KERNEL_STACK},
    {"name", XCTRACE_NAME},
    {"interval-type", XCTRACE_NAME},
    {"event", XCTRACE_NAME},
    {"event-label", XCTRACE_NAME},
    {"event-name", XCTRACE_NAME},
    {"label", XCTRACE_NAME},
    {"event-type", XCTRACE_NAME},
    {"message", XCTRACE_NAME},
    {"period", XCTRACE_NAME},
    {"narrative", XCTRACE_NAME},
    {"channel-name", XCTRACE_LANE},
    {"display-name", XCTRACE_LANE},
    {"display", XCTRACE_LANE},
    {"track-label", XCTRACE_LANE},
    {"gpu", XCTRACE_GPU},
    {"cmdbuffer-id", XCTRACE_COMMAND_BUFFER},
    /* tags, where a table came without its schema */
    {"signpost-name", XCTRACE_NAME},
    {"formatted-label", XCTRACE_NAME},
    {"gpu-channel-name", XCTRACE_LANE},
    {"metal-command-buffer-id", XCTRACE_COMMAND_BUFFER},
};

static bool is(const xctrace_reader *r, uint32_t id, const char *text)
{
    hd_string s = hd_builder_string(r->builder, id);
    return hd_string_is(s, text);
}

static bool is_taken(const xctrace_table *table, uint32_t column)
{
    for (int role = 0; role < XCTRACE_ROLES; role++) {
        if (table->of_role[role] == (int)column) return true;
    }
    return false;
}

void xctrace_settle_table(xctrace_reader *r, xctrace_table *table)
{
    for (int role = 0; role < XCTRACE_ROLES; role++) table->of_role[role] = -1;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        for (uint32_t i = 0; i < table->column_count && table->of_role[keys[k].role] < 0; i++)
            if (is(r, table->columns[i].key, keys[k].key)) table->of_role[keys[k].role] = (int)i;
    }
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        for (uint32_t i = 0; i < table->column_count && table->of_role[types[k].role] < 0; i++)
            if (!is_taken(table, i) && is(r, table->columns[i].type, types[k].type))
                table->of_role[types[k].role] = (int)i;
    }
    table->category = table->name;
    bool is_gpu = table->name == r->text.unnamed && table->of_role[XCTRACE_LANE] >= 0 &&
                  is(r, table->columns[table->of_role[XCTRACE_LANE]].type, "gpu-channel-name");
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        if (!is(r, table->name, known[k].schema) && !(is_gpu && known[k].sort == XCTRACE_QUEUES)) continue;
        table->category = hd_builder_intern_text(r->builder, known[k].category);
        table->sort = known[k].sort;
    }
}
