/* collect.c - Arrow batches → one contiguous buffer a column, as NumPy has them
 *
 * Numbers    are copied once, batch by batch; what is null becomes 0, and a mask of bytes says so (1: null).
 * Booleans   become bytes.
 * Text       becomes codes (int32) of the texts that are used, each of which is there once. Whatever dictionaries the
 *            batches have: a code is given when a text of a dictionary is first met (`remap`), and equal texts are
 *            found in the end.
 */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

typedef struct column {
    char *name;
    const char *code; /* of the buffer protocol: "q", "d" …; "t": text */
    unsigned width;   /* of an element here, 1 for booleans */
    bool is_bits, is_large;
    unsigned index_width; /* of a dictionary's indices; 0: the texts stand in the column itself */
    uint8_t *data, *mask; /* mask NULL: no null so far */
    size_t capacity;      /* rows */
    /* text */
    int32_t *remap; /* by index of the dictionary: code, or -1 */
    size_t remap_size;
    char *heap;
    size_t heap_size, heap_capacity;
    size_t *ends; /* of texts in the heap */
    size_t text_count, text_capacity;
} column;

typedef struct collect_job {
    job job;
    struct ArrowArrayStream stream;
    column *columns;
    size_t column_count, rows;
} collect_job;

static bool grow(void *memory, size_t *capacity, size_t wanted, size_t width)
{
    void **place = memory;
    if (wanted <= *capacity) return true;
    size_t next = *capacity + *capacity / 2 < wanted ? wanted : *capacity + *capacity / 2;
    if (next > SIZE_MAX / 2 / width) return false;
    void *grown = realloc(*place, next * width);
    if (!grown) return false;
    *place = grown;
    *capacity = next;
    return true;
}

static bool bit_at(const void *bits, size_t i)
{
    return ((const uint8_t *)bits)[i / 8] >> i % 8 & 1;
}

/* ---- types ---- */

static const struct {
    const char *format, *code;
    unsigned width;
} numbers[] = {
    {"l", "q", 8}, {"L", "Q", 8}, {"i", "i", 4}, {"I", "I", 4}, {"s", "h", 2},
    {"S", "H", 2}, {"c", "b", 1}, {"C", "B", 1}, {"g", "d", 8}, {"f", "f", 4},
};

/* Times in ns are as whole numbers. */
static const char *number_of(const char *format)
{
    return strncmp(format, "ts", 2) == 0 || strncmp(format, "tD", 2) == 0 ? "l" : format;
}

size_t column_width(const char *format)
{
    if (strcmp(format, "b") == 0) return 1;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(number_of(format), numbers[i].format) == 0) return numbers[i].width;
    return 0;
}

static hd_status set_type(column *out, const struct ArrowSchema *schema, hd_error *err)
{
    const char *format = number_of(schema->format);
    const char *values = schema->dictionary ? schema->dictionary->format : schema->format;
    out->name = strdup(schema->name ? schema->name : "");
    if (!out->name) return HD_ERR_MEMORY;
    if (strcmp(format, "b") == 0) {
        out->code = "?";
        out->width = 1;
        out->is_bits = true;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !out->code; i++) {
        if (strcmp(format, numbers[i].format) != 0) continue;
        out->code = numbers[i].code;
        out->width = numbers[i].width;
    }
    if (strcmp(values, "u") == 0 || strcmp(values, "U") == 0) {
        out->index_width = schema->dictionary ? out->width : 0;
        out->is_large = *values == 'U';
        out->code = "t";
        out->width = sizeof(int32_t);
    }
    if (!out->code) {
        return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                            "column %s has Arrow's type '%s', which only Arrow can take", out->name, values);
    }
    return HD_OK;
}

static hd_status set_types(collect_job *job, const struct ArrowSchema *schema, hd_error *err)
{
    job->columns = calloc((size_t)schema->n_children + 1, sizeof *job->columns);
    if (!job->columns) return HD_ERR_MEMORY;
    job->column_count = (size_t)schema->n_children;
    for (size_t i = 0; i < job->column_count; i++) {
        hd_status status = set_type(&job->columns[i], schema->children[i], err);
        if (status != HD_OK) return status;
    }
    return HD_OK;
}

