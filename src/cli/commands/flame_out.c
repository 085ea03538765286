/* flame_out.c - shared by commands that write flame graphs: the output and its messages */
#include "cli/commands/flame_out.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "heddle/format.h"

static const char *const format_names[] = {[HD_FLAME_FOLDED] = "folded",
                                           [HD_FLAME_SPEEDSCOPE] = "speedscope",
                                           [HD_FLAME_SVG] = "svg",
                                           [HD_FLAME_PPROF] = "pprof",
                                           [HD_FLAME_OTLP] = "otlp"};
enum { FORMATS = sizeof format_names / sizeof *format_names };

/* ---- choosing ---- */

static int choose_by_name(cli_run *run, flame_out *out, const char *to, bool traces_too)
{
    const char *best = NULL;
    unsigned distance = (unsigned)-1;
    for (int i = 0; i < FORMATS; i++) {
        if (strcmp(to, format_names[i]) == 0) {
            out->format = (hd_flame_format)i;
            out->format_name = format_names[i];
            return CLI_OK;
        }
        hd_name_suggest(to, format_names[i], &best, &distance);
    }
    for (size_t i = 0; traces_too && i < hd_format_count(); i++) {
        const hd_format_info *info = hd_format_at(i);
        if (!info->writes) continue;
        if (strcmp(to, info->name) == 0) {
            out->is_trace = true;
            out->format_name = info->name;
            return CLI_OK;
        }
        hd_name_suggest(to, info->name, &best, &distance);
    }
    if (best) return cli_usage_error(run, "--to: '%.40s' is nothing to write here; did you mean %s?", to, best);
    return cli_usage_error(run, "--to: '%.40s' is nothing to write here: write svg, folded, speedscope, pprof or otlp",
                           to);
}

/* "x.trace.json", compressed or not, is a Chrome trace; other .json is a speedscope profile. */
static bool is_trace_json(const char *path)
{
    size_t size = strlen(path);
    return cli_ends_with(path, size, ".trace.json") || cli_ends_with(path, size, ".trace.json.gz") ||
           cli_ends_with(path, size, ".trace.json.zst");
}

static int choose_by_extension(cli_run *run, flame_out *out, const char *path, bool traces_too)
{
    const hd_format_info *info = traces_too ? hd_format_for_path(path) : NULL;
    if (!is_trace_json(path) && hd_flame_format_of(&out->format, path)) {
        out->format_name = format_names[out->format];
        return CLI_OK;
    }
    if (info && info->writes) {
        out->is_trace = true;
        out->format_name = info->name;
        return CLI_OK;
    }
    return cli_usage_error(run,
                           "what to write does not follow from the extension of '%.100s': use .svg, .folded, "
                           ".speedscope.json, .pb.gz or .otlp.gz%s, or name it with --to",
                           path, traces_too ? ", or that of a trace (heddle formats)" : "");
}

int flame_out_choose(cli_run *run, flame_out *out, const char *path, const char *to, bool traces_too)
{
    out->path = path ? path : "-";
    bool is_stdout = strcmp(out->path, "-") == 0;
    if (!path && isatty(STDOUT_FILENO))
        return cli_usage_error(run,
                               "name the output: -o flame.svg for a picture, -o out.folded for text, -o - to print "
                               "that here, -o /dev/null for none");
    int status = CLI_OK;
    if (to) {
        status = choose_by_name(run, out, to, traces_too);
    } else if (is_stdout || strncmp(out->path, "/dev/", 5) == 0) {
        out->format = HD_FLAME_FOLDED;
        out->format_name = format_names[HD_FLAME_FOLDED];
    } else {
        status = choose_by_extension(run, out, out->path, traces_too);
    }
    if (status != CLI_OK) return status;
    bool svg = !out->is_trace && out->format == HD_FLAME_SVG;
    if (!svg && out->min_percent != FLAME_OUT_MIN_PERCENT_DEFAULT / 100.0)
        return cli_usage_error(run, "--min-percent is for svg, and the output is %s", out->format_name);
    if (out->title && (out->is_trace || out->format == HD_FLAME_FOLDED))
        return cli_usage_error(run, "--title is for svg, speedscope, pprof and otlp, and the output is %s",
                               out->format_name);
    return CLI_OK;
}

