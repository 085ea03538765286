/* payload.c - binary payloads of NVTX events as arguments
 *
 * In: the tables NVTX_PAYLOAD_…, and the binaryData of an event: domain, schema, bytes of the payload and a fourth
 * number, 8 bytes each, then the payload. Out: an argument for each entry of the schema, such as NCCL's "Message size
 * [bytes]". A payload stays hexadecimal if an entry is not a number, an enumeration name or an inline text (arrays,
 * pointers, nested schemas), or if it does not match its schema.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "format/nsys/nsys.h"

enum { HEADER = 32, IN_PLACE_TEXT = 75, IN_PLACE_UTF8 = 76, ARRAYS_AND_POINTERS = 0x7e };

/* ---- types of entries ---- */

typedef struct entry_type {
    uint8_t size; /* 0: none that is read */
    char kind;    /* i: signed, u: unsigned, f: with a point */
} entry_type;

/* NVTX_PAYLOAD_ENTRY_TYPE_…: those of C (long is that of Linux), then those with bits. */
static const entry_type types[] = {
    [1] = {1, 'i'},  [2] = {1, 'u'},  [3] = {2, 'i'},  [4] = {2, 'u'},  [5] = {4, 'i'},  [6] = {4, 'u'},
    [7] = {8, 'i'},  [8] = {8, 'u'},  [9] = {8, 'i'},  [10] = {8, 'u'}, [11] = {1, 'i'}, [12] = {1, 'u'},
    [13] = {2, 'i'}, [14] = {2, 'u'}, [15] = {4, 'i'}, [16] = {4, 'u'}, [17] = {8, 'i'}, [18] = {8, 'u'},
    [19] = {4, 'f'}, [20] = {8, 'f'}, [22] = {8, 'u'}, [23] = {8, 'u'}, [32] = {1, 'u'}, [43] = {4, 'f'},
    [44] = {8, 'f'}, [68] = {4, 'u'}, [69] = {4, 'u'}, [70] = {8, 'u'}, [71] = {4, 'u'}, [72] = {8, 'u'},
    [73] = {4, 'u'}, [74] = {8, 'u'},
};

static entry_type type_of(const nsys_payloads *p, const nsys_entry *entry)
{
    uint32_t bytes;
    if (entry->flags & ARRAYS_AND_POINTERS) return (entry_type){0};
    if (entry->type >= 0 && entry->type < (int64_t)(sizeof types / sizeof *types)) return types[entry->type];
    if (hd_map_get(&bytes, &p->enums, (uint64_t)entry->domain, (uint64_t)entry->type))
        return (entry_type){bytes == 1 || bytes == 2 || bytes == 8 ? (uint8_t)bytes : 4, 'i'};
    return (entry_type){0};
}

static bool is_text(const nsys_entry *entry)
{
    return (entry->type == IN_PLACE_TEXT || entry->type == IN_PLACE_UTF8) && entry->detail > 0 &&
           !(entry->flags & ARRAYS_AND_POINTERS);
}

/* ---- the tables ---- */

static int by_place(const void *a, const void *b)
{
    const nsys_entry *x = a, *y = b;
    if (x->domain != y->domain) return x->domain < y->domain ? -1 : 1;
    if (x->schema != y->schema) return x->schema < y->schema ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int64_t number_or_0(const sq_value *value)
{
    return value->type == SQ_INT ? value->number : 0;
}

/* domainId, schemaId, idx, type, name, offset, flags, arrayOrUnionDetail */
static hd_status see_entry(void *user, const sq_value *const *v, hd_error *err)
{
    sq_reader *reader = user;
    nsys_payloads *p = &((nsys_state *)reader->state)->payloads;
    if (!hd_grow((void **)&p->entries, &p->capacity, p->count, sizeof *p->entries)) return HD_NOMEM(err);
    p->entries[p->count++] = (nsys_entry){.domain = number_or_0(v[0]),
                                          .schema = number_or_0(v[1]),
                                          .index = number_or_0(v[2]),
                                          .type = number_or_0(v[3]),
                                          .name = sq_value_text(&reader->workers[0], v[4]),
                                          .offset = number_or_0(v[5]),
                                          .flags = number_or_0(v[6]),
                                          .detail = number_or_0(v[7])};
    return HD_OK;
}

/* domainId, schemaId, size */
static hd_status see_enum(void *user, const sq_value *const *v, hd_error *err)
{
    nsys_payloads *p = user;
    int64_t size = number_or_0(v[2]);
    return hd_map_set(&p->enums, (uint64_t)number_or_0(v[0]), (uint64_t)number_or_0(v[1]), (uint32_t)size)
               ? HD_OK
               : HD_NOMEM(err);
}

/* domainId, schemaId, value, name */
static hd_status see_enum_entry(void *user, const sq_value *const *v, hd_error *err)
{
    sq_reader *reader = user;
    nsys_payloads *p = &((nsys_state *)reader->state)->payloads;
    if (v[2]->type != SQ_INT) return HD_OK;
    if (!hd_grow((void **)&p->values, &p->value_capacity, p->value_count, sizeof *p->values)) return HD_NOMEM(err);
    p->values[p->value_count++] = (nsys_entry){.domain = number_or_0(v[0]),
                                               .schema = number_or_0(v[1]),
                                               .index = v[2]->number,
                                               .name = sq_value_text(&reader->workers[0], v[3])};
    return HD_OK;
}

/* Orders equal places by content, so that the choice does not depend on the sort. */
static int by_all(const void *a, const void *b)
{
    const nsys_entry *x = a, *y = b;
    int order = by_place(a, b);
    if (order) return order;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    if (x->type != y->type) return x->type < y->type ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    if (x->flags != y->flags) return x->flags < y->flags ? -1 : 1;
    return (x->detail > y->detail) - (x->detail < y->detail);
}

/* Each process defines its schemas and enumerations, and no column says which process. If definitions differ, none is
 * used. */
static void drop_repeated(nsys_payloads *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->count; i++) {
        nsys_entry *last = kept ? &p->entries[kept - 1] : NULL, *entry = &p->entries[i];
        if (!last || by_place(last, entry) != 0)
            p->entries[kept++] = *entry;
        else if (last->type != entry->type || last->offset != entry->offset || last->name != entry->name)
            last->flags = ARRAYS_AND_POINTERS;
    }
    p->count = kept;
    kept = 0;
    for (size_t i = 0; i < p->value_count; i++) {
        nsys_entry *last = kept ? &p->values[kept - 1] : NULL, *value = &p->values[i];
        if (!last || by_place(last, value) != 0)
            p->values[kept++] = *value;
        else if (last->name != value->name)
            last->name = HD_STRING_NONE;
    }
    p->value_count = kept;
}

