/* flame.c - heddle flame: flame graphs of a trace, and of the difference between two */
#include <stddef.h>
#include <string.h>

#include "cli/commands/flame_out.h"
#include "cli/job_in.h"
#include "cli/report_out.h"
#include "cli/shared_options.h"
#include "cli/times.h"

struct flame_options {
    cli_texts before, after;
    const char *output, *to, *from, *until, *names, *title, *event, *cpu;
    double min_percent;
    int of, by;
    const char *binary;
    bool diff, reverse, full_names, forward, strict, sync;
    uint64_t threads;
};

static const char *const of_names[] = {"auto",     "gpu-time", "cpu-time", "cpu-self",
                                       "launches", "bytes",    "samples",  NULL};
static const char *const by_names[] = {"nothing", "rank", "device", "stream", "thread", "step", "name", "group", NULL};

/* ---- options ---- */

static int fill_options(cli_run *run, hd_flame_options *flame, flame_out *out)
{
    const struct flame_options *o = run->options;
    *out = (flame_out){.title = o->title, .min_percent = o->min_percent, .sync = o->sync};
    int status = flame_out_choose(run, out, o->output, o->to, false);
    if (status == CLI_OK) status = cli_parse_time(run, &flame->from, "--from", o->from);
    if (status == CLI_OK) status = cli_parse_time(run, &flame->until, "--until", o->until);
    if (status != CLI_OK) return status;
    if (!o->before.count && !o->after.count && !run->operand_count) return cli_usage_error(run, "name a FILE");
    status = cli_check_sides(run, o->diff, &o->before, &o->after, "OLD NEW");
    if (status != CLI_OK) return status;
    if (o->diff &&
        (out->format == HD_FLAME_SPEEDSCOPE || out->format == HD_FLAME_PPROF || out->format == HD_FLAME_OTLP))
        return cli_usage_error(run, "%s has no form for --diff: write .svg or .folded", out->format_name);
    if (o->cpu && (o->diff || run->operand_count != 1))
        return cli_usage_error(run, "--cpu is of one FILE, the trace with the kernels");
    flame->of = (hd_flame_of)o->of;
    flame->by = (hd_flame_by)o->by;
    flame->names = o->names;
    flame->event = o->event;
    flame->reverse = o->reverse;
    flame->full_names = o->full_names;
    /* launches without GPU activity get weight 0, as in merge; a picture leaves them out */
    flame->weightless = out->format == HD_FLAME_FOLDED && !o->diff;
    int streams = o->cpu && strcmp(o->cpu, "-") == 0;
    if (o->cpu && (status = cli_spare_input(run, out->path, o->cpu, "")) != CLI_OK) return status;
    for (int i = 0; i < run->operand_count; i++) {
        streams += strcmp(run->operands[i], "-") == 0;
        if (streams > 1) return cli_usage_error(run, "standard input can be read once: only one FILE can be -");
        status = cli_spare_input(run, out->path, run->operands[i], "");
        if (status != CLI_OK) return status;
    }
    status = cli_spare_inputs(run, out->path, &o->before);
    if (status == CLI_OK) status = cli_spare_inputs(run, out->path, &o->after);
    if (status != CLI_OK) return status;
    const hd_convert_options patterns = {.names = o->names, .from = flame->from, .until = flame->until};
    return hd_convert_options_valid(&patterns, &run->err) == HD_OK ? CLI_OK : CLI_USAGE;
}

/* ---- the command ---- */

/* Stacks of another program or time give a graph that says nothing. */
static hd_status check_joined(cli_run *run, const hd_flame *flame)
{
    const struct flame_options *o = run->options;
    bool is_gpu = flame->of == HD_FLAME_GPU_TIME || flame->of == HD_FLAME_LAUNCHES;
    if (!is_gpu || !flame->total || !flame->total[0] || flame->no_stack < flame->total[0]) return HD_OK;
    return hd_error_set(
        &run->err, HD_ERR_FORMAT, o->cpu, HD_OFFSET_NONE,
        "none of its stacks could be joined with a launch: heddle merge --cpu STACKS --gpu TRACE -s says "
        "why, and has options for clocks");
}

static hd_status add_file(hd_flame *flame, cli_run *run, const char *path, const hd_flame_options *options)
{
    const struct flame_options *o = run->options;
    const hd_read_options read = {.strict = o->strict, .binary = o->binary, .threads = (unsigned)o->threads};
    hd_trace *trace = NULL, *cpu = NULL;
    hd_status status = report_read(&trace, run, path, read);
    if (status == HD_OK && o->cpu) status = report_read(&cpu, run, o->cpu, read);
    if (status != HD_OK) {
        hd_trace_free(trace);
        return status;
    }
    flame_out_say_damage(run, path, trace);
    if (cpu) flame_out_say_damage(run, o->cpu, cpu);
    int64_t before = flame->total ? flame->total[0] : 0;
    status = hd_flame_add(flame, trace, cpu, NULL, options, &run->err);
    if (status == HD_OK && cpu) status = check_joined(run, flame);
    if (status != HD_OK && !run->err.path[0]) snprintf(run->err.path, sizeof run->err.path, "%s", path);
    hd_trace_free(trace);
    hd_trace_free(cpu);
    if (status == HD_OK && run->operand_count > 1 && !run->global.json && flame->total[0] == before) {
        cli_printer p = {.run = run, .to_stderr = true};
        flame_out_say_nothing(&p, path, flame->of);
    }
    return status;
}

