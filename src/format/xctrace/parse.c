/* parse.c - elements -> tables and rows, with expat
 *
 * trace-query-result > node > schema > col > mnemonic, engineering-type
 *                           > row > a value for each column > its parts
 * If expat stops at an error, another parser continues at the next row or node, as if it were in a node of its own.
 */
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/stack_text.h"
#include "format/xctrace/xctrace.h"

#ifdef HD_OWN_ARC4RANDOM
#include <sys/random.h>

/* Debian's static Expat needs it, for the salt of its tables, and glibc has it only from 2.36 on. A kernel without
 * getrandom leaves the salt predictable. */
__attribute__((visibility("hidden"))) void arc4random_buf(void *bytes, size_t size)
{
    if (getentropy(bytes, size) != 0) memset(bytes, 1, size);
}
#endif

enum { BUFFER_BYTES = 1 << 18, PIECE_LIMIT = 1 << 30, RESTARTS = 10000, LEVELS = 256 };
enum { NODE = 2, TABLE = 3, COLUMN = 4, FIELD = 5, VALUE = 4 };

typedef struct parse {
    xctrace_reader *r;
    XML_Parser xml;
    hd_status status; /* why we stopped expat; OK: we did not */
    bool is_deep;
    unsigned depth;
    uint32_t table; /* of r->tables, HD_NONE: none yet */
    bool in_schema, in_row;
    size_t values_before; /* the row */
    uint64_t ids_before;
    bool is_pending;                                   /* the row refers to a value that was not read yet */
    uint32_t open[XCTRACE_DEPTH], last[XCTRACE_DEPTH]; /* values, + 1: those that are open, and their last children */
    unsigned open_count;
    hd_bytes text, late; /* late: `fmt` of the value that was opened last, if it may not be needed */
    uint64_t base;       /* offset of the parser's first byte in the file, without the inserted prefix */
    uint64_t prefix;
    uint64_t left; /* bytes of the token that is unfinished */
    unsigned restarts;
} parse;

static void stop(parse *p, hd_status status)
{
    p->status = status;
    XML_StopParser(p->xml, XML_FALSE);
}

/* Of the current event; negative: there is none. Expat 2.9 deprecates the older function. */
static int64_t byte_index(const parse *p)
{
#if XML_MAJOR_VERSION > 2 || XML_MINOR_VERSION >= 9
    return XML_GetCurrentByteIndex64(p->xml);
#else
    return XML_GetCurrentByteIndex(p->xml);
#endif
}

static uint64_t offset_of(const parse *p)
{
    int64_t at = byte_index(p);
    return at < (int64_t)p->prefix ? p->base : p->base + (uint64_t)at - p->prefix;
}

static void note(parse *p, const char *code, hd_ledger_level level)
{
    hd_status status = xctrace_note(p->r, code, level, offset_of(p));
    if (status != HD_OK) stop(p, status);
}

static uint32_t intern(const parse *p, const char *text)
{
    return hd_builder_intern_text(p->r->builder, text);
}

static const char *attribute(const XML_Char **list, const char *name)
{
    for (; *list; list += 2) {
        if (strcmp(list[0], name) == 0) return list[1];
    }
    return NULL;
}

/* ---- schemas ---- */

static xctrace_table *add_table(parse *p, const char *name)
{
    xctrace_reader *r = p->r;
    if (!hd_grow((void **)&r->tables, &r->table_capacity, r->table_count, sizeof *r->tables)) {
        stop(p, HD_NOMEM(r->err));
        return NULL;
    }
    p->table = (uint32_t)r->table_count;
    xctrace_table *table = &r->tables[r->table_count++];
    *table = (xctrace_table){.name = name ? intern(p, name) : r->text.unnamed};
    xctrace_settle_table(r, table);
    return table;
}

static void add_run(parse *p, const char *xpath)
{
    const char *at = xpath ? strstr(xpath, "run[") : NULL;
    if (at && !hd_map_set(&p->r->runs, strtoull(at + 4, NULL, 10), 0, 1)) stop(p, HD_NOMEM(p->r->err));
}

static void add_column(parse *p)
{
    xctrace_table *table = p->table == HD_NONE ? NULL : &p->r->tables[p->table];
    if (!table) return;
    if (table->column_count == XCTRACE_COLUMNS)
        note(p, "xctrace.columns-lost", HD_LEDGER_LOSS);
    else
        table->columns[table->column_count++] = (xctrace_column){HD_STRING_NONE, HD_STRING_NONE};
}

