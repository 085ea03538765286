/* baseline.c - a side as a file, and back: see docs/formats/hds.md
 *
 * Lists of structs are stored field by field, as differences to the row above; the figures of an entry as differences
 * to the entry before of the same item, which is mostly that of the step before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/io/compress.h"
#include "base/io/input.h"
#include "base/io/output.h"
#include "base/memory/vector.h"
#include "report/diff/diff.h"

enum { MAGIC_BYTES = 8, HEADER_BYTES = 24, VERSION = 1 };
#define BYTES_MAX ((size_t)1 << 30) /* of a baseline, decompressed */
static const uint8_t magic[MAGIC_BYTES] = {'H', 'E', 'D', 'D', 'L', 'E', 'B', 'L'};

/* ---- fields ---- */

typedef enum field_type { FIELD_ID, FIELD_U32, FIELD_64 } field_type; /* FIELD_ID: uint32_t, HD_NONE as 0 */
typedef struct field {
    size_t at;
    field_type type;
} field;
#define AT(type, of, member)                                                                                           \
    {                                                                                                                  \
        offsetof(of, member), FIELD_##type                                                                             \
    }
#define COUNT(list) (sizeof(list) / sizeof *(list))

static const field node_fields[] = {AT(ID, diff_node_key, parent), AT(ID, diff_node_key, name),
                                    AT(U32, diff_node_key, is_module)};
static const field raw_fields[] = {{0, FIELD_ID}}, number_fields[] = {{0, FIELD_U32}}, count_fields[] = {{0, FIELD_64}};
static const field item_fields[] = {AT(U32, diff_item_key, kind), AT(ID, diff_item_key, node),
                                    AT(ID, diff_item_key, name)};
static const field about_fields[] = {AT(ID, diff_item, before), AT(ID, diff_item, after), AT(ID, diff_item, grid),
                                     AT(64, diff_item, stream), AT(64, diff_item, votes), AT(64, diff_item, in_graphs),
                                     AT(64, diff_item, works)};
static const field place_fields[] = {AT(64, diff_place_key, rank), AT(64, diff_place_key, device)};
static const field sample_fields[] = {AT(64, diff_sample, length), AT(64, diff_sample, start),
                                      AT(64, diff_sample, number), AT(ID, diff_sample, name),
                                      AT(U32, diff_sample, place), AT(U32, diff_sample, run)};
static const field entry_keys[] = {AT(U32, diff_entry, item), AT(U32, diff_entry, sample)};
static const field entry_fields[] = {AT(U32, diff_entry, calls), AT(64, diff_entry, time), AT(64, diff_entry, cpu)};

static uint64_t get_field(const void *row, const field *f)
{
    uint64_t value = 0;
    uint32_t number;
    if (f->type == FIELD_64) {
        memcpy(&value, (const char *)row + f->at, sizeof value);
        return value;
    }
    memcpy(&number, (const char *)row + f->at, sizeof number);
    return f->type == FIELD_ID ? number + 1u : number;
}

static bool set_field(void *row, const field *f, uint64_t value)
{
    uint32_t number = (uint32_t)value - (f->type == FIELD_ID);
    if (f->type == FIELD_64)
        memcpy((char *)row + f->at, &value, sizeof value);
    else
        memcpy((char *)row + f->at, &number, sizeof number);
    return f->type == FIELD_64 || value <= UINT32_MAX;
}

/* The row whose value is subtracted from that of row i. */
static const char *above(const char *rows, size_t stride, size_t i, const uint32_t *above_of)
{
    size_t row = above_of ? above_of[i] : i - 1;
    return i == 0 || row == HD_NONE ? NULL : rows + row * stride;
}

static void put_fields(hd_bytes *out, const void *list, size_t stride, size_t count, const field *fields, size_t n,
                       const uint32_t *above_of)
{
    const char *rows = list;
    for (size_t f = 0; f < n; f++) {
        for (size_t i = 0; i < count; i++) {
            const char *last = above(rows, stride, i, above_of);
            uint64_t base = last ? get_field(last, &fields[f]) : 0;
            hd_bytes_put_zigzag(out, (int64_t)(get_field(rows + i * stride, &fields[f]) - base));
        }
    }
}

