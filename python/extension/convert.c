/* convert.c - from files to a file, from traces to a trace: convert, fix, passes, writing */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

static const char *const levels[] = {"note", "repair", "loss"};

static PyObject *count_of(uint64_t value)
{
    return PyLong_FromUnsignedLongLong(value);
}

/* Raises where no format is named, and none is known by the extension: as the command, and no guess. */
static bool has_format(PyObject *path, const char *format)
{
    const char *text = fs_text(path);
    const hd_format_info *info = format ? hd_format_find(format) : hd_format_for_path(text);
    if (info && info->writes) return true;
    hd_error err = {0};
    if (format || strcmp(text, "-") == 0 || strncmp(text, "/dev/", 5) == 0) return true; /* the writer decides */
    raise_status(hd_error_set(&err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                              info ? "'%.200s': %s can be read, but not written"
                                   : "no format is known by the extension of '%.200s': use one that heddle.formats() "
                                     "lists, such as .heddle, .json.gz or .pftrace%s",
                              text, info ? info->name : ""),
                 &err);
    return false;
}

/* ---- convert ---- */

typedef struct convert_job {
    job job;
    const char **inputs, **pass_texts;
    size_t input_count, pass_count;
    PyObject *keep_inputs, *keep_passes, *to, *binary;
    hd_pass **passes;
    hd_convert_options options;
    hd_read_options read;
    hd_write_options write;
    hd_convert_report *report;
} convert_job;

/* Whoever does not wait any more wants no file. */
static hd_status stop_if_abandoned(void *user, hd_trace **trace, size_t index, hd_error *err)
{
    (void)trace;
    (void)index;
    convert_job *job = user;
    return atomic_load(&job->job.abandoned) ? hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "interrupted")
                                            : HD_OK;
}

static hd_status run_convert(job *base)
{
    convert_job *job = (convert_job *)base;
    for (size_t i = 0; i < job->pass_count; i++) {
        hd_status status = hd_pass_new(&job->passes[i], job->pass_texts[i], NULL, 0, &base->err);
        if (status != HD_OK) return status;
    }
    job->options.passes = (const hd_pass *const *)job->passes;
    job->options.pass_count = job->pass_count;
    return hd_convert(&job->report, job->inputs, job->input_count, fs_text(job->to), &job->options, &base->err);
}

static void drop_convert(job *base)
{
    convert_job *job = (convert_job *)base;
    for (size_t i = 0; job->passes && i < job->pass_count; i++) hd_pass_free(job->passes[i]);
    hd_convert_report_free(job->report);
    free(job->passes);
    free(job->inputs);
    free(job->pass_texts);
    Py_XDECREF(job->keep_inputs);
    Py_XDECREF(job->keep_passes);
    Py_XDECREF(job->to);
    Py_XDECREF(job->binary);
    job_free(base);
}

static PyObject *ledger_rows(const hd_ledger_row *rows, size_t count)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *row = Py_BuildValue("(sssKK)", rows[i].stage, rows[i].code, levels[rows[i].level],
                                      (unsigned long long)rows[i].count, (unsigned long long)rows[i].lost_events);
        if (!append(list, row)) Py_CLEAR(list);
    }
    return list;
}

static PyObject *convert_steps(const hd_convert_report *report)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < report->step_count; i++) {
        const hd_convert_step *step = &report->steps[i];
        PyObject *row = Py_BuildValue("(sKKKKK)", step->name, (unsigned long long)step->in,
                                      (unsigned long long)step->added, (unsigned long long)step->removed,
                                      (unsigned long long)step->lost, (unsigned long long)step->out);
        if (!append(list, row)) Py_CLEAR(list);
    }
    return list;
}

static PyObject *convert_dict(const hd_convert_report *r)
{
    PyObject *out = PyDict_New();
    if (out && put(out, "format", text_or_none(r->format)) && put(out, "events_in", count_of(r->events_in)) &&
        put(out, "events_out", count_of(r->events_out)) && put(out, "added", count_of(r->added)) &&
        put(out, "removed", count_of(r->removed)) && put(out, "lost", count_of(r->lost)) &&
        put(out, "new_lanes", count_of(r->new_lanes)) && put(out, "moved_slices", count_of(r->moved_slices)) &&
        put(out, "snapped_crossings", count_of(r->snapped_crossings)) && put(out, "repairs", count_of(r->repairs)) &&
        put(out, "losses", count_of(r->losses)) && put(out, "steps", convert_steps(r)) &&
        put(out, "ledger", ledger_rows(r->ledger, r->ledger_count))) {
        return out;
    }
    Py_XDECREF(out);
    return NULL;
}

/* convert(inputs, to, format, passes, ranks, processes, strict, threads, memory_limit, level, pretty, clean,
   binary) */
