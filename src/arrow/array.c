/* array.c - the structs of Arrow's C data interface
 *
 * Each node owns its memory, so that a consumer may move children out of their parent and release them later, on any
 * thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/impl.h"

/* ---- schemas ---- */

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
    free(schema->private_data);
    schema->release = NULL;
}

int arrow_schema_init(struct ArrowSchema *out, const char *format, const char *name, bool nullable, size_t children)
{
    size_t format_size = strlen(format) + 1, name_size = strlen(name) + 1;
    char *text = malloc(format_size + name_size);
    *out = (struct ArrowSchema){.flags = nullable ? ARROW_FLAG_NULLABLE : 0, .release = release_schema};
    out->private_data = text;
    if (children) out->children = calloc(children, sizeof(struct ArrowSchema *));
    if (!text || (children && !out->children)) goto failed;
    memcpy(text, format, format_size);
    memcpy(text + format_size, name, name_size);
    out->format = text;
    out->name = text + format_size;
    for (out->n_children = 0; out->n_children < (int64_t)children; out->n_children++) {
        out->children[out->n_children] = calloc(1, sizeof(struct ArrowSchema));
        if (!out->children[out->n_children]) goto failed;
    }
    return 0;
failed:
    release_schema(out);
    return ENOMEM;
}

/* ---- arrays ---- */

enum { BUFFER_MOST = 3 };

typedef struct array_node {
    const void *buffers[BUFFER_MOST];
    void *owned[BUFFER_MOST];
    void (*release)(void *user); /* the owner of borrowed buffers; NULL: none is borrowed */
    void *user;
} array_node;

static void release_array(struct ArrowArray *array)
{
    array_node *node = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        struct ArrowArray *child = array->children[i];
        if (child && child->release) child->release(child);
        free(child);
    }
    if (array->dictionary && array->dictionary->release) array->dictionary->release(array->dictionary);
    free(array->dictionary);
    free(array->children);
    for (int i = 0; i < BUFFER_MOST; i++) free(node->owned[i]);
    if (node->release) node->release(node->user);
    free(node);
    array->release = NULL;
}

int arrow_array_init(struct ArrowArray *out, int64_t length, void *const *buffers, size_t buffer_count, size_t children)
{
    array_node *node = calloc(1, sizeof *node);
    *out = (struct ArrowArray){0};
    if (!node) {
        for (size_t i = 0; i < buffer_count; i++) free(buffers[i]);
        return ENOMEM;
    }
    for (size_t i = 0; i < buffer_count; i++) node->buffers[i] = node->owned[i] = buffers[i];
    *out = (struct ArrowArray){.length = length,
                               .n_buffers = (int64_t)buffer_count,
                               .buffers = node->buffers,
                               .release = release_array,
                               .private_data = node};
    if (!children) return 0;
    out->children = calloc(children, sizeof(struct ArrowArray *));
    for (; out->children && out->n_children < (int64_t)children; out->n_children++) {
        out->children[out->n_children] = calloc(1, sizeof(struct ArrowArray));
        if (!out->children[out->n_children]) break;
    }
    if (out->n_children == (int64_t)children) return 0;
    release_array(out);
    return ENOMEM;
}

void arrow_array_borrow(struct ArrowArray *array, size_t buffer, const void *data, void (*release)(void *user),
                        void *user)
{
    array_node *node = array->private_data;
    node->buffers[buffer] = data;
    node->release = release;
    node->user = user;
}

int arrow_array_set_null(struct ArrowArray *array, const uint8_t *null)
{
    array_node *node = array->private_data;
    uint8_t *valid = calloc((size_t)array->length / 8 + 1, 1);
    if (!valid) return ENOMEM;
    for (int64_t i = 0; i < array->length; i++) {
        valid[i / 8] |= (uint8_t)(!null[i] << i % 8);
        array->null_count += null[i] != 0;
    }
    node->buffers[0] = node->owned[0] = valid;
    return 0;
}

/* ---- columns ---- */

static void *pack_values(char format, const int64_t *values, const uint8_t *null, uint32_t count)
{
    if (format == 'b') {
        uint8_t *bits = calloc(count / 8 + 1, 1);
        for (uint32_t i = 0; bits && i < count; i++)
            bits[i / 8] |= (uint8_t)((values[i] == 1 && !(null && null[i])) << i % 8);
        return bits;
    }
    bool is_narrow = format == 'i' || format == 'u';
    void *out = malloc((size_t)count * (is_narrow ? 4 : 8) + 8);
    if (!out) return NULL;
    if (!is_narrow)
        memcpy(out, values, (size_t)count * 8);
    else
        for (uint32_t i = 0; i < count; i++) ((int32_t *)out)[i] = (int32_t)values[i];
    for (uint32_t i = 0; null && i < count; i++) {
        if (!null[i]) continue;
        if (is_narrow)
            ((int32_t *)out)[i] = 0;
        else
            ((int64_t *)out)[i] = 0;
    }
    return out;
}

int arrow_column_array(struct ArrowArray *out, char format, const int64_t *values, const uint8_t *null, uint32_t count,
                       arrow_texts *texts)
{
    void *buffers[2] = {NULL, pack_values(format, values, null, count)};
    *out = (struct ArrowArray){0};
    if (!buffers[1] || arrow_array_init(out, count, buffers, 2, 0) != 0) return ENOMEM;
    int problem = null ? arrow_array_set_null(out, null) : 0;
    if (texts && !problem) {
        out->dictionary = calloc(1, sizeof(struct ArrowArray));
        problem = out->dictionary ? arrow_texts_array(out->dictionary, texts) : ENOMEM;
    }
    if (problem) out->release(out);
    return problem;
}