static bool take_fields(void *list, hd_byte_reader *in, size_t stride, size_t count, const field *fields, size_t n,
                        const uint32_t *above_of)
{
    char *rows = list;
    for (size_t f = 0; f < n; f++) {
        for (size_t i = 0; i < count && !in->failed; i++) {
            const char *last = above(rows, stride, i, above_of);
            uint64_t base = last ? get_field(last, &fields[f]) : 0;
            if (!set_field(rows + i * stride, &fields[f], base + (uint64_t)hd_byte_reader_zigzag(in))) return false;
        }
    }
    return !in->failed;
}

/* By entry the one before of its item; HD_NONE. NULL: no memory. The caller frees it. */
static uint32_t *entries_before(const diff_entry *entries, size_t count, uint32_t items)
{
    uint32_t *out = malloc((count + 1) * sizeof *out), *last = malloc(((size_t)items + 1) * sizeof *last);
    for (uint32_t i = 0; last && i < items; i++) last[i] = HD_NONE;
    for (size_t i = 0; out && last && i < count; i++) {
        out[i] = last[entries[i].item];
        last[entries[i].item] = (uint32_t)i;
    }
    if (!last) {
        free(out);
        out = NULL;
    }
    free(last);
    return out;
}

static void put_string(hd_bytes *out, const char *data, size_t size)
{
    hd_bytes_put_varint(out, size);
    hd_bytes_put(out, data, size);
}

/* The names of all that is numbered in the file: another version of heddle may have others. */
static void put_names(hd_bytes *out)
{
    hd_bytes names = {0};
    for (unsigned c = 0; c < DIFF_COLUMNS; c++) put_string(&names, diff_column_name(c), strlen(diff_column_name(c)));
    for (int i = 0; i < GPU_DOUBTS; i++) put_string(&names, gpu_doubt_abouts[i].code, strlen(gpu_doubt_abouts[i].code));
    for (int i = 0; i < DIFF_FACTS; i++) put_string(&names, diff_fact_names[i], strlen(diff_fact_names[i]));
    for (int i = 0; i < DIFF_KINDS; i++) put_string(&names, diff_kind_names[i], strlen(diff_kind_names[i]));
    put_string(out, (const char *)names.data, names.size);
    out->failed |= names.failed;
    hd_bytes_deinit(&names);
}

/* ---- writing ---- */

static bool put_side(hd_bytes *out, const hd_diff_side *s)
{
    put_names(out);
    hd_bytes_put_varint(out, s->step ? strlen(s->step) + 1 : 0);
    hd_bytes_put(out, s->step, s->step ? strlen(s->step) : 0);
    hd_bytes_put_u8(out, (uint8_t)(s->has_steps | s->lacks_steps << 1 | s->has_host << 2));
    hd_bytes_put_varint(out, s->texts.count);
    for (uint32_t i = 0; i < s->texts.count; i++) {
        hd_string text = gpu_text_of(&s->texts, i);
        put_string(out, text.data, text.size);
    }
    put_fields(out, s->facts, sizeof *s->facts, DIFF_FACTS, raw_fields, 1, NULL);
    put_fields(out, s->doubts, sizeof *s->doubts, GPU_DOUBTS, count_fields, 1, NULL);
    put_fields(out, s->doubts_of, sizeof *s->doubts_of, GPU_DOUBTS, count_fields, 1, NULL);
    hd_bytes_put_varint(out, s->nodes.count);
    put_fields(out, s->nodes.keys, sizeof(diff_node_key), s->nodes.count, node_fields, COUNT(node_fields), NULL);
    put_fields(out, s->raw_of, sizeof *s->raw_of, s->nodes.count, raw_fields, 1, NULL);
    hd_bytes_put_varint(out, s->items.count);
    put_fields(out, s->items.keys, sizeof(diff_item_key), s->items.count, item_fields, COUNT(item_fields), NULL);
    put_fields(out, s->about, sizeof *s->about, s->items.count, about_fields, COUNT(about_fields), NULL);
    hd_bytes_put_varint(out, s->places.count);
    put_fields(out, s->places.keys, sizeof(diff_place_key), s->places.count, place_fields, COUNT(place_fields), NULL);
    put_fields(out, s->runs_of, sizeof *s->runs_of, s->places.count, number_fields, 1, NULL);
    hd_bytes_put_varint(out, s->sample_count);
    put_fields(out, s->samples, sizeof *s->samples, s->sample_count, sample_fields, COUNT(sample_fields), NULL);
    for (unsigned c = 0; c < DIFF_COLUMNS; c++)
        put_fields(out, s->samples, sizeof *s->samples, s->sample_count,
                   &(field){offsetof(diff_sample, columns) + c * sizeof(int64_t), FIELD_64}, 1, NULL);
    hd_bytes_put_varint(out, s->entry_count);
    uint32_t *before = entries_before(s->entries, s->entry_count, s->items.count);
    if (!before) return false;
    put_fields(out, s->entries, sizeof *s->entries, s->entry_count, entry_keys, COUNT(entry_keys), NULL);
    put_fields(out, s->entries, sizeof *s->entries, s->entry_count, entry_fields, COUNT(entry_fields), before);
    free(before);
    return !out->failed;
}