/* Weights of one event are not added to those of another: which were taken, and which were left. */
static void say_event(cli_run *run, const hd_flame *flame)
{
    cli_printer p = {.run = run, .to_stderr = true};
    if (!flame->events || run->global.quiet || run->global.json) return;
    cli_say(&p, "samples of the event ");
    cli_say_name(&p, flame->event);
    cli_say(&p, " are counted (--event chooses); there are: ");
    cli_say_name(&p, flame->events);
    cli_say(&p, "\n");
}

static void say(cli_run *run, const flame_out *out, const hd_flame *flame, const hd_flame_written *written)
{
    cli_printer p = {.run = run, .to_stderr = strcmp(out->path, "-") == 0};
    if (!run->global.json) {
        flame_out_say(&p, out, flame, written);
        return;
    }
    cli_say(&p, "{\n  " CLI_SCHEMA("flame") ",\n  ");
    flame_out_say_json(&p, out, flame, written);
    cli_say(&p, "\n}\n");
}

/* The files of both sides of a diff: weights of files are added up, so that a side with fewer of them would pass as
 * faster. */
static int find_sides(job_files sides[2], cli_run *run)
{
    const struct flame_options *o = run->options;
    const cli_texts *const given[] = {&o->before, &o->after};
    hd_status status = HD_OK;
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < given[side]->count && status == HD_OK; i++)
            status = job_files_add(&sides[side], run, given[side]->items[i]);
    if (status != HD_OK) return CLI_FAILED;
    if (sides[0].count == sides[1].count) return CLI_OK;
    return cli_usage_error(
        run, "both sides need as many files, since their weights are added up: there are %zu before and %zu after",
        sides[0].count, sides[1].count);
}

static hd_status add_files(hd_flame *flame, cli_run *run, const char *const *files, size_t count,
                           hd_flame_options *options)
{
    hd_status status = HD_OK;
    for (size_t i = 0; i < count && status == HD_OK; i++) {
        status = add_file(flame, run, files[i], options);
        options->of = flame->of;
    }
    return status;
}

static int run(cli_run *run)
{
    const struct flame_options *o = run->options;
    const hd_attribution_options attribution = {.forward = o->forward, .threads = (unsigned)o->threads};
    hd_flame_options options = {.attribution = &attribution};
    flame_out out;
    hd_flame *flame = NULL, *base = NULL;
    hd_flame_written written = {0};
    int result = fill_options(run, &options, &out);
    if (result != CLI_OK) return result;
    job_files sides[2] = {{0}, {0}};
    const char *const *files = run->operands;
    size_t count = (size_t)run->operand_count, first = o->diff ? 1 : 0;
    result = find_sides(sides, run);
    hd_status status = result == CLI_OK ? hd_flame_new(&flame, &run->err) : HD_ERR_ARGUMENT;
    if (status == HD_OK && o->diff) status = hd_flame_new(&base, &run->err);
    bool by_option = sides[0].count > 0;
    if (status == HD_OK && base) {
        status = add_files(base, run, by_option ? (const char *const *)sides[0].list : files,
                           by_option ? sides[0].count : first, &options);
        if (base->event) options.event = base->event; /* the base's weight and event apply to both */
    }
    if (status == HD_OK)
        status = add_files(flame, run, by_option ? (const char *const *)sides[1].list : files + first,
                           by_option ? sides[1].count : count - first, &options);
    for (int side = 0; side < 2; side++) job_files_deinit(&sides[side]);
    if (status == HD_OK) status = flame_out_write(&written, run, &out, flame, base);
    if (status == HD_OK) say_event(run, base && base->events ? base : flame);
    if (status == HD_OK) say(run, &out, flame, &written);
    hd_flame_free(flame);
    hd_flame_free(base);
    return result != CLI_OK ? result : status == HD_OK ? CLI_OK : CLI_FAILED;
}