static void end_field(parse *p, const char *name)
{
    xctrace_table *table = p->table == HD_NONE ? NULL : &p->r->tables[p->table];
    if (!table || !table->column_count) return;
    xctrace_column *column = &table->columns[table->column_count - 1];
    hd_string text = hd_text_trim((char *)p->text.data, p->text.size);
    uint32_t *out = strcmp(name, "mnemonic") == 0           ? &column->key
                    : strcmp(name, "engineering-type") == 0 ? &column->type
                                                            : NULL;
    if (out) *out = hd_builder_intern(p->r->builder, text.data, text.size);
}

/* ---- values ---- */

static uint64_t number_of(parse *p, const char *text)
{
    int64_t number = 0;
    if (text && (!hd_text_int(&number, text, strlen(text)) || number <= 0)) {
        note(p, "xctrace.id-unreadable", HD_LEDGER_LOSS);
        return 0;
    }
    return (uint64_t)number;
}

static void add_cell(parse *p, uint32_t value)
{
    xctrace_reader *r = p->r;
    if (!hd_grow((void **)&r->cells, &r->cell_capacity, r->cell_count, sizeof *r->cells))
        return stop(p, HD_NOMEM(r->err));
    r->cells[r->cell_count++] = value;
}

static void link_value(parse *p, uint32_t index)
{
    xctrace_value *list = p->r->values.list;
    unsigned above = p->open_count - 1;
    if (p->last[above])
        list[p->last[above] - 1].next = index;
    else
        list[p->open[above] - 1].child = index;
    p->last[above] = index;
}

/* A number that is displayed as one ("820.00 ms", "0x1e9000") needs no other text: there are millions of those. */
static void keep_late(parse *p, bool is_needed)
{
    if (!p->late.size) return;
    if (is_needed && p->open_count)
        p->r->values.list[p->open[p->open_count - 1] - 1].fmt =
            hd_builder_intern(p->r->builder, (char *)p->late.data, p->late.size);
    p->late.size = 0;
}

static void begin_value(parse *p, const char *name, const XML_Char **list)
{
    xctrace_values *values = &p->r->values;
    uint64_t id = number_of(p, attribute(list, "id")), ref = number_of(p, attribute(list, "ref"));
    const char *fmt = ref ? NULL : attribute(list, "fmt"), *own = ref ? NULL : attribute(list, "name");
    uint32_t index, target = 0;
    bool is_late = fmt && (hd_is_digit(*fmt) || *fmt == '-');
    keep_late(p, true);
    if (is_late) hd_bytes_put(&p->late, fmt, strlen(fmt));
    if (ref && !hd_map_get(&target, &values->by_id, ref, 0)) p->is_pending = true;
    if (!own && !ref) own = attribute(list, "addr");
    if (values->count >= UINT32_MAX - 1 ||
        !hd_grow((void **)&values->list, &values->capacity, values->count, sizeof *values->list))
        return stop(p, HD_NOMEM(p->r->err));
    values->list[values->count++] = (xctrace_value){.type = intern(p, name),
                                                    .fmt = fmt && *fmt && !is_late ? intern(p, fmt) : HD_STRING_NONE,
                                                    .name = own ? intern(p, own) : HD_STRING_NONE,
                                                    .is_null = strcmp(name, "sentinel") == 0,
                                                    .ref = ref};
    index = (uint32_t)values->count;
    if (id && !hd_map_set(&values->by_id, id, 0, index)) return stop(p, HD_NOMEM(p->r->err));
    if (p->open_count)
        link_value(p, index);
    else
        add_cell(p, target ? target : index);
    p->open[p->open_count] = index;
    p->last[p->open_count++] = 0;
}

static void end_value(parse *p)
{
    xctrace_value *v = &p->r->values.list[p->open[p->open_count - 1] - 1];
    hd_string text = v->child ? (hd_string){"", 0} : hd_text_trim((char *)p->text.data, p->text.size);
    v->has_number = text.size && hd_text_int(&v->number, text.data, text.size);
    keep_late(p, !v->has_number);
    if (!v->has_number && text.size) v->text = hd_builder_intern(p->r->builder, text.data, text.size);
    if (v->fmt == v->text) v->fmt = HD_STRING_NONE;
    p->text.size = 0;
    p->open_count--;
}

/* ---- rows ---- */

static void begin_row(parse *p)
{
    p->in_row = true;
    p->is_pending = false;
    p->open_count = 0;
    p->late.size = 0;
    p->r->row_first = p->r->cell_count;
    p->values_before = p->r->values.count;
    p->ids_before = p->r->values.by_id.count;
}

/* A value that the row refers to may come later in the same row. */
static bool is_complete(const parse *p)
{
    const xctrace_values *values = &p->r->values;
    for (size_t i = p->values_before; i < values->count; i++) {
        if (values->list[i].ref && !hd_map_find(&values->by_id, values->list[i].ref, 0)) return false;
    }
    return true;
}