static PyObject *convert(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *inputs, *to = NULL, *passes, *binary;
    const char *format;
    int ranks, processes, strict, pretty, clean, level;
    unsigned threads;
    unsigned long long memory_limit;
    if (!PyArg_ParseTuple(args, "OO&zOpppIKippO", &inputs, path_converter, &to, &format, &passes, &ranks, &processes,
                          &strict, &threads, &memory_limit, &level, &pretty, &clean, &binary)) {
        Py_XDECREF(to);
        return NULL;
    }
    if (!has_format(to, format)) {
        Py_DECREF(to);
        return NULL;
    }
    convert_job *job = job_new(sizeof *job, run_convert, drop_convert);
    if (!job) {
        Py_DECREF(to);
        return NULL;
    }
    job->to = to;
    job->read = (hd_read_options){.threads = threads, .memory_limit = memory_limit};
    job->write = (hd_write_options){.threads = threads, .level = level, .pretty = pretty, .clean = clean};
    job->options = (hd_convert_options){.size = sizeof job->options,
                                        .ranks = ranks,
                                        .processes = processes,
                                        .strict = strict,
                                        .read = &job->read,
                                        .write = &job->write,
                                        .each = stop_if_abandoned,
                                        .user = job};
    PyObject *keep_format = format ? PyBytes_FromString(format) : NULL;
    job->inputs = texts_of(inputs, &job->keep_inputs, &job->input_count);
    job->pass_texts = job->inputs ? texts_of(passes, &job->keep_passes, &job->pass_count) : NULL;
    job->passes = job->pass_texts ? calloc(job->pass_count + 1, sizeof *job->passes) : NULL;
    bool good =
        job->passes && (!format || keep_format) && (binary == Py_None || PyUnicode_FSConverter(binary, &job->binary));
    job->read.binary = fs_text(job->binary);
    if (good && keep_format) good = PyList_Append(job->keep_inputs, keep_format) == 0;
    if (good && keep_format) job->write.format = fs_text(keep_format);
    Py_XDECREF(keep_format);
    if (!good) {
        if (!PyErr_Occurred()) PyErr_NoMemory();
        drop_convert(&job->job);
        return NULL;
    }
    if (job_run(&job->job) < 0) return NULL;
    PyObject *out = convert_dict(job->report);
    drop_convert(&job->job);
    return out;
}

/* ---- fix ---- */

typedef struct fix_job {
    job job;
    PyObject *from, *to;
    hd_fix_options options;
    hd_read_options read;
    hd_write_options write;
    hd_fix_report *report;
} fix_job;

static hd_status run_fix(job *base)
{
    fix_job *job = (fix_job *)base;
    return hd_fix_overlaps(&job->report, fs_text(job->from), fs_text(job->to), &job->options, &base->err);
}

static void drop_fix(job *base)
{
    fix_job *job = (fix_job *)base;
    hd_fix_report_free(job->report);
    Py_XDECREF(job->from);
    Py_XDECREF(job->to);
    job_free(base);
}

static PyObject *fix_tracks(const hd_fix_report *r)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < r->track_count; i++) {
        const hd_fix_track *t = &r->tracks[i];
        PyObject *row =
            Py_BuildValue("(NNIKKK)", text_or_none(t->pid), text_or_none(t->tid), t->lane_count,
                          (unsigned long long)t->slices, (unsigned long long)t->moved, (unsigned long long)t->snapped);
        if (!append(list, row)) Py_CLEAR(list);
    }
    return list;
}

static PyObject *fix_kernels(const hd_fix_report *r)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < r->kernel_count; i++) {
        const hd_fix_kernel *k = &r->kernels[i];
        PyObject *row =
            Py_BuildValue("(NKKKLL)", text_or_none(k->name), (unsigned long long)k->runs, (unsigned long long)k->moved,
                          (unsigned long long)k->snapped, (long long)k->delayed_ps, (long long)k->trimmed_ps);
        if (!append(list, row)) Py_CLEAR(list);
    }
    return list;
}

static PyObject *fix_slices(const hd_fix_slice *slices, size_t count)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        const hd_fix_slice *s = &slices[i];
        PyObject *row =
            Py_BuildValue("(NNNINLL)", text_or_none(s->name), text_or_none(s->pid), text_or_none(s->tid), s->lane,
                          text_or_none(s->lane_tid), (long long)s->start_shift_ps, (long long)s->end_shift_ps);
        if (!append(list, row)) Py_CLEAR(list);
    }
    return list;
}

