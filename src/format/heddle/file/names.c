/* names.c - strings and shapes of a store, with their ids in the file
 *
 * A damaged run leaves a hole, which is filled with placeholders so that later ids stay the same.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "format/heddle/read/reader.h"

/* ---- strings ---- */

typedef struct string_loader {
    const store_opening *o;
    uint32_t next; /* the id that the next string has */
    uint64_t lost, stand_ins;
} string_loader;

/* A text that no string of the file has had so far. */
static hd_status add_stand_in(string_loader *l)
{
    char text[48];
    uint32_t id;
    do {
        snprintf(text, sizeof text, "(lost string %llu)", (unsigned long long)(l->next + l->stand_ins));
        id = hd_builder_intern_text(l->o->builder, text);
        if (id == HD_STRING_NONE) return HD_NOMEM(l->o->err);
        l->stand_ins += id != l->next;
    } while (id != l->next);
    l->next++;
    l->lost++;
    return HD_OK;
}

static hd_status add_stand_ins(string_loader *l, uint64_t until)
{
    if (until > l->next && l->lost + (until - l->next) > STORE_LOST_LIMIT)
        return hd_error_set(l->o->err, HD_ERR_DAMAGED, l->o->path, HD_OFFSET_NONE,
                            "too many strings are lost to read the rest");
    while (l->next < until) HD_TRY(add_stand_in(l));
    return HD_OK;
}

static hd_status add_string(void *user, const char *data, size_t size, hd_error *err)
{
    string_loader *l = user;
    uint32_t id = hd_builder_intern(l->o->builder, data, size);
    if (id == HD_STRING_NONE) return HD_NOMEM(err);
    if (id != l->next)
        return hd_error_set(err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE, "a string occurs twice in the table");
    l->next++;
    return HD_OK;
}

/* Loads one run; unreadable entries become placeholders. */
static hd_status load_strings(string_loader *l, const store_section *section, store_decoder *decoder)
{
    store_run_head head;
    hd_byte_reader body;
    hd_error why = {0};
    if (!store_get_run_head(&head, section, STORE_RUN_STRINGS) || head.first < l->next)
        return store_lies(l->o, section->offset, "two strings have the same place");
    HD_TRY(add_stand_ins(l, head.first));
    uint64_t end = head.first + head.count, lost = l->lost;
    if (store_open_payload(l->o, &body, section)) {
        hd_status status = store_strings_decode(decoder, body.data, body.size, head.count, add_string, l, &why);
        if (status == HD_ERR_MEMORY) return HD_NOMEM(l->o->err);
    }
    HD_TRY(add_stand_ins(l, end));
    if (l->lost == lost) return HD_OK;
    return store_report(l->o, "heddle.strings-lost", HD_LEDGER_LOSS, l->lost - lost, section->offset);
}

/* Where the last runs are missing, blocks still say how many strings there were. */
static uint32_t strings_promised(const store_map *map)
{
    uint32_t count = 0;
    for (size_t i = 0; i < map->count; i++) {
        store_block_head head;
        if (map->sections[i].type == STORE_BLOCK && store_get_block_head(&head, &map->sections[i]) &&
            head.string_count > count)
            count = head.string_count;
    }
    return count;
}

static hd_status load_missing(string_loader *l)
{
    uint64_t lost = l->lost;
    HD_TRY(add_stand_ins(l, strings_promised(&l->o->store->map)));
    if (l->lost == lost) return HD_OK;
    return store_report(l->o, "heddle.strings-lost", HD_LEDGER_LOSS, l->lost - lost, HD_OFFSET_NONE);
}

