/* merge.c - heddle merge: CPU stacks joined with GPU work */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands/flame_out.h"
#include "cli/report_out.h"
#include "cli/shared_options.h"
#include "cli/times.h"

struct merge_options {
    const char *cpu, *gpu, *output, *to, *clock_offset, *title;
    double tolerance_ms, min_percent;
    int weight;
    bool summary, force, forward, full_names, strict, sync;
    uint64_t rows, threads;
};

enum { WEIGHT_TIME, WEIGHT_COUNT, ROWS_DEFAULT = 20, TOLERANCE_DEFAULT = HD_TOLERANCE_NS / 1000000 };
static const char *const weight_names[] = {"time", "count", NULL};

/* ---- options ---- */

static int parse_offset(cli_run *run, hd_attribution_options *out, const char *text)
{
    hd_convert_time time = {0};
    if (!text) return CLI_OK;
    bool minus = *text == '-';
    int status = cli_parse_time(run, &time, "--clock-offset", text + minus);
    if (status != CLI_OK) return status;
    if (time.unit == HD_CONVERT_PERCENT) return cli_usage_error(run, "--clock-offset is a time, such as -1.5s or 20us");
    out->has_offset = true;
    out->clock_offset_ns = minus ? -time.value : time.value;
    return CLI_OK;
}

static int fill_options(cli_run *run, hd_attribution_options *join, flame_out *out)
{
    const struct merge_options *o = run->options;
    *out = (flame_out){.title = o->title, .min_percent = o->min_percent, .sync = o->sync};
    if (!o->gpu)
        return cli_usage_error(run, o->cpu
                                        ? "--gpu FILE is missing: the trace with the kernels"
                                        : "what to merge? --cpu STACKS --gpu TRACE, or --gpu alone for a trace whose "
                                          "own slices are the stacks");
    if (o->cpu && strcmp(o->cpu, "-") == 0 && strcmp(o->gpu, "-") == 0)
        return cli_usage_error(run, "only one of --cpu and --gpu can be standard input");
    int status = flame_out_choose(run, out, o->output, o->to, true);
    if (status == CLI_OK) status = parse_offset(run, join, o->clock_offset);
    if (status != CLI_OK) return status;
    if (out->is_trace && o->weight != WEIGHT_TIME)
        return cli_usage_error(run, "--weight is for flame graphs, and the output is a trace");
    if (out->is_trace && o->full_names)
        return cli_usage_error(run, "--full-names is for flame graphs; a trace keeps the names it has");
    if (!o->summary && !run->global.json && o->rows != ROWS_DEFAULT)
        return cli_usage_error(run, "--rows is for the summary: add -s");
    status = cli_spare_input(run, out->path, o->gpu, "");
    if (status == CLI_OK) status = cli_spare_input(run, out->path, o->cpu, "");
    if (status != CLI_OK) return status;
    join->tolerance_ns = (int64_t)llround(o->tolerance_ms * 1e6);
    if (join->tolerance_ns < 1) join->tolerance_ns = 1;
    join->force = o->force;
    join->forward = o->forward;
    join->threads = (unsigned)o->threads;
    return CLI_OK;
}

/* ---- reading ---- */

typedef struct side {
    const char *path;
    hd_read_options options;
    hd_trace *trace;
    hd_status status;
    hd_error err;
} side;

static void *read_side(void *user)
{
    side *s = user;
    s->status = hd_trace_read(&s->trace, s->path, &s->options, &s->err);
    return NULL;
}

/* Both at once: stacks are read by one thread, and the other trace's reader leaves it room soon enough. */
static hd_status read_both(hd_trace **out_cpu, hd_trace **out_gpu, cli_run *run)
{
    const struct merge_options *o = run->options;
    const hd_read_options read = {.strict = o->strict, .threads = (unsigned)o->threads};
    side cpu = {.path = o->cpu, .options = read};
    pthread_t thread;
    bool threaded = o->cpu && pthread_create(&thread, NULL, read_side, &cpu) == 0;
    hd_status status = report_read(out_gpu, run, o->gpu, read);
    if (threaded)
        pthread_join(thread, NULL);
    else if (o->cpu && status == HD_OK)
        read_side(&cpu);
    *out_cpu = cpu.trace;
    if (status == HD_OK && cpu.status != HD_OK) {
        run->err = cpu.err;
        status = cpu.status;
    }
    return status;
}

