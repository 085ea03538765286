/* query.c - SQL over traces: the rows of a query, held as Arrow batches */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

#include "heddle/query.h"

typedef struct parameter {
    const char *name; /* borrowed from `keep` */
    hd_query_value value;
    bool was_set;
} parameter;

typedef struct query_job {
    job job;
    shared_trace **traces;
    size_t count;
    const char **paths;
    PyObject *keep_paths, *keep, *sql;
    hd_query_input *inputs;
    parameter *parameters;
    size_t parameter_count;
    uint64_t timeout_ms;
    pthread_mutex_t lock; /* of query, for interrupt */
    hd_query *query;
    held *rows; /* of the last statement */
} query_job;

/* ---- running ---- */

static hd_status set_parameters(query_job *job, hd_statement *statement, hd_error *err)
{
    for (size_t i = 0; i < hd_statement_parameter_count(statement); i++) {
        const char *name = hd_statement_parameter_name(statement, i);
        parameter *found = NULL;
        for (size_t k = 0; name && !found && k < job->parameter_count; k++) {
            if (strcmp(job->parameters[k].name, name) == 0) found = &job->parameters[k];
        }
        if (!found) {
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "the query has a parameter %s, which was not given: %s=…", name ? name : "?",
                                name ? name : "name it, as :name, and give name");
        }
        found->was_set = true;
        hd_status status = hd_statement_set(statement, name, found->value, err);
        if (status != HD_OK) return status;
    }
    return HD_OK;
}

/* All rows of a statement, which it takes; those of an earlier one are forgotten. */
static hd_status keep_rows(query_job *job, hd_statement *statement, hd_error *err)
{
    struct ArrowArrayStream stream = {0};
    held_release(job->rows);
    job->rows = held_new();
    hd_status status = job->rows ? hd_statement_arrow_stream(&stream, statement, err) : HD_ERR_MEMORY;
    if (status == HD_OK) status = held_fill(job->rows, &stream, &job->job, err);
    if (stream.release) stream.release(&stream);
    return status;
}

static hd_status run_statements(query_job *job, hd_error *err)
{
    const char *sql = fs_text(job->sql), *rest = sql;
    hd_status status = HD_OK;
    while (status == HD_OK && *rest) {
        hd_statement *statement = NULL;
        const char *from = rest;
        status = hd_query_prepare(&statement, &rest, job->query, from, SIZE_MAX, err);
        if (status != HD_OK && err->offset != HD_OFFSET_NONE) err->offset += (uint64_t)(from - sql);
        if (status != HD_OK || !statement) break;
        status = set_parameters(job, statement, err);
        if (status != HD_OK) {
            hd_statement_free(statement);
            break;
        }
        status = keep_rows(job, statement, err);
    }
    for (size_t i = 0; status == HD_OK && i < job->parameter_count; i++) {
        if (job->parameters[i].was_set) continue;
        status = hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "the query has no parameter :%s",
                              job->parameters[i].name);
    }
    if (status == HD_OK && !job->rows) status = hd_error_set(err, HD_ERR_ARGUMENT, NULL, 0, "no statement is there");
    return status;
}

static hd_status run_query(job *base)
{
    query_job *job = (query_job *)base;
    for (size_t i = 0; i < job->count; i++) {
        job->inputs[i] = (hd_query_input){
            .trace = job->traces[i]->trace, .path = *job->paths[i] ? job->paths[i] : NULL, .rank = HD_NO_NUMBER};
    }
    hd_query *query = NULL;
    const hd_query_options options = {.timeout_ms = job->timeout_ms};
    hd_status status = hd_query_new(&query, job->inputs, job->count, &options, &base->err);
    pthread_mutex_lock(&job->lock);
    job->query = query;
    pthread_mutex_unlock(&job->lock);
    if (status == HD_OK) status = run_statements(job, &base->err);
    pthread_mutex_lock(&job->lock);
    job->query = NULL;
    pthread_mutex_unlock(&job->lock);
    hd_query_free(query);
    for (size_t i = 0; i < job->count; i++) status = trace_still_whole(job->traces[i], status, &base->err);
    return status;
}

