/* columns.c - columns in Python's memory → batches that are kept, for slices of tables and unpickled ones
 *
 * Everything is copied: an array has memory of its own, which its release frees.
 */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

/* What an array or schema of this file owns, behind its private_data. */
typedef struct owned {
    void *buffers[3];
    const void *given[3]; /* the same, as Arrow has them */
    char *name, *format;
} owned;

static void free_owned(owned *own)
{
    for (size_t i = 0; own && i < 3; i++) free(own->buffers[i]);
    if (own) free(own->name);
    if (own) free(own->format);
    free(own);
}

static void release_array(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release) array->children[i]->release(array->children[i]);
        free(array->children[i]);
    }
    free(array->children);
    if (array->dictionary && array->dictionary->release) array->dictionary->release(array->dictionary);
    free(array->dictionary);
    free_owned(array->private_data);
    array->release = NULL;
}

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release) schema->children[i]->release(schema->children[i]);
        free(schema->children[i]);
    }
    free(schema->children);
    if (schema->dictionary && schema->dictionary->release) schema->dictionary->release(schema->dictionary);
    free(schema->dictionary);
    free_owned(schema->private_data);
    schema->release = NULL;
}

/* An array with room for so many children; false: no memory, and what is there is released by its parent. */
static bool init_array(struct ArrowArray *out, int64_t length, int64_t buffers, size_t children)
{
    owned *own = calloc(1, sizeof *own);
    *out = (struct ArrowArray){.length = length,
                               .n_buffers = buffers,
                               .buffers = own ? own->given : NULL,
                               .children = calloc(children + 1, sizeof *out->children),
                               .private_data = own,
                               .release = release_array};
    return own && out->children;
}

static bool init_schema(struct ArrowSchema *out, const char *name, const char *format, size_t children)
{
    owned *own = calloc(1, sizeof *own);
    if (own) own->name = strdup(name);
    if (own) own->format = strdup(format);
    *out = (struct ArrowSchema){.name = own ? own->name : NULL,
                                .format = own ? own->format : NULL,
                                .flags = ARROW_FLAG_NULLABLE,
                                .children = calloc(children + 1, sizeof *out->children),
                                .private_data = own,
                                .release = release_schema};
    return own && own->name && own->format && out->children;
}

static void *set_buffer(struct ArrowArray *array, int which, size_t size)
{
    owned *own = array->private_data;
    own->buffers[which] = calloc(size + 8, 1);
    return own->given[which] = own->buffers[which];
}

static void set_bit(uint8_t *bits, size_t i)
{
    bits[i / 8] |= (uint8_t)(1u << i % 8);
}

/* ---- texts ---- */

/* "U" of a list of str, row by row: of `codes`, -1 is null; NULL: each once. false: an exception is set. */
static bool set_texts(struct ArrowArray *out, PyObject *texts, const int32_t *codes, size_t rows)
{
    size_t heap = 0;
    for (int pass = 0; pass < 2; pass++) {
        int64_t *offsets = NULL;
        char *to = NULL;
        if (pass) {
            offsets = set_buffer(out, 1, (rows + 1) * sizeof *offsets);
            to = set_buffer(out, 2, heap);
            if (!offsets || !to) {
                PyErr_NoMemory();
                return false;
            }
        }
        size_t at = 0;
        for (size_t i = 0; i < rows; i++) {
            Py_ssize_t size = 0;
            int32_t code = codes ? codes[i] : (int32_t)i;
            PyObject *item = code < 0 ? NULL : PyList_GetItem(texts, code);
            const char *text = item ? PyUnicode_AsUTF8AndSize(item, &size) : NULL;
            if (code >= 0 && !text) return false;
            if (pass && text) memcpy(to + at, text, (size_t)size);
            at += (size_t)size;
            if (pass) offsets[i + 1] = (int64_t)at;
        }
        heap = at;
    }
    return true;
}

/* ---- a column ---- */

/* (name, format, is_dictionary, data, mask or None, texts or None): texts' data are int32 codes. */
typedef struct given {
    const char *name, *format;
    int is_dictionary;
    PyObject *texts;
    Py_buffer data, mask;
    size_t rows, width;
} given;

static bool set_validity(struct ArrowArray *out, const given *g)
{
    const uint8_t *mask = g->mask.buf;
    const int32_t *codes = g->texts != Py_None ? g->data.buf : NULL;
    for (size_t i = 0; i < g->rows; i++) out->null_count += codes ? codes[i] < 0 : mask && mask[i];
    if (!out->null_count) return true;
    uint8_t *bits = set_buffer(out, 0, g->rows / 8 + 1);
    for (size_t i = 0; bits && i < g->rows; i++)
        if (codes ? codes[i] >= 0 : !mask[i]) set_bit(bits, i);
    return bits;
}