/* Fails with the likely mistake where the result would be empty. */
static hd_status check_joined(cli_run *run, const hd_attribution *a)
{
    const struct merge_options *o = run->options;
    uint64_t joined = 0;
    for (hd_stack_rule rule = HD_RULE_ID; rule <= HD_RULE_ORDER; rule++)
        joined += a->launches_by[rule] + a->works_by[rule];
    if (joined || o->force) return HD_OK;
    if (a->not_launches == a->sample_count)
        return hd_error_set(
            &run->err, HD_ERR_FORMAT, o->cpu, HD_OFFSET_NONE,
            "none of its stacks is of a call that launches GPU activities: record them at cudaLaunchKernel and "
            "the like, as docs/merge.md shows (--force writes the rest)");
    return hd_error_set(&run->err, HD_ERR_FORMAT, o->cpu, HD_OFFSET_NONE,
                        "none of its stacks (%" PRIu64
                        ") could be joined with a launch: compare processes, threads and "
                        "times of both files with heddle info%s (--force writes the rest)",
                        a->sample_count, o->clock_offset ? ", and look at --clock-offset" : "");
}

static hd_status check_sides(cli_run *run, const hd_trace *cpu, const hd_trace *gpu, const hd_attribution *a)
{
    const hd_launches *launches = a->launches;
    const bool gpu_has_samples = hd_trace_row_count(gpu, HD_KIND_SAMPLE) > 0;
    const struct merge_options *o = run->options;
    if (launches->work_count == 0 && launches->launch_count == 0)
        return hd_error_set(&run->err, HD_ERR_FORMAT, o->gpu, HD_OFFSET_NONE,
                            cpu && gpu_has_samples
                                ? "contains stacks and no GPU activities: are --cpu and --gpu swapped?"
                                : "contains no GPU activities; heddle info shows what it contains");
    bool joins = o->clock_offset || o->force || o->tolerance_ms != TOLERANCE_DEFAULT;
    if (!cpu && !gpu_has_samples && joins)
        return hd_error_set(&run->err, HD_ERR_ARGUMENT, o->gpu, HD_OFFSET_NONE,
                            "contains no stacks, which --clock-offset, --tolerance and --force are for: give --cpu");
    if (cpu && hd_trace_row_count(cpu, HD_KIND_SAMPLE) == 0)
        return hd_error_set(&run->err, HD_ERR_FORMAT, o->cpu, HD_OFFSET_NONE,
                            "contains no stacks; heddle info shows what it contains");
    return cpu && launches->work_count ? check_joined(run, a) : HD_OK;
}

/* ---- the summary ---- */

static void say_counts(cli_printer *p, const hd_table *join)
{
    static const struct {
        const char *column, *text;
    } lines[] = {
        {"samples", "stacks"},
        {"launches", "launches"},
        {"works", "kernels, copies and memsets"},
        {"kernels", "  kernels"},
        {"kernels_of_graphs", "  of graphs"},
        {"works_without_stack", "  without a stack"},
        {"works_without_launch", "  without a launch"},
        {"launches_without_work", "launches without GPU activity"},
        {"pending_stacks", "stacks without a launch"},
        {"forward_joined", "backward under forward"},
        {"threads_by_id", "threads known by id"},
        {"threads_by_sequence", "threads found by their sequence"},
        {"threads_unmatched", "threads without a match"},
    };
    char text[HD_VALUE_TEXT_BYTES];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        for (size_t c = 0; c < hd_table_column_count(join); c++) {
            if (strcmp(hd_table_get_column(join, c)->name, lines[i].column) != 0) continue;
            uint64_t count = hd_table_get_count(join, 0, c);
            if (count || (i > 0 && i < 4)) cli_say(p, "  %-32s %s\n", lines[i].text, hd_text_count(text, count));
        }
    }
}

static void say_clock(cli_printer *p, const hd_clock_fit *clock)
{
    char spread[HD_VALUE_TEXT_BYTES], worst[HD_VALUE_TEXT_BYTES], pairs[HD_VALUE_TEXT_BYTES];
    if (!clock->known) return;
    cli_say(p, "  %-32s %" PRId64 " ns (GPU side minus stacks); half within %s of it, all within %s, %s pairs%s\n",
            "clock offset", clock->offset_ns, hd_text_duration(spread, clock->spread_ns),
            hd_text_duration(worst, clock->worst_ns), hd_text_count(pairs, clock->pairs),
            clock->ambiguous ? "; another offset fits as well" : "");
}