static void interrupt_query(job *base)
{
    query_job *job = (query_job *)base;
    pthread_mutex_lock(&job->lock);
    if (job->query) hd_query_interrupt(job->query);
    pthread_mutex_unlock(&job->lock);
}

static void drop_query(job *base)
{
    query_job *job = (query_job *)base;
    held_release(job->rows);
    traces_release(job->traces, job->count);
    pthread_mutex_destroy(&job->lock);
    free(job->paths);
    free(job->inputs);
    free(job->parameters);
    Py_XDECREF(job->keep_paths);
    Py_XDECREF(job->keep);
    Py_XDECREF(job->sql);
    job_free(base);
}

/* ---- from Python ---- */

static bool set_value(query_job *job, hd_query_value *out, PyObject *value)
{
    if (value == Py_None) {
        out->type = HD_QUERY_NULL;
    } else if (PyLong_Check(value)) {
        out->type = HD_QUERY_INT;
        out->integer = PyLong_AsLongLong(value);
    } else if (PyFloat_Check(value)) {
        out->type = HD_QUERY_REAL;
        out->real = PyFloat_AsDouble(value);
    } else if (PyUnicode_Check(value)) {
        char *data;
        Py_ssize_t size;
        PyObject *bytes = PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape");
        if (!append(job->keep, bytes) || PyBytes_AsStringAndSize(bytes, &data, &size) < 0) return false;
        out->type = HD_QUERY_TEXT;
        out->data = data;
        out->size = (size_t)size;
    } else {
        PyErr_Format(PyExc_TypeError, "a parameter is None, an int, a float or a str, not %R", value);
    }
    return !PyErr_Occurred();
}

static bool take_parameters(query_job *job, PyObject *params)
{
    PyObject *key, *value;
    Py_ssize_t place = 0;
    job->parameters = calloc((size_t)PyDict_Size(params) + 1, sizeof *job->parameters);
    if (!job->parameters) {
        PyErr_NoMemory();
        return false;
    }
    while (PyDict_Next(params, &place, &key, &value)) {
        parameter *p = &job->parameters[job->parameter_count];
        p->name = PyUnicode_AsUTF8AndSize(key, NULL); /* the caller's dict keeps it, and so does job->keep */
        if (!p->name || PyList_Append(job->keep, key) < 0 || !set_value(job, &p->value, value)) return false;
        job->parameter_count++;
    }
    return true;
}

/* query(handles, paths, sql, params, timeout_ms) → Held */
static PyObject *query(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *handles, *paths, *sql, *params;
    unsigned long long timeout_ms;
    if (!PyArg_ParseTuple(args, "OOUO!K", &handles, &paths, &sql, &PyDict_Type, &params, &timeout_ms)) return NULL;
    query_job *job = job_new(sizeof *job, run_query, drop_query);
    if (!job) return NULL;
    size_t path_count = 0;
    pthread_mutex_init(&job->lock, NULL);
    job->job.interrupt = interrupt_query;
    job->timeout_ms = timeout_ms;
    job->keep = PyList_New(0);
    job->sql = PyUnicode_AsEncodedString(sql, "utf-8", "surrogateescape");
    bool good = job->keep && job->sql && take_parameters(job, params) &&
                (job->traces = traces_of(&job->count, handles)) &&
                (job->paths = texts_of(paths, &job->keep_paths, &path_count));
    if (good && strlen(fs_text(job->sql)) != (size_t)PyBytes_Size(job->sql)) {
        PyErr_SetString(PyExc_ValueError, "the query has a NUL");
        good = false;
    }
    job->inputs = good && path_count == job->count ? calloc(job->count + 1, sizeof *job->inputs) : NULL;
    if (!job->inputs) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a path for each trace");
        drop_query(&job->job);
        return NULL;
    }
    if (job_run(&job->job) < 0) return NULL;
    held *rows = job->rows;
    job->rows = NULL;
    drop_query(&job->job);
    return held_object_of(rows);
}

PyMethodDef query_functions[] = {
    {"query", query, METH_VARARGS, NULL},
    {0},
};
