/* report.c - analyses, and the tables that they give */
#include "binding.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- tables ---- */

typedef struct table_object {
    PyObject_HEAD hd_table *table;
} table_object;

PyObject *table_object_new(hd_table *table)
{
    table_object *self = (table_object *)PyType_GenericAlloc(table_type, 0);
    if (self) {
        self->table = table;
    } else {
        hd_table_free(table);
    }
    return (PyObject *)self;
}

static void table_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    hd_table_free(((table_object *)object)->table);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyObject *table_stream(PyObject *object, PyObject *Py_UNUSED(none))
{
    struct ArrowArrayStream stream = {0};
    hd_error err = {0};
    hd_status status;
    Py_BEGIN_ALLOW_THREADS status = hd_table_arrow_stream(&stream, ((table_object *)object)->table, &err);
    Py_END_ALLOW_THREADS return status == HD_OK ? stream_object_new(&stream) : raise_status(status, &err);
}

static PyObject *table_rows(PyObject *object, PyObject *Py_UNUSED(none))
{
    return PyLong_FromSize_t(hd_table_row_count(((table_object *)object)->table));
}

static hd_status write_to_list(void *user, const char *data, size_t size)
{
    return append(user, PyBytes_FromStringAndSize(data, (Py_ssize_t)size)) ? HD_OK : HD_ERR_MEMORY;
}

/* The first rows, without the columns that have no value in them. */
static hd_status head_of(hd_table **out, const hd_table *table, size_t rows, hd_error *err)
{
    hd_table_builder *b;
    size_t columns = hd_table_column_count(table), kept = 0, *list = malloc((columns + 1) * sizeof *list);
    if (!list) return HD_ERR_MEMORY;
    if (rows > hd_table_row_count(table)) rows = hd_table_row_count(table);
    hd_status status = hd_table_builder_new(&b, hd_table_name(table), err);
    for (size_t i = 0; status == HD_OK && i < columns; i++) {
        const hd_table_column *column = hd_table_get_column(table, i);
        size_t row = 0;
        while (row < rows && hd_table_is_null(table, row, i)) row++;
        if (row == rows) continue;
        hd_table_add_column(b, column->name, column->type);
        if (column->type == HD_VALUE_DECIMAL) hd_table_set_decimals(b, column->decimals);
        list[kept++] = i;
    }
    for (size_t row = 0; status == HD_OK && row < rows; row++)
        for (size_t i = 0; i < kept; i++) hd_table_add_cell(b, table, row, list[i]);
    free(list);
    return status == HD_OK ? hd_table_finish(out, b, err) : status;
}

/* text(rows, width): as the command prints it. */
static PyObject *table_text(PyObject *object, PyObject *args)
{
    Py_ssize_t rows;
    unsigned width;
    if (!PyArg_ParseTuple(args, "nI", &rows, &width)) return NULL;
    hd_error err = {0};
    hd_table *head = NULL;
    hd_status status = head_of(&head, ((table_object *)object)->table, (size_t)rows, &err);
    PyObject *pieces = status == HD_OK ? PyList_New(0) : NULL;
    if (pieces) {
        const hd_table_style style = {.format = HD_TABLE_TEXT, .width = width};
        status = hd_table_write(head, (hd_sink){write_to_list, pieces}, &style, &err);
    }
    hd_table_free(head);
    if (status != HD_OK) {
        Py_XDECREF(pieces);
        return PyErr_Occurred() ? NULL : raise_status(status, &err);
    }
    PyObject *nothing = pieces ? PyBytes_FromStringAndSize("", 0) : NULL;
    PyObject *bytes = nothing ? PyObject_CallMethod(nothing, "join", "O", pieces) : NULL;
    PyObject *text = bytes ? PyUnicode_FromEncodedObject(bytes, "utf-8", "replace") : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(nothing);
    Py_XDECREF(pieces);
    return text;
}

