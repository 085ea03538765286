/* diff.c - heddle diff: what changed between two runs, and whether it is real */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/job_in.h"
#include "cli/report_out.h"
#include "cli/shared_options.h"
#include "cli/table_out.h"
#include "heddle/analysis/diff.h"

struct diff_options {
    cli_texts before, after, fail_if;
    const char *step, *min, *binary, *junit, *save, *output;
    double noise;
    uint64_t across, seed, threads, memory_limit;
    bool all, csv, markdown, strict;
};

#define FIELD(member) .field = offsetof(struct diff_options, member)

static const struct diff_options defaults = {.min = "20us", .noise = 0};

static const char *const across_names[] = {"gpus", "ranks", NULL}; /* as HD_DIFF_ACROSS_… */

static const cli_option options[] = {
    {.name = "fail-if",
     .kind = CLI_TEXTS,
     .value = "CONDITION",
     FIELD(fail_if),
     .help =
         "'step>3%', 'launches>0', 'idle>200us': exit status 1 if it holds beyond noise, 2 if that cannot be said; of "
         "step, compute, exposed_communication, exposed_copy, idle, idle:CAUSE, host, launches, kernels, copies, "
         "copied_bytes, syncs, memory_peak, flop, collective_bytes"},
    {.name = "before",
     .kind = CLI_TEXTS,
     .value = "FILE",
     .offer = "<files>",
     FIELD(before),
     .help = "one of several files of the side before: ranks of a job, or further runs of a rank"},
    {.name = "after", .kind = CLI_TEXTS, .value = "FILE", .offer = "<files>", FIELD(after), .help = "likewise, after"},
    {.name = "step",
     .kind = CLI_TEXT,
     .value = "PATTERN",
     FIELD(step),
     .help = "annotations of these names are the steps, not ProfilerStep#N; auto: guess them from what repeats; none: "
             "compare whole recordings"},
    {.name = "across",
     .kind = CLI_CHOICES,
     .value = "WHAT",
     .choices = across_names,
     FIELD(across),
     .help = "compare even if these differ: gpus, ranks"},
    {.name = "min",
     .kind = CLI_TEXT,
     .value = "TIME",
     FIELD(min),
     .help = "smaller changes per step count as noise, however certain they are"},
    {.name = "noise",
     .kind = CLI_DECIMAL,
     .value = "PERCENT",
     .max = 100,
     FIELD(noise),
     .help = "smaller relative changes count as noise, however certain they are"},
    {.name = "save",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offer = "<files>",
     FIELD(save),
     .help = "write one side as a baseline of some kB, for a later comparison: heddle diff FILE AFTER"},
    {.name = "all", .kind = CLI_FLAG, FIELD(all), .help = "rows that are noise as well, and all of them"},
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .value = "OUT",
     .offer = "<files> <folders>",
     FIELD(output),
     .help = "also write to a file, in the format of its extension: .html (a page with pictures), .json, .md, .csv and "
             ".parquet (the rows); FOLDER/ gets each table as CSV, FOLDER.parquet/ as Parquet"},
    {.name = "junit",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offer = "<files>",
     FIELD(junit),
     .help = "write the conditions (without any, the verdict) as test cases in JUnit's XML"},
    {.name = "csv", .kind = CLI_FLAG, FIELD(csv), .help = "the rows as CSV"},
    {.name = "markdown", .kind = CLI_FLAG, FIELD(markdown), .help = "Markdown, for a comment on a pull request"},
    {.name = "seed", .kind = CLI_COUNT, .value = "N", FIELD(seed), .help = "of the bootstrap's random numbers"},
    OPTION_THREADS(FIELD(threads), "threads that read a trace"),
    OPTION_MEMORY_LIMIT(FIELD(memory_limit)),
    OPTION_STRICT(FIELD(strict)),
    OPTION_BINARY(FIELD(binary)),
    {0},
};

enum { ROWS_SHOWN = 12, DIFF_UNKNOWN = 2 };

/* ---- reading ---- */