static void say_rows(cli_printer *p, const hd_table *table, size_t rows)
{
    const hd_table_style style = {.width = p->run->width, .indent = 2, .bold_head = p->run->color && !p->to_stderr};
    hd_table *head;
    if (hd_table_head(&head, table, rows, &p->run->err) != HD_OK) return;
    hd_table_write(head, (hd_sink){cli_printer_write, p}, &style, &p->run->err);
    hd_table_free(head);
}

static void say_summary(cli_printer *p, const hd_report *report, const hd_attribution *a)
{
    const struct merge_options *o = p->run->options;
    const hd_table *join = hd_report_table(report, "join"), *kernels = hd_report_table(report, "kernels");
    char text[HD_VALUE_TEXT_BYTES];
    cli_say(p, "joined\n");
    say_counts(p, join);
    if (a->not_launches) cli_say(p, "  %-32s %s\n", "stacks that launch nothing", hd_text_count(text, a->not_launches));
    say_clock(p, &a->clock);
    for (size_t c = 0; c < hd_table_column_count(join); c++) {
        const char *name = hd_table_get_column(join, c)->name;
        bool time = strcmp(name, "span") == 0 || strcmp(name, "gpu_time") == 0 || strcmp(name, "kernel_time") == 0;
        if (!time || hd_table_is_null(join, 0, c)) continue;
        const char *label = strcmp(name, "span") == 0       ? "span of GPU activities"
                            : strcmp(name, "gpu_time") == 0 ? "GPU time (kernels, copies, sets)"
                                                            : "  of kernels";
        cli_say(p, "  %-32s %s\n", label, hd_text_duration(text, hd_table_get_int(join, 0, c)));
    }
    cli_say(p, "by rule\n");
    say_rows(p, hd_report_table(report, "rules"), SIZE_MAX);
    cli_say(p, "by kernel\n");
    say_rows(p, kernels, o->rows);
    if (hd_table_row_count(kernels) > o->rows)
        cli_say(p, "  … %s more (--rows)\n", hd_text_count(text, hd_table_row_count(kernels) - o->rows));
}

static void say_json(cli_printer *p, const flame_out *out, const hd_report *report, const hd_flame *flame,
                     const hd_flame_written *written)
{
    const hd_sink sink = {cli_printer_write, p};
    const hd_table_style style = {.format = HD_TABLE_JSON, .indent = 2};
    cli_say(p, "{\n  " CLI_SCHEMA("merge") ",\n  ");
    if (out->is_trace) {
        cli_say_text_json(p, "output", out->path);
        cli_say(p, ",\n  \"format\": \"%s\"", out->format_name);
    } else {
        flame_out_say_json(p, out, flame, written);
    }
    cli_say(p, ",\n  ");
    cli_say(p, "\"join\": {");
    hd_table_write_members(hd_report_table(report, "join"), 0, sink, &p->run->err);
    cli_say(p, "}");
    for (size_t i = 1; i < report->table_count; i++) {
        cli_say(p, ",\n  \"%s\": ", hd_table_name(report->tables[i]));
        hd_table_write(report->tables[i], sink, &style, &p->run->err);
    }
    cli_say(p, "\n}\n");
}

/* ---- the command ---- */

static hd_status write_trace(cli_run *run, const flame_out *out, const hd_attribution *a, const hd_trace *gpu,
                             const hd_trace *cpu, cli_printer *p)
{
    const struct merge_options *o = run->options;
    report_losses lost = {0};
    hd_trace *joined;
    char events[HD_VALUE_TEXT_BYTES], count[HD_VALUE_TEXT_BYTES];
    hd_status status = hd_attribution_annotate(&joined, a, gpu, cpu, &run->err);
    if (status != HD_OK) return status;
    const hd_write_options options = {.format = out->format_name,
                                      .strict = o->strict,
                                      .sync = o->sync,
                                      .threads = (unsigned)o->threads,
                                      .ledger = report_add_loss,
                                      .ledger_user = &lost};
    status = hd_trace_write(joined, out->path, &options, &run->err);
    if (status == HD_OK && !run->global.json && !run->global.quiet) {
        cli_say(p, "wrote ");
        cli_say_name(p, strcmp(out->path, "-") == 0 ? "standard output" : out->path);
        cli_say(p, ": %s, %s events, ", out->format_name, hd_text_count(events, hd_trace_event_count(joined)));
        if (lost.count)
            cli_say(p, "%s losses (%s)\n", hd_text_count(count, lost.count), lost.codes);
        else
            cli_say(p, "nothing lost\n");
    } else if (status == HD_OK) {
        report_say_losses(run, out->path, &lost);
    }
    hd_trace_free(joined);
    return status;
}

