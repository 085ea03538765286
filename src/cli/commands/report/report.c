/* report.c - heddle report: the analyses of this build, by their descriptors (heddle/report.h) */
#include "cli/cli.h"
#include "cli/commands/report/about.h"
#include "cli/commands/report/gpus.h"
#include "cli/commands/report/ranks.h"
#include "cli/job_in.h"
#include "cli/report_out.h"
#include "cli/report_text.h"
#include "cli/shared_options.h"
#include "heddle/analysis/flame.h"

#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct report_options {
    cli_given given; /* those of the report */
    cli_texts gpus;
    uint64_t rows;
    const char *output, *table;
    bool all, csv, strict;
    const char *binary, *counters;
    double timeout_s;
};

enum { OPTIONS_MAX = 64 };

static const cli_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .value = "OUT",
     .offer = "<files> <folders>",
     .field = offsetof(struct report_options, output),
     .help = "write to a file, by its extension: .html, .json, .md, .csv and .parquet (the first table); to FOLDER/ "
             "each table as CSV, to "
             "FOLDER.parquet/ as Parquet"},
    {.name = "table",
     .letter = 't',
     .kind = CLI_TEXT,
     .value = "TABLE,...",
     .field = offsetof(struct report_options, table),
     .help = "these tables only"},
    {.name = "csv",
     .kind = CLI_FLAG,
     .field = offsetof(struct report_options, csv),
     .help = "print the first table, or that of --table, as CSV"},
    {.name = "rows",
     .letter = 'n',
     .kind = CLI_COUNT,
     .value = "N",
     .min = 1,
     .max = 1e15,
     .field = offsetof(struct report_options, rows),
     .help = "the first N rows of each table; default: as text 20, divided among devices and steps, else all. A report "
             "with its own --rows uses that"},
    {.name = "all",
     .letter = 'a',
     .kind = CLI_FLAG,
     .field = offsetof(struct report_options, all),
     .help = "every row as text"},
    {.name = "gpus",
     .kind = CLI_TEXTS,
     .value = "FILE",
     .offer = "<files>",
     .field = offsetof(struct report_options, gpus),
     .help = "a table with the peak rates of more GPUs, for flops and summary, such as share/heddle/gpus.toml; "
             "~/.config/heddle/gpus.toml is read "
             "if it exists"},
    {.name = "timeout",
     .kind = CLI_DECIMAL,
     .value = "SECONDS",
     .max = 1e8,
     .field = offsetof(struct report_options, timeout_s),
     .help = "stop without a result after this time, which includes reading; 0 is never"},
    OPTION_STRICT(.field = offsetof(struct report_options, strict)),
    OPTION_BINARY(.field = offsetof(struct report_options, binary)),
    OPTION_COUNTERS(.field = offsetof(struct report_options, counters)),
    {0},
};

/* ---- report descriptors ---- */

static const cli_example *topics(void)
{
    static cli_example list[OPTIONS_MAX];
    for (size_t i = 0; i < hd_report_count() && i + 1 < OPTIONS_MAX; i++)
        list[i] = (cli_example){hd_report_at(i)->name, hd_report_at(i)->title};
    return list;
}

static bool listed(const cli_option *list, const char *name)
{
    for (; list->name; list++) {
        if (strcmp(list->name, name) == 0) return true;
    }
    return false;
}

static void list_options(cli_option *list, size_t *count, const hd_report_about *about)
{
    for (const hd_option_about *o = about->options; o && o->name && *count + 1 < OPTIONS_MAX; o++) {
        if (listed(options, o->name) || listed(list, o->name)) continue;
        list[(*count)++] = (cli_option){.name = o->name,
                                        .kind = CLI_GIVEN,
                                        .value = cli_value_name(o->kind),
                                        .help = o->meaning,
                                        .field = offsetof(struct report_options, given)};
    }
}

static const cli_option *more_options(const char *topic)
{
    static cli_option list[OPTIONS_MAX];
    size_t count = 0;
    memset(list, 0, sizeof list);
    for (size_t i = 0; i < hd_report_count(); i++) {
        if (!topic || strcmp(topic, hd_report_at(i)->name) == 0) list_options(list, &count, hd_report_at(i));
    }
    return list;
}

static bool has_option(const hd_report_about *about, const char *name)
{
    for (const hd_option_about *o = about->options; o && o->name; o++) {
        if (strcmp(o->name, name) == 0) return true;
    }
    return false;
}