static hd_status add_file(hd_diff_side *side, cli_run *run, const char *path)
{
    const struct diff_options *o = run->options;
    if (hd_diff_is_file(path)) return hd_diff_side_add_file(side, path, &run->err);
    if (hd_job_is_file(path))
        return hd_error_set(&run->err, HD_ERR_UNSUPPORTED, path, HD_OFFSET_NONE,
                            "a summary of ranks has no single steps to compare: compare the traces, or a baseline that "
                            "heddle diff --save wrote");
    const hd_read_options read = {.strict = o->strict,
                                  .lazy = true,
                                  .threads = (unsigned)o->threads,
                                  .memory_limit = o->memory_limit,
                                  .binary = o->binary};
    hd_trace *trace;
    hd_status status = report_read(&trace, run, path, read);
    if (status != HD_OK) return status;
    status = hd_diff_side_add(side, trace, path, &run->err);
    if (status == HD_OK) status = report_check_read(trace, path, &run->err);
    hd_trace_free(trace);
    return status;
}

static hd_status read_side(hd_diff_side **out, cli_run *run, const char *name, const char *const *operands,
                           size_t count)
{
    const struct diff_options *o = run->options;
    job_files files = {0};
    hd_status status = hd_diff_side_new(out, o->step, &run->err);
    for (size_t i = 0; i < count && status == HD_OK; i++) status = job_files_add(&files, run, operands[i]);
    for (size_t i = 0; i < files.count && status == HD_OK; i++) status = add_file(*out, run, files.list[i]);
    job_files_deinit(&files);
    if (status != HD_OK) hd_error_add_cause(&run->err, "cannot read the side %s", name);
    return status;
}

/* ---- text ---- */

/* What changed most. */
static void print_first(cli_run *run, const hd_diff *diff)
{
    const hd_table *rows = hd_diff_table(diff, "rows");
    const hd_diff_verdict verdict = hd_diff_verdict_of(diff);
    char change[HD_VALUE_TEXT_BYTES], out[HD_NAME_BYTES];
    size_t size;
    if (!hd_table_row_count(rows) || (verdict != HD_DIFF_SLOWER && verdict != HD_DIFF_FASTER)) return;
    const char *kind = hd_table_get_string(&size, rows, 0, hd_table_find_column(rows, "kind"));
    cli_print(run, "  first: %.*s ", (int)size, kind);
    const char *name = hd_table_get_string(&size, rows, 0, hd_table_find_column(rows, "name"));
    size = hd_name_short(out, (hd_string){name, size});
    report_print_safe(run, out, size < 100 ? size : 100);
    int64_t ns = hd_table_get_int(rows, 0, hd_table_find_column(rows, "change"));
    cli_print(run, "%s, %s%s a step\n", size > 100 ? "…" : "", ns > 0 ? "+" : "", hd_text_duration(change, ns));
}

static void print_table(cli_run *run, const char *title, const hd_table *table, size_t rows)
{
    hd_table *shown;
    char text[HD_VALUE_TEXT_BYTES];
    size_t count = hd_table_row_count(table);
    if (!count || cli_table_without(&shown, table, "", 0, &run->err) != HD_OK) return;
    cli_print_heading(run, hd_table_name(table), title);
    report_print_rows(run, shown, count < rows + 2 ? count : rows);
    if (count >= rows + 2) cli_print(run, "  … %s more rows; --all\n", hd_text_count(text, count - rows));
    hd_table_free(shown);
}