hd_status nsys_read_payloads(sq_reader *reader, hd_error *err)
{
    nsys_payloads *p = &((nsys_state *)reader->state)->payloads;
    HD_TRY(sq_each(reader, "NVTX_PAYLOAD_SCHEMA_ENTRIES",
                   COLUMNS("domainId", "schemaId", "idx", "type", "name", "offset", "flags", "arrayOrUnionDetail"),
                   see_entry, reader, err));
    HD_TRY(sq_each(reader, "NVTX_PAYLOAD_ENUMS", COLUMNS("domainId", "schemaId", "size"), see_enum, p, err));
    HD_TRY(sq_each(reader, "NVTX_PAYLOAD_ENUM_ENTRIES", COLUMNS("domainId", "schemaId", "value", "name"),
                   see_enum_entry, reader, err));
    if (p->count) hd_sort(p->entries, p->count, sizeof *p->entries, by_all);
    if (p->value_count) hd_sort(p->values, p->value_count, sizeof *p->values, by_all);
    drop_repeated(p);
    return HD_OK;
}

void nsys_payloads_deinit(nsys_payloads *p)
{
    free(p->entries);
    free(p->values);
    hd_map_deinit(&p->enums);
}

/* ---- an event ---- */

/* The entries of a schema, in order; *out_count 0: there is none. */
static const nsys_entry *entries_of(size_t *out_count, const nsys_payloads *p, int64_t domain, int64_t schema)
{
    const nsys_entry first = {.domain = domain, .schema = schema, .index = INT64_MIN};
    size_t low = 0, high = p->count;
    *out_count = 0;
    if (!p->count) return NULL;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (by_place(&p->entries[middle], &first) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t end = low;
    while (end < p->count && p->entries[end].domain == domain && p->entries[end].schema == schema) end++;
    *out_count = end - low;
    return p->entries + low;
}

/* Whether all entries can be decoded, and are within the payload. */
static bool can_tell(const nsys_payloads *p, const nsys_entry *entries, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        const nsys_entry *entry = &entries[i];
        uint64_t need = is_text(entry) ? (uint64_t)entry->detail : type_of(p, entry).size;
        if (!need || entry->name == HD_STRING_NONE || entry->offset < 0) return false;
        if (need > size || (uint64_t)entry->offset > size - need) return false;
    }
    return count > 0;
}

static void add_number(sq_worker *w, const nsys_payloads *p, const nsys_entry *entry, const uint8_t *at)
{
    entry_type type = type_of(p, entry);
    uint64_t bits = hd_le_get(at, type.size);
    if (type.kind == 'f') {
        float narrow;
        double wide;
        uint32_t low = (uint32_t)bits;
        memcpy(&narrow, &low, sizeof narrow);
        memcpy(&wide, &bits, sizeof wide);
        return sq_add_real(w, entry->name, type.size == 4 ? (double)narrow : wide);
    }
    unsigned unused = 64 - 8 * type.size;
    if (type.kind == 'i') bits = (uint64_t)((int64_t)(bits << unused) >> unused);
    if (type.kind == 'u' && bits > INT64_MAX)
        return sq_add(w, entry->name, HD_ARG_NUMBER, sq_intern(w->reader->builder, "%llu", (unsigned long long)bits));
    const nsys_entry value = {.domain = entry->domain, .schema = entry->type, .index = (int64_t)bits};
    const nsys_entry *named =
        p->value_count ? bsearch(&value, p->values, p->value_count, sizeof value, by_place) : NULL;
    if (named && named->name != HD_STRING_NONE)
        sq_add(w, entry->name, HD_ARG_STRING, named->name);
    else
        sq_add(w, entry->name, HD_ARG_INT, (int64_t)bits);
}

bool nsys_add_payload(sq_worker *w, const sq_value *value)
{
    const nsys_payloads *p = &nsys_of(w)->payloads;
    if ((value->type != SQ_BLOB && value->type != SQ_TEXT) || value->size < HEADER) return false;
    const uint8_t *data = (const uint8_t *)value->data;
    size_t count, size = value->size - HEADER;
    const nsys_entry *entries = entries_of(&count, p, (int64_t)hd_le_get(data, 8), (int64_t)hd_le_get(data + 8, 8));
    if (hd_le_get(data + 16, 8) != size || !can_tell(p, entries, count, size)) return false;
    for (size_t i = 0; i < count; i++) {
        const char *at = value->data + HEADER + entries[i].offset;
        if (is_text(&entries[i])) {
            const sq_value text = {.type = SQ_TEXT, .size = strnlen(at, (size_t)entries[i].detail), .data = at};
            sq_add(w, entries[i].name, HD_ARG_STRING, sq_value_text(w, &text));
        } else {
            add_number(w, p, &entries[i], (const uint8_t *)at);
        }
    }
    return true;
}