static hd_status write_flame(hd_flame *flame, hd_flame_written *written, cli_run *run, const flame_out *out,
                             const hd_attribution *a, const hd_trace *gpu, const hd_trace *cpu)
{
    const struct merge_options *o = run->options;
    const hd_flame_options options = {.of = o->weight == WEIGHT_COUNT ? HD_FLAME_LAUNCHES : HD_FLAME_GPU_TIME,
                                      .full_names = o->full_names,
                                      .weightless = out->format == HD_FLAME_FOLDED};
    hd_status status = hd_flame_add(flame, gpu, cpu, a, &options, &run->err);
    return status == HD_OK ? flame_out_write(written, run, out, flame, NULL) : status;
}

static hd_status refuse_unmatched(cli_run *run, const hd_attribution *a)
{
    const struct merge_options *o = run->options;
    uint64_t lone = a->works_by[HD_RULE_NONE];
    if (!o->strict || (lone == 0 && a->pending_count == 0)) return HD_OK;
    return hd_error_set(&run->err, HD_ERR_DAMAGED, o->gpu, HD_OFFSET_NONE,
                        "--strict: GPU activities without a stack: %" PRIu64 ", stacks without a launch: %zu", lone,
                        a->pending_count);
}

static int merge(cli_run *run, const flame_out *out, const hd_attribution *a, const hd_trace *gpu, const hd_trace *cpu)
{
    const struct merge_options *o = run->options;
    cli_printer p = {.run = run, .to_stderr = strcmp(out->path, "-") == 0};
    hd_flame *flame = NULL;
    hd_flame_written written = {0};
    hd_report report = {0};
    hd_status status = refuse_unmatched(run, a);
    if (status == HD_OK) status = hd_flame_new(&flame, &run->err);
    if (status == HD_OK)
        status = out->is_trace ? write_trace(run, out, a, gpu, cpu, &p)
                               : write_flame(flame, &written, run, out, a, gpu, cpu);
    if (status == HD_OK && (o->summary || run->global.json))
        status = hd_report_run(&report, "attribution", &(hd_report_input){.trace = gpu, .attribution = a}, &run->err);
    if (status == HD_OK && run->global.json) say_json(&p, out, &report, flame, &written);
    if (status == HD_OK && o->summary && !run->global.json) say_summary(&p, &report, a);
    if (status == HD_OK && !run->global.json && !out->is_trace) flame_out_say(&p, out, flame, &written);
    hd_report_free(&report);
    hd_flame_free(flame);
    return status == HD_OK ? CLI_OK : CLI_FAILED;
}

static int run(cli_run *run)
{
    const struct merge_options *o = run->options;
    hd_attribution_options join = {0};
    flame_out out;
    hd_trace *cpu = NULL, *gpu = NULL;
    hd_attribution *a = NULL;
    int result = fill_options(run, &join, &out);
    if (result != CLI_OK) return result;
    result = CLI_FAILED;
    if (read_both(&cpu, &gpu, run) == HD_OK) {
        hd_status status = hd_attribute(&a, gpu, cpu, &join, &run->err);
        if (o->cpu) flame_out_say_damage(run, o->cpu, cpu);
        flame_out_say_damage(run, o->gpu, gpu);
        if (status == HD_OK) status = check_sides(run, cpu, gpu, a);
        if (status == HD_OK) result = merge(run, &out, a, gpu, cpu);
    }
    hd_attribution_free(a);
    hd_trace_free(cpu);
    hd_trace_free(gpu);
    return result;
}

static const struct merge_options defaults = {
    .tolerance_ms = TOLERANCE_DEFAULT, .min_percent = FLAME_OUT_MIN_PERCENT_DEFAULT / 100.0, .rows = ROWS_DEFAULT};