static hd_status write_packed(const char *path, const hd_bytes *packed, hd_error *err)
{
    hd_output *out;
    uint8_t header[HEADER_BYTES] = {0};
    memcpy(header, magic, MAGIC_BYTES);
    hd_le_put(header + 8, VERSION, 4);
    hd_le_put(header + 16, hd_checksum(packed->data, packed->size), 8);
    HD_TRY(hd_output_create(&out, path, &(hd_output_options){HD_OUTPUT_NONE}, err));
    hd_status status = hd_output_write(out, header, sizeof header, err);
    if (status == HD_OK) status = hd_output_write(out, packed->data, packed->size, err);
    if (status == HD_OK) return hd_output_commit(out, err);
    hd_output_abort(out);
    return status;
}

hd_status hd_diff_side_write(const hd_diff_side *side, const char *path, hd_error *err)
{
    enum { LEVEL = 19 }; /* it is small, written once and kept */
    hd_bytes plain = {0}, packed = {0};
    hd_compressor *compressor = NULL;
    hd_status status = put_side(&plain, side) ? hd_compressor_new(&compressor, LEVEL, err) : HD_NOMEM(err);
    if (status == HD_OK) status = hd_compress(&packed, compressor, plain.data, plain.size, err);
    if (status == HD_OK) status = packed.failed ? HD_NOMEM(err) : write_packed(path, &packed, err);
    hd_compressor_free(compressor);
    hd_bytes_deinit(&plain);
    hd_bytes_deinit(&packed);
    return status;
}

/* ---- reading ---- */

/* A list of the file, whose ids are below their limits. */
typedef struct reader {
    hd_byte_reader in;
    const char *path;
    hd_diff_side *side; /* what the file holds */
    hd_error *err;
} reader;

static hd_status damaged(const reader *r)
{
    return hd_error_set(r->err, HD_ERR_DAMAGED, r->path, HD_OFFSET_NONE,
                        "this baseline is damaged, or was not written to its end");
}

/* How many rows a list has, each of which takes `bytes` at least. */
static bool take_count(size_t *out, reader *r, size_t bytes)
{
    uint64_t count = hd_byte_reader_varint(&r->in);
    *out = (size_t)count;
    return !r->in.failed && count < HD_NONE && count <= hd_byte_reader_left(&r->in) / bytes;
}

static bool is_id(uint32_t id, size_t count)
{
    return id == HD_NONE || id < count;
}

static hd_status take_texts(reader *r)
{
    size_t count;
    if (!take_count(&count, r, 1)) return damaged(r);
    for (size_t i = 0; i < count; i++) {
        size_t size = hd_byte_reader_varint(&r->in);
        const uint8_t *data = hd_byte_reader_take(&r->in, size);
        if (!data) return damaged(r);
        uint32_t text = gpu_text(&r->side->texts, (const char *)data, size);
        if (text != i) return text == HD_NONE ? HD_NOMEM(r->err) : damaged(r); /* twice */
    }
    return HD_OK;
}

/* A list of `count` rows, as malloc gives it; NULL: no memory, or damaged. */
static void *take_list(reader *r, size_t stride, size_t count, const field *fields, size_t n)
{
    void *list = calloc(count + 1, stride);
    if (list && take_fields(list, &r->in, stride, count, fields, n, NULL)) return list;
    r->in.failed |= list != NULL;
    free(list);
    return NULL;
}
static hd_status no_list(const reader *r)
{
    return r->in.failed ? damaged(r) : HD_NOMEM(r->err);
}

