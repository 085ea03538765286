/* trace.c - reading a trace, and what it says of itself */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

void shared_trace_keep(void *user)
{
    atomic_fetch_add(&((shared_trace *)user)->uses, 1);
}

void shared_trace_release(void *user)
{
    shared_trace *shared = user;
    if (!shared || atomic_fetch_sub(&shared->uses, 1) > 1) return;
    hd_trace_free(shared->trace);
    if (shared->has_buffer) {
        PyGILState_STATE state = PyGILState_Ensure();
        PyBuffer_Release(&shared->buffer);
        PyGILState_Release(state);
    }
    free(shared);
}

static PyObject *handle_of(shared_trace *shared)
{
    trace_object *self = (trace_object *)PyType_GenericAlloc(trace_type, 0);
    if (self) {
        self->shared = shared;
    } else {
        shared_trace_release(shared);
    }
    return (PyObject *)self;
}

PyObject *trace_handle_new(hd_trace *trace)
{
    shared_trace *shared = calloc(1, sizeof *shared);
    if (!shared) {
        hd_trace_free(trace);
        return PyErr_NoMemory();
    }
    atomic_store(&shared->uses, 1);
    shared->trace = trace;
    return handle_of(shared);
}

shared_trace **traces_of(size_t *out_count, PyObject *handles)
{
    Py_ssize_t count = PySequence_Size(handles);
    if (count < 0) return NULL;
    shared_trace **list = calloc((size_t)count + 1, sizeof *list);
    if (!list) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(handles, i);
        if (!item || !Py_IS_TYPE(item, trace_type)) {
            if (item) PyErr_SetString(PyExc_TypeError, "a handle of a trace is needed");
            Py_XDECREF(item);
            traces_release(list, (size_t)i);
            return NULL;
        }
        list[i] = ((trace_object *)item)->shared;
        shared_trace_keep(list[i]);
        Py_DECREF(item);
    }
    *out_count = (size_t)count;
    return list;
}

void traces_release(shared_trace **traces, size_t count)
{
    for (size_t i = 0; traces && i < count; i++) shared_trace_release(traces[i]);
    free(traces);
}

hd_status trace_still_whole(const shared_trace *shared, hd_status status, hd_error *err)
{
    return status == HD_OK ? hd_trace_input_status(shared->trace, err) : status;
}

static void trace_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    shared_trace_release(((trace_object *)object)->shared);
    PyObject_Free(object);
    Py_DECREF(type);
}

/* ---- reading ---- */

typedef struct read_job {
    job job;
    hd_read_options options;
    PyObject *path, *name; /* bytes */
    PyObject *binary;      /* bytes; NULL: none */
    PyObject *read;        /* a file object's `read` */
    Py_buffer buffer;
    bool has_buffer;
    hd_trace *trace;
} read_job;

/* read(n) of a file object: bytes, or what has a buffer. */
static hd_status call_read(void *user, void *buffer, size_t capacity, size_t *out_size, hd_error *err)
{
    read_job *job = user;
    hd_status status = HD_OK;
    if (atomic_load(&job->job.abandoned)) return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "interrupted");
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *got = PyObject_CallFunction(job->read, "n", (Py_ssize_t)capacity);
    Py_buffer bytes;
    if (got && got != Py_None && PyObject_GetBuffer(got, &bytes, PyBUF_SIMPLE) == 0) {
        if ((size_t)bytes.len > capacity) {
            PyErr_Format(PyExc_ValueError, "read(%zu) gave %zd bytes", capacity, bytes.len);
        } else {
            memcpy(buffer, bytes.buf, (size_t)bytes.len);
            *out_size = (size_t)bytes.len;
        }
        PyBuffer_Release(&bytes);
    } else if (got == Py_None) {
        PyErr_SetString(PyExc_BlockingIOError, "the file has no bytes yet: a trace is read from a file that waits");
    }
    Py_XDECREF(got);
    if (PyErr_Occurred()) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyErr_NormalizeException(&type, &value, &traceback);
        if (traceback) PyException_SetTraceback(value, traceback);
        Py_XDECREF(job->job.raised);
        job->job.raised = value;
        Py_XDECREF(type);
        Py_XDECREF(traceback);
        status = hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "the file object's read() raised");
    }
    PyGILState_Release(state);
    return status;
}

static hd_status run_read(job *base)
{
    read_job *job = (read_job *)base;
    hd_error *err = &base->err;
    hd_byte_source *source = NULL;
    hd_status status = job->read         ? hd_byte_source_new_callback(&source, call_read, job, fs_text(job->name), err)
                       : job->has_buffer ? hd_byte_source_new_memory(&source, job->buffer.buf, (size_t)job->buffer.len,
                                                                     fs_text(job->name), err)
                                         : hd_byte_source_new_path(&source, fs_text(job->path), err);
    if (status == HD_OK) status = hd_trace_read_from(&job->trace, source, &job->options, err);
    hd_byte_source_free(source);
    return status;
}