static hd_status add_pending(parse *p)
{
    xctrace_reader *r = p->r;
    if (!hd_grow((void **)&r->pending, &r->pending_capacity, r->pending_count, sizeof *r->pending))
        return HD_NOMEM(r->err);
    r->pending[r->pending_count++] =
        (xctrace_pending){p->table, (uint32_t)r->row_first, (uint32_t)(r->cell_count - r->row_first)};
    return HD_OK;
}

/* A table without its schema: the tags of its first row are the columns. */
static void guess_table(parse *p)
{
    xctrace_reader *r = p->r;
    xctrace_table *table = add_table(p, NULL);
    for (size_t i = r->row_first; table && i < r->cell_count && table->column_count < XCTRACE_COLUMNS; i++) {
        uint32_t type = r->values.list[r->cells[i] - 1].type;
        table->columns[table->column_count++] = (xctrace_column){type, type};
    }
    if (table) xctrace_settle_table(r, table);
}

static void end_row(parse *p)
{
    xctrace_reader *r = p->r;
    p->in_row = false;
    if (p->table == HD_NONE) guess_table(p);
    if (p->table == HD_NONE) return;
    const xctrace_table *table = &r->tables[p->table];
    hd_status status = HD_OK;
    if (p->is_pending && !is_complete(p)) {
        status = add_pending(p);
    } else {
        status = xctrace_add_row(r, table, r->cells + r->row_first, (uint32_t)(r->cell_count - r->row_first));
        r->cell_count = r->row_first;
        bool is_memory = table->of_role[XCTRACE_STACK] >= 0 || table->of_role[XCTRACE_KERNEL_STACK] >= 0;
        if (!is_memory && r->values.by_id.count == p->ids_before) r->values.count = p->values_before;
    }
    if (status != HD_OK) stop(p, status);
}

/* ---- elements ---- */

static void XMLCALL begin_element(void *user, const XML_Char *name, const XML_Char **list)
{
    parse *p = user;
    p->depth++;
    p->text.size = 0;
    p->is_deep = p->depth > LEVELS;
    if (p->is_deep) return stop(p, HD_OK);
    if (p->in_row) {
        if (p->open_count < XCTRACE_DEPTH && p->open_count == p->depth - VALUE) begin_value(p, name, list);
    } else if (p->in_schema) {
        if (p->depth == COLUMN && strcmp(name, "col") == 0) add_column(p);
    } else if (p->depth == NODE) {
        p->table = HD_NONE;
        add_run(p, attribute(list, "xpath"));
    } else if (p->depth == TABLE) {
        p->in_schema = strcmp(name, "schema") == 0;
        if (p->in_schema) add_table(p, attribute(list, "name"));
        if (strcmp(name, "row") == 0) begin_row(p);
    }
}

static void XMLCALL end_element(void *user, const XML_Char *name)
{
    parse *p = user;
    unsigned depth = p->depth--;
    if (p->in_row && depth >= VALUE) {
        if (depth - VALUE >= XCTRACE_DEPTH) return;
        if (p->open_count == depth - VALUE + 1) end_value(p);
    } else if (p->in_row) {
        end_row(p);
    } else if (p->in_schema && depth == FIELD) {
        end_field(p, name);
    } else if (p->in_schema && depth == TABLE) {
        p->in_schema = false;
        if (p->table != HD_NONE) xctrace_settle_table(p->r, &p->r->tables[p->table]);
    }
}

static void XMLCALL add_text(void *user, const XML_Char *text, int size)
{
    parse *p = user;
    if (p->in_row || p->in_schema) hd_bytes_put(&p->text, text, (size_t)size);
    if (p->text.failed || p->late.failed) stop(p, HD_NOMEM(p->r->err));
}

/* It may declare entities, whose expansion has no bound. */
static void XMLCALL refuse_doctype(void *user, const XML_Char *name, const XML_Char *system, const XML_Char *public,
                                   int has_subset)
{
    parse *p = user;
    (void)name, (void)system, (void)public, (void)has_subset;
    stop(p,
         hd_error_set(p->r->err, HD_ERR_FORMAT, NULL, offset_of(p),
                      "has a document type (<!DOCTYPE), which exports of xctrace have not: entities are not expanded"));
}

/* ---- the file ---- */