static PyObject *fix_dict(const hd_fix_report *r)
{
    PyObject *out = PyDict_New();
    if (out && put(out, "tracks", fix_tracks(r)) && put(out, "kernels", fix_kernels(r)) &&
        put(out, "moved_list", fix_slices(r->moved_list, r->moved_count)) &&
        put(out, "snapped_list", fix_slices(r->snapped_list, r->snapped_count)) &&
        put(out, "slices", count_of(r->slices)) && put(out, "moved", count_of(r->moved)) &&
        put(out, "snapped_crossings", count_of(r->snapped_crossings)) && put(out, "updated", count_of(r->updated)) &&
        put(out, "start_shift_ps", PyLong_FromLongLong(r->start_shift_ps)) &&
        put(out, "end_shift_ps", PyLong_FromLongLong(r->end_shift_ps)) &&
        put(out, "moved_others", count_of(r->moved_others)) &&
        put(out, "snapped_others", count_of(r->snapped_others)) &&
        put(out, "flow_endpoints", count_of(r->flow_endpoints)) &&
        put(out, "flows_unresolved", count_of(r->flows_unresolved)) && put(out, "new_lanes", count_of(r->new_lanes)) &&
        put(out, "repairs", count_of(r->repairs)) && put(out, "losses", count_of(r->losses)) &&
        put(out, "output_bytes", count_of(r->output_bytes))) {
        return out;
    }
    Py_XDECREF(out);
    return NULL;
}

/* fix(from, to, snap_threshold_ps, dry_run, full_lists, strict, pretty, threads, memory_limit) */
static PyObject *fix(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *from = NULL, *to = NULL;
    long long snap;
    int dry_run, full_lists, strict, pretty;
    unsigned threads;
    unsigned long long memory_limit;
    fix_job *job = NULL;
    if (PyArg_ParseTuple(args, "O&O&LppppIK", path_converter, &from, path_converter, &to, &snap, &dry_run, &full_lists,
                         &strict, &pretty, &threads, &memory_limit)) {
        job = job_new(sizeof *job, run_fix, drop_fix);
    }
    if (!job) {
        Py_XDECREF(from);
        Py_XDECREF(to);
        return NULL;
    }
    job->from = from;
    job->to = to;
    job->read = (hd_read_options){.strict = strict, .threads = threads, .memory_limit = memory_limit};
    job->write = (hd_write_options){.pretty = pretty};
    job->options = (hd_fix_options){.snap_threshold_ps = snap,
                                    .dry_run = dry_run,
                                    .full_lists = full_lists,
                                    .read = &job->read,
                                    .write = &job->write};
    if (job_run(&job->job) < 0) return NULL;
    PyObject *out = fix_dict(job->report);
    drop_fix(&job->job);
    return out;
}

/* ---- passes on traces that are held ---- */

typedef struct pass_job {
    job job;
    shared_trace **traces;
    size_t count;
    PyObject *text, *keep_paths;
    const char **paths;
    hd_pass_input *inputs;
    shared_trace *second;
    hd_trace *made;
    hd_pass_report report;
} pass_job;

static hd_status run_pass(job *base)
{
    pass_job *job = (pass_job *)base;
    hd_pass *pass = NULL;
    hd_pass_input second = {0};
    if (job->second) second = (hd_pass_input){.trace = job->second->trace, .rank = HD_NO_NUMBER};
    for (size_t i = 0; i < job->count; i++) {
        job->inputs[i] = (hd_pass_input){
            .trace = job->traces[i]->trace, .path = *job->paths[i] ? job->paths[i] : NULL, .rank = HD_NO_NUMBER};
    }
    hd_status status = hd_pass_new(&pass, fs_text(job->text), NULL, 0, &base->err);
    if (status == HD_OK) {
        status = hd_pass_run(&job->made, &job->report, pass, job->inputs, job->count, job->second ? &second : NULL,
                             &base->err);
    }
    hd_pass_free(pass);
    for (size_t i = 0; i < job->count; i++) status = trace_still_whole(job->traces[i], status, &base->err);
    return status;
}

static void drop_pass(job *base)
{
    pass_job *job = (pass_job *)base;
    hd_trace_free(job->made);
    traces_release(job->traces, job->count);
    shared_trace_release(job->second);
    free(job->paths);
    free(job->inputs);
    Py_XDECREF(job->text);
    Py_XDECREF(job->keep_paths);
    job_free(base);
}