static void print_text(cli_run *run, const hd_diff *diff)
{
    const struct diff_options *o = run->options;
    hd_table *few = NULL, *parts = NULL, *groups = NULL;
    hd_diff_narrow(&few, diff, "rows", &run->err);
    hd_diff_narrow(&parts, diff, "parts", &run->err);
    if (hd_diff_table(diff, "groups")) hd_diff_narrow(&groups, diff, "groups", &run->err);
    cli_print(run, "%s", cli_style(run, CLI_BOLD));
    report_print_safe(run, hd_diff_sentence(diff), strlen(hd_diff_sentence(diff)));
    cli_print(run, "%s\n", cli_style(run, CLI_PLAIN));
    print_first(run, diff);
    if (hd_table_row_count(hd_diff_table(diff, "reasons")) > 1)
        print_table(run, "why nothing can be concluded", hd_diff_table(diff, "reasons"), SIZE_MAX - 2);
    print_table(run, "of the conditions", hd_diff_table(diff, "gate"), SIZE_MAX - 2);
    if (few) print_table(run, "what makes up the change, per step", few, o->all ? SIZE_MAX - 2 : ROWS_SHOWN);
    if (parts) print_table(run, "of which the mean step is made; they add up to it", parts, SIZE_MAX - 2);
    if (groups) print_table(run, "GPU activities, per step", groups, o->all ? SIZE_MAX - 2 : ROWS_SHOWN);
    print_table(run, "per step", hd_diff_table(diff, "counts"), SIZE_MAX - 2);
    print_table(run, "of a step, with what they rest on", hd_diff_table(diff, "figures"), SIZE_MAX - 2);
    print_table(run, "what was compared", hd_diff_table(diff, "sides"), SIZE_MAX - 2);
    print_table(run, "what is not the same", hd_diff_table(diff, "differs"), SIZE_MAX - 2);
    hd_table_free(few);
    hd_table_free(parts);
    hd_table_free(groups);
}

static void print(cli_run *run, const hd_diff *diff)
{
    const struct diff_options *o = run->options;
    hd_sink sink = {cli_write, run};
    if (run->global.json || o->csv || o->markdown)
        hd_diff_print(sink, run->global.json ? HD_DIFF_JSON : o->csv ? HD_DIFF_CSV : HD_DIFF_MARKDOWN, diff, &run->err);
    else
        print_text(run, diff);
}

/* ---- JUnit ---- */

/* Text of an attribute; what XML cannot hold is left out. */
static void put_xml(FILE *file, const char *text, size_t size)
{
    static const char marks[] = "<>&\"";
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;", "&quot;"};
    for (size_t i = 0; i < size; i++) {
        const char *mark = text[i] ? strchr(marks, text[i]) : NULL;
        if (mark)
            fputs(entities[mark - marks], file);
        else if ((unsigned char)text[i] >= ' ')
            putc(text[i], file);
    }
}

static void put_case(FILE *file, const char *name, size_t size, const char *tag, const char *text, size_t text_size)
{
    fputs("  <testcase classname=\"heddle.diff\" name=\"", file);
    put_xml(file, name, size);
    fputs(tag ? "\"><" : "\"/>\n", file);
    if (!tag) return;
    fprintf(file, "%s message=\"", tag);
    put_xml(file, text, text_size);
    fputs("\"/></testcase>\n", file);
}

/* What cannot be said is an error, which CI shows apart from a failure. */
static const char *tag_of(hd_diff_gate gate)
{
    return gate == HD_DIFF_FAILS ? "failure" : gate == HD_DIFF_UNSAID ? "error" : NULL;
}

static hd_diff_gate gate_of_word(const char *word)
{
    return *word == 'f' ? HD_DIFF_FAILS : *word == 'c' ? HD_DIFF_UNSAID : HD_DIFF_PASSES;
}

static hd_status write_junit(cli_run *run, const hd_diff *diff, const char *path)
{
    const hd_table *gate = hd_diff_table(diff, "gate");
    size_t rows = hd_table_row_count(gate), counts[3] = {0}, size, text_size;
    FILE *file = fopen(path, "w");
    if (!file) return hd_error_set(&run->err, HD_ERR_IO, path, HD_OFFSET_NONE, "cannot be written");
    for (size_t i = 0; i < rows; i++) counts[gate_of_word(hd_table_get_string(&size, gate, i, 1))]++;
    if (!rows) counts[hd_diff_gate_of(diff)]++;
    fprintf(
        file,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"heddle diff\" tests=\"%zu\" failures=\"%zu\" "
        "errors=\"%zu\">\n",
        rows ? rows : 1, counts[HD_DIFF_FAILS], counts[HD_DIFF_UNSAID]);
    for (size_t i = 0; i < rows; i++) {
        const char *name = hd_table_get_string(&size, gate, i, 0), *text = hd_table_get_string(&text_size, gate, i, 2);
        size_t word_size;
        put_case(file, name, size, tag_of(gate_of_word(hd_table_get_string(&word_size, gate, i, 1))), text, text_size);
    }
    const char *sentence = hd_diff_sentence(diff);
    if (!rows) put_case(file, "step", 4, tag_of(hd_diff_gate_of(diff)), sentence, strlen(sentence));
    fputs("</testsuite>\n", file);
    bool failed = ferror(file);
    return fclose(file) || failed ? hd_error_set(&run->err, HD_ERR_IO, path, HD_OFFSET_NONE, "cannot be written")
                                  : HD_OK;
}