static void topic_help(cli_run *run, const char *topic)
{
    report_help(run, hd_report_about_find(topic), options);
}

/* ---- one file ---- */

enum { REPORTS_MAX = 32 };

typedef struct asked {
    const hd_report_about *abouts[REPORTS_MAX]; /* ends with NULL */
    size_t count;
    char *texts[CLI_TEXTS_MAX + 1]; /* "by=step"; ends with NULL */
    int first;                      /* of the operands that are files */
    hd_job *job;                    /* of which the first screen is shown; NULL: none */
    job_files ranks;                /* of a page of that job: the traces that are on it one by one */
    bool has_flame;                 /* a page that draws a flame graph */
} asked;

static bool wanted(const char *list, const char *name)
{
    size_t size = strlen(name);
    for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL) {
        if (strcspn(list, ",") == size && memcmp(list, name, size) == 0) return true;
    }
    return false;
}

/* Only the tables of --table, and of reports that count no rows themselves the first of --rows. */
static hd_status choose_tables(hd_report *report, const cli_run *run, const hd_report_about *about, hd_error *err)
{
    const struct report_options *chosen = run->options;
    bool cut = chosen->rows && !has_option(about, "rows") && (run->global.json || chosen->csv || chosen->output);
    size_t kept = 0;
    hd_status status = HD_OK;
    for (size_t i = 0; i < report->table_count; i++) {
        hd_table *table = report->tables[i], *head;
        bool is_wanted = !chosen->table || wanted(chosen->table, hd_table_name(table));
        if (is_wanted && cut && chosen->rows < hd_table_row_count(table) && status == HD_OK &&
            (status = hd_table_head(&head, table, (size_t)chosen->rows, err)) == HD_OK) {
            hd_table_free(table);
            table = head;
        }
        if (is_wanted)
            report->tables[kept++] = table;
        else
            hd_table_free(table);
    }
    report->table_count = kept;
    return status;
}

enum { NAME_BYTES = 64 };

/* The part before any of `ends`; a name that is too long is cut, and so will be unknown. */
static size_t name_before(char out[NAME_BYTES], const char *text, const char *ends)
{
    size_t size = strcspn(text, ends), kept = size < NAME_BYTES ? size : NAME_BYTES - 1;
    memcpy(out, text, kept);
    out[kept] = '\0';
    return size;
}

/* Those of the options that a report has; the caller frees the list, not the texts. */
static const char **options_of(const asked *a, const hd_report_about *about)
{
    size_t count = 0;
    const char **list = calloc(CLI_TEXTS_MAX + 1, sizeof *list);
    for (char *const *text = a->texts; list && *text; text++) {
        char name[NAME_BYTES];
        name_before(name, *text, "=");
        if (a->count == 1 || has_option(about, name)) list[count++] = *text;
    }
    return list;
}