static void drop_read(job *base)
{
    read_job *job = (read_job *)base;
    hd_trace_free(job->trace);
    if (job->has_buffer) PyBuffer_Release(&job->buffer);
    Py_XDECREF(job->read);
    Py_XDECREF(job->path);
    Py_XDECREF(job->name);
    Py_XDECREF(job->binary);
    job_free(base);
}

static PyObject *take_trace(read_job *job)
{
    shared_trace *shared = calloc(1, sizeof *shared);
    if (shared) {
        atomic_store(&shared->uses, 1);
        shared->trace = job->trace;
        shared->buffer = job->buffer;
        shared->has_buffer = job->has_buffer;
        job->trace = NULL;
        job->has_buffer = false;
    }
    drop_read(&job->job);
    return shared ? handle_of(shared) : PyErr_NoMemory();
}

/* read(kind, source, name, strict, lazy, sources, args, threads, memory_limit, binary)
 * kind: "path", "memory" or "file" */
static PyObject *read_trace(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *kind;
    PyObject *source, *name, *binary;
    int strict, lazy, sources, all_args;
    unsigned threads;
    unsigned long long memory_limit;
    if (!PyArg_ParseTuple(args, "sOOppppIKO", &kind, &source, &name, &strict, &lazy, &sources, &all_args, &threads,
                          &memory_limit, &binary)) {
        return NULL;
    }
    read_job *job = job_new(sizeof *job, run_read, drop_read);
    if (!job) return NULL;
    job->options = (hd_read_options){.args = all_args ? HD_ARGS_ALL : HD_ARGS_META,
                                     .strict = strict,
                                     .lazy = lazy,
                                     .sources = sources,
                                     .threads = threads,
                                     .memory_limit = memory_limit};
    bool good = (name == Py_None || PyUnicode_FSConverter(name, &job->name)) &&
                (binary == Py_None || PyUnicode_FSConverter(binary, &job->binary));
    job->options.binary = fs_text(job->binary);
    if (good && *kind == 'p') {
        good = PyUnicode_FSConverter(source, &job->path);
    } else if (good && *kind == 'm') {
        good = job->has_buffer = PyObject_GetBuffer(source, &job->buffer, PyBUF_SIMPLE) == 0;
    } else if (good) {
        job->read = PyObject_GetAttrString(source, "read");
        good = job->read;
    }
    if (!good) {
        drop_read(&job->job);
        return NULL;
    }
    return job_run(&job->job) < 0 ? NULL : take_trace(job);
}

/* ---- what it says of itself ---- */

static hd_trace *trace_of(PyObject *object)
{
    return ((trace_object *)object)->shared->trace;
}

static PyObject *trace_facts(PyObject *self, PyObject *Py_UNUSED(none))
{
    const hd_trace *trace = trace_of(self);
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    PyObject *counts = PyDict_New(), *out = PyDict_New();
    bool good = counts && out;
    for (int kind = 0; good && kind < HD_KIND_COUNT; kind++) {
        good = put(counts, hd_kind_name(kind), PyLong_FromUnsignedLongLong(hd_trace_row_count(trace, kind)));
    }
    good = good && put(out, "format", text_or_none(facts->format)) &&
           put(out, "compression", text_or_none(facts->compression)) &&
           put(out, "stored_bytes", PyLong_FromUnsignedLongLong(facts->stored_bytes)) &&
           put(out, "input_bytes", PyLong_FromUnsignedLongLong(facts->input_bytes)) &&
           put(out, "start_ns", int_or_none(facts->start_ns, HD_NO_TIME)) &&
           put(out, "end_ns", int_or_none(facts->end_ns, HD_NO_TIME)) &&
           put(out, "base_ns", int_or_none(facts->base_ns, HD_NO_TIME)) &&
           put(out, "rank", int_or_none(facts->rank, HD_NO_NUMBER)) &&
           put(out, "world_size", int_or_none(facts->world_size, HD_NO_NUMBER)) &&
           put(out, "has_args", PyBool_FromLong(facts->has_args)) && put(out, "origin", text_or_none(facts->origin)) &&
           put(out, "events", PyLong_FromUnsignedLongLong(hd_trace_event_count(trace))) &&
           put(out, "counts", Py_NewRef(counts)) &&
           put(out, "track_count", PyLong_FromUnsignedLong(hd_trace_track_count(trace)));
    Py_XDECREF(counts);
    if (!good) Py_CLEAR(out);
    return out;
}

/* [(key, JSON text)] */
static PyObject *trace_metadata(PyObject *self, PyObject *Py_UNUSED(none))
{
    const hd_trace *trace = trace_of(self);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < hd_trace_metadata_count(trace); i++) {
        const hd_metadata *row = hd_trace_metadata_at(trace, i);
        hd_string key = hd_trace_string(trace, row->key), value = hd_trace_string(trace, row->value);
        PyObject *k = text_of(key.data, key.size), *v = k ? text_of(value.data, value.size) : NULL;
        if (!v) Py_XDECREF(k);
        if (!v || !append(list, Py_BuildValue("(NN)", k, v))) Py_CLEAR(list);
    }
    return list;
}

