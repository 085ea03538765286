/* diff.c - two sides compared */
#include "binding.h"

#include <stdlib.h>

typedef struct diff_half {
    shared_trace **traces;
    size_t count, file_count;
    const char **names, **files;
    PyObject *keep_names, *keep_files;
} diff_half;

typedef struct diff_job {
    job job;
    diff_half half[2];
    PyObject *step, *path;
    const char **fail_if;
    PyObject *keep_fail_if;
    hd_diff_options options;
    hd_report report;
    hd_diff_verdict verdict;
    hd_diff_gate gate;
} diff_job;

static hd_status make_side(hd_diff_side **out, const diff_half *half, const char *step, hd_error *err)
{
    hd_status status = hd_diff_side_new(out, step, err);
    for (size_t i = 0; status == HD_OK && i < half->file_count; i++)
        status = hd_diff_side_add_file(*out, half->files[i], err);
    for (size_t i = 0; status == HD_OK && i < half->count; i++) {
        status = hd_diff_side_add(*out, half->traces[i]->trace, half->names[i], err);
        status = trace_still_whole(half->traces[i], status, err);
    }
    return status;
}

static hd_status run_diff(job *base)
{
    diff_job *job = (diff_job *)base;
    hd_diff_side *sides[2] = {NULL, NULL};
    hd_diff *diff = NULL;
    hd_status status = HD_OK;
    for (int h = 0; h < 2 && status == HD_OK; h++)
        status = make_side(&sides[h], &job->half[h], fs_text(job->step), &base->err);
    if (status == HD_OK) status = hd_diff_new(&diff, sides[0], sides[1], &job->options, &base->err);
    if (status == HD_OK) status = hd_diff_report(&job->report, diff, &base->err);
    if (status == HD_OK && job->path) status = hd_diff_write(fs_text(job->path), diff, &base->err);
    if (status == HD_OK) {
        job->verdict = hd_diff_verdict_of(diff);
        job->gate = hd_diff_gate_of(diff);
    }
    hd_diff_free(diff);
    for (int h = 0; h < 2; h++) hd_diff_side_free(sides[h]);
    return status;
}

static void drop_diff(job *base)
{
    diff_job *job = (diff_job *)base;
    for (int h = 0; h < 2; h++) {
        diff_half *half = &job->half[h];
        if (half->traces) traces_release(half->traces, half->count);
        free(half->names);
        free(half->files);
        Py_XDECREF(half->keep_names);
        Py_XDECREF(half->keep_files);
    }
    hd_report_free(&job->report);
    free(job->fail_if);
    Py_XDECREF(job->keep_fail_if);
    Py_XDECREF(job->step);
    Py_XDECREF(job->path);
    job_free(base);
}

/* (handles, names, baselines) */
static bool take_half(diff_half *half, PyObject *side)
{
    PyObject *handles, *names, *files;
    size_t count;
    if (!PyArg_ParseTuple(side, "OOO", &handles, &names, &files)) return false;
    half->names = texts_of(names, &half->keep_names, &count);
    half->files = half->names ? texts_of(files, &half->keep_files, &half->file_count) : NULL;
    if (!half->files || !(half->traces = traces_of(&half->count, handles))) return false;
    if (count == half->count) return true;
    PyErr_SetString(PyExc_ValueError, "each trace has one name");
    return false;
}

/* diff(before, after, step, path, fail_if, min_ns, noise, seed, across, all) → (verdict, gate, [(name, table)]). path
 * None: nothing is written. */
static PyObject *diff(PyObject *Py_UNUSED(module), PyObject *args)
{
    static const char *const verdicts[] = {"same", "slower", "faster", "inconclusive"};
    static const char *const gates[] = {"passes", "fails", "cannot be said"};
    PyObject *sides[2], *step, *path, *fail_if;
    long long min_ns;
    unsigned long long seed;
    double noise;
    unsigned across;
    int all;
    size_t count;
    if (!PyArg_ParseTuple(args, "OOOOOLdKIp", &sides[0], &sides[1], &step, &path, &fail_if, &min_ns, &noise, &seed,
                          &across, &all))
        return NULL;
    diff_job *job = job_new(sizeof *job, run_diff, drop_diff);
    if (!job) return NULL;
    bool good = (step == Py_None || (job->step = PyUnicode_AsUTF8String(step))) &&
                (path == Py_None || PyUnicode_FSConverter(path, &job->path)) &&
                (job->fail_if = texts_of(fail_if, &job->keep_fail_if, &count));
    for (int h = 0; h < 2 && good; h++) good = take_half(&job->half[h], sides[h]);
    if (!good) {
        drop_diff(&job->job);
        return NULL;
    }
    job->options = (hd_diff_options){.size = sizeof job->options,
                                     .min_ns = min_ns,
                                     .noise = noise,
                                     .seed = seed,
                                     .across = across,
                                     .all = all,
                                     .fail_if = job->fail_if};
    if (job_run(&job->job) < 0) return NULL;
    PyObject *out = Py_BuildValue("(ssN)", verdicts[job->verdict], gates[job->gate], report_tables(&job->report));
    drop_diff(&job->job);
    return out;
}

static PyObject *is_baseline(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *path;
    if (!PyArg_ParseTuple(args, "O&", path_converter, &path)) return NULL;
    bool is = hd_diff_is_file(fs_text(path));
    Py_DECREF(path);
    return PyBool_FromLong(is);
}

PyMethodDef diff_functions[] = {
    {"diff", diff, METH_VARARGS, NULL},
    {"is_baseline", is_baseline, METH_VARARGS, NULL},
    {0},
};