/* prefix: inserted before the first byte, which is at `offset` of the file. */
static hd_status open_parser(parse *p, const char *prefix, uint64_t offset)
{
    if (p->xml) XML_ParserFree(p->xml);
    p->xml = XML_ParserCreate("UTF-8");
    if (!p->xml) return HD_NOMEM(p->r->err);
    XML_SetUserData(p->xml, p);
    XML_SetElementHandler(p->xml, begin_element, end_element);
    XML_SetCharacterDataHandler(p->xml, add_text);
    XML_SetStartDoctypeDeclHandler(p->xml, refuse_doctype);
    if (p->in_row) p->r->cell_count = p->r->row_first; /* values of the broken row */
    p->in_row = p->in_schema = p->is_deep = false;
    p->depth = 0;
    p->base = offset;
    p->prefix = strlen(prefix);
    uint32_t table = p->table;
    if (*prefix && XML_Parse(p->xml, prefix, (int)p->prefix, XML_FALSE) != XML_STATUS_OK) return HD_NOMEM(p->r->err);
    p->table = table; /* rows go on in it */
    return p->status;
}

/* Where a row or a node begins in data[at … size); size if none does. */
static size_t find_begin(const char *data, size_t size, size_t at, bool *out_is_node)
{
    for (; at + 6 <= size; at++) {
        const char *next = memchr(data + at, '<', size - at - 5);
        if (!next) break;
        at = (size_t)(next - data);
        *out_is_node = memcmp(next, "<node", 5) == 0;
        if (*out_is_node || memcmp(next, "<row>", 5) == 0 || memcmp(next, "<row ", 5) == 0) return at;
    }
    return size;
}

/* Parses a whole chunk of the file; after damage continues at the next row or node. *skipping: that is not found
 * yet. */
static hd_status parse_piece(parse *p, const char *data, size_t size, uint64_t offset, bool *skipping)
{
    static const char in_result[] = "<trace-query-result>", in_node[] = "<trace-query-result><node>";
    size_t at = 0;
    bool is_node = false;
    for (;;) {
        if (*skipping) {
            at = p->restarts < RESTARTS ? find_begin(data, size, at, &is_node) : size;
            if (at == size) return HD_OK;
            p->restarts++;
            HD_TRY(open_parser(p, is_node ? in_result : in_node, offset + at));
            *skipping = false;
        }
        if (XML_Parse(p->xml, data + at, (int)(size - at), XML_FALSE) == XML_STATUS_OK) {
            p->left = byte_index(p) < 0 ? 0 : offset + size - offset_of(p);
            return HD_OK;
        }
        if (p->status != HD_OK) return p->status;
        uint64_t error = offset_of(p);
        HD_TRY(xctrace_note(p->r, p->is_deep ? "xctrace.too-deep" : "xctrace.damaged", HD_LEDGER_LOSS, error));
        at = error < offset + at ? at : error - offset < size ? (size_t)(error - offset) + 1 : size;
        *skipping = true;
    }
}

/* Expat before 2.6 restarts an unfinished token with each chunk: an attribute of 64 MB would take quadratic time. So
 * the next chunk is at least as long as the token so far. */
static bool is_long_enough(const parse *p, size_t size)
{
    return size >= p->left || size >= PIECE_LIMIT;
}

static hd_status parse_all(parse *p, hd_input *input, hd_bytes *piece)
{
    xctrace_reader *r = p->r;
    hd_trace_facts *facts = hd_builder_facts(r->builder);
    hd_status status;
    bool skipping = false;
    size_t size;
    HD_TRY(open_parser(p, "", 0));
    for (;;) {
        uint8_t *room = hd_bytes_room(piece, BUFFER_BYTES);
        if (!room) return HD_NOMEM(r->err);
        status = hd_input_next(input, room, BUFFER_BYTES, &size, r->err);
        if (status == HD_OK) piece->size += size;
        if (piece->size && (status != HD_OK || is_long_enough(p, piece->size))) {
            HD_TRY(parse_piece(p, (char *)piece->data, piece->size, facts->input_bytes, &skipping));
            facts->input_bytes += piece->size;
            piece->size = 0;
        }
        if (status != HD_OK) break;
        if (r->options->progress)
            r->options->progress(r->options->progress_user, hd_input_stored_position(input),
                                 hd_input_size_bytes(input));
    }
    if (status != HD_END) return status;
    if (!skipping && XML_Parse(p->xml, "", 0, XML_TRUE) != XML_STATUS_OK && p->status == HD_OK)
        return xctrace_note(r, "xctrace.truncated", HD_LEDGER_LOSS, offset_of(p));
    return p->status;
}

hd_status xctrace_parse(xctrace_reader *r, hd_input *input)
{
    parse p = {.r = r, .table = HD_NONE};
    hd_bytes piece = {0};
    hd_status status = parse_all(&p, input, &piece);
    if (p.in_row) r->cell_count = r->row_first;
    if (p.xml) XML_ParserFree(p.xml);
    hd_bytes_deinit(&p.text);
    hd_bytes_deinit(&p.late);
    hd_bytes_deinit(&piece);
    return status;
}