static PyMethodDef table_methods[] = {
    {"stream", table_stream, METH_NOARGS, NULL},
    {"rows", table_rows, METH_NOARGS, NULL},
    {"text", table_text, METH_VARARGS, NULL},
    {0},
};

static PyType_Slot table_slots[] = {
    {Py_tp_dealloc, table_dealloc},
    {Py_tp_methods, table_methods},
    {0},
};

PyType_Spec table_spec = {
    .name = "heddle._heddle.Table",
    .basicsize = sizeof(table_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = table_slots,
};

/* ---- reports ---- */

typedef struct report_job {
    job job;
    shared_trace *shared;
    const char **options;
    PyObject *keep, *name;
    hd_report report;
} report_job;

static hd_status run_report(job *base)
{
    report_job *job = (report_job *)base;
    const hd_report_input input = {.trace = job->shared->trace, .options = job->options};
    hd_status status = hd_report_run(&job->report, fs_text(job->name), &input, &base->err);
    return trace_still_whole(job->shared, status, &base->err);
}

static void drop_report(job *base)
{
    report_job *job = (report_job *)base;
    hd_report_free(&job->report);
    shared_trace_release(job->shared);
    free(job->options);
    Py_XDECREF(job->keep);
    Py_XDECREF(job->name);
    job_free(base);
}

PyObject *report_tables(hd_report *report)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < report->table_count; i++) {
        const char *name = hd_table_name(report->tables[i]);
        PyObject *text = text_of(name, strlen(name)), *table = text ? table_object_new(report->tables[i]) : NULL;
        if (table) {
            report->tables[i] = NULL;
        } else {
            Py_XDECREF(text);
        }
        if (!table || !append(list, Py_BuildValue("(NN)", text, table))) Py_CLEAR(list);
    }
    return list;
}

/* report(trace, name, options) */
static PyObject *report_trace(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *handle, *name = NULL, *options;
    if (!PyArg_ParseTuple(args, "O!O&O", trace_type, &handle, path_converter, &name, &options)) return NULL;
    report_job *job = job_new(sizeof *job, run_report, drop_report);
    if (!job) {
        Py_DECREF(name);
        return NULL;
    }
    size_t count;
    job->name = name;
    job->shared = ((trace_object *)handle)->shared;
    shared_trace_keep(job->shared);
    job->options = texts_of(options, &job->keep, &count);
    if (!job->options) {
        drop_report(&job->job);
        return NULL;
    }
    if (job_run(&job->job) < 0) return NULL;
    PyObject *tables = report_tables(&job->report);
    drop_report(&job->job);
    return tables;
}

/* ---- pages ---- */

enum { PAGE_REPORTS = 8 };

typedef struct page_job {
    job job;
    shared_trace *shared;
    PyObject *keep_names, *keep_options, *path;
    const char **names, **options; /* options: of the first report */
    size_t count;
    int flame;
    hd_report reports[PAGE_REPORTS + 1];
    char *text;
    size_t size;
} page_job;

static hd_status write_to_file(void *user, const char *data, size_t size)
{
    return fwrite(data, 1, size, user) == size ? HD_OK : HD_ERR_MEMORY;
}

static hd_status add_flame(hd_report *out, const hd_trace *trace, hd_error *err)
{
    hd_flame *flame;
    hd_status status = hd_flame_new(&flame, err);
    if (status != HD_OK) return status;
    status = hd_flame_add(flame, trace, NULL, NULL, NULL, err);
    if (status == HD_OK) status = hd_flame_report(out, flame, err);
    hd_flame_free(flame);
    return status;
}

static hd_status print_page(page_job *job, const hd_report_part *parts, size_t count)
{
    FILE *file = open_memstream(&job->text, &job->size);
    if (!file) return HD_ERR_MEMORY;
    hd_status status = hd_report_print((hd_sink){write_to_file, file}, HD_REPORT_HTML, parts, count, &job->job.err);
    return fclose(file) == 0 ? status : HD_ERR_MEMORY;
}