static hd_status take_nodes(reader *r)
{
    hd_diff_side *s = r->side;
    size_t count;
    if (!take_count(&count, r, COUNT(node_fields) + 1)) return damaged(r);
    diff_node_key *keys = take_list(r, sizeof *keys, count, node_fields, COUNT(node_fields));
    uint32_t *raws = keys ? take_list(r, sizeof *raws, count, raw_fields, 1) : NULL;
    hd_status status = raws ? HD_OK : no_list(r);
    for (uint32_t i = 0; i < count && status == HD_OK; i++) {
        bool fine = is_id(keys[i].parent, i) && keys[i].name < s->texts.count && keys[i].is_module <= 1 &&
                    is_id(raws[i], s->texts.count) &&
                    (keys[i].parent == HD_NONE || diff_node(s, keys[i].parent)->is_module == keys[i].is_module);
        uint32_t node = fine ? diff_node_of(s, keys[i], raws[i]) : 0;
        if (!fine || (node != i && node != HD_NONE))
            status = damaged(r);
        else if (node == HD_NONE)
            status = HD_NOMEM(r->err);
    }
    free(keys);
    free(raws);
    return status;
}

static bool item_is_fine(const hd_diff_side *s, const diff_item_key *key, const diff_item *about, size_t items)
{
    bool fine = is_id(about->before, items) && is_id(about->after, items) && is_id(about->grid, s->texts.count) &&
                key->kind < DIFF_KINDS && is_id(key->name, s->texts.count);
    if (!fine) return false;
    if (key->kind == DIFF_GAP) return key->node < GPU_CAUSES;
    if (diff_is_work(key->kind))
        return key->name != HD_NONE &&
               (key->node == HD_NONE || (key->node < s->nodes.count && !diff_node(s, key->node)->is_module));
    return key->name == HD_NONE && key->node < s->nodes.count &&
           diff_node(s, key->node)->is_module == (key->kind == DIFF_MODULE);
}

static hd_status take_items(reader *r)
{
    hd_diff_side *s = r->side;
    size_t count;
    if (!take_count(&count, r, COUNT(item_fields) + COUNT(about_fields))) return damaged(r);
    diff_item_key *keys = take_list(r, sizeof *keys, count, item_fields, COUNT(item_fields));
    diff_item *about = keys ? take_list(r, sizeof *about, count, about_fields, COUNT(about_fields)) : NULL;
    hd_status status = about ? HD_OK : no_list(r);
    for (uint32_t i = 0; i < count && status == HD_OK; i++) {
        bool fine = item_is_fine(s, &keys[i], &about[i], count);
        uint32_t item = fine ? diff_item_of(s, keys[i].kind, keys[i].node, keys[i].name) : 0;
        if (!fine || (item != i && item != HD_NONE))
            status = damaged(r);
        else if (item == HD_NONE)
            status = HD_NOMEM(r->err);
        else
            s->about[item] = about[i];
    }
    free(keys);
    free(about);
    return status;
}

static hd_status take_places(reader *r)
{
    hd_diff_side *s = r->side;
    size_t count;
    if (!take_count(&count, r, COUNT(place_fields) + 1)) return damaged(r);
    diff_place_key *keys = take_list(r, sizeof *keys, count, place_fields, COUNT(place_fields));
    uint32_t *runs = keys ? take_list(r, sizeof *runs, count, number_fields, 1) : NULL;
    hd_status status = runs ? HD_OK : no_list(r);
    for (uint32_t i = 0; i < count && status == HD_OK; i++) {
        uint32_t place = diff_place_of(s, keys[i]);
        if (place != i)
            status = place == HD_NONE ? HD_NOMEM(r->err) : damaged(r);
        else
            s->runs_of[place] = runs[i];
    }
    free(keys);
    free(runs);
    return status;
}