/* ---- the command ---- */

static hd_status compare(cli_run *run, hd_diff **out, int64_t min_ns)
{
    const struct diff_options *o = run->options;
    const char *fail_if[CLI_TEXTS_MAX + 1] = {NULL};
    const char *const *operands = run->operands;
    size_t one = run->operand_count ? 1 : 0;
    hd_diff_side *before = NULL, *after = NULL;
    for (size_t i = 0; i < o->fail_if.count; i++) fail_if[i] = o->fail_if.items[i];
    const hd_diff_options diff = {.size = sizeof diff,
                                  .min_ns = min_ns,
                                  .noise = o->noise / 100,
                                  .seed = o->seed,
                                  .across = (unsigned)o->across,
                                  .all = o->all,
                                  .fail_if = fail_if};
    hd_status status = hd_diff_conditions_valid(fail_if, &run->err);
    if (status == HD_OK && o->output) status = hd_diff_path_valid(o->output, &run->err);
    if (status == HD_OK)
        status = read_side(&before, run, "before", one ? operands : o->before.items, one ? 1 : o->before.count);
    if (status == HD_OK)
        status = read_side(&after, run, "after", one ? operands + 1 : o->after.items, one ? 1 : o->after.count);
    if (status == HD_OK) status = hd_diff_new(out, before, after, &diff, &run->err);
    hd_diff_side_free(before);
    hd_diff_side_free(after);
    return status;
}

/* The one side that is given becomes a file. */
static int save_side(cli_run *run)
{
    const struct diff_options *o = run->options;
    hd_diff_side *side = NULL;
    char text[HD_VALUE_TEXT_BYTES];
    bool is_operand = run->operand_count == 1;
    if (run->operand_count + (o->before.count > 0) != 1 || o->after.count)
        return cli_usage_error(run, "--save writes a baseline of one side: --save FILE TRACE, or --save FILE --before "
                                    "TRACE...");
    if (run->global.json || o->csv || o->markdown || o->junit || o->output || o->fail_if.count)
        return cli_usage_error(run, "--save compares nothing, so that there is nothing to print or to judge");
    hd_status status =
        read_side(&side, run, "to save", is_operand ? (const char *const *)run->operands : o->before.items,
                  is_operand ? 1 : o->before.count);
    size_t steps = status == HD_OK ? hd_diff_side_step_count(side) : 0;
    if (status == HD_OK && !steps)
        status = hd_error_set(&run->err, HD_ERR_UNSUPPORTED, o->save, HD_OFFSET_NONE,
                              "no baseline: the side has no steps with GPU activity; name steps by --step PATTERN");
    if (status == HD_OK) status = hd_diff_side_write(side, o->save, &run->err);
    hd_diff_side_free(side);
    if (status == HD_ERR_ARGUMENT) return CLI_USAGE;
    if (status != HD_OK) {
        cli_report(run);
        return DIFF_UNKNOWN;
    }
    cli_print(run, "%s: a baseline of %s steps\n", o->save, hd_text_count(text, steps));
    return CLI_OK;
}