static hd_status run_page(job *base)
{
    page_job *job = (page_job *)base;
    const hd_trace *trace = job->shared->trace;
    hd_report_part parts[PAGE_REPORTS + 1];
    int64_t start_ns = hd_trace_facts_of(trace)->start_ns;
    hd_status status = HD_OK;
    size_t i = 0;
    for (; i < job->count && status == HD_OK; i++) {
        const hd_report_input input = {.trace = trace, .options = i ? NULL : job->options};
        status = hd_report_run(&job->reports[i], job->names[i], &input, &base->err);
        parts[i] = (hd_report_part){fs_text(job->path), hd_report_about_find(job->names[i]), &job->reports[i],
                                    start_ns == HD_NO_TIME ? 0 : start_ns};
    }
    if (status == HD_OK && job->flame) {
        status = add_flame(&job->reports[i], trace, &base->err);
        parts[i] = (hd_report_part){fs_text(job->path), hd_flame_report_about(), &job->reports[i], 0};
        i++;
    }
    if (status == HD_OK) status = print_page(job, parts, i);
    return trace_still_whole(job->shared, status, &base->err);
}

static void drop_page(job *base)
{
    page_job *job = (page_job *)base;
    for (size_t i = 0; i <= PAGE_REPORTS; i++) hd_report_free(&job->reports[i]);
    shared_trace_release(job->shared);
    free(job->names);
    free(job->options);
    free(job->text);
    Py_XDECREF(job->keep_names);
    Py_XDECREF(job->keep_options);
    Py_XDECREF(job->path);
    job_free(base);
}

/* page(trace, path, names, options, flame): HTML as bytes; options: of the first report */
static PyObject *page(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *handle, *path = NULL, *names, *options;
    int flame;
    size_t count;
    if (!PyArg_ParseTuple(args, "O!O&OOp", trace_type, &handle, path_converter, &path, &names, &options, &flame))
        return NULL;
    page_job *job = job_new(sizeof *job, run_page, drop_page);
    if (!job) {
        Py_DECREF(path);
        return NULL;
    }
    job->path = path;
    job->flame = flame;
    job->shared = ((trace_object *)handle)->shared;
    shared_trace_keep(job->shared);
    job->names = texts_of(names, &job->keep_names, &job->count);
    if (job->names) job->options = texts_of(options, &job->keep_options, &count);
    if (job->options && job->count > PAGE_REPORTS) PyErr_SetString(PyExc_ValueError, "too many reports for a page");
    if (PyErr_Occurred()) {
        drop_page(&job->job);
        return NULL;
    }
    if (job_run(&job->job) < 0) return NULL;
    PyObject *text = PyBytes_FromStringAndSize(job->text, (Py_ssize_t)job->size);
    drop_page(&job->job);
    return text;
}

/* [(name, kind, fallback, meaning)] */
static PyObject *options_of(const hd_option_about *about)
{
    PyObject *list = PyList_New(0);
    for (; list && about && about->name; about++) {
        if (!append(list, Py_BuildValue("(sszs)", about->name, hd_option_kind_name(about->kind), about->fallback,
                                        about->meaning))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* [(name, title, text, options)] of all reports, and of all passes. */
static PyObject *reports(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < hd_report_count(); i++) {
        const hd_report_about *about = hd_report_at(i);
        if (about->table_option) continue; /* of no trace */
        PyObject *options = options_of(about->options);
        if (!options || !append(list, Py_BuildValue("(sssN)", about->name, about->title, about->text, options)))
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *passes(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < hd_pass_count(); i++) {
        const hd_pass_about *about = hd_pass_at(i);
        PyObject *options = options_of(about->options);
        if (!options || !append(list, Py_BuildValue("(ssN)", about->name, about->summary, options))) Py_CLEAR(list);
    }
    return list;
}

PyMethodDef report_functions[] = {
    {"report", report_trace, METH_VARARGS, NULL},
    {"page", page, METH_VARARGS, NULL},
    {"reports", reports, METH_NOARGS, NULL},
    {"passes", passes, METH_NOARGS, NULL},
    {0},
};
