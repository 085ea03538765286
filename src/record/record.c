/* record.c - a command, run and captured */
#include "heddle/capture/record.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "record/impl.h"

#define PARTS ".parts"

void record_say(const recording *r, const char *format, ...)
{
    char message[HD_ERROR_TEXT_BYTES + 512];
    va_list args;
    if (!r->options->say) return;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    r->options->say(r->options->user, message);
}

void hd_record_result_free(hd_record_result *result)
{
    if (!result) return;
    for (size_t i = 0; i < result->problem_count; i++) free(result->problems[i].message);
    free(result->problems);
    free(result->budget);
    free(result->output);
    free(result->parts);
    hd_convert_report_free(result->convert);
    free(result);
}

/* ---- before ---- */

static hd_status check_options(const hd_record_options *o, hd_error *err)
{
    if (o->delay_ns < 0 || o->duration_ns < 0)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "delay and duration are at least 0");
    if (o->steps && strpbrk(o->steps, ",="))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "steps \"%.60s\" are not written A:B",
                            o->steps);
    if (o->step_name && (!o->step_name[0] || strlen(o->step_name) > 63 || strchr(o->step_name, ',')))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "the name of steps has 1 to 63 bytes, and no comma; not \"%.60s\"", o->step_name);
    if (o->budget && !(o->budget >= 0.0001 && o->budget <= 0.5))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "a budget is a share from 0.0001 to 0.5");
    if (o->budget > 0 && (o->steps || o->trigger || o->duration_ns))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "a budget chooses the windows: it excludes steps, trigger and duration");
    if (o->keep_last_ns && (o->keep_last_ns < 1000000000 || o->keep_last_ns > INT64_C(86400000000000)))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "what is kept is from 1 s to 24 hours");
    if (o->keep_last_ns && (o->budget > 0 || o->steps || o->trigger || o->duration_ns || o->memory || o->kernel))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "keeping the last events excludes budget, steps, trigger, duration, memory and kernel");
    if (o->on_stall_ns < 0 || (o->on_stall_ns && !o->keep_last_ns))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "a stall needs events that are kept");
    if (o->step_name && !o->steps && !o->budget)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "the name of steps makes no sense without --steps A:B or --budget");
    if ((unsigned)o->policy > HD_RING_BLOCK)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "there is no policy %d", (int)o->policy);
    return HD_OK;
}

static hd_status check_format(const char *output, hd_error *err)
{
    const hd_format_info *info = output ? hd_format_for_path(output) : NULL;
    if (!output || (info && info->writes)) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, output, HD_OFFSET_NONE,
                        "has no extension of a format that can be written: use .heddle, or another that heddle formats "
                        "lists");
}

static hd_status name_files(recording *r)
{
    hd_record_result *result = r->result;
    const char *output = r->options->output;
    if (output && strcmp(output, "-") == 0)
        return hd_error_set(r->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "standard output is the command's: the trace needs a file");
    HD_TRY(check_format(output, r->err));
    if (output) {
        result->output = strdup(output);
    } else {
        char *name = r->options->pid ? record_name_of_process(r->options->pid) : strdup(r->command[0]);
        result->output = name ? record_output_name(name) : NULL;
        free(name);
    }
    if (!result->output || asprintf(&result->parts, "%s%s", result->output, PARTS) < 0) {
        result->parts = NULL;
        return HD_NOMEM(r->err);
    }
    return HD_OK;
}

/* Finds and checks the injection library; a replaced setting was reported. */
static hd_status find_library(recording *r, hd_error *err)
{
    const hd_record_options *o = r->options;
    if (o->no_cuda) return HD_OK;
    hd_status status = hd_record_library(&r->library, o->library, err);
    if (status != HD_OK) return status;
    const char *other = record_environment_other(r->library);
    if (other)
        record_say(r, "CUDA_INJECTION64_PATH was %s, of which there can be one: it is heddle's for this run", other);
    return HD_OK;
}