static bool set_numbers(struct ArrowArray *out, const given *g)
{
    bool is_bits = strcmp(g->format, "b") == 0;
    uint8_t *to = set_buffer(out, 1, is_bits ? g->rows / 8 + 1 : (size_t)g->data.len);
    if (!to) return false;
    for (size_t i = 0; is_bits && i < g->rows; i++)
        if (((const uint8_t *)g->data.buf)[i]) set_bit(to, i);
    if (!is_bits) memcpy(to, g->data.buf, (size_t)g->data.len);
    return true;
}

/* false: an exception is set, or there is no memory. */
static bool set_column(struct ArrowArray *out, struct ArrowSchema *schema, const given *g)
{
    bool is_text = g->texts != Py_None;
    const char *format = !is_text ? g->format : g->is_dictionary ? "i" : "U";
    bool good = init_array(out, (int64_t)g->rows, is_text && !g->is_dictionary ? 3 : 2, 0) &&
                init_schema(schema, g->name, format, 0) && set_validity(out, g);
    if (!good) return false;
    if (!is_text) return set_numbers(out, g);
    if (!g->is_dictionary) return set_texts(out, g->texts, g->data.buf, g->rows);
    size_t texts = (size_t)PyList_Size(g->texts);
    int32_t *indices = set_buffer(out, 1, g->rows * sizeof *indices);
    out->dictionary = calloc(1, sizeof *out->dictionary);
    schema->dictionary = calloc(1, sizeof *schema->dictionary);
    if (!indices || !out->dictionary || !schema->dictionary) return false;
    for (size_t i = 0; i < g->rows; i++) {
        int32_t code = ((const int32_t *)g->data.buf)[i];
        indices[i] = code < 0 ? 0 : code;
    }
    return init_array(out->dictionary, (int64_t)texts, 3, 0) && init_schema(schema->dictionary, "", "U", 0) &&
           set_texts(out->dictionary, g->texts, NULL, texts);
}

/* What a pickle says may be anything: each column has the rows of the first, and each code a text. */
static bool check_column(given *g, size_t rows, bool first)
{
    bool is_text = g->texts != Py_None;
    g->width = is_text ? sizeof(int32_t) : column_width(g->format);
    g->rows = g->width ? (size_t)g->data.len / g->width : 0;
    bool good = g->width && (first || g->rows == rows) && (!g->mask.buf || (size_t)g->mask.len == g->rows) &&
                (!is_text || PyList_Check(g->texts));
    Py_ssize_t texts = good && is_text ? PyList_Size(g->texts) : 0;
    for (size_t i = 0; good && is_text && i < g->rows; i++) good = ((const int32_t *)g->data.buf)[i] < texts;
    if (!good) PyErr_Format(PyExc_ValueError, "column %s is not what a table has", g->name);
    return good;
}

static bool add_column(struct ArrowArray *batch, struct ArrowSchema *schema, PyObject *item)
{
    given g = {0};
    PyObject *data, *mask;
    size_t at = (size_t)batch->n_children;
    if (!PyArg_ParseTuple(item, "sspOOO", &g.name, &g.format, &g.is_dictionary, &data, &mask, &g.texts)) return false;
    bool good = PyObject_GetBuffer(data, &g.data, PyBUF_SIMPLE) == 0 &&
                (mask == Py_None || PyObject_GetBuffer(mask, &g.mask, PyBUF_SIMPLE) == 0) &&
                check_column(&g, (size_t)batch->length, at == 0);
    if (good) {
        batch->children[at] = calloc(1, sizeof **batch->children);
        schema->children[at] = calloc(1, sizeof **schema->children);
        good = batch->children[at] && schema->children[at];
        batch->n_children = schema->n_children = good ? (int64_t)at + 1 : (int64_t)at;
        batch->length = (int64_t)g.rows;
        good = good && set_column(batch->children[at], schema->children[at], &g);
    }
    if (g.data.obj) PyBuffer_Release(&g.data);
    if (g.mask.obj) PyBuffer_Release(&g.mask);
    if (!good && !PyErr_Occurred()) PyErr_NoMemory();
    return good;
}

/* held(columns): batches of columns that are copied. */
static PyObject *held_of_columns(PyObject *Py_UNUSED(module), PyObject *columns)
{
    struct ArrowArray batch;
    struct ArrowSchema schema;
    if (!PyList_Check(columns)) return PyErr_Format(PyExc_TypeError, "a list of columns is needed");
    size_t count = (size_t)PyList_Size(columns);
    bool good = init_array(&batch, 0, 1, count);
    good = init_schema(&schema, "", "+s", count) && good;
    if (!good) PyErr_NoMemory();
    for (size_t i = 0; good && i < count; i++)
        good = add_column(&batch, &schema, PyList_GetItem(columns, (Py_ssize_t)i));
    PyObject *out = good ? held_object_of_batch(&schema, &batch) : NULL;
    if (batch.release) batch.release(&batch);
    if (schema.release) schema.release(&schema);
    return out;
}

PyMethodDef column_functions[] = {
    {"held", held_of_columns, METH_O, NULL},
    {0},
};
