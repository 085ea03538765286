/* timeline.c - heddle timeline: a trace in a terminal, drawn from the report of that name */
#include "cli/cli.h"
#include "cli/report_out.h"
#include "cli/report_text.h"
#include "cli/shared_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct timeline_options {
    uint64_t width, rows;
    const char *from, *until, *tracks;
    bool ascii, strict;
    const char *binary;
};

static const struct timeline_options defaults = {.rows = 40};

enum { LABEL = 26, SHARE = 8, WIDTH = 100, NARROWEST = 10, COLORS = 6 };

#define FIELD(member) .field = offsetof(struct timeline_options, member)

static const cli_option options[] = {
    {.name = "width",
     .letter = 'w',
     .kind = CLI_COUNT,
     .value = "N",
     .min = 1,
     .max = 100000,
     FIELD(width),
     .help = "columns that the time is cut into; as wide as the terminal unless given, or 100"},
    OPTION_ROWS(FIELD(rows), "the N busiest rows"),
    OPTION_FROM(FIELD(from)),
    OPTION_UNTIL(FIELD(until)),
    {.name = "tracks",
     .kind = CLI_TEXT,
     .value = "PATTERNS",
     FIELD(tracks),
     .help = "only tracks whose name, process name or PROCESS/THREAD matches (pid and tid where there is no name)"},
    {.name = "ascii", .kind = CLI_FLAG, FIELD(ascii), .help = "no block characters, as where the locale is not UTF-8"},
    OPTION_STRICT(FIELD(strict)),
    OPTION_BINARY(FIELD(binary)),
    {0},
};

/* ---- what is drawn ---- */

/* Of 256; seen on light and on dark. */
static const int colors[COLORS] = {75, 208, 78, 170, 221, 117};

/* The tables of the report. */
typedef struct picture {
    cli_run *run;
    const hd_table *window, *rows, *cells, *names; /* of names most time first */
    int64_t start_ns;
    uint64_t width;
    bool ascii;
} picture;

enum { CELL_ROW, CELL_COLUMN, CELL_START, CELL_END, CELL_BUSY, CELL_NAME, CELL_NAME_TIME };
enum { WINDOW_WIDTH = 2 };
enum { ROW_NUMBER, ROW_PID, ROW_TID, ROW_PROCESS, ROW_NAME, ROW_KIND, ROW_DEVICE, ROW_STREAM, ROW_BUSY, ROW_SHARE };

static const char *name_at(size_t *out_size, const hd_table *table, size_t row, size_t column)
{
    *out_size = 9;
    return hd_table_is_null(table, row, column) ? "(no name)" : hd_table_get_string(out_size, table, row, column);
}

/* Whether the locale in the environment uses UTF-8. */
static bool is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value) return strcasestr(value, "UTF-8") || strcasestr(value, "utf8");
    }
    return false;
}

/* ---- drawing ---- */

static void print_color(const picture *p, size_t cell)
{
    size_t size, other_size, count = hd_table_row_count(p->names);
    const char *name = name_at(&size, p->cells, cell, CELL_NAME);
    for (size_t i = 0; i < COLORS && i < count; i++) {
        const char *other = name_at(&other_size, p->names, i, 0);
        if (size == other_size && memcmp(name, other, size) == 0) cli_print(p->run, "\033[38;5;%dm", colors[i]);
    }
}

/* Eight levels of coverage: 0 for none, 8 for a full column; any activity gets at least 1. */
static void print_block(const picture *p, int64_t busy, int64_t length)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
    __extension__ typedef __int128 i128;
    int height = busy > 0 ? (int)(((i128)busy * 8 + length - 1) / length) : 0;
    cli_print(p->run, "%s", (p->ascii ? ascii : blocks)[height]);
}

/* The cells of a row; *cell is the first of them, and is moved after them. */
static void print_cells(const picture *p, size_t row, size_t *cell)
{
    for (uint64_t column = 0; column < p->width && !p->run->out_error; column++) {
        bool here = *cell < hd_table_row_count(p->cells) &&
                    (size_t)hd_table_get_int(p->cells, *cell, CELL_ROW) == row &&
                    (uint64_t)hd_table_get_int(p->cells, *cell, CELL_COLUMN) == column;
        if (!here) {
            cli_print(p->run, " ");
            continue;
        }
        if (p->run->color) print_color(p, *cell);
        print_block(p, hd_table_get_int(p->cells, *cell, CELL_BUSY),
                    hd_table_get_int(p->cells, *cell, CELL_END) - hd_table_get_int(p->cells, *cell, CELL_START));
        cli_print(p->run, "%s", cli_style(p->run, CLI_PLAIN));
        ++*cell;
    }
}

/* Appends text, at most up to `end`; a byte is a column, so only ASCII is shown. */
static size_t add_label(char *label, size_t used, size_t end, const char *text, size_t size)
{
    for (size_t k = 0; k < size && used < end; k++) label[used++] = text[k] >= ' ' && text[k] < 0x7f ? text[k] : '?';
    return used;
}