static hd_status prepare(recording *r, hd_error *err)
{
    hd_error missing = {0};
    HD_TRY(hd_trace_write_check(r->result->output, NULL, err));
    hd_status status = find_library(r, &missing);
    if (status != HD_OK && r->options->strict) {
        if (err) *err = missing;
        return status;
    }
    /* The kernel's events, and captures by `attach`, need no driver. */
    bool needs_driver = r->library && !r->options->kernel && !r->options->attach;
    if (r->options->strict && needs_driver && record_cuda_missing(r))
        return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                            "the command was not run, as its use of CUDA cannot be captured");
    HD_TRY(record_parts_make(r, err));
    char text[HD_ERROR_TEXT_BYTES];
    if (status != HD_OK) {
        record_say(r, "CUDA is not captured: %s", hd_error_text(text, sizeof text, &missing));
        r->missing = missing;
    }
    r->live = record_live_start(r);
    return record_environment(&r->environment, r->options, r->library, r->result->parts, err);
}

/* The command matters more than its trace: by default it runs without one. */
static hd_status run_without(recording *r, const hd_error *why)
{
    r->without = r->result->without = true;
    char text[HD_ERROR_TEXT_BYTES];
    record_say(r, "%s: the command runs without being captured", hd_error_text(text, sizeof text, why));
    if (r->err && r->err->status == HD_OK) *r->err = *why;
    hd_error err = {0}, *kept = r->err;
    r->err = &err;
    hd_status status = record_command(r);
    r->err = kept;
    if (status == HD_OK) return why->status;
    if (r->err) *r->err = err;
    return status;
}

/* ---- all of it ---- */

static hd_status run(recording *r)
{
    hd_error why = {0};
    HD_TRY(check_options(r->options, r->err));
    HD_TRY(name_files(r));
    if (r->options->tool) return record_with_tool(r);
    hd_status status = prepare(r, &why);
    bool is_fatal = r->options->strict || r->options->pid || status == HD_ERR_ARGUMENT || status == HD_ERR_MEMORY;
    if (status != HD_OK && is_fatal) {
        if (r->err) *r->err = why;
        return status;
    }
    if (status != HD_OK) return run_without(r, &why);
    status = r->options->pid ? record_running_process(r) : record_command(r);
    if (r->result->started) {
        hd_status collected = record_collect(r);
        if (collected == HD_OK && r->missing.status != HD_OK && !r->result->written) {
            r->result->without = true;
            if (r->err) *r->err = r->missing;
            collected = r->missing.status;
        }
        return status == HD_OK ? collected : status;
    }
    record_parts_remove(r->result->parts);
    return status;
}

hd_status hd_record_run(hd_record_result **out, const char *const *command, const hd_record_options *options,
                        hd_error *err)
{
    *out = NULL;
    HD_OWN_OPTIONS(hd_record_options, options, err);
    recording r = {.options = options, .result = *out = calloc(1, sizeof **out), .err = err, .command = command};
    if (!r.result) return HD_NOMEM(err);
    if (options->pid && (!options->attach || !options->detach || (command && command[0])))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "a process is captured by attach, without a command");
    if (!options->pid && (!command || !command[0]))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "there is no command to record");
    hd_status status = run(&r);
    record_live_end(r.live);
    record_environment_free(r.environment);
    free(r.library);
    return status;
}

/* OUT.heddle.parts -> OUT.heddle */
static char *output_of(const char *parts)
{
    size_t size = strlen(parts), extension = strlen(PARTS);
    while (size > 1 && parts[size - 1] == '/') size--;
    if (size > extension && memcmp(parts + size - extension, PARTS, extension) == 0)
        return strndup(parts, size - extension);
    char *name;
    return asprintf(&name, "%.*s.heddle", (int)size, parts) < 0 ? NULL : name;
}

hd_status hd_record_recover(hd_record_result **out, const char *parts, const hd_record_options *options, hd_error *err)
{
    *out = NULL;
    HD_OWN_OPTIONS(hd_record_options, options, err);
    hd_record_result *result = *out = calloc(1, sizeof **out);
    if (!result) return HD_NOMEM(err);
    recording r = {.options = options, .result = result, .err = err};
    result->parts = strdup(parts);
    result->output = options->output ? strdup(options->output) : output_of(parts);
    if (!result->parts || !result->output) return HD_NOMEM(err);
    if (strcmp(result->output, "-") != 0) HD_TRY(check_format(result->output, err));
    HD_TRY(hd_trace_write_check(result->output, NULL, err));
    return record_collect(&r);
}
