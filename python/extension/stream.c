/* stream.c - a stream of Arrow batches, as a Python object: given on as a capsule, or collected here */
#include "binding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void release_stream(struct ArrowArrayStream *stream)
{
    if (stream->release) stream->release(stream);
    stream->release = NULL;
}

hd_status stream_status(int code, struct ArrowArrayStream *stream, hd_error *err)
{
    if (code == 0) return HD_OK;
    const char *why = stream->get_last_error ? stream->get_last_error(stream) : NULL;
    hd_status status = code == ENOMEM                       ? HD_ERR_MEMORY
                       : code == EIO                        ? HD_ERR_IO
                       : code == EINVAL                     ? HD_ERR_ARGUMENT
                       : code == ECANCELED || code == EINTR ? HD_ERR_LIMIT
                                                            : HD_ERR_INTERNAL;
    return hd_error_set(err, status, NULL, HD_OFFSET_NONE, "%s", why ? why : strerror(code));
}

PyObject *stream_object_new(struct ArrowArrayStream *stream)
{
    stream_object *self = (stream_object *)PyType_GenericAlloc(stream_type, 0);
    if (!self) {
        release_stream(stream);
        return NULL;
    }
    self->stream = *stream;
    stream->release = NULL;
    return (PyObject *)self;
}

static void stream_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    release_stream(&((stream_object *)object)->stream);
    PyObject_Free(object);
    Py_DECREF(type);
}

/* ---- capsules ---- */

static void drop_stream_capsule(PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (!stream) return;
    release_stream(stream); /* unless it was moved out */
    free(stream);
}

static void drop_schema_capsule(PyObject *capsule)
{
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (!schema) return;
    if (schema->release) schema->release(schema);
    free(schema);
}

static bool is_fresh(stream_object *self)
{
    if (self->stream.release) return true;
    PyErr_SetString(PyExc_RuntimeError, "the stream was used");
    return false;
}

static PyObject *stream_capsule(PyObject *object, PyObject *Py_UNUSED(none))
{
    stream_object *self = (stream_object *)object;
    if (!is_fresh(self)) return NULL;
    struct ArrowArrayStream *moved = malloc(sizeof *moved);
    if (!moved) return PyErr_NoMemory();
    *moved = self->stream;
    self->stream.release = NULL;
    PyObject *capsule = PyCapsule_New(moved, "arrow_array_stream", drop_stream_capsule);
    if (!capsule) {
        release_stream(moved);
        free(moved);
    }
    return capsule;
}

static bool get_schema(struct ArrowSchema *out, stream_object *self)
{
    hd_error err = {0};
    *out = (struct ArrowSchema){0};
    hd_status status = stream_status(self->stream.get_schema(&self->stream, out), &self->stream, &err);
    if (status != HD_OK) raise_status(status, &err);
    return status == HD_OK;
}

static PyObject *stream_schema_capsule(PyObject *object, PyObject *Py_UNUSED(none))
{
    stream_object *self = (stream_object *)object;
    if (!is_fresh(self)) return NULL;
    struct ArrowSchema *schema = malloc(sizeof *schema);
    if (!schema) return PyErr_NoMemory();
    PyObject *capsule = get_schema(schema, self) ? PyCapsule_New(schema, "arrow_schema", drop_schema_capsule) : NULL;
    if (!capsule) {
        if (schema->release) schema->release(schema);
        free(schema);
    }
    return capsule;
}

/* [(name, format, is_dictionary)], of a dictionary its values' format. */
static PyObject *stream_schema(PyObject *object, PyObject *Py_UNUSED(none))
{
    stream_object *self = (stream_object *)object;
    struct ArrowSchema schema;
    if (!is_fresh(self) || !get_schema(&schema, self)) return NULL;
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < schema.n_children; i++) {
        const struct ArrowSchema *child = schema.children[i];
        const char *format = child->dictionary ? child->dictionary->format : child->format;
        PyObject *name = text_of(child->name, strlen(child->name));
        if (!name || !append(list, Py_BuildValue("(NsO)", name, format, child->dictionary ? Py_True : Py_False)))
            Py_CLEAR(list);
    }
    schema.release(&schema);
    return list;
}

/* ---- all of it ---- */

static PyObject *stream_columns(PyObject *object, PyObject *Py_UNUSED(none))
{
    stream_object *self = (stream_object *)object;
    return is_fresh(self) ? collect_columns(&self->stream) : NULL;
}

typedef struct count_job {
    job job;
    struct ArrowArrayStream stream;
    uint64_t rows;
} count_job;

static hd_status run_count(job *base)
{
    count_job *job = (count_job *)base;
    for (;;) {
        struct ArrowArray array = {0};
        hd_status status = stream_status(job->stream.get_next(&job->stream, &array), &job->stream, &base->err);
        if (status != HD_OK || !array.release) return status;
        job->rows += (uint64_t)array.length;
        array.release(&array);
        if (atomic_load(&base->abandoned)) return HD_ERR_LIMIT;
    }
}

static void drop_count(job *base)
{
    release_stream(&((count_job *)base)->stream);
    job_free(base);
}

static PyObject *stream_count(PyObject *object, PyObject *Py_UNUSED(none))
{
    stream_object *self = (stream_object *)object;
    count_job *job = is_fresh(self) ? job_new(sizeof *job, run_count, drop_count) : NULL;
    if (!job) return NULL;
    job->stream = self->stream;
    self->stream.release = NULL;
    if (job_run(&job->job) < 0) return NULL;
    PyObject *rows = PyLong_FromUnsignedLongLong(job->rows);
    drop_count(&job->job);
    return rows;
}

/* The next batch as columns; None: there is no more. */
static PyObject *stream_next(PyObject *object, PyObject *Py_UNUSED(none))
{
    stream_object *self = (stream_object *)object;
    if (!is_fresh(self)) return NULL;
    struct ArrowSchema schema;
    struct ArrowArray batch = {0};
    hd_error err = {0};
    hd_status status;
    Py_BEGIN_ALLOW_THREADS status = stream_status(self->stream.get_next(&self->stream, &batch), &self->stream, &err);
    Py_END_ALLOW_THREADS if (status != HD_OK) return raise_status(status, &err);
    if (!batch.release) Py_RETURN_NONE;
    if (!get_schema(&schema, self)) {
        batch.release(&batch);
        return NULL;
    }
    PyObject *columns = collect_batch(&schema, &batch);
    schema.release(&schema);
    if (batch.release) batch.release(&batch);
    return columns;
}

static PyMethodDef stream_methods[] = {
    {"capsule", stream_capsule, METH_NOARGS, NULL},
    {"schema_capsule", stream_schema_capsule, METH_NOARGS, NULL},
    {"schema", stream_schema, METH_NOARGS, NULL},
    {"columns", stream_columns, METH_NOARGS, NULL},
    {"next", stream_next, METH_NOARGS, NULL},
    {"count", stream_count, METH_NOARGS, NULL},
    {0},
};

static PyType_Slot stream_slots[] = {
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_methods, stream_methods},
    {0},
};

PyType_Spec stream_spec = {
    .name = "heddle._heddle.Stream",
    .basicsize = sizeof(stream_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = stream_slots,
};