static size_t add_cell(char *label, size_t used, size_t end, const hd_table *rows, size_t row, size_t column)
{
    size_t size = 0;
    const char *text = "";
    if (!hd_table_is_null(rows, row, column)) text = hd_table_get_string(&size, rows, row, column);
    return add_label(label, used, end, text, size);
}

/* Process and thread, by name where there is one; of streams without a name their numbers. */
static void print_label(const picture *p, size_t row)
{
    const hd_table *rows = p->rows;
    char label[LABEL + 1], numbers[64];
    bool named = !hd_table_is_null(rows, row, ROW_NAME);
    size_t used = 0;
    if (!named && !hd_table_is_null(rows, row, ROW_DEVICE) && !hd_table_is_null(rows, row, ROW_STREAM)) {
        int size = snprintf(numbers, sizeof numbers, "GPU %" PRId64 " stream %" PRId64,
                            hd_table_get_int(rows, row, ROW_DEVICE), hd_table_get_int(rows, row, ROW_STREAM));
        used = add_label(label, 0, LABEL, numbers, (size_t)size);
    } else {
        bool has_process = !hd_table_is_null(rows, row, ROW_PROCESS);
        used = add_cell(label, 0, LABEL / 2, rows, row, has_process ? ROW_PROCESS : ROW_PID);
        used = add_label(label, used, LABEL, " ", 1);
        used = add_cell(label, used, LABEL, rows, row, named ? ROW_NAME : ROW_TID);
    }
    label[used] = '\0';
    cli_print(p->run, "%-*s %s", LABEL, label, p->ascii ? "|" : "▏");
}

static void print_axis(const picture *p, int64_t from, int64_t until)
{
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES];
    hd_text_duration(a, from - p->start_ns);
    hd_text_duration(b, until - p->start_ns);
    size_t taken = strlen(a) + strlen(b);
    cli_print(p->run, "%*s%s%*s%s\n", LABEL + 2, "", a, p->width > taken ? (int)(p->width - taken) : 1, "", b);
}

static void print_legend(const picture *p)
{
    enum { NAME_BYTES = 90, BEFORE = 17 };
    const size_t most = p->run->width && p->run->width > 2 * BEFORE && p->run->width < NAME_BYTES + BEFORE
                            ? p->run->width - BEFORE
                            : NAME_BYTES;
    char text[HD_VALUE_TEXT_BYTES];
    size_t count = hd_table_row_count(p->names);
    cli_print(p->run, "\n");
    for (size_t i = 0; i < COLORS && i < count; i++) {
        size_t size;
        const char *name = name_at(&size, p->names, i, 0);
        size_t shown = size < most ? size : most;
        while (shown < size && shown && ((unsigned char)name[shown] & 0xc0) == 0x80) shown--;
        if (p->run->color)
            cli_print(p->run, "  \033[38;5;%dm%s%s", colors[i], p->ascii ? "#" : "█", cli_style(p->run, CLI_PLAIN));
        cli_print(p->run, "  %10s  ", hd_text_duration(text, hd_table_get_int(p->names, i, 1)));
        report_print_safe(p->run, name, shown);
        cli_print(p->run, "%s\n", shown == size ? "" : p->ascii ? "..." : "…");
    }
    if (count > COLORS) cli_print(p->run, "  %10s  more names\n", hd_text_count(text, count - COLORS));
}

static void draw(const picture *p)
{
    char text[HD_VALUE_TEXT_BYTES];
    size_t cell = 0;
    if (!hd_table_row_count(p->window) || !hd_table_row_count(p->rows)) {
        cli_print(p->run, "  no rows: nothing that takes time happens here\n");
        return;
    }
    int64_t from = hd_table_get_int(p->window, 0, 0), until = hd_table_get_int(p->window, 0, 1);
    print_axis(p, from, until);
    for (size_t row = 0; row < hd_table_row_count(p->rows) && !p->run->out_error; row++) {
        print_label(p, row);
        print_cells(p, row, &cell);
        cli_print(p->run, "%s %5.1f%%\n", p->ascii ? "|" : "▕", hd_table_get_decimal(p->rows, row, ROW_SHARE));
    }
    uint64_t left_out = hd_table_get_count(p->window, 0, 4);
    if (left_out)
        cli_print(p->run, "  %s more row%s, less busy; --rows\n", hd_text_count(text, left_out),
                  left_out == 1 ? "" : "s");
    if (!p->run->global.quiet) print_legend(p);
}

static void draw_text(const report_text *t, bool ascii)
{
    const hd_table *window = hd_report_table(t->report, "window");
    const picture p = {.run = t->run,
                       .window = window,
                       .rows = hd_report_table(t->report, "rows"),
                       .cells = hd_report_table(t->report, "cells"),
                       .names = hd_report_table(t->report, "names"),
                       .start_ns = t->start_ns,
                       .width = hd_table_row_count(window) ? hd_table_get_count(window, 0, WINDOW_WIDTH) : 0,
                       .ascii = ascii || !is_utf8()};
    report_print_path(t->run, t->path);
    cli_print(t->run, "\n");
    draw(&p);
}