/* run_pass(handles, paths, text, second) → handle. paths: "" where there is none; second: a handle or None. */
static PyObject *apply_pass(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *handles, *paths, *text, *second;
    if (!PyArg_ParseTuple(args, "OOOO", &handles, &paths, &text, &second)) return NULL;
    pass_job *job = job_new(sizeof *job, run_pass, drop_pass);
    if (!job) return NULL;
    size_t path_count = 0;
    bool good = PyUnicode_FSConverter(text, &job->text) && (job->traces = traces_of(&job->count, handles)) &&
                (job->paths = texts_of(paths, &job->keep_paths, &path_count));
    job->inputs = good ? calloc(job->count + 1, sizeof *job->inputs) : NULL;
    if (good && Py_IS_TYPE(second, trace_type)) {
        job->second = ((trace_object *)second)->shared;
        shared_trace_keep(job->second);
    }
    if (!job->inputs || path_count != job->count) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a path for each trace");
        drop_pass(&job->job);
        return NULL;
    }
    if (job_run(&job->job) < 0) return NULL;
    hd_trace *made = job->made;
    job->made = NULL;
    drop_pass(&job->job);
    return trace_handle_new(made);
}

/* ---- writing ---- */

typedef struct write_job {
    job job;
    shared_trace *shared;
    PyObject *path, *name, *ledger;
    hd_write_options options;
    hd_byte_sink *sink;
} write_job;

static void write_ledger(void *user, const hd_ledger_row *row)
{
    write_job *job = user;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *one = ledger_rows(row, 1);
    PyObject *extended = one ? PyObject_CallMethod(job->ledger, "extend", "O", one) : NULL;
    Py_XDECREF(extended);
    Py_XDECREF(one);
    PyErr_Clear(); /* out of memory: a row less */
    PyGILState_Release(state);
}

static hd_status run_write(job *base)
{
    write_job *job = (write_job *)base;
    hd_status status;
    if (job->path) {
        status = hd_trace_write(job->shared->trace, fs_text(job->path), &job->options, &base->err);
    } else {
        status = hd_byte_sink_new_memory(&job->sink, fs_text(job->name), &base->err);
        if (status == HD_OK) status = hd_trace_write_to(job->shared->trace, job->sink, &job->options, &base->err);
    }
    return trace_still_whole(job->shared, status, &base->err);
}

static void drop_write(job *base)
{
    write_job *job = (write_job *)base;
    hd_byte_sink_free(job->sink);
    shared_trace_release(job->shared);
    Py_XDECREF(job->path);
    Py_XDECREF(job->name);
    Py_XDECREF(job->ledger);
    job_free(base);
}

/* write(trace, path, name, level, pretty, strict, clean, threads) → (bytes or None, ledger). path None: into memory,
 * in the format of the name's extension. */
static PyObject *write_trace(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *handle, *path, *name;
    int level, pretty, strict, clean;
    unsigned threads;
    if (!PyArg_ParseTuple(args, "O!OOipppI", trace_type, &handle, &path, &name, &level, &pretty, &strict, &clean,
                          &threads))
        return NULL;
    write_job *job = job_new(sizeof *job, run_write, drop_write);
    if (!job) return NULL;
    job->shared = ((trace_object *)handle)->shared;
    shared_trace_keep(job->shared);
    job->options = (hd_write_options){.level = level,
                                      .pretty = pretty,
                                      .strict = strict,
                                      .clean = clean,
                                      .threads = threads,
                                      .ledger = write_ledger,
                                      .ledger_user = job};
    job->ledger = PyList_New(0);
    if (!job->ledger ||
        !PyUnicode_FSConverter(path == Py_None ? name : path, path == Py_None ? &job->name : &job->path) ||
        !has_format(job->path ? job->path : job->name, NULL)) {
        drop_write(&job->job);
        return NULL;
    }
    if (job_run(&job->job) < 0) return NULL;
    size_t size = 0;
    const void *data = job->sink ? hd_byte_sink_get_memory(&size, job->sink) : NULL;
    PyObject *bytes = job->sink ? PyBytes_FromStringAndSize(data, (Py_ssize_t)size) : Py_NewRef(Py_None);
    PyObject *out = bytes ? Py_BuildValue("(NO)", bytes, job->ledger) : NULL;
    drop_write(&job->job);
    return out;
}

/* [(name, title, extensions, reads, writes)] */
static PyObject *formats(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < hd_format_count(); i++) {
        const hd_format_info *info = hd_format_at(i);
        PyObject *row = Py_BuildValue("(sssOO)", info->name, info->title, info->extensions ? info->extensions : "",
                                      info->reads ? Py_True : Py_False, info->writes ? Py_True : Py_False);
        if (!append(list, row)) Py_CLEAR(list);
    }
    return list;
}

PyMethodDef convert_functions[] = {
    {"convert", convert, METH_VARARGS, NULL},     {"fix", fix, METH_VARARGS, NULL},
    {"run_pass", apply_pass, METH_VARARGS, NULL}, {"write", write_trace, METH_VARARGS, NULL},
    {"formats", formats, METH_NOARGS, NULL},      {0},
};