/* ---- rows ---- */

/* Code of a text that is met for the first time; -1: no memory, or 2^31 texts. */
static int32_t add_text(column *c, const struct ArrowArray *texts, size_t i)
{
    i += (size_t)texts->offset;
    size_t from, to;
    if (c->is_large) {
        from = (size_t)((const int64_t *)texts->buffers[1])[i];
        to = (size_t)((const int64_t *)texts->buffers[1])[i + 1];
    } else {
        from = (size_t)((const int32_t *)texts->buffers[1])[i];
        to = (size_t)((const int32_t *)texts->buffers[1])[i + 1];
    }
    if (c->text_count >= INT32_MAX || !grow(&c->ends, &c->text_capacity, c->text_count + 1, sizeof *c->ends) ||
        !grow(&c->heap, &c->heap_capacity, c->heap_size + (to - from) + 1, 1)) {
        return -1;
    }
    memcpy(c->heap + c->heap_size, (const char *)texts->buffers[2] + from, to - from);
    c->heap_size += to - from;
    c->ends[c->text_count] = c->heap_size;
    return (int32_t)c->text_count++;
}

static size_t index_at(const void *indices, unsigned width, size_t i)
{
    switch (width) {
    case 1: return ((const uint8_t *)indices)[i];
    case 2: return ((const uint16_t *)indices)[i];
    case 4: return ((const uint32_t *)indices)[i];
    default: return (size_t)((const uint64_t *)indices)[i];
    }
}

static hd_status append_texts(column *c, const struct ArrowArray *array, size_t at, size_t first, size_t rows,
                              hd_error *err)
{
    int32_t *codes = (int32_t *)c->data + at;
    const uint8_t *mask = c->mask ? c->mask + at : NULL;
    if (c->index_width) {
        size_t size = (size_t)array->dictionary->length, old = c->remap_size;
        if (!grow(&c->remap, &c->remap_size, size, sizeof *c->remap)) return HD_ERR_MEMORY;
        if (c->remap_size > old) memset(c->remap + old, 0xff, (c->remap_size - old) * sizeof *c->remap);
    }
    for (size_t i = 0; i < rows; i++) {
        if (mask && mask[i]) {
            codes[i] = -1;
        } else if (!c->index_width) {
            codes[i] = add_text(c, array, i + first - (size_t)array->offset);
            if (codes[i] < 0) return HD_ERR_MEMORY;
        } else {
            size_t index = index_at(array->buffers[1], c->index_width, first + i);
            if (index >= (size_t)array->dictionary->length) {
                return hd_error_set(err, HD_ERR_INTERNAL, NULL, HD_OFFSET_NONE, "column %s: text %zu of %zu", c->name,
                                    index, (size_t)array->dictionary->length);
            }
            if (c->remap[index] < 0) c->remap[index] = add_text(c, array->dictionary, index);
            if (c->remap[index] < 0) return HD_ERR_MEMORY;
            codes[i] = c->remap[index];
        }
    }
    return HD_OK;
}

/* Which of the rows are null, into the mask. */
static hd_status append_nulls(column *c, const struct ArrowArray *array, size_t at, size_t first, size_t rows,
                              size_t old_capacity)
{
    bool has_nulls = array->null_count != 0 && array->n_buffers > 0 && array->buffers[0];
    if (c->mask && c->capacity > old_capacity) {
        uint8_t *grown = realloc(c->mask, c->capacity);
        if (!grown) return HD_ERR_MEMORY;
        c->mask = grown;
    }
    if (!c->mask && has_nulls) {
        c->mask = malloc(c->capacity);
        if (!c->mask) return HD_ERR_MEMORY;
        memset(c->mask, 0, at);
    }
    for (size_t i = 0; c->mask && i < rows; i++) c->mask[at + i] = has_nulls && !bit_at(array->buffers[0], first + i);
    return HD_OK;
}