void timeline_text(const report_text *t)
{
    draw_text(t, false);
}

/* ---- the command ---- */

uint64_t timeline_text_width(const cli_run *run)
{
    const unsigned beside = LABEL + 3 + SHARE;
    if (!run->is_terminal || !run->width) return WIDTH;
    return run->width > beside + NARROWEST ? run->width - beside : NARROWEST;
}

/* The options of the report. Each text is one of `texts`, which the caller frees. */
static hd_status make_options(char **texts, cli_run *run)
{
    const struct timeline_options *chosen = run->options;
    const char *names[] = {"from", "until", "tracks"}, *values[] = {chosen->from, chosen->until, chosen->tracks};
    size_t count = 0;
    int size = asprintf(&texts[count++], "width=%" PRIu64, chosen->width ? chosen->width : timeline_text_width(run));
    if (size >= 0) size = asprintf(&texts[count++], "rows=%" PRIu64, chosen->rows);
    for (size_t i = 0; i < 3 && size >= 0; i++) {
        if (values[i]) size = asprintf(&texts[count++], "%s=%s", names[i], values[i]);
    }
    if (size >= 0) return HD_OK;
    texts[count - 1] = NULL;
    return hd_error_set(&run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
}

static hd_status show(cli_run *run, const char *path, char *const *texts, bool first)
{
    const struct timeline_options *chosen = run->options;
    hd_trace *trace;
    hd_report report;
    hd_status status = report_read(&trace, run, path,
                                   (hd_read_options){.strict = chosen->strict, .binary = chosen->binary, .lazy = true});
    if (status != HD_OK) return status;
    const hd_report_input input = {.trace = trace, .options = (const char *const *)texts};
    int64_t start_ns = hd_trace_facts_of(trace)->start_ns;
    hd_error lost = {0};
    status = report_make(&report, run, "timeline", input);
    report_check_read(trace, path, &lost);
    hd_trace_free(trace);
    if (status != HD_OK && !run->err.path[0]) snprintf(run->err.path, sizeof run->err.path, "%s", path);
    if (status != HD_OK) return status;
    const hd_report_part part = {path, hd_report_about_find("timeline"), &report, start_ns};
    if (run->global.json) {
        if (!first) cli_print(run, ",\n");
        status = hd_report_print((hd_sink){cli_write, run}, HD_REPORT_JSON, &part, 1, &run->err);
    } else {
        if (!first) cli_print(run, "\n");
        draw_text(&(report_text){.run = run, .path = path, .report = &report, .start_ns = start_ns}, chosen->ascii);
    }
    hd_report_free(&report);
    if (status == HD_OK && lost.status != HD_OK) run->err = lost;
    return status == HD_OK ? lost.status : status;
}

static int run(cli_run *run)
{
    char *texts[8] = {0};
    bool json_list = run->global.json && run->operand_count > 1, first = true;
    int status = CLI_OK;
    if (make_options(texts, run) != HD_OK) status = CLI_FAILED;
    if (status == CLI_OK && hd_report_options_valid("timeline", (const char *const *)texts, &run->err) != HD_OK)
        status = CLI_USAGE;
    if (json_list && status == CLI_OK) cli_print(run, "[");
    for (int i = 0; i < run->operand_count && status == CLI_OK && !run->out_error; i++) {
        hd_status shown = show(run, run->operands[i], texts, first);
        if (shown == HD_OK)
            first = false;
        else
            cli_report(run);
    }
    if (json_list && status == CLI_OK) cli_print(run, "]\n");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free(texts[i]);
    return status;
}

const cli_command cmd_timeline = {
    .name = "timeline",
    .group = CLI_LOOK,
    .summary = "draw a trace in the terminal: how busy each track is over time",
    .usage = "FILE...",
    .offer = "<files>",
    .description =
        "Divides the time into columns and draws a row for each track. The height of a column is the share of it "
        "that slices cover, exact to the nanosecond and rounded up to eighths. On rows of GPUs only kernels, copies "
        "and memsets count, not annotations or waits. With colour, a column has the colour of the name that takes "
        "most of its time; the legend lists the six names with most time. The number at the end of a row is the busy "
        "share of the time shown.\n\n"
        "Rows that are never busy are left out. --json prints the numbers. Block characters need a UTF-8 locale "
        "(LC_ALL, LC_CTYPE, LANG).",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .operands_min = 1,
    .operands_max = -1,
    .has_json = true,
    .run = run,
    .examples = (const cli_example[]){{"heddle timeline trace.json", "all of it"},
                                      {"heddle timeline --from 40% --until 45% --tracks '*stream*' trace.json",
                                       "the streams, closer"},
                                      {0}},
};