static const struct flame_options defaults = {.min_percent = FLAME_OUT_MIN_PERCENT_DEFAULT / 100.0};
#define FIELD(member) .field = offsetof(struct flame_options, member)
static const cli_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .value = "FILE",
     FIELD(output),
     .help = "write .svg (a page of its own for any browser), .folded (text for flamegraph.pl, inferno, speedscope) or "
             ".speedscope.json, .pb.gz (for go tool pprof, Pyroscope, Parca), or .otlp.gz (OpenTelemetry); - prints"},
    {.name = "to",
     .kind = CLI_TEXT,
     .value = "FORMAT",
     .offer = "svg folded speedscope pprof otlp",
     FIELD(to),
     .help = "svg, folded, speedscope, pprof or otlp, whatever the extension"},
    {.name = "of",
     .kind = CLI_CHOICE,
     .value = "WHAT",
     .choices = of_names,
     FIELD(of),
     .help =
         "what the widths show: gpu-time, cpu-time, cpu-self, launches, bytes or samples; auto is GPU time if there is "
         "any, else samples if there are any, else CPU time"},
    {.name = "cpu",
     .letter = 'c',
     .kind = CLI_TEXT,
     .value = "STACKS",
     .offer = "<files>",
     FIELD(cpu),
     .help = "join these stacks with the launches of FILE, as heddle merge does, which has options for that: extended "
             "folded text of a uprobe, perf script, or any trace with stack samples"},
    {.name = "by",
     .kind = CLI_CHOICE,
     .value = "WHAT",
     .choices = by_names,
     FIELD(by),
     .help = "the first level of the tree: rank, device, stream, thread, step, name or group (of --groups)"},
    OPTION_FROM(FIELD(from)),
    OPTION_UNTIL(FIELD(until)),
    {.name = "names",
     .kind = CLI_TEXT,
     .value = "PATTERNS",
     FIELD(names),
     .help = "count only kernels, slices … of these names, as heddle convert --names"},
    {.name = "event",
     .kind = CLI_TEXT,
     .value = "NAME",
     FIELD(event),
     .help = "count only samples of this event, such as cycles:u (default: the first event of the trace)"},
    {.name = "reverse",
     .letter = 'r',
     .kind = CLI_FLAG,
     FIELD(reverse),
     .help = "draw an icicle: the running function on top, its callers below"},
    OPTION_FORWARD(FIELD(forward)),
    {.name = "diff",
     .letter = 'd',
     .kind = CLI_FLAG,
     FIELD(diff),
     .help = "compare two files, OLD NEW: widths by NEW, red is slower, blue is faster"},
    {.name = "before",
     .kind = CLI_TEXTS,
     .value = "FILE",
     .offer = "<files>",
     FIELD(before),
     .help = "with --diff, one of several files of the side before: ranks of a job, or runs; also a folder of them, or "
             "rank{rank}.json. Their weights are added up, so both sides need the same number of files"},
    {.name = "after", .kind = CLI_TEXTS, .value = "FILE", .offer = "<files>", FIELD(after), .help = "likewise, after"},
    OPTION_MIN_PERCENT(FIELD(min_percent)),
    OPTION_FULL_NAMES(FIELD(full_names)),
    OPTION_TITLE(FIELD(title)),
    OPTION_STRICT(FIELD(strict)),
    OPTION_BINARY(FIELD(binary)),
    OPTION_THREADS(FIELD(threads), "threads to use"),
    OPTION_SYNC(FIELD(sync)),
    {0},
};

const cli_command cmd_flame = {
    .name = "flame",
    .group = CLI_START,
    .summary = "draw a flame graph: GPU or CPU time by the code that causes it",
    .usage = "[FILE...]",
    .offer = "<files>",
    .description =
        "Gives every kernel, copy and memset of the trace a weight, the nanoseconds it ran, under the stack that "
        "launched it: the Python functions, operators and annotations around the launch, or the stack that the file "
        "contains for it (from `heddle merge`). Activities without a stack are under [no stack], so that the total is "
        "the GPU time of the trace. Several files, such as the ranks of a job, are added up.\n\n"
        "--of: gpu-time; cpu-time (slices on CPU threads, nested as they are); cpu-self (the same without their "
        "callees, by name alone); launches (API calls that launch GPU activities); bytes (moved by copies and "
        "memsets); samples (of perf script, folded text and similar).\n\n"
        "The SVG needs only a browser: click or Enter zooms, / searches and shows the share of the total that matches, "
        "Escape goes back, arrow keys move. Without -o, folded text goes to standard output.\n\n"
        "With --diff, stacks match if all their frames are equal; kernels match by their short names. Folded text "
        "then has two weights, old and new.",
    .options = options,
    .examples =
        (const cli_example[]){
            {"heddle flame trace.json.gz -o flame.svg", "where GPU time comes from"},
            {"heddle flame --by step --from 50% trace.json -o steps.svg", "the second half, step by step"},
            {"heddle flame rank*.json.gz --by rank -o ranks.svg", "all ranks of a job"},
            {"heddle flame --reverse --names '/gemm/' trace.json -o gemm.svg", "who calls the matrix products"},
            {"heddle flame --diff before.json after.json -o diff.svg", "what became slower, what faster"},
            {"heddle flame --diff --before a1.json --before a2.json --after b1.json --after b2.json -o diff.svg",
             "of two runs a side"},
            {"perf script | heddle flame - -o cpu.svg", "a profile of perf"},
            {"heddle flame trace.json | flamegraph.pl --countname=ns >flame.svg", "by another tool"},
            {0},
        },
    .defaults = &defaults,
    .options_size = sizeof(struct flame_options),
    .operands_min = 0,
    .operands_max = -1,
    .has_json = true,
    .run = run,
};