static hd_status make_report(hd_report *out, cli_run *run, const asked *a, const hd_report_about *about,
                             const hd_report_input *of, const char *path)
{
    hd_report_input input = *of;
    const char **given = options_of(a, about);
    if (!given) return hd_error_set(&run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    input.options = given;
    hd_status status = report_make(out, run, about->name, input);
    if (status == HD_OK) status = choose_tables(out, run, about, &run->err);
    if (status != HD_OK) hd_report_free(out);
    if (status != HD_OK && !run->err.path[0]) snprintf(run->err.path, sizeof run->err.path, "%s", path);
    free(given);
    return status;
}

/* ---- which report, and with which options ---- */

static int refuse_name(cli_run *run, const char *name)
{
    const char *best = NULL;
    unsigned distance = UINT_MAX;
    for (const cli_example *topic = topics(); topic->command; topic++)
        hd_name_suggest(name, topic->command, &best, &distance);
    if (best) return cli_usage_error(run, "there is no report '%.60s'; did you mean %s?", name, best);
    return cli_usage_error(run, "'%.60s' names no report, and is not a file; `heddle report` lists the reports", name);
}

static bool is_page(const struct report_options *chosen)
{
    return chosen->output && hd_report_format_of(chosen->output) == HD_REPORT_HTML && !chosen->table;
}

enum { PAGE_PIECES = 100, PAGE_COLUMNS = 240, PAGE_RANKS = 64 };
/* The reports of a page when none was named, for a file and for each rank of a job. */
static const char page_of_rank[] = "info,summary,timeline,kernels";
static const char page_reports[] =
    "info,summary,timeline,breakdown,kernels,copies,operators,modules,ranges,steps,launches,queue,states,idle,"
    "syncs,communication,flops,memory";

static int take_names(asked *a, cli_run *run, const char *names)
{
    for (const char *at = names; *at; at += *at == ',') {
        char name[NAME_BYTES];
        size_t size = name_before(name, at, ",");
        if (!hd_report_about_find(name)) return refuse_name(run, name);
        if (a->count + 1 == REPORTS_MAX) return cli_usage_error(run, "at most %d reports at once", REPORTS_MAX - 1);
        a->abouts[a->count++] = hd_report_about_find(name);
        at += size;
    }
    return CLI_OK;
}

/* The traces of a job, which may be in folders; of many the first. */
static hd_status list_ranks(job_files *out, cli_run *run)
{
    hd_status status = HD_OK;
    size_t kept = 0;
    for (int i = 0; i < run->operand_count && status == HD_OK; i++) status = job_files_add(out, run, run->operands[i]);
    for (size_t i = 0; i < out->count; i++) {
        if (kept < PAGE_RANKS && !hd_job_is_file(out->list[i]))
            out->list[kept++] = out->list[i];
        else
            free(out->list[i]);
    }
    out->count = kept;
    return status;
}

/* Files without a report's name, for text and pages, and of summary for text, are a job if they look like one. */
static bool find_job(asked *a, cli_run *run)
{
    const struct report_options *chosen = run->options;
    const hd_read_options read = {.strict = chosen->strict, .binary = chosen->binary, .lazy = true};
    bool is_text = !chosen->output && !chosen->csv && !chosen->table && !chosen->given.count && !run->global.json;
    bool may_be = is_text || (!a->first && is_page(chosen) && !chosen->given.count);
    if (may_be && report_ranks_read(&a->job, run, a->first, &read) != HD_OK) return false;
    return !a->job || is_text || list_ranks(&a->ranks, run) == HD_OK;
}

/* The first operand names reports; if it is a file, the report is summary, of a job its first screen, and for a page
 * all of them. */
static int find_reports(asked *a, cli_run *run)
{
    const struct report_options *chosen = run->options;
    const char *first = run->operands[0];
    char name[NAME_BYTES];
    name_before(name, first, ",");
    bool is_file = strcmp(first, "-") == 0 || access(first, F_OK) == 0;
    a->first = hd_report_about_find(first) || (!is_file && hd_report_about_find(name));
    if (!a->first && !is_file) return refuse_name(run, first);
    if ((!a->first || strcmp(first, "summary") == 0) && !find_job(a, run)) return CLI_FAILED;
    const char *unnamed = a->job ? report_names_of_job(a->job) : is_page(chosen) ? page_reports : "summary";
    a->has_flame = !a->first && !a->job && is_page(chosen) && run->operand_count == 1;
    int status = take_names(a, run, a->first && !a->job ? first : unnamed);
    if (status == CLI_OK && a->job && is_page(chosen)) status = take_names(a, run, page_of_rank);
    if (status != CLI_OK) return status;
    for (size_t i = 0; i < a->count; i++) {
        const char *option = a->abouts[i]->table_option;
        if (option && (a->count > 1 || run->operand_count > 1))
            return cli_usage_error(run, "report %s runs alone and reads no FILE but that of --%s", a->abouts[i]->name,
                                   option);
        if (a->abouts[i]->of_job && !a->job && a->count > 1 && run->operand_count - a->first > 1)
            return cli_usage_error(run,
                                   "report %s analyses all files together: it cannot be combined with other reports",
                                   a->abouts[i]->name);
        if (!option && a->first && run->operand_count < 2)
            return cli_usage_error(run, "too few operands: heddle report %.60s needs FILE...", first);
    }
    return CLI_OK;
}

/* A report of several gets those of the options that it has, of which each must have one. */
static int check_options(const asked *a, cli_run *run)
{
    if (a->count == 1) {
        bool fine = hd_report_options_valid(a->abouts[0]->name, (const char *const *)a->texts, &run->err) == HD_OK;
        return fine ? CLI_OK : CLI_USAGE;
    }
    for (char *const *text = a->texts; *text; text++) {
        char name[NAME_BYTES];
        bool known = false;
        name_before(name, *text, "=");
        for (size_t i = 0; i < a->count && !known; i++) known = has_option(a->abouts[i], name);
        if (!known) return cli_usage_error(run, "unknown option --%s; none of these reports has it", name);
    }
    for (size_t i = 0; i < a->count; i++) {
        const char **list = options_of(a, a->abouts[i]);
        bool fine = list && hd_report_options_valid(a->abouts[i]->name, list, &run->err) == HD_OK;
        free(list);
        if (!fine) return CLI_USAGE;
    }
    return CLI_OK;
}

static int collect_options(asked *a, cli_run *run)
{
    const struct report_options *chosen = run->options;
    size_t count = 0;
    int size = 0;
    for (size_t i = 0; i < chosen->given.count && size >= 0; i++) {
        const char *value = chosen->given.values[i];
        size = asprintf(&a->texts[count++], "%s%s%s", chosen->given.names[i], value ? "=" : "", value ? value : "");
    }
    bool counts_rows = false, has_pieces = false, has_width = false;
    for (size_t i = 0; i < a->count; i++) {
        counts_rows |= has_option(a->abouts[i], "rows");
        has_pieces |= has_option(a->abouts[i], "pieces");
        has_width |= has_option(a->abouts[i], "width");
    }
    for (size_t i = 0; i < chosen->given.count; i++) {
        has_pieces &= strcmp(chosen->given.names[i], "pieces") != 0;
        has_width &= strcmp(chosen->given.names[i], "width") != 0;
    }
    if (has_width && is_page(chosen) && count < CLI_TEXTS_MAX && size >= 0)
        size = asprintf(&a->texts[count++], "width=%d", PAGE_COLUMNS);
    if (has_pieces && is_page(chosen) && count < CLI_TEXTS_MAX && size >= 0)
        size = asprintf(&a->texts[count++], "pieces=%d", PAGE_PIECES); /* for its charts */
    if (chosen->rows && counts_rows && count < CLI_TEXTS_MAX && size >= 0)
        size = asprintf(&a->texts[count++], "rows=%llu", (unsigned long long)chosen->rows);
    bool is_text = !chosen->output && !chosen->csv && !chosen->table && !run->global.json && !chosen->all;
    for (size_t i = 0; is_text && i < a->count && count < CLI_TEXTS_MAX && size >= 0; i++) {
        char text[64];
        if (a->count == 1 && report_text_option(text, run, a->abouts[i]->name, &chosen->given))
            size = (a->texts[count++] = strdup(text)) ? 0 : -1;
    }
    if (size < 0) {
        a->texts[count - 1] = NULL;
        hd_error_set(&run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
        return CLI_FAILED;
    }
    return check_options(a, run);
}

/* A table whose meaning begins "with --NAME" needs that option: its name if it is missing; else NULL. */
static const char *lacks_option(const cli_run *run, const hd_report_table_about *table, size_t *out_size)
{
    const cli_given *given = &((const struct report_options *)run->options)->given;
    static const char with[] = "with --";
    const char *name = table->meaning + sizeof with - 1;
    if (strncmp(table->meaning, with, sizeof with - 1) != 0) return NULL;
    *out_size = strcspn(name, ": ");
    for (size_t i = 0; i < given->count; i++) {
        if (strlen(given->names[i]) == *out_size && memcmp(given->names[i], name, *out_size) == 0) return NULL;
    }
    return name;
}

static int check_tables(const asked *a, cli_run *run)
{
    const struct report_options *chosen = run->options;
    for (const char *at = chosen->table; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char known[512] = "";
        size_t size = strcspn(at, ","), option_size;
        bool found = false;
        for (size_t i = 0; i < a->count; i++) {
            const hd_report_table_about *table = report_table_of(a->abouts[i], at, size);
            const char *option = table ? lacks_option(run, table, &option_size) : NULL;
            if (option)
                return cli_usage_error(run, "--table: report %s makes '%s' only with --%.*s", a->abouts[i]->name,
                                       table->name, (int)option_size, option);
            found |= table != NULL;
            for (const hd_report_table_about *t = a->abouts[i]->tables; t->name; t++) {
                size_t used = strlen(known);
                snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", t->name);
            }
        }
        if (found) continue;
        return cli_usage_error(run, "--table: report %s has no table '%.*s'; it has %s", a->abouts[0]->name,
                               (int)(size < 60 ? size : 60), at, known);
    }
    return CLI_OK;
}

static int check_output(hd_report_format *out, const asked *a, cli_run *run)
{
    const struct report_options *chosen = run->options;
    const char *path = chosen->output;
    size_t size = path ? strlen(path) : 0;
    bool folder = size && path[size - 1] == '/';
    *out = run->global.json ? HD_REPORT_JSON : chosen->csv ? HD_REPORT_CSV : 0;
    if (chosen->csv && run->global.json) return cli_usage_error(run, "--csv and --json exclude each other");
    if (path && *out && strcmp(path, "-") != 0)
        return cli_usage_error(run, "-o follows the extension, without --%s", chosen->csv ? "csv" : "json");
    if (path && !*out) *out = hd_report_format_of(path);
    if (folder && !*out) *out = HD_REPORT_CSV;
    if (path && !*out)
        return cli_usage_error(
            run,
            "-o: what to write does not follow from '%.100s': use .html, .json, .md, .csv, .parquet, .dot or FOLDER/",
            path);
    const char *name = *out == HD_REPORT_CSV ? "CSV" : *out == HD_REPORT_PARQUET ? "Parquet" : NULL;
    if (!name) return CLI_OK;
    if (a->count > 1) return cli_usage_error(run, "%s is of one report; %zu were given", name, a->count);
    if (!folder && chosen->table && strchr(chosen->table, ','))
        return cli_usage_error(run, "--table: %s is of one table; -o FOLDER/ writes several", name);
    return CLI_OK;
}

/* ---- the command ---- */

/* Text is printed at once; anything else when all are there. */
typedef struct report_run {
    const asked *asked;
    const hd_gpus *gpus;
    hd_report_format format;
    hd_report *reports;
    hd_report_part *parts;
    size_t count;
    char *job; /* name of its files together */
} report_run;

static hd_status run_report(report_run *r, cli_run *run, const hd_report_about *about, const hd_report_input *input,
                            const char *path)
{
    const struct report_options *chosen = run->options;
    int64_t start_ns = input->trace ? hd_trace_facts_of(input->trace)->start_ns : HD_NO_TIME;
    hd_report *report = &r->reports[r->count];
    hd_status status = make_report(report, run, r->asked, about, input, path);
    if (status != HD_OK) return status;
    r->parts[r->count] = (hd_report_part){path, about, report, start_ns == HD_NO_TIME ? 0 : start_ns};
    if (r->format) {
        r->count++;
        return HD_OK;
    }
    const report_text text = {.run = run,
                              .path = r->asked->job && r->count ? NULL : path,
                              .about = about,
                              .report = report,
                              .start_ns = r->parts[r->count].start_ns,
                              .rows = chosen->rows,
                              .all = chosen->all,
                              .first_table = r->asked->job != NULL,
                              .tables = chosen->table != NULL};
    if (r->count && !summary_is_screen(&text)) cli_print(run, "\n");
    report_text_print(&text);
    hd_report_free(report);
    r->count++;
    return HD_OK;
}

static hd_status run_flame(report_run *r, cli_run *run, const hd_trace *trace, const char *path)
{
    hd_flame *flame;
    hd_report *report = &r->reports[r->count];
    hd_status status = hd_flame_new(&flame, &run->err);
    if (status != HD_OK) return status;
    status = hd_flame_add(flame, trace, NULL, NULL, NULL, &run->err);
    if (status == HD_OK) status = hd_flame_report(report, flame, &run->err);
    if (status == HD_OK) r->parts[r->count++] = (hd_report_part){path, hd_flame_report_about(), report, 0};
    hd_flame_free(flame);
    return status;
}

/* All chosen reports of a file; they share intermediate results. */
static hd_status run_file(report_run *r, cli_run *run, const char *path)
{
    const struct report_options *chosen = run->options;
    hd_trace *trace;
    hd_launches *launches = NULL;
    hd_read_options read = {.strict = chosen->strict, .binary = chosen->binary, .lazy = true};
    for (size_t i = 0; i < r->asked->count; i++) read.sources |= r->asked->abouts[i]->wants_sources;
    hd_status status = report_read(&trace, run, path, read);
    if (status != HD_OK) return status;
    status = report_join_counters(&trace, run, path, chosen->counters);
    if (status == HD_OK && r->asked->count > 1) status = hd_launches_new(&launches, trace, &run->err);
    const hd_report_input input = {.trace = trace, .launches = launches, .gpus = r->gpus};
    for (size_t i = 0; i < r->asked->count && status == HD_OK && !run->out_error; i++) {
        if (!r->asked->job || !r->asked->abouts[i]->of_job)
            status = run_report(r, run, r->asked->abouts[i], &input, path);
    }
    if (status == HD_OK && r->asked->has_flame) status = run_flame(r, run, trace, path);
    if (status == HD_OK) status = report_check_read(trace, path, &run->err);
    hd_launches_free(launches);
    hd_trace_free(trace);
    return status;
}

/* A report over all files together, or a job's summary. Files that cannot be read are reported. */
static hd_status run_job(report_run *r, cli_run *run)
{
    const struct report_options *chosen = run->options;
    const hd_read_options read = {.strict = chosen->strict, .binary = chosen->binary, .lazy = true};
    uint64_t failed;
    hd_job *job = r->asked->job;
    hd_status status = HD_OK;
    if (job)
        status = job_print_some_misfits(run, job, HD_MISFIT_RANKS | HD_MISFIT_DAMAGE);
    else
        status = job_read(&job, &failed, run, r->asked->first, (job_shard){.tells_misfits = true}, &read);
    if (status != HD_OK) return status;
    r->job = report_name_of_files(run->operands + r->asked->first, run->operand_count - r->asked->first);
    if (!r->job) status = hd_error_set(&run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    for (size_t i = 0; i < r->asked->count && status == HD_OK && hd_job_count(job); i++) {
        if (!r->asked->abouts[i]->of_job) continue;
        status = run_report(r, run, r->asked->abouts[i], &(hd_report_input){.job = job, .gpus = r->gpus}, r->job);
    }
    if (r->asked->job && !r->format && status == HD_OK)
        cli_print(run, "%smore: heddle %s, view FILE...; heddle summary FILE\n",
                  run->is_terminal && !chosen->all ? "" : "\n",
                  strcmp(r->asked->abouts[0]->name, "hang") == 0 ? "hang" : "imbalance, stragglers");
    if (job != r->asked->job) hd_job_free(job);
    return status;
}

/* The file that a report without a trace reads. */
static const char *path_of_table(const asked *a, const cli_run *run)
{
    const cli_given *given = &((const struct report_options *)run->options)->given;
    const char *path = "";
    for (size_t i = 0; i < given->count; i++)
        if (strcmp(given->names[i], a->abouts[0]->table_option) == 0) path = given->values[i];
    return path;
}

static int run_files(cli_run *run, const asked *a, hd_report_format format, const hd_gpus *gpus)
{
    const struct report_options *chosen = run->options;
    bool is_table = a->abouts[0]->table_option != NULL, is_job = a->job || (a->abouts[0]->of_job && a->count == 1);
    size_t files = is_table ? 1 : (size_t)(run->operand_count - a->first);
    report_run r = {.asked = a, .gpus = gpus, .format = format};
    if (chosen->counters && (is_table || is_job))
        return cli_usage_error(run,
                               "--counters is for reports of a trace; heddle convert --counters joins those of a job");
    size_t room = (files + a->ranks.count) * (a->count + a->has_flame);
    r.reports = calloc(room, sizeof *r.reports);
    r.parts = calloc(room, sizeof *r.parts);
    int usage = CLI_OK;
    for (size_t i = 0; r.reports && r.parts && i < files && usage == CLI_OK && !run->out_error; i++) {
        const char *path = is_table ? path_of_table(a, run) : run->operands[(size_t)a->first + i];
        hd_status status = is_job     ? run_job(&r, run)
                           : is_table ? run_report(&r, run, a->abouts[0], &(hd_report_input){0}, path)
                                      : run_file(&r, run, path);
        if (is_job) i = files;
        if (status == HD_ERR_ARGUMENT)
            usage = CLI_USAGE;
        else if (status != HD_OK)
            cli_report(run);
    }
    for (size_t i = 0; r.count && i < a->ranks.count && usage == CLI_OK && !run->out_error; i++) {
        if (run_file(&r, run, a->ranks.list[i]) != HD_OK) cli_report(run);
    }
    if (!r.reports || !r.parts) hd_error_set(&run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    bool any = format && r.count && usage == CLI_OK;
    if (any && chosen->output && strcmp(chosen->output, "-") != 0) {
        if (hd_report_write(chosen->output, format, r.parts, r.count, &run->err) == HD_OK)
            report_say_wrote(run, chosen->output, false);
    } else if (any)
        hd_report_print((hd_sink){cli_write, run}, format, r.parts, r.count, &run->err);
    for (size_t i = 0; format && i < r.count; i++) hd_report_free(&r.reports[i]);
    free(r.job);
    free(r.parts);
    free(r.reports);
    return usage != CLI_OK ? usage : run->err.status != HD_OK ? CLI_FAILED : CLI_OK;
}

/* The table of GPUs, if one of the reports looks at it. */
static int find_gpus(hd_gpus **out, const asked *a, cli_run *run)
{
    const struct report_options *chosen = run->options;
    bool is_wanted = false;
    for (size_t i = 0; i < a->count; i++) is_wanted |= a->abouts[i]->wants_gpus;
    if (is_wanted) return report_gpus_read(out, run, &chosen->gpus) ? CLI_OK : CLI_FAILED;
    return chosen->gpus.count
               ? cli_usage_error(run, "--gpus: report %s looks at no peaks of GPUs; flops and summary do",
                                 a->abouts[0]->name)
               : CLI_OK;
}

/* Each report takes and frees tables of megabytes: their pages are kept for the next one, not given back and cleared
 * again, which is a tenth of `summary`. */
static void choose_heap(void)
{
#ifdef __GLIBC__
    enum { OWN_PAGES = 1 << 24, KEPT = 1 << 28 };
    mallopt(M_MMAP_THRESHOLD, OWN_PAGES);
    mallopt(M_TRIM_THRESHOLD, KEPT);
#endif
}

static int run(cli_run *run)
{
    const struct report_options *chosen = run->options;
    asked a = {0};
    hd_report_format format;
    hd_gpus *gpus = NULL;
    if (run->operand_count == 0) {
        if (chosen->given.count || chosen->gpus.count || chosen->output || chosen->table || chosen->csv)
            return cli_usage_error(run, "which report? heddle report NAME FILE...");
        report_list(run);
        return run->err.status == HD_OK ? CLI_OK : CLI_FAILED;
    }
    choose_heap();
    cli_end_after(chosen->timeout_s);
    int status = find_reports(&a, run);
    if (status == CLI_OK) status = check_tables(&a, run);
    if (status == CLI_OK) status = check_output(&format, &a, run);
    if (status == CLI_OK) status = collect_options(&a, run);
    if (status == CLI_OK) status = find_gpus(&gpus, &a, run);
    if (status == CLI_OK) status = run_files(run, &a, format, gpus);
    hd_gpus_free(gpus);
    hd_job_free(a.job);
    job_files_deinit(&a.ranks);
    for (char **text = a.texts; *text; text++) free(*text);
    return status;
}

const cli_command cmd_report = {
    .name = "report",
    .group = CLI_LOOK,
    .summary = "analyse a trace: kernels, idle time, critical path, …",
    .usage = "[NAME,...] FILE...",
    .offer = "<reports> <files>",
    .description =
        "Prints tables that analyse a trace. Without operands it lists the reports. With a FILE alone it prints the "
        "summary; with -o PAGE.html it writes a page with all reports; the ranks of a job share one page. NAME may be "
        "several reports, separated by commas; `heddle "
        "NAME FILE...` is the same. `heddle help NAME` explains a report, its options and its columns. "
        "docs/reports/definitions.md defines every figure.\n\n"
        "Text output is abridged: top rows, times relative to the first event, empty columns omitted, lines that fit "
        "the terminal. --json and files contain everything: an object with path and report, then each table by its "
        "name; for several files an array of objects. CSV and Parquet of several files are one table, with a column "
        "file. Times and durations are nanoseconds. A value that the trace "
        "does not contain is null, never 0. The file - is standard input.\n\n"
        "The exit status is 0 even if a report found something wrong; in scripts use `heddle check`.",
    .options = options,
    .options_size = sizeof(struct report_options),
    .operands_min = 0,
    .operands_max = -1,
    .has_json = true,
    .run = run,
    .topics_title = "Reports",
    .topics = topics,
    .more_options = more_options,
    .topic_help = topic_help,
    .examples = (const cli_example[]){{"heddle report trace.json", "one screen: where the time goes"},
                                      {"heddle report", "the reports"},
                                      {"heddle report kernels --by op trace.json", "one of them"},
                                      {"heddle report -o report.html trace.json", "all of them, as a page"},
                                      {"heddle report info --table tracks --csv trace.json >tracks.csv", "a table"},
                                      {0}},
};