static int spare_inputs(cli_run *run)
{
    const struct diff_options *o = run->options;
    const char *const outputs[] = {o->junit, o->save, o->output};
    int status = CLI_OK;
    for (int out = 0; out < 3; out++) {
        for (int i = 0; i < run->operand_count && status == CLI_OK; i++)
            status = cli_spare_input(run, outputs[out], run->operands[i], "");
        if (status == CLI_OK) status = cli_spare_inputs(run, outputs[out], &o->before);
        if (status == CLI_OK) status = cli_spare_inputs(run, outputs[out], &o->after);
    }
    return status;
}

static int run(cli_run *run)
{
    const struct diff_options *o = run->options;
    hd_diff *diff = NULL;
    hd_convert_time min;
    bool by_option = o->before.count && o->after.count;
    if (o->save) return spare_inputs(run) != CLI_OK ? CLI_USAGE : save_side(run);
    if (run->operand_count != (by_option ? 0 : 2) || (!by_option && (o->before.count || o->after.count)))
        return cli_usage_error(run, "two sides are wanted: BEFORE AFTER, or --before FILE... and --after FILE...");
    if (hd_convert_time_parse(&min, o->min, &run->err) != HD_OK || min.unit != HD_CONVERT_NS)
        return cli_usage_error(run, "--min: '%.40s' is no time, as 20us", o->min);
    if (spare_inputs(run) != CLI_OK) return CLI_USAGE;
    hd_status status = compare(run, &diff, min.value);
    if (status == HD_ERR_ARGUMENT) return CLI_USAGE;
    if (status != HD_OK) {
        cli_report(run);
        return DIFF_UNKNOWN; /* 1 would be a regression */
    }
    print(run, diff);
    hd_diff_gate gate = hd_diff_gate_of(diff);
    if (o->junit) status = write_junit(run, diff, o->junit);
    if (status == HD_OK && o->output) status = hd_diff_write(o->output, diff, &run->err);
    if (status == HD_OK && o->output) report_say_wrote(run, o->output, true);
    hd_diff_free(diff);
    if (status != HD_OK) return CLI_FAILED;
    return gate == HD_DIFF_FAILS ? CLI_FOUND : gate == HD_DIFF_UNSAID ? DIFF_UNKNOWN : CLI_OK;
}

const cli_command cmd_diff = {
    .name = "diff",
    .group = CLI_LOOK,
    .summary = "compare two runs: what changed, and whether it is real",
    .usage = "[BEFORE AFTER]",
    .offer = "<files>",
    .description =
        " heddle diff --fail-if 'step>3%' before.json.gz after.json.gz\n\n"
        "Compares steps: the median before and after with its 99 % confidence interval, and the parts of the change. "
        "Each "
        "side "
        "is a trace, a folder or a pattern with {rank} of a job's traces, or files given by --before and --after; a "
        "rank "
        "that is given twice is another run. A baseline of --save takes the place of a side's traces, and the result "
        "is "
        "the same. Operators and modules are matched by their place in the tree, kernels within them by name, grid and "
        "order. A kernel that was renamed, split, fused, or moved to another stream or into a graph is one row. Only "
        "rows that change beyond noise and by at least --min are listed.\n\n"
        "Warm-up is left out: the first of four steps or more, and those after it that take much longer than the "
        "rest.\n\n"
        "The result is inconclusive (exit status 2) if a side is empty or cannot be read, if GPU, ranks or trust "
        "differ, or if there are too few steps. The exit status is 1 if a condition of --fail-if is met beyond noise.",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct diff_options),
    .operands_min = 0,
    .operands_max = 2,
    .has_json = true,
    .run = run,
    .examples =
        (const cli_example[]){
            {"heddle diff before.json.gz after.json.gz", "of two runs"},
            {"heddle diff --fail-if 'step>3%' --fail-if 'launches>0' main.json.gz branch.json.gz", "as a gate"},
            {"heddle diff --before a1.json --before a2.json --after b1.json --after b2.json", "of two runs a side"},
            {"heddle diff 'main/rank{rank}.json' 'branch/rank{rank}.json'", "of jobs"},
            {"heddle diff -o page.html before.json.gz after.json.gz", "as a page"},
            {"heddle diff --save base.hds main.json.gz && heddle diff base.hds branch.json.gz", "from a baseline"},
            {0}},
};