/* The identity that all rests on, as in side.c. */
static bool sample_is_fine(const hd_diff_side *s, const diff_sample *sample)
{
    gpu_i128 sum = 0;
    bool fine = sample->place < s->places.count && sample->run < s->runs_of[sample->place] &&
                is_id(sample->name, s->texts.count) && sample->length >= 0;
    for (unsigned c = 0; c < DIFF_COLUMNS && fine; c++) {
        fine = sample->columns[c] >= 0;
        if (c < DIFF_PARTS) sum += sample->columns[c];
    }
    return fine && sum == sample->length;
}

static hd_status take_samples(reader *r)
{
    hd_diff_side *s = r->side;
    if (!take_count(&s->sample_count, r, COUNT(sample_fields) + DIFF_COLUMNS)) return damaged(r);
    s->samples = take_list(r, sizeof *s->samples, s->sample_count, sample_fields, COUNT(sample_fields));
    if (!s->samples) return no_list(r);
    for (unsigned c = 0; c < DIFF_COLUMNS; c++)
        if (!take_fields(s->samples, &r->in, sizeof *s->samples, s->sample_count,
                         &(field){offsetof(diff_sample, columns) + c * sizeof(int64_t), FIELD_64}, 1, NULL))
            return damaged(r);
    for (size_t i = 0; i < s->sample_count; i++)
        if (!sample_is_fine(s, &s->samples[i])) return damaged(r);
    return HD_OK;
}

static hd_status take_entries(reader *r)
{
    hd_diff_side *s = r->side;
    if (!take_count(&s->entry_count, r, COUNT(entry_keys) + COUNT(entry_fields))) return damaged(r);
    s->entries = take_list(r, sizeof *s->entries, s->entry_count, entry_keys, COUNT(entry_keys));
    if (!s->entries) return no_list(r);
    for (size_t i = 0; i < s->entry_count; i++)
        if (s->entries[i].item >= s->items.count || s->entries[i].sample >= s->sample_count) return damaged(r);
    uint32_t *before = entries_before(s->entries, s->entry_count, s->items.count);
    if (!before) return HD_NOMEM(r->err);
    bool fine =
        take_fields(s->entries, &r->in, sizeof *s->entries, s->entry_count, entry_fields, COUNT(entry_fields), before);
    free(before);
    return fine && hd_byte_reader_left(&r->in) == 0 ? HD_OK : damaged(r);
}

static bool takes_our_names(reader *r)
{
    hd_bytes names = {0};
    put_names(&names);
    const uint8_t *theirs = hd_byte_reader_take(&r->in, names.size);
    bool same = theirs && !names.failed && memcmp(theirs, names.data, names.size) == 0;
    hd_bytes_deinit(&names);
    return same;
}

static hd_status take_step(reader *r, const char *step)
{
    uint64_t size = hd_byte_reader_varint(&r->in);
    const uint8_t *named = size ? hd_byte_reader_take(&r->in, size - 1) : NULL;
    if (r->in.failed) return damaged(r);
    if (!named && !step) return HD_OK;
    if (named && step && strlen(step) == size - 1 && memcmp(named, step, size - 1) == 0) return HD_OK;
    if (!named)
        return hd_error_set(r->err, HD_ERR_ARGUMENT, r->path, HD_OFFSET_NONE,
                            "this baseline was made without --step, and cannot be compared by other steps");
    return hd_error_set(r->err, HD_ERR_ARGUMENT, r->path, HD_OFFSET_NONE,
                        "this baseline was made with --step '%.*s', which is needed here too",
                        size < 80 ? (int)size - 1 : 80, (const char *)named);
}

static hd_status take_side(reader *r, const char *step)
{
    hd_diff_side *s = r->side;
    if (!takes_our_names(r))
        return hd_error_set(r->err, HD_ERR_UNSUPPORTED, r->path, HD_OFFSET_NONE,
                            "another version of heddle made this baseline: make it again with this one");
    HD_TRY(take_step(r, step));
    unsigned flags = hd_byte_reader_u8(&r->in);
    s->has_steps = flags & 1;
    s->lacks_steps = flags & 2;
    s->has_host = flags & 4;
    HD_TRY(take_texts(r));
    bool fine = take_fields(s->facts, &r->in, sizeof *s->facts, DIFF_FACTS, raw_fields, 1, NULL) &&
                take_fields(s->doubts, &r->in, sizeof *s->doubts, GPU_DOUBTS, count_fields, 1, NULL) &&
                take_fields(s->doubts_of, &r->in, sizeof *s->doubts_of, GPU_DOUBTS, count_fields, 1, NULL);
    for (int i = 0; i < DIFF_FACTS && fine; i++) fine = is_id(s->facts[i], s->texts.count);
    if (!fine || flags > 7) return damaged(r);
    HD_TRY(take_nodes(r));
    HD_TRY(take_items(r));
    HD_TRY(take_places(r));
    HD_TRY(take_samples(r));
    return take_entries(r);
}

