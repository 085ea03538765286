/* held.c - the batches of a stream that can be made once only, as a query's: kept, and given again as often as wanted
 *
 * What is given has structs of its own, which point to the buffers that are kept; each keeps them by itself, since
 * Arrow lets a consumer move a child out of its parent.
 */
#include "binding.h"

#include <errno.h>
#include <stdlib.h>

struct held {
    atomic_size_t uses;
    struct ArrowSchema schema;
    struct ArrowArray *batches;
    size_t count, capacity;
    uint64_t rows;
};

typedef struct held_object {
    PyObject_HEAD held *held;
} held_object;

void held_release(held *held)
{
    if (!held || atomic_fetch_sub(&held->uses, 1) > 1) return;
    for (size_t i = 0; i < held->count; i++) held->batches[i].release(&held->batches[i]);
    if (held->schema.release) held->schema.release(&held->schema);
    free(held->batches);
    free(held);
}

static held *held_keep(held *held)
{
    atomic_fetch_add(&held->uses, 1);
    return held;
}

/* ---- copies of the structs ---- */

static void release_array(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        struct ArrowArray *child = array->children[i];
        if (child && child->release) child->release(child);
        free(child);
    }
    if (array->dictionary && array->dictionary->release) array->dictionary->release(array->dictionary);
    free(array->dictionary);
    free(array->children);
    held_release(array->private_data);
    array->release = NULL;
}

static bool copy_array(struct ArrowArray *out, const struct ArrowArray *from, held *held)
{
    *out = *from;
    out->private_data = held_keep(held);
    out->release = release_array;
    out->dictionary = NULL;
    out->children = calloc((size_t)from->n_children + 1, sizeof *out->children);
    out->n_children = out->children ? from->n_children : 0;
    bool good = out->children;
    for (int64_t i = 0; good && i < from->n_children; i++) {
        out->children[i] = calloc(1, sizeof **out->children);
        good = out->children[i] && copy_array(out->children[i], from->children[i], held);
    }
    if (good && from->dictionary) {
        out->dictionary = calloc(1, sizeof *out->dictionary);
        good = out->dictionary && copy_array(out->dictionary, from->dictionary, held);
    }
    return good;
}

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        struct ArrowSchema *child = schema->children[i];
        if (child && child->release) child->release(child);
        free(child);
    }
    if (schema->dictionary && schema->dictionary->release) schema->dictionary->release(schema->dictionary);
    free(schema->dictionary);
    free(schema->children);
    held_release(schema->private_data);
    schema->release = NULL;
}

static bool copy_schema(struct ArrowSchema *out, const struct ArrowSchema *from, held *held)
{
    *out = *from;
    out->private_data = held_keep(held);
    out->release = release_schema;
    out->dictionary = NULL;
    out->children = calloc((size_t)from->n_children + 1, sizeof *out->children);
    out->n_children = out->children ? from->n_children : 0;
    bool good = out->children;
    for (int64_t i = 0; good && i < from->n_children; i++) {
        out->children[i] = calloc(1, sizeof **out->children);
        good = out->children[i] && copy_schema(out->children[i], from->children[i], held);
    }
    if (good && from->dictionary) {
        out->dictionary = calloc(1, sizeof *out->dictionary);
        good = out->dictionary && copy_schema(out->dictionary, from->dictionary, held);
    }
    return good;
}

/* ---- the stream again ---- */

typedef struct replay {
    held *held;
    size_t next;
} replay;

static int replay_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    replay *replay = stream->private_data;
    if (copy_schema(out, &replay->held->schema, replay->held)) return 0;
    out->release(out);
    return ENOMEM;
}

static int replay_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    replay *replay = stream->private_data;
    *out = (struct ArrowArray){0};
    if (replay->next == replay->held->count) return 0;
    if (copy_array(out, &replay->held->batches[replay->next], replay->held)) {
        replay->next++;
        return 0;
    }
    out->release(out);
    return ENOMEM;
}

static const char *replay_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "out of memory";
}

static void replay_release(struct ArrowArrayStream *stream)
{
    replay *replay = stream->private_data;
    held_release(replay->held);
    free(replay);
    stream->release = NULL;
}

static PyObject *held_stream(PyObject *object, PyObject *Py_UNUSED(none))
{
    replay *made = calloc(1, sizeof *made);
    if (!made) return PyErr_NoMemory();
    made->held = held_keep(((held_object *)object)->held);
    struct ArrowArrayStream stream = {replay_schema, replay_next, replay_error, replay_release, made};
    return stream_object_new(&stream);
}

/* ---- keeping ---- */

held *held_new(void)
{
    held *made = calloc(1, sizeof *made);
    if (made) atomic_store(&made->uses, 1);
    return made;
}

hd_status held_fill(held *held, struct ArrowArrayStream *stream, const job *job, hd_error *err)
{
    hd_status status = stream_status(stream->get_schema(stream, &held->schema), stream, err);
    while (status == HD_OK && !atomic_load(&job->abandoned)) {
        if (held->count == held->capacity) {
            size_t capacity = held->capacity * 2 + 8;
            struct ArrowArray *grown = realloc(held->batches, capacity * sizeof *grown);
            if (!grown) return HD_ERR_MEMORY;
            held->batches = grown;
            held->capacity = capacity;
        }
        struct ArrowArray *batch = &held->batches[held->count];
        *batch = (struct ArrowArray){0};
        status = stream_status(stream->get_next(stream, batch), stream, err);
        if (status != HD_OK || !batch->release) break;
        held->rows += (uint64_t)batch->length;
        held->count++;
    }
    return status;
}

PyObject *held_object_of(held *held)
{
    held_object *self = (held_object *)PyType_GenericAlloc(held_type, 0);
    if (self) {
        self->held = held;
    } else {
        held_release(held);
    }
    return (PyObject *)self;
}

PyObject *held_object_of_batch(struct ArrowSchema *schema, struct ArrowArray *batch)
{
    held *made = held_new();
    if (made) made->batches = malloc(sizeof *made->batches);
    if (!made || !made->batches) {
        held_release(made);
        return PyErr_NoMemory();
    }
    made->schema = *schema;
    made->batches[0] = *batch;
    made->count = made->capacity = 1;
    made->rows = (uint64_t)batch->length;
    schema->release = NULL;
    batch->release = NULL;
    return held_object_of(made);
}

static PyObject *held_rows(PyObject *object, PyObject *Py_UNUSED(none))
{
    return PyLong_FromUnsignedLongLong(((held_object *)object)->held->rows);
}

static void held_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    held_release(((held_object *)object)->held);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef held_methods[] = {
    {"stream", held_stream, METH_NOARGS, NULL},
    {"rows", held_rows, METH_NOARGS, NULL},
    {0},
};

static PyType_Slot held_slots[] = {
    {Py_tp_dealloc, held_dealloc},
    {Py_tp_methods, held_methods},
    {0},
};

PyType_Spec held_spec = {
    .name = "heddle._heddle.Held",
    .basicsize = sizeof(held_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = held_slots,
};