#define FIELD(member) .field = offsetof(struct merge_options, member)
static const cli_option options[] = {
    {.name = "cpu",
     .letter = 'c',
     .kind = CLI_TEXT,
     .value = "FILE",
     FIELD(cpu),
     .help = "stacks: extended folded text of a uprobe, perf script, or any trace with stack samples"},
    {.name = "gpu",
     .letter = 'g',
     .kind = CLI_TEXT,
     .value = "FILE",
     FIELD(gpu),
     .help = "the trace with the kernels: Kineto, CUPTI, or any other format"},
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .value = "FILE",
     FIELD(output),
     .help = "write .folded, .svg, .json (speedscope), .pb.gz (pprof), .otlp.gz, or a trace: .heddle, .trace.json, "
             ".pftrace, "
             ".otf2 …; - "
             "prints folded text"},
    {.name = "to",
     .kind = CLI_TEXT,
     .value = "FORMAT",
     .offer = "svg folded speedscope pprof otlp <formats>",
     FIELD(to),
     .help = "folded, svg, speedscope, pprof, otlp or a trace format, whatever the extension"},
    {.name = "weight",
     .letter = 'w',
     .kind = CLI_CHOICE,
     .value = "WHAT",
     .choices = weight_names,
     FIELD(weight),
     .help = "what stacks weigh: time, in ns of the GPU, or count, the number of launches"},
    {.name = "tolerance",
     .letter = 't',
     .kind = CLI_DECIMAL,
     .value = "MS",
     .max = 1e9,
     FIELD(tolerance_ms),
     .help = "the largest distance between a stack and its launch, in milliseconds, after the clocks are aligned"},
    {.name = "summary",
     .letter = 's',
     .kind = CLI_FLAG,
     FIELD(summary),
     .help = "say how the join went, and the top kernels"},
    OPTION_ROWS(FIELD(rows), "the first N kernels in the summary"),
    OPTION_ROWS_OLD("top", FIELD(rows)),
    {.name = "clock-offset",
     .kind = CLI_TEXT,
     .value = "TIME",
     FIELD(clock_offset),
     .help = "clock of the trace minus clock of the stacks, such as -1.5s, instead of estimating it"},
    {.name = "force",
     .kind = CLI_FLAG,
     FIELD(force),
     .help = "use the best clock offset even if none fits within --tolerance"},
    OPTION_FORWARD(FIELD(forward)),
    OPTION_FULL_NAMES(FIELD(full_names)),
    OPTION_MIN_PERCENT(FIELD(min_percent)),
    OPTION_TITLE(FIELD(title)),
    {.name = "strict",
     .kind = CLI_FLAG,
     FIELD(strict),
     .help = "fail if an input is damaged, or an activity or a stack has no partner"},
    OPTION_THREADS(FIELD(threads), "threads to use"),
    OPTION_SYNC(FIELD(sync)),
    {0},
};

const cli_command cmd_merge = {
    .name = "merge",
    .group = CLI_CHANGE,
    .summary = "join CPU stacks with GPU kernels: GPU time by line of code",
    .usage = NULL,
    .description =
        "Finds the stack that launched each kernel, copy and memset. Without --cpu, the stack is the slices around "
        "the launch, as in a trace of PyTorch: Python functions, operators, annotations.\n\n"
        "With --cpu, stacks that were taken at launch functions are joined with the launches of the trace: by "
        "correlation id where both have one, else thread by thread in the order of time, one to one. The clocks may "
        "differ: their offset is estimated from all stacks and launches. If no offset fits within --tolerance, or "
        "several do, the command fails instead of guessing (--force takes the best, --clock-offset sets it). Threads "
        "whose ids the trace does not contain are assigned by how well their whole sequence agrees. Names of kernels "
        "in frames (__device_stub__) count as evidence. All kernels of a graph belong to its launch, each under the "
        "stack that created its node where that is known.\n\n"
        "The weights add up to the GPU time of the trace: kernels without a stack are under [no stack]; stacks "
        "without a kernel end in [GPU_Launch_Pending] and have weight 0. In a trace, each joined activity has its "
        "stack as an argument and a flow arrow from its launch.",
    .options = options,
    .examples =
        (const cli_example[]){
            {"heddle merge --cpu stacks.txt --gpu cupti.json -o flame.svg -s",
             "where the GPU's time comes from, and a summary"},
            {"heddle merge --gpu kineto.json.gz -o out.folded", "a trace of PyTorch is enough"},
            {"heddle merge -c stacks.txt -g cupti.json | flamegraph.pl --countname=ns >flame.svg",
             "as text, for another tool"},
            {"heddle merge -c stacks.txt -g cupti.json -o joined.pftrace", "a trace with the stack of each kernel"},
            {"heddle merge -c stacks.txt -g cupti.json -o - --json 2>summary.json >out.folded",
             "the summary for a script"},
            {0},
        },
    .defaults = &defaults,
    .options_size = sizeof(struct merge_options),
    .operands_min = 0,
    .operands_max = 0,
    .has_json = true,
    .run = run,
};