/* ---- joining ---- */

/* By id of the other side, that of this one. */
typedef struct joined {
    uint32_t *texts, *nodes, *items, *places, *runs;
} joined;

static uint32_t mapped(const uint32_t *map, uint32_t id)
{
    return id == HD_NONE ? HD_NONE : map[id];
}

static bool join_ids(joined *j, hd_diff_side *s, const hd_diff_side *x)
{
    bool fine = j->texts && j->nodes && j->items && j->places && j->runs;
    for (uint32_t i = 0; fine && i < x->texts.count; i++) {
        hd_string text = gpu_text_of(&x->texts, i);
        fine = (j->texts[i] = gpu_text(&s->texts, text.data, text.size)) != HD_NONE;
    }
    for (uint32_t i = 0; fine && i < x->nodes.count; i++) {
        const diff_node_key *key = diff_node(x, i);
        const diff_node_key own = {mapped(j->nodes, key->parent), j->texts[key->name], key->is_module};
        fine = (j->nodes[i] = diff_node_of(s, own, mapped(j->texts, x->raw_of[i]))) != HD_NONE;
    }
    for (uint32_t i = 0; fine && i < x->places.count; i++) {
        j->places[i] = diff_place_of(s, *(const diff_place_key *)gpu_group_key(&x->places, i));
        fine = j->places[i] != HD_NONE && !__builtin_add_overflow(s->runs_of[j->places[i]], x->runs_of[i], &j->runs[i]);
    }
    for (uint32_t i = 0; fine && i < x->items.count; i++) {
        const diff_item_key *key = diff_key(x, i);
        uint32_t node = key->kind == DIFF_GAP ? key->node : mapped(j->nodes, key->node);
        fine = (j->items[i] = diff_item_of(s, key->kind, node, mapped(j->texts, key->name))) != HD_NONE;
    }
    return fine;
}

static void join_about(hd_diff_side *s, const hd_diff_side *x, const joined *j)
{
    for (uint32_t i = 0; i < x->items.count; i++) {
        const diff_item *from = &x->about[i];
        diff_item *to = &s->about[j->items[i]];
        if (!to->works) {
            *to = *from;
            to->before = mapped(j->items, from->before);
            to->after = mapped(j->items, from->after);
            to->grid = mapped(j->texts, from->grid);
            continue;
        }
        bool is_other = to->stream != from->stream;
        if (is_other && from->votes > to->votes) to->stream = from->stream;
        to->votes = !is_other                 ? to->votes + from->votes
                    : from->votes > to->votes ? from->votes - to->votes
                                              : to->votes - from->votes;
        to->works += from->works;
        to->in_graphs += from->in_graphs;
    }
}

static bool join_rows(hd_diff_side *s, const hd_diff_side *x, const joined *j)
{
    size_t first = s->sample_count;
    for (size_t i = 0; i < x->sample_count; i++) {
        if (!hd_grow((void **)&s->samples, &s->sample_capacity, s->sample_count, sizeof *s->samples)) return false;
        diff_sample *sample = &s->samples[s->sample_count++];
        *sample = x->samples[i];
        sample->name = mapped(j->texts, sample->name);
        sample->run += s->runs_of[j->places[sample->place]];
        sample->place = j->places[sample->place];
        sample->input = (uint32_t)s->path_count - 1;
    }
    for (size_t i = 0; i < x->entry_count; i++) {
        if (!hd_grow((void **)&s->entries, &s->entry_capacity, s->entry_count, sizeof *s->entries)) return false;
        diff_entry *entry = &s->entries[s->entry_count];
        *entry = x->entries[i];
        entry->item = j->items[entry->item];
        entry->sample += (uint32_t)first;
        s->last_entry[entry->item] = (uint32_t)s->entry_count++;
    }
    for (uint32_t i = 0; i < x->places.count; i++) {
        s->runs_of[j->places[i]] = j->runs[i];
        if (j->runs[i] > s->runs) s->runs = j->runs[i];
    }
    return s->sample_count < HD_NONE && s->entry_count < HD_NONE;
}