hd_status store_open_strings(store_opening *o)
{
    store *s = o->store;
    string_loader loader = {.o = o, .next = STORE_STRING_FIRST};
    store_decoder *decoder;
    HD_TRY(store_decoder_take(&decoder, s, o->err));
    hd_status status = HD_OK;
    for (size_t i = 0; i < s->map.count && status == HD_OK; i++) {
        if (s->map.sections[i].type == STORE_STRINGS) status = load_strings(&loader, &s->map.sections[i], decoder);
    }
    store_decoder_give(s, decoder);
    if (status == HD_OK) status = load_missing(&loader);
    s->string_count = loader.next;
    return status;
}

/* ---- shapes ---- */

static bool load_shapes(const store_opening *o, const store_section *section, const store_run_head *head)
{
    enum { SHAPES_LIMIT = 64 << 20 };
    hd_bytes plain = {0};
    bool fine = store_open_packed(o, &plain, section, SHAPES_LIMIT) &&
                store_get_shapes(o->builder, o->store->string_count, (uint32_t)head->first, head->count,
                                 hd_byte_reader_of(plain.data, plain.size));
    hd_bytes_deinit(&plain);
    return fine;
}

static bool get_shapes_head(store_run_head *out, const store_section *section)
{
    return store_get_run_head(out, section, HD_SHAPE_LIMIT) && out->first >= STORE_SHAPE_FIRST &&
           out->first + out->count <= HD_SHAPE_LIMIT;
}

/* The copy has all; shapes that are there already keep their ids. */
static bool load_copy(const store_opening *o)
{
    const store_map *map = &o->store->map;
    for (size_t i = map->count; i-- > 0;) {
        const store_section *section = &map->sections[i];
        store_run_head head;
        if (section->type == STORE_SHAPES && section->flags & STORE_COPY && get_shapes_head(&head, section) &&
            load_shapes(o, section, &head))
            return true;
    }
    return false;
}

static uint32_t shapes_there(const store_opening *o)
{
    return hd_trace_shape_count(hd_builder_trace(o->builder));
}

/* Ids up to `until` are taken, by shapes that no event may have. */
static hd_status mark_lost(const store_opening *o, uint64_t until)
{
    store *s = o->store;
    if (!s->lost_shapes) s->lost_shapes = calloc(HD_SHAPE_LIMIT, 1);
    if (!s->lost_shapes) return HD_NOMEM(o->err);
    while (shapes_there(o) < until) {
        char text[48];
        uint32_t id = shapes_there(o);
        snprintf(text, sizeof text, "(lost shape %u)", id);
        hd_arg_key key = {.key = hd_builder_intern_text(o->builder, text), .type = HD_ARG_NULL};
        if (hd_builder_shape(o->builder, &key, 1, true) != id) return HD_NOMEM(o->err);
        s->lost_shapes[id] = 1;
    }
    return HD_OK;
}

static hd_status load_run(const store_opening *o, const store_section *section, bool *copy_read)
{
    store_run_head head;
    if (!get_shapes_head(&head, section)) return store_lies(o, section->offset, "a run of shapes has no sense");
    uint64_t end = head.first + head.count;
    if (*copy_read && end <= shapes_there(o)) return HD_OK;
    if (head.first == shapes_there(o) && load_shapes(o, section, &head)) return HD_OK;
    if (!*copy_read && load_copy(o)) {
        *copy_read = true;
        return store_report(o, "heddle.copy-used", HD_LEDGER_REPAIR, 1, section->offset);
    }
    HD_TRY(mark_lost(o, end));
    return store_report(o, "heddle.shapes-lost", HD_LEDGER_LOSS, head.count, section->offset);
}

hd_status store_open_shapes(store_opening *o)
{
    store *s = o->store;
    bool copy_read = false;
    for (size_t i = 0; i < s->map.count; i++) {
        if (s->map.sections[i].type == STORE_SHAPES && !(s->map.sections[i].flags & STORE_COPY))
            HD_TRY(load_run(o, &s->map.sections[i], &copy_read));
    }
    if (!s->map.has_footer && !copy_read) load_copy(o); /* the last runs may be missing altogether */
    s->shape_count = shapes_there(o);
    return HD_OK;
}