/* ---- events as Arrow ---- */

/* stream(table, columns, start, end, names, tracks, track_ids): columns, names and tracks are texts or None, start and
 * end ints or None, track_ids a buffer of uint32 or None. */
static PyObject *trace_stream(PyObject *object, PyObject *args)
{
    trace_object *self = (trace_object *)object;
    const char *table, *columns, *names, *tracks;
    PyObject *start, *end, *ids;
    if (!PyArg_ParseTuple(args, "szOOzzO", &table, &columns, &start, &end, &names, &tracks, &ids)) return NULL;
    hd_arrow_options options = {.size = sizeof options,
                                .columns = columns,
                                .names = names,
                                .tracks = tracks,
                                .has_start = start != Py_None,
                                .has_end = end != Py_None,
                                .keep = shared_trace_keep,
                                .release = shared_trace_release,
                                .user = self->shared};
    if (options.has_start) options.start_ns = PyLong_AsLongLong(start);
    if (options.has_end) options.end_ns = PyLong_AsLongLong(end);
    if (PyErr_Occurred()) return NULL;
    Py_buffer buffer = {0};
    if (ids != Py_None) {
        if (PyObject_GetBuffer(ids, &buffer, PyBUF_SIMPLE) < 0) return NULL;
        options.track_ids = buffer.buf;
        options.track_id_count = (size_t)buffer.len / sizeof *options.track_ids;
    }
    struct ArrowArrayStream stream = {0};
    hd_error err = {0};
    hd_status status;
    Py_BEGIN_ALLOW_THREADS status = hd_trace_arrow_stream(&stream, self->shared->trace, table, &options, &err);
    Py_END_ALLOW_THREADS if (buffer.obj) PyBuffer_Release(&buffer);
    return status == HD_OK ? stream_object_new(&stream) : raise_status(status, &err);
}

/* unread(): blocks of a lazy trace that could not be read since this was asked last. */
static PyObject *trace_unread(PyObject *object, PyObject *Py_UNUSED(none))
{
    shared_trace *shared = ((trace_object *)object)->shared;
    uint64_t now = hd_trace_unloaded(shared->trace);
    return PyLong_FromUnsignedLongLong(now - atomic_exchange(&shared->told, now));
}

/* [(table, meaning, [(column, format, meaning)])] */
static PyObject *arrow_tables(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    PyObject *list = PyList_New(0);
    const hd_arrow_table *table;
    for (size_t i = 0; list && (table = hd_arrow_table_at(i)); i++) {
        PyObject *columns = PyList_New(0);
        for (const hd_arrow_column *column = table->columns; columns && column->name; column++) {
            if (!append(columns, Py_BuildValue("(sss)", column->name, column->format, column->meaning)))
                Py_CLEAR(columns);
        }
        if (!columns || !append(list, Py_BuildValue("(ssN)", table->name, table->meaning, columns))) Py_CLEAR(list);
    }
    return list;
}

static PyMethodDef trace_methods[] = {
    {"facts", trace_facts, METH_NOARGS, NULL},
    {"metadata", trace_metadata, METH_NOARGS, NULL},
    {"stream", trace_stream, METH_VARARGS, NULL},
    {"unread", trace_unread, METH_NOARGS, NULL},
    {0},
};

/* share_clock([handle, …]) → whether they are on one clock. Before anything else is asked of them. */
static PyObject *share_clock(PyObject *Py_UNUSED(module), PyObject *handles)
{
    size_t count;
    bool shared = false;
    hd_error err = {0};
    shared_trace **list = traces_of(&count, handles);
    if (!list) return NULL;
    hd_trace **traces = calloc(count + 1, sizeof *traces);
    for (size_t i = 0; traces && i < count; i++) traces[i] = list[i]->trace;
    hd_status status = traces ? hd_traces_share_clock(&shared, traces, count, &err) : HD_ERR_MEMORY;
    free(traces);
    traces_release(list, count);
    return status == HD_OK ? PyBool_FromLong(shared) : raise_status(status, &err);
}

PyMethodDef trace_functions[] = {
    {"read", read_trace, METH_VARARGS, NULL},
    {"share_clock", share_clock, METH_O, NULL},
    {"arrow_tables", arrow_tables, METH_NOARGS, NULL},
    {0},
};

static PyType_Slot trace_slots[] = {
    {Py_tp_dealloc, trace_dealloc},
    {Py_tp_methods, trace_methods},
    {0},
};

PyType_Spec trace_spec = {
    .name = "heddle._heddle.Trace",
    .basicsize = sizeof(trace_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = trace_slots,
};