static bool join(hd_diff_side *s, const hd_diff_side *x)
{
    joined j = {malloc((x->texts.count + (size_t)1) * sizeof *j.texts),
                malloc((x->nodes.count + (size_t)1) * sizeof *j.nodes),
                malloc((x->items.count + (size_t)1) * sizeof *j.items),
                malloc((x->places.count + (size_t)1) * sizeof *j.places),
                malloc((x->places.count + (size_t)1) * sizeof *j.runs)};
    bool fine = join_ids(&j, s, x);
    if (fine) join_about(s, x, &j);
    fine = fine && join_rows(s, x, &j);
    for (int i = 0; i < DIFF_FACTS && fine; i++)
        if (s->facts[i] == HD_NONE) s->facts[i] = mapped(j.texts, x->facts[i]);
    for (int i = 0; i < GPU_DOUBTS && fine; i++) {
        s->doubts[i] += x->doubts[i];
        s->doubts_of[i] += x->doubts_of[i];
    }
    s->has_steps |= x->has_steps;
    s->lacks_steps |= x->lacks_steps;
    s->has_host |= x->has_host;
    free(j.texts);
    free(j.nodes);
    free(j.items);
    free(j.places);
    free(j.runs);
    return fine;
}

/* ---- files ---- */

/* The decompressed contents. */
static hd_status read_file(hd_bytes *out, const char *path, hd_error *err)
{
    hd_input *in;
    hd_bytes file = {0};
    HD_TRY(hd_input_open(&in, path, NULL, err));
    hd_status status = hd_input_all(&file, in, 0, BYTES_MAX, err);
    hd_input_close(in);
    size_t size = file.size > HEADER_BYTES ? file.size - HEADER_BYTES : 0;
    size_t limit = size * 1000 + 65536 < BYTES_MAX ? size * 1000 + 65536 : BYTES_MAX;
    if (status == HD_OK && (file.size < MAGIC_BYTES || memcmp(file.data, magic, MAGIC_BYTES) != 0))
        status = hd_error_set(err, HD_ERR_FORMAT, path, HD_OFFSET_NONE, "no baseline of heddle diff");
    else if (status == HD_OK && file.size >= HEADER_BYTES && hd_le_get(file.data + 8, 4) > VERSION)
        status = hd_error_set(err, HD_ERR_UNSUPPORTED, path, HD_OFFSET_NONE,
                              "a baseline that a later version of heddle wrote");
    else if (status == HD_OK && (!size || hd_checksum(file.data + HEADER_BYTES, size) != hd_le_get(file.data + 16, 8) ||
                                 hd_zstd_decompress(out, file.data + HEADER_BYTES, size, limit, NULL) != HD_OK))
        status = damaged(&(reader){.path = path, .err = err});
    hd_bytes_deinit(&file);
    return status;
}

hd_status hd_diff_side_add_file(hd_diff_side *side, const char *path, hd_error *err)
{
    hd_bytes plain = {0};
    reader r = {.path = path, .err = err};
    HD_TRY(hd_diff_side_new(&r.side, NULL, err));
    hd_status status = read_file(&plain, path, err);
    r.in = hd_byte_reader_of(plain.data, plain.size);
    if (status == HD_OK) status = take_side(&r, side->step);
    if (status == HD_OK) status = diff_path_add(side, path, err);
    if (status == HD_OK && !join(side, r.side)) status = HD_NOMEM(err);
    hd_diff_side_free(r.side);
    hd_bytes_deinit(&plain);
    return status;
}

bool hd_diff_is_file(const char *path)
{
    struct stat about;
    uint8_t found[MAGIC_BYTES];
    FILE *file = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? fopen(path, "rbe") : NULL;
    bool is = file && fread(found, sizeof found, 1, file) == 1 && memcmp(found, magic, sizeof found) == 0;
    if (file) fclose(file);
    return is;
}