/* ---- writing ---- */

/* The sum of all weights is 2^63 - 1, or more: it saturates. */
static bool is_held(const hd_flame *flame)
{
    return flame->total && (flame->total[0] == INT64_MAX || flame->total[0] == INT64_MIN);
}

hd_status flame_out_write(hd_flame_written *written, cli_run *run, const flame_out *out, const hd_flame *flame,
                          const hd_flame *base)
{
    const hd_flame_write_options options = {
        .format = out->format, .title = out->title, .min_percent = out->min_percent, .base = base, .sync = out->sync};
    hd_status status = hd_flame_write(written, flame, out->path, &options, &run->err);
    cli_printer p = {.run = run, .to_stderr = true};
    if (status == HD_OK && (is_held(flame) || (base && is_held(base))))
        cli_say(&p, "the sum of all weights is beyond 2^63 - 1, at which sums are held: widths and shares are wrong\n");
    return status;
}

static const char *weight_text(char *text, const hd_flame *flame, int64_t weight)
{
    const char *unit = flame->unit;
    if (strcmp(unit, "ns") == 0) return hd_text_duration(text, weight);
    if (strcmp(unit, "bytes") == 0) return hd_text_bytes(text, (uint64_t)(weight > 0 ? weight : 0));
    hd_text_count(text, (uint64_t)(weight > 0 ? weight : 0));
    if (flame->of == HD_FLAME_SAMPLES && strcmp(unit, hd_flame_of_name(flame->of)) != 0) {
        size_t size = strlen(text);
        snprintf(text + size, HD_VALUE_TEXT_BYTES - size, " %s", unit);
    }
    return text;
}

static const char *nothing_of(hd_flame_of of)
{
    static const char *const texts[HD_FLAME_OFS] = {
        [HD_FLAME_AUTO] = "GPU activity, slice or stack sample",
        [HD_FLAME_GPU_TIME] = "GPU activity",
        [HD_FLAME_CPU_TIME] = "slice on a CPU thread that lasts",
        [HD_FLAME_CPU_SELF] = "slice on a CPU thread that lasts",
        [HD_FLAME_LAUNCHES] = "launch of a GPU activity",
        [HD_FLAME_BYTES] = "copy or memset with a size",
        [HD_FLAME_SAMPLES] = "stack sample",
    };
    return of < HD_FLAME_OFS ? texts[of] : texts[HD_FLAME_AUTO];
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void say_left_out(cli_printer *printer, const hd_flame *flame)
{
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES];
    if (!flame->negative_count) return;
    cli_say(printer, "%s sample%s of a weight below 0 (freed, or less than before) left out: -%s in all\n",
            hd_text_count(a, flame->negative_count), plural(flame->negative_count),
            weight_text(b, flame, flame->negative < -INT64_MAX ? INT64_MAX : -flame->negative));
}