static hd_status append_column(column *c, const struct ArrowArray *array, size_t at, size_t skip, size_t rows,
                               hd_error *err)
{
    size_t old_capacity = c->capacity, first = (size_t)array->offset + skip;
    if (!grow(&c->data, &c->capacity, at + rows, c->width)) return HD_ERR_MEMORY;
    hd_status status = append_nulls(c, array, at, first, rows, old_capacity);
    if (status != HD_OK || rows == 0) return status;
    if (*c->code == 't') return append_texts(c, array, at, first, rows, err);
    uint8_t *out = c->data + at * c->width;
    if (c->is_bits) {
        for (size_t i = 0; i < rows; i++) out[i] = bit_at(array->buffers[1], first + i);
    } else {
        memcpy(out, (const uint8_t *)array->buffers[1] + first * c->width, rows * c->width);
    }
    for (size_t i = 0; c->mask && i < rows; i++) {
        if (c->mask[at + i]) memset(out + i * c->width, 0, c->width);
    }
    return HD_OK;
}

/* old: the batch before this one, still there, so that a dictionary at the same place is the same. */
static hd_status append_batch(collect_job *job, const struct ArrowArray *batch, const struct ArrowArray *old,
                              hd_error *err)
{
    if ((size_t)batch->n_children != job->column_count) {
        return hd_error_set(err, HD_ERR_INTERNAL, NULL, HD_OFFSET_NONE, "a batch of %lld columns, not %zu",
                            (long long)batch->n_children, job->column_count);
    }
    for (size_t i = 0; i < job->column_count; i++) {
        column *c = &job->columns[i];
        const struct ArrowArray *array = batch->children[i], *before = old->release ? old->children[i] : NULL;
        if (c->index_width && before &&
            (before->dictionary->buffers[1] != array->dictionary->buffers[1] ||
             before->dictionary->buffers[2] != array->dictionary->buffers[2] ||
             before->dictionary->length != array->dictionary->length)) {
            memset(c->remap, 0xff, c->remap_size * sizeof *c->remap);
        }
        hd_status status = append_column(c, array, job->rows, (size_t)batch->offset, (size_t)batch->length, err);
        if (status != HD_OK) return status;
    }
    job->rows += (size_t)batch->length;
    return HD_OK;
}

static hd_status run_collect(job *base)
{
    collect_job *job = (collect_job *)base;
    struct ArrowSchema schema = {0};
    struct ArrowArray old = {0};
    hd_status status = stream_status(job->stream.get_schema(&job->stream, &schema), &job->stream, &base->err);
    if (status == HD_OK) status = set_types(job, &schema, &base->err);
    while (status == HD_OK && !atomic_load(&base->abandoned)) {
        struct ArrowArray batch = {0};
        status = stream_status(job->stream.get_next(&job->stream, &batch), &job->stream, &base->err);
        if (status != HD_OK || !batch.release) break;
        status = append_batch(job, &batch, &old, &base->err);
        if (old.release) old.release(&old);
        old = batch;
    }
    if (old.release) old.release(&old);
    if (schema.release) schema.release(&schema);
    return status;
}

static void free_column(column *c)
{
    free(c->name);
    free(c->data);
    free(c->mask);
    free(c->remap);
    free(c->heap);
    free(c->ends);
}

static void drop_collect(job *base)
{
    collect_job *job = (collect_job *)base;
    for (size_t i = 0; i < job->column_count; i++) free_column(&job->columns[i]);
    free(job->columns);
    if (job->stream.release) job->stream.release(&job->stream);
    job_free(base);
}

/* ---- to Python ---- */

/* The texts as a list of str, each once; codes of equal ones become one. */
static PyObject *unique_texts(column *c, size_t rows)
{
    PyObject *list = PyList_New(0), *codes = PyDict_New();
    int32_t *become = malloc((c->text_count + 1) * sizeof *become);
    bool good = list && codes && become, again = false;
    if (!become) PyErr_NoMemory();
    for (size_t i = 0; good && i < c->text_count; i++) {
        size_t from = i ? c->ends[i - 1] : 0;
        PyObject *text = text_of(c->heap + from, c->ends[i] - from);
        PyObject *next = text ? PyLong_FromSsize_t(PyList_Size(list)) : NULL;
        PyObject *code = next ? PyObject_CallMethod(codes, "setdefault", "OO", text, next) : NULL;
        good = code && (code != next || PyList_Append(list, text) == 0);
        if (good) become[i] = (int32_t)PyLong_AsLong(code);
        again |= good && code != next;
        Py_XDECREF(code);
        Py_XDECREF(next);
        Py_XDECREF(text);
    }
    int32_t *data = (int32_t *)c->data;
    for (size_t i = 0; good && again && i < rows; i++) data[i] = data[i] < 0 ? -1 : become[data[i]];
    free(become);
    Py_XDECREF(codes);
    if (!good) Py_CLEAR(list);
    return list;
}

