/* flame.c - flame graphs of traces, as files */
#include "binding.h"

#include <stdio.h>
#include <string.h>

typedef struct flame_job {
    job job;
    shared_trace **traces;
    size_t count;
    PyObject *path, *names, *event, *title;
    hd_flame_options options;
    hd_flame_write_options write;
    hd_flame_written written;
    char of[32], unit[32];
    int64_t total;
} flame_job;

static hd_status run_flame(job *base)
{
    flame_job *job = (flame_job *)base;
    hd_flame *flame = NULL;
    hd_status status = hd_flame_new(&flame, &base->err);
    for (size_t i = 0; status == HD_OK && i < job->count; i++) {
        if (atomic_load(&base->abandoned)) status = HD_ERR_LIMIT;
        if (status == HD_OK) status = hd_flame_add(flame, job->traces[i]->trace, NULL, NULL, &job->options, &base->err);
        status = trace_still_whole(job->traces[i], status, &base->err);
    }
    if (status == HD_OK && job->path)
        status = hd_flame_write(&job->written, flame, fs_text(job->path), &job->write, &base->err);
    if (status == HD_OK) {
        snprintf(job->of, sizeof job->of, "%s", hd_flame_of_name(flame->of));
        snprintf(job->unit, sizeof job->unit, "%s", flame->unit);
        job->total = flame->total ? flame->total[0] : 0;
    }
    hd_flame_free(flame);
    return status;
}

static void drop_flame(job *base)
{
    flame_job *job = (flame_job *)base;
    traces_release(job->traces, job->count);
    Py_XDECREF(job->path);
    Py_XDECREF(job->names);
    Py_XDECREF(job->event);
    Py_XDECREF(job->title);
    job_free(base);
}

static bool flame_of(hd_flame_of *out, const char *name)
{
    static const char *const names[] = {"auto", "gpu-time", "cpu-time", "cpu-self", "launches", "bytes", "samples"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) != 0) continue;
        *out = (hd_flame_of)i;
        return true;
    }
    PyErr_Format(PyExc_ValueError,
                 "of is \"gpu-time\", \"cpu-time\", \"cpu-self\", \"launches\", \"bytes\" or \"samples\", not \"%s\"",
                 name);
    return false;
}

static bool flame_by(hd_flame_by *out, const char *name)
{
    static const char *const names[] = {"nothing", "rank", "device", "stream", "thread", "step", "name", "group"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) != 0) continue;
        *out = (hd_flame_by)i;
        return true;
    }
    PyErr_Format(PyExc_ValueError,
                 "by is \"rank\", \"device\", \"stream\", \"thread\", \"step\", \"name\" or \"group\", not \"%s\"",
                 name);
    return false;
}

static bool set_time(hd_convert_time *out, const char *text)
{
    hd_error err = {0};
    hd_status status = text ? hd_convert_time_parse(out, text, &err) : HD_OK;
    if (status != HD_OK) raise_status(status, &err);
    return status == HD_OK;
}

static bool keep_text(PyObject **out, const char *text)
{
    return !text || (*out = PyBytes_FromString(text));
}

/* flame(traces, path, of, by, from, until, names, event, reverse, full_names, title) → (of, unit, total, stacks). path
 * None: nothing is written. */
static PyObject *flame(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *handles, *path;
    const char *of, *by, *from, *until, *names, *event, *title;
    int reverse, full_names;
    if (!PyArg_ParseTuple(args, "OOsszzzzppz", &handles, &path, &of, &by, &from, &until, &names, &event, &reverse,
                          &full_names, &title)) {
        return NULL;
    }
    flame_job *job = job_new(sizeof *job, run_flame, drop_flame);
    if (!job) return NULL;
    job->options = (hd_flame_options){.reverse = reverse, .full_names = full_names};
    bool good = (path == Py_None || PyUnicode_FSConverter(path, &job->path)) && flame_of(&job->options.of, of) &&
                flame_by(&job->options.by, by) && set_time(&job->options.from, from) &&
                set_time(&job->options.until, until) && keep_text(&job->names, names) &&
                keep_text(&job->event, event) && keep_text(&job->title, title) &&
                (job->traces = traces_of(&job->count, handles));
    if (good && job->path && !hd_flame_format_of(&job->write.format, fs_text(job->path))) {
        PyErr_SetString(PyExc_ValueError, "a flame graph is written as .svg, .folded or .speedscope.json");
        good = false;
    }
    if (!good) {
        drop_flame(&job->job);
        return NULL;
    }
    job->options.names = fs_text(job->names);
    job->options.event = fs_text(job->event);
    job->write.title = fs_text(job->title);
    if (job_run(&job->job) < 0) return NULL;
    PyObject *out =
        Py_BuildValue("(ssLK)", job->of, job->unit, (long long)job->total, (unsigned long long)job->written.stacks);
    drop_flame(&job->job);
    return out;
}

PyMethodDef flame_functions[] = {
    {"flame", flame, METH_VARARGS, NULL},
    {0},
};