void flame_out_say(cli_printer *printer, const flame_out *out, const hd_flame *flame, const hd_flame_written *written)
{
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES], c[HD_VALUE_TEXT_BYTES];
    int64_t total = flame->total ? flame->total[0] : 0;
    if (printer->run->global.quiet) {
        cli_printer p = {.run = printer->run, .to_stderr = true};
        say_left_out(&p, flame);
        return;
    }
    cli_say(printer, "wrote ");
    cli_say_name(printer, strcmp(out->path, "-") == 0 ? "standard output" : out->path);
    cli_say(printer, ": %s, %s %s in %s stack%s", out->format_name, hd_flame_of_name(flame->of),
            weight_text(a, flame, total), hd_text_count(b, written->stacks), plural(written->stacks));
    if (flame->no_stack)
        cli_say(printer, ", %.1f %% of it without a stack",
                total ? 100.0 * (double)flame->no_stack / (double)total : 0.0);
    if (flame->pending_count)
        cli_say(printer, ", %s launch%s without its GPU activity", hd_text_count(c, flame->pending_count),
                flame->pending_count == 1 ? "" : "es");
    cli_say(printer, "\n");
    if (written->frames_left_out)
        cli_say(printer, "%s of %s frames are narrower than %g %% and not drawn (--min-percent 0 draws all)\n",
                hd_text_count(a, written->frames_left_out),
                hd_text_count(b, written->frames + written->frames_left_out), out->min_percent);
    if (written->changed_names)
        cli_say(printer, "%s name%s held what %s cannot, and %s changed\n", hd_text_count(a, written->changed_names),
                plural(written->changed_names), out->format_name, written->changed_names == 1 ? "was" : "were");
    say_left_out(printer, flame);
    if (total == 0 && flame->removed)
        cli_say(printer, "the graph is empty: --names, --from or --until left nothing of %s\n",
                weight_text(a, flame, flame->removed));
    else if (total == 0)
        cli_say(printer, "the graph is empty: there is no %s; heddle info shows what there is\n",
                nothing_of(flame->of));
}

void flame_out_say_nothing(cli_printer *printer, const char *path, hd_flame_of of)
{
    if (printer->run->global.quiet) return;
    cli_say_name(printer, path);
    cli_say(printer, " has no %s that counts\n", nothing_of(of));
}

void flame_out_say_damage(cli_run *run, const char *path, const hd_trace *trace)
{
    cli_printer p = {.run = run, .to_stderr = true};
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES];
    uint64_t repaired = 0, lost = 0;
    for (size_t i = 0; trace && i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        if (row->level == HD_LEDGER_REPAIR) repaired += row->count;
        if (row->level == HD_LEDGER_LOSS) lost += row->count;
    }
    if ((run->global.quiet || run->global.json) && !lost) return;
    if (repaired + lost == 0) return;
    cli_say_name(&p, path);
    cli_say(&p, " is not whole: %s repaired, %s lost while reading; heddle check says what\n",
            hd_text_count(a, repaired), hd_text_count(b, lost));
}

void flame_out_say_json(cli_printer *printer, const flame_out *out, const hd_flame *flame,
                        const hd_flame_written *written)
{
    char total[24] = "null";
    if (!is_held(flame)) snprintf(total, sizeof total, "%" PRId64, flame->total ? flame->total[0] : 0);
    cli_say_text_json(printer, "output", out->path);
    cli_say(printer,
            ",\n  \"format\": \"%s\",\n  \"of\": \"%s\",\n  \"unit\": \"%s\",\n  \"total\": %s"
            ",\n  \"no_stack\": %" PRId64 ",\n  \"no_stack_count\": %" PRIu64 ",\n  \"pending\": %" PRIu64
            ",\n  \"removed\": %" PRId64 ",\n  \"negative\": %" PRId64 ",\n  \"negative_count\": %" PRIu64,
            out->format_name, hd_flame_of_name(flame->of), flame->unit, total, flame->no_stack, flame->no_stack_count,
            flame->pending_count, flame->removed, flame->negative, flame->negative_count);
    if (flame->event) {
        cli_say(printer, ",\n  ");
        cli_say_text_json(printer, "event", flame->event);
    }
    cli_say(printer,
            ",\n  \"stacks\": %" PRIu64 ",\n  \"frames\": %" PRIu64 ",\n  \"frames_left_out\": %" PRIu64
            ",\n  \"changed_names\": %" PRIu64 ",\n  \"bytes\": %" PRIu64,
            written->stacks, written->frames, written->frames_left_out, written->changed_names, written->bytes);
}