static PyObject *column_tuple(column *c, size_t rows)
{
    bool is_text = *c->code == 't';
    PyObject *texts = is_text ? unique_texts(c, rows) : Py_NewRef(Py_None);
    if (!texts) return NULL;
    PyObject *data = buffer_object_new(c->data, rows, c->width, is_text ? "i" : c->code);
    c->data = NULL;
    PyObject *mask = !data ? NULL : c->mask ? buffer_object_new(c->mask, rows, 1, "?") : Py_NewRef(Py_None);
    if (mask) c->mask = NULL;
    PyObject *name = mask ? text_of(c->name, strlen(c->name)) : NULL;
    if (name) return Py_BuildValue("(NsNNN)", name, c->code, data, mask, texts);
    Py_XDECREF(mask);
    Py_XDECREF(data);
    Py_DECREF(texts);
    return NULL;
}

static PyObject *take_columns(collect_job *job)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < job->column_count; i++) {
        if (!append(list, column_tuple(&job->columns[i], job->rows))) Py_CLEAR(list);
    }
    drop_collect(&job->job);
    return list;
}

PyObject *collect_columns(struct ArrowArrayStream *stream)
{
    collect_job *job = job_new(sizeof *job, run_collect, drop_collect);
    if (!job) return NULL;
    job->stream = *stream;
    stream->release = NULL;
    return job_run(&job->job) < 0 ? NULL : take_columns(job);
}

PyObject *collect_batch(const struct ArrowSchema *schema, struct ArrowArray *batch)
{
    collect_job *job = job_new(sizeof *job, run_collect, drop_collect);
    const struct ArrowArray none = {0};
    if (!job) return NULL;
    hd_error *err = &job->job.err;
    hd_status status = set_types(job, schema, err);
    if (status == HD_OK) status = append_batch(job, batch, &none, err);
    if (status == HD_OK) return take_columns(job);
    raise_status(status, err);
    drop_collect(&job->job);
    return NULL;
}

/* ---- memory for the buffer protocol ---- */

typedef struct buffer_object {
    PyObject_HEAD void *data;
    Py_ssize_t count, width;
    char format[2];
} buffer_object;

PyObject *buffer_object_new(void *data, size_t count, size_t width, const char *format)
{
    buffer_object *self = (buffer_object *)PyType_GenericAlloc(buffer_type, 0);
    if (!self) {
        free(data);
        return NULL;
    }
    self->data = data;
    self->count = (Py_ssize_t)count;
    self->width = (Py_ssize_t)width;
    self->format[0] = *format;
    return (PyObject *)self;
}

static int buffer_get(PyObject *object, Py_buffer *out, int flags)
{
    buffer_object *self = (buffer_object *)object;
    static char nothing[8];
    if (flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "columns of a trace are read-only: copy them");
        out->obj = NULL;
        return -1;
    }
    *out = (Py_buffer){.buf = self->data ? self->data : nothing,
                       .obj = Py_NewRef(object),
                       .len = self->count * self->width,
                       .itemsize = self->width,
                       .readonly = 1,
                       .ndim = 1,
                       .format = flags & PyBUF_FORMAT ? self->format : NULL,
                       .shape = flags & PyBUF_ND ? &self->count : NULL,
                       .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &self->width : NULL};
    return 0;
}

static void buffer_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    free(((buffer_object *)object)->data);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyType_Slot buffer_slots[] = {
    {Py_tp_dealloc, buffer_dealloc},
    {Py_bf_getbuffer, buffer_get},
    {0},
};

PyType_Spec buffer_spec = {
    .name = "heddle._heddle.Buffer",
    .basicsize = sizeof(buffer_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = buffer_slots,
};
